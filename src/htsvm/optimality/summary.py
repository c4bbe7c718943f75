"""What a certificate needs of samples, which adds up over blocks of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.optimality import residuals
from htsvm.optimality.status import SampleStatus
from htsvm.problems import AnyProblem


@dataclass(frozen=True, eq=False)
class Summary:
    """Sums and extremes over samples, at a point of a problem of two or of several classes.

    Multipliers are alpha = -psi times the labels y, or B; of each class, as rows.

    Attributes
    ----------
    pull, total : ndarray, float or ndarray
        ``X'(y alpha)`` or ``B'X``, and the sums of y alpha or of B.
    gross : float
        The sum of the sizes of the multipliers.
    weighted, mass : ndarray, float
        The sum of the rows times the sizes of their multipliers within bounds, and of these.
    support : ndarray of intp
        The samples with a multiplier.
    square_errors, square_size : float
        What `residuals.violation` takes.
    loss : float
        The total of the loss.
    counts : ndarray
        Samples of positive weight per status.
    dual : tuple of sums, or None
        What the dual problem needs.
    stray : float
        What samples without penalty pull.
    largest_nu, margin_width : float
        The least of the limits of nu, and the largest violation that counts as zero.
    """

    pull: Array
    total: Any
    gross: float
    weighted: Array
    mass: float
    support: Array
    square_errors: float
    square_size: float
    loss: float
    counts: Array
    dual: Any
    stray: float = 0.0
    largest_nu: float = np.inf
    margin_width: float = 0.0

    @property
    def centred_pull(self) -> Array:
        """The pull of rows less their mean, weighted by the sizes of the multipliers.

        It differs from the pull by what the balance of the multipliers lacks times that mean.
        """
        if not self.mass > 0.0:
            return self.pull
        centred: Array = self.pull - np.multiply.outer(self.total, self.weighted / self.mass)
        return centred

    def measured(
        self, problem: AnyProblem, w: Array, terms: int, typical: float, centred: float,
        size: float, tol: float,
    ) -> dict[str, Any]:  # fmt: skip
        """Return the fields of a certificate that all kinds of points have.

        Rows that pull, so many `terms`, are as long as `typical`, and less their mean as `centred`;
        a typical score has that `size`.
        """
        R, free, gross = problem.regularizer, problem.fit_intercept, self.gross
        own, pull = R.dot(w), self.centred_pull if free else self.pull
        objective = problem.energy(w) + self.loss
        pulled = max(gross * (centred if free else typical), residuals.pull_of(objective, R))
        total = float(np.linalg.norm(self.total)) if free else 0.0
        prox = residuals.violation(self.square_errors, self.square_size)
        return {
            "stationarity": residuals.of_gradient(own, pull, pulled, R),
            "balance": residuals.balance(total, gross),
            "prox_residual": prox + (self.stray / gross if gross > 0.0 else 0.0),
            "objective": objective,
            "trivial_objective": problem.trivial_objective,
            "n_support": len(self.support),
            "tol": tol,
            "rounding_floor": residuals.rounding_floor(
                terms, gross * typical, R.length(own) + R.length(pull), size,
                problem.class_penalty, self.square_size, gross, objective,
            ),
            "counts": {kind.name.lower(): int(self.counts[kind]) for kind in SampleStatus},
        }  # fmt: skip


# How fields of several summaries become one, where they are not added up.
MERGED: dict[str, Callable[[list[Any]], Any]] = {
    "support": np.concatenate,
    "largest_nu": min,
    "margin_width": max,
    "dual": lambda parts: parts[0] and type(parts[0])(*map(sum, zip(*parts, strict=True))),
}


def merge(parts: Sequence[Summary]) -> Summary:
    """Return the summary of all samples from those of disjoint sets of them."""
    values = {f.name: [getattr(part, f.name) for part in parts] for f in fields(Summary)}
    return Summary(**{name: MERGED.get(name, sum)(given) for name, given in values.items()})
