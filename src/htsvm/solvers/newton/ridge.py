"""Least squares at once, from the matrix of sums of products: where descents may start."""

from __future__ import annotations

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.positive import solve_positive
from htsvm.problems.binary import Problem

# With up to so many columns, and where rows are sparse with up to so many stored values in each.
MOST_FEATURES, MOST_PER_ROW = 512, 40.0


def is_cheap(problem: Problem) -> bool:
    """Return whether the sums of products are cheap: few columns, or very sparse rows."""
    operator = problem.operator
    if problem.rows is not None or operator.representers or problem.n_features > MOST_FEATURES:
        return False
    return not operator.sparse or operator.stored <= MOST_PER_ROW * problem.n_samples


def ridge_point(problem: Problem, penalty: Array) -> Array:
    """Return the least squares fit to the labels with these penalties, intercept last."""
    operator, side = problem.operator, problem.n_features + 1
    gram = np.zeros((side, side))
    operator.add_gram(np.arange(problem.n_samples), 1.0, gram, penalty)
    problem.regularizer.add_to(gram)
    pull, total = operator.signed_tdot(problem.y, penalty)
    if not problem.fit_intercept:
        return np.append(solve_positive(gram[:-1, :-1], pull), 0.0)
    return solve_positive(gram, np.append(pull, total))
