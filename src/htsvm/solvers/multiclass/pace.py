"""How long a multi-class descent may take before it says so, and whether scaling is to blame."""

from __future__ import annotations

from typing import Any

import numpy as np

from htsvm.linalg import Operator
from htsvm.solvers.history import Callback

# A descent is on time up to this multiple of the time of its least squares start, and if it is
# shorter than so many seconds.
BUDGET, ALWAYS_FINE = 200.0, 2.0
# Columns whose sizes differ by this factor are what makes a slow descent slow.
UNEVEN_COLUMNS = 100.0
# How such a note is recognised.
SLOW = "makes this fit slow"


class Pace:
    """Watches the time of a descent.

    Parameters
    ----------
    operator : Operator
        The rows.
    reference : float
        The seconds that the least squares start took; zero if there was none.
    callback : callable or None
        If it has a method `say`, it is told once when the descent is late.
    """

    def __init__(self, operator: Operator, reference: float, callback: Callback | None) -> None:
        self.operator, self.callback = operator, callback
        self.budget = max(BUDGET * reference, ALWAYS_FINE) if reference > 0.0 else np.inf
        self.notes: list[str] = []
        self.late = False

    def check(self, seconds: float) -> None:
        """Say so, once, if the descent has taken longer than its budget."""
        if self.late or seconds <= self.budget:
            return
        self.late = True
        ratio = column_ratio(self.operator)
        if ratio > UNEVEN_COLUMNS:
            self.notes.append(slow_columns(ratio))
        say: Any = getattr(self.callback, "say", None)
        if say is not None:
            why = f"; {self.notes[0]}" if self.notes else ""
            say(f"beyond {BUDGET:g} times the time of the least squares start{why}")


def slow_columns(ratio: float) -> str:
    """Return what a user should know of columns whose sizes differ so much."""
    return (
        f"the columns of X differ in size by a factor of {ratio:.1g}, which {SLOW}: "
        "scale them, for example with sklearn.preprocessing.StandardScaler"
    )


def column_ratio(operator: Operator) -> float:
    """Return how many times the largest column is as long as the smallest that is not zero."""
    squares = operator.squared_pull(np.ones((operator.shape[0], 1)))[0]
    squares = squares[squares > 0.0]
    return float(np.sqrt(squares.max() / squares.min())) if len(squares) else 1.0
