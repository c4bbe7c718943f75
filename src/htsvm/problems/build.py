"""From validated data to problems: labels, weights and class weights."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from htsvm._sklearn import check_sample_weight
from htsvm._typing import Array
from htsvm.linalg import Operator, Quadratic, as_operator
from htsvm.losses import Loss
from htsvm.problems.binary import Problem
from htsvm.problems.multiclass import MulticlassProblem

# Below these, penalties and the slopes of a loss leave the range of floating point.
SMALLEST_C, SMALLEST_CAP = 1e-300, 1e-150
# From here on the slope of a loss that bends is flat to the last digit, up to any violation.
LARGEST_CAP = 1e12
# The largest weight must be in between.
SMALLEST_WEIGHT, LARGEST_WEIGHT = 1e-250, 1e250


def encode_labels(y: Array) -> tuple[Array, Array]:
    """Return the sorted classes and the position of each label among them.

    Two numeric classes, the usual case, are encoded without sorting.
    """
    if len(y) and y.dtype.kind in "iufb":
        first = y[0]
        differs = y != first
        rest = y[differs]
        if len(rest) and np.all(rest == rest[0]):
            classes = np.sort(np.array([first, rest[0]]))
            # One byte per sample, not eight.
            return classes, (differs if classes[0] == first else ~differs).view(np.int8)
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.reshape(-1)


def check_weights(sample_weight: Any, X: Any) -> Array | None:
    """Return sample weights as float64, or None; raise ValueError if none is positive."""
    if sample_weight is None:
        return None
    weights: Array = check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if not np.any(weights > 0.0):
        raise ValueError(
            "sample_weight is zero for every sample; give at least one sample of each class a "
            "positive weight."
        )
    largest = float(weights.max())
    if not SMALLEST_WEIGHT <= largest <= LARGEST_WEIGHT:
        size = "large" if largest > 1.0 else "small"
        raise ValueError(
            f"sample_weight is too {size} to compute with: the largest is {largest:.3g}. Divide "
            "all weights by it, and multiply C by it."
        )
    return weights


def class_factors(class_weight: Any, classes: Array, mass: Array) -> Array:
    """Return one factor per class from `class_weight` and the weight of each class."""
    if class_weight is None:
        return np.ones(len(classes))
    if class_weight == "balanced":
        factors = np.zeros(len(classes))
        np.divide(mass.sum() / len(classes), mass, out=factors, where=mass > 0.0)
        return factors
    known = {label: k for k, label in enumerate(classes.tolist())}
    unknown = [label for label in class_weight if label not in known]
    if unknown:
        raise ValueError(
            f"class_weight names {unknown!r}, which are not among the classes {classes.tolist()!r}."
        )
    factors = np.ones(len(classes))
    for label, factor in class_weight.items():
        if not (np.isfinite(factor) and factor >= 0.0):
            raise ValueError(
                f"class_weight[{label!r}] must be finite and not negative, got {factor!r}."
            )
        factors[known[label]] = factor
    if np.sum((factors > 0.0) & (mass > 0.0)) < 2:
        raise ValueError(
            "class_weight is zero for all but one of the classes with weight: "
            f"{class_weight!r}; nothing is left to tell apart."
        )
    return factors


def stated_problems(
    X: Any, codes: Array, weights: Array | None, class_weight: Any, classes: Array, **options: Any
) -> list[Problem | MulticlassProblem]:
    """Return the problems of a fit; `options` as in `tasks_of`."""
    operator = as_operator(X)
    mass = np.bincount(codes, weights=weights, minlength=len(classes))
    tasks = tasks_of(mass, class_factors(class_weight, classes, mass), **options)
    return [task.problem(operator.separate(), codes, weights) for task in tasks]


def tasks_of(
    mass: Array,
    factors: Array,
    *,
    C: float,
    loss: Loss,
    fit_intercept: bool,
    multiclass: bool = False,
    balanced: bool = True,
) -> list[Task]:
    """Return what makes the problems of a fit.

    There is one for two classes, else one for all (`multiclass`) or one per class. If `balanced`,
    those of a class against the rest are balanced by the weight of the two sides, before the
    `factors` of the classes are applied. `mass` holds the sum of the sample weights
    of each class.
    """
    for name, value, least in (("C", C, SMALLEST_C), ("cap", loss.cap, SMALLEST_CAP)):
        if 0.0 < value < least:
            raise ValueError(
                f"{name}={value!r} is too small to compute with; give {least:g} or more."
            )
    if LARGEST_CAP < loss.cap < math.inf and loss.weak_convexity > 0.0:
        raise ValueError(
            f"cap={loss.cap!r} is too large to compute with; give {LARGEST_CAP:g} or less, or inf."
        )
    task = Task(factors, C, loss, fit_intercept)
    if multiclass:
        return [task]
    if len(mass) == 2:
        return [replace(task, positive=1)]
    tasks = []
    for k in range(len(mass)):
        sides = np.array([np.delete(mass, k).sum(), mass[k]])
        balance = class_factors("balanced" if balanced else None, np.arange(2), sides)
        tasks.append(replace(task, positive=k, balance=balance))
    return tasks


@dataclass(frozen=True, eq=False)
class Task:
    """What makes a problem of rows, class codes and sample weights.

    Attributes
    ----------
    factors : ndarray of shape (n_classes,)
        Factors of the weights per class.
    C, loss, fit_intercept
        As in `Problem`.
    positive : int or None
        The code of the class with the label +1 against all others; None for all classes at once.
    balance : ndarray of shape (2,)
        Further factors for the labels -1 and +1.
    """

    factors: Array
    C: float
    loss: Loss
    fit_intercept: bool
    positive: int | None = None
    balance: Array = field(default_factory=lambda: np.ones(2))

    def problem(
        self, operator: Operator, codes: Array, weights: Array | None
    ) -> Problem | MulticlassProblem:
        """Return the problem on some rows."""
        weights, side = weigh_samples(weights, self.factors, codes), codes == self.positive
        if self.positive is not None:
            weights = weigh_samples(weights, self.balance, side.astype(np.intp))
        most = np.finfo(float).max / max(self.C, 1.0)
        if weights is not None and weights.max(initial=0.0) > most:
            raise ValueError(
                f"C={self.C:g} times the largest weight, {weights.max():g}, overflows; lower C, or "
                "divide sample_weight and class_weight by a number."
            )
        stated: dict[str, Any] = {
            "operator": operator, "C": self.C, "loss": self.loss,
            "penalty": np.full(len(codes), self.C) if weights is None else self.C * weights,
            "regularizer": Quadratic(None, operator.shape[1]), "fit_intercept": self.fit_intercept,
        }  # fmt: skip
        if self.positive is not None:
            return Problem(y=np.where(side, 1, -1).astype(np.int8), **stated)
        labels = np.ascontiguousarray(codes, dtype=np.intp)
        return MulticlassProblem(labels=labels, n_classes=len(self.factors), **stated)


def weigh_samples(weights: Array | None, factors: Array, codes: Array) -> Array | None:
    """Return sample weights times the factor of each sample's class; None if all are one."""
    if np.all(factors == 1.0):
        return weights
    return factors[codes] if weights is None else weights * factors[codes]


def labels_of(scores: Array, classes: Array) -> Array:
    """Return the predicted labels for signed scores: one column for two classes, else per class."""
    codes = (scores > 0.0).astype(np.intp) if scores.ndim == 1 else scores.argmax(axis=1)
    labels: Array = classes[codes]
    return labels
