"""From validated data to binary problems."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from sklearn.utils.validation import _check_sample_weight

from htsvm._typing import Array
from htsvm.linalg import Quadratic, as_operator
from htsvm.losses import Loss
from htsvm.solvers import Problem


def encode_labels(y: Array) -> tuple[Array, Array]:
    """Return the sorted classes and the position of each label among them.

    Two classes, the usual case, are told apart without sorting.
    """
    if len(y) and y.dtype.kind in "iufb":
        first = y[0]
        differs = y != first
        rest = y[differs]
        if len(rest) and np.all(rest == rest[0]):
            classes = np.sort(np.array([first, rest[0]]))
            return classes, differs.astype(np.intp) if classes[0] == first else (~differs).astype(
                np.intp
            )
    classes, codes = np.unique(y, return_inverse=True)
    return classes, codes.reshape(-1)


def check_weights(sample_weight: Any, X: Any) -> Array | None:
    """Return sample weights as float64, or None; complain if none is positive."""
    if sample_weight is None:
        return None
    weights: Array = _check_sample_weight(
        sample_weight, X, dtype=np.float64, ensure_non_negative=True
    )
    if not np.any(weights > 0.0):
        raise ValueError(
            "sample_weight is zero for every sample; give at least one sample of each class a "
            "positive weight."
        )
    return weights


def weigh_classes(class_weight: Any, classes: Array, codes: Array, weights: Array | None) -> Array:
    """Return one factor per class from `class_weight` (None, "balanced" or a dict)."""
    if class_weight is None:
        return np.ones(len(classes))
    if class_weight == "balanced":
        mass = np.bincount(codes, weights=weights, minlength=len(classes))
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
    return factors


def binary_problems(
    X: Any,
    n_classes: int,
    codes: Array,
    weights: Array | None,
    factors: Array,
    *,
    C: float,
    loss: Loss,
    fit_intercept: bool,
    balanced: bool = True,
) -> list[Problem]:
    """Return the binary problems of a fit: one for two classes, else one per class.

    If `balanced`, those against the rest are balanced by the weight of the two sides, before the
    `factors` of the classes are applied.
    """
    operator = as_operator(X)
    regularizer = Quadratic(None, operator.shape[1])
    weights_of_classes = _times(weights, factors, codes)
    problems = []
    for k in range(n_classes) if n_classes > 2 else (1,):
        side = (codes == k).astype(np.intp)
        total = weights_of_classes
        if n_classes > 2 and balanced:
            balance = weigh_classes("balanced", np.arange(2), side, weights)
            total = _times(total, balance, side)
        problems.append(
            Problem(
                operator=copy.copy(operator),
                y=np.where(side == 1, 1, -1).astype(np.int8),
                penalty=np.full(len(side), C) if total is None else C * total,
                loss=loss,
                regularizer=regularizer,
                C=C,
                fit_intercept=fit_intercept,
            )
        )
    return problems


def _times(weights: Array | None, factors: Array, codes: Array) -> Array | None:
    """Return sample weights times the factor of each sample's class; None if all are one."""
    if np.all(factors == 1.0):
        return weights
    return factors[codes] if weights is None else weights * factors[codes]
