"""The lowest point of a binary problem with one column: there is one line with each intercept."""

from __future__ import annotations

from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.problems.binary import Problem
from htsvm.solvers.starts import lines

# As many samples are looked at; more, if they are copies of so few.
MOST_SAMPLES, MOST_COPIES = lines.MOST_KINKS, 3000


def suits(problem: Any) -> bool:
    """Return whether the problem has one column, few samples and a loss of known pieces."""
    return (
        lines.suits(problem)
        and problem.n_features == 1
        and problem.n_samples <= MOST_COPIES
        and _distinct(problem) <= MOST_SAMPLES
    )


def lowest_point(problem: Problem) -> Array:
    """Return the (w, b) with the lowest objective, as an array of two numbers."""
    found, _ = lines.Lines(problem).lowest(np.zeros((1, 2)), np.array([[1.0, 0.0]]))
    lowest: Array = found[0]
    return lowest


def _distinct(problem: Problem) -> int:
    """Return the number of samples that count and are no copies of others."""
    signed = np.empty(problem.n_samples)
    problem.operator.signed_dot(problem.y, np.ones(1), 0.0, signed)
    counts = problem.penalty > 0.0
    return sum(len(np.unique(signed[counts & (problem.y == side)])) for side in (-1, 1))
