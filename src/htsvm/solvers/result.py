"""What a solver gives back."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from htsvm._typing import Array

Callback = Callable[[dict[str, Any]], Any]
Result = TypeVar("Result")


@dataclass
class SolverResult:
    """What every solver returns.

    Attributes
    ----------
    coef, intercept : ndarray, float
        The classifier; for several classes at once a row and an intercept per class.
    multipliers : ndarray of shape (m,)
        psi, with w = -R⁻¹ sum psi_i y_i x_i at a stationary point, where -psi_i is penalty_i
        times a slope of the loss; psi_i <= 0 for a loss that never falls.
    objective : float
        The true objective at (coef, intercept).
    convex_objective : float
        The true objective at the solution of the convex start; NaN if there was none.
    converged : bool
        Whether the solver's own stopping rule was met.
    residual : float
        The value of the stopping criterion at the end.
    n_iter : int
        Outer iterations.
    passes : float
        Work over the data in units of one product X @ w.
    history : dict of lists
        One entry per iteration in every column.
    seconds : dict
        Time spent, by part, and in "total": the parts add up to it.
    constant : bool
        Whether the best constant classifier was kept in the place of a point that lay above it.
    notes : list of str
        What a reader of the published algorithm would like to know: which safeguards acted.
    advice : list of str
        What a user could try if the result is not certified; part of the warning.
    start : str
        The name of the start that led here.
    starts : dict
        What each start reached in the search for the best of them.
    """

    coef: Array
    intercept: Any
    multipliers: Array
    objective: float
    convex_objective: float = float("nan")
    converged: bool = False
    residual: float = float("inf")
    n_iter: int = 0
    passes: float = 0.0
    history: dict[str, list[Any]] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    constant: bool = False
    notes: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)
    start: str = ""
    starts: dict[str, float] = field(default_factory=dict)


def continued(first: SolverResult, second: SolverResult) -> SolverResult:
    """Return `second` with the work and the history of `first` in front of its own."""
    history: dict[str, list[Any]] = {}
    for name, column in first.history.items():
        more = second.history.get(name, [])
        if name == "iteration":
            more = [value + len(column) for value in more]
        elif name in ("passes", "seconds") and column:
            more = [value + column[-1] for value in more]
        history[name] = column + more
    return replace(
        second,
        history=history,
        n_iter=first.n_iter + second.n_iter,
        passes=first.passes + second.passes,
        convex_objective=first.convex_objective,
        seconds={k: v + second.seconds.get(k, 0.0) for k, v in first.seconds.items()},
        notes=first.notes + second.notes,
        start=first.start,
        starts=first.starts,
    )


class History:
    """One row per iteration, kept in columns and shown to a callback.

    Parameters
    ----------
    callback : callable or None
        Called with each row, a dict.

    Attributes
    ----------
    columns : dict of lists
        One entry per iteration in every column; the first is its number, the last the seconds
        since the run began.
    """

    def __init__(self, callback: Callback | None) -> None:
        self.callback = callback
        self.columns: dict[str, list[Any]] = {}
        self.began = time.perf_counter()

    def __len__(self) -> int:
        return len(self.columns.get("iteration", ()))

    def __getitem__(self, name: str) -> list[Any]:
        return self.columns[name]

    @property
    def seconds(self) -> float:
        """The time since the run began."""
        return time.perf_counter() - self.began

    def add(self, **row: Any) -> None:
        """Add a row and tell the callback."""
        row = {"iteration": len(self) + 1, **row, "seconds": self.seconds}
        for name, value in row.items():
            self.columns.setdefault(name, []).append(value)
        if self.callback is not None:
            self.callback(row)
