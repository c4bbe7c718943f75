"""Checks and conversions of what `certify` is given."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import Operator, Quadratic, as_operator
from htsvm.losses import Loss, require


@dataclass(frozen=True, eq=False)
class Point:
    """A problem and a point of it, checked: float64 throughout, labels as int8."""

    operator: Operator
    y: Array
    w: Array
    b: float
    psi: Array
    penalty: Array
    C: float
    loss: Loss
    regularizer: Quadratic
    fit_intercept: bool


def check_point(
    X: Any,
    y: Any,
    coef: Any,
    intercept: Any,
    multipliers: Any,
    *,
    C: Any,
    loss: Loss,
    sample_weight: Any,
    regularizer: Any,
    fit_intercept: bool,
) -> Point:
    """Return what `certify` works on, or raise an error that names the argument at fault."""
    if not isinstance(loss, Loss):
        raise TypeError(f"loss must be an htsvm.losses.Loss, got {loss!r}.")
    require(loss, ("prox",), "certify")
    operator = as_operator(X)
    m, n = operator.shape
    if m == 0:
        raise ValueError("X has no rows: a certificate needs at least one sample.")
    b = float(np.asarray(intercept, dtype=np.float64).reshape(-1)[0])
    if not np.isfinite(b):
        raise ValueError(f"intercept must be finite, got {b!r}.")
    if not fit_intercept and b != 0.0:
        raise ValueError(f"intercept must be 0 when fit_intercept=False, got {b!r}.")
    penalty = _penalty(C, sample_weight, m)
    psi = _vector("multipliers", multipliers, m, "one per sample")
    if sample_weight is not None and not np.all(penalty > 0.0):
        psi = np.where(penalty > 0.0, psi, 0.0)
    if not isinstance(regularizer, Quadratic):
        regularizer = Quadratic(regularizer, n)
    return Point(
        operator,
        _labels(y, m),
        _vector("coef", coef, n, "one per feature of X"),
        b,
        psi,
        penalty,
        float(C),
        loss,
        regularizer,
        bool(fit_intercept),
    )


def _labels(y: Any, m: int) -> Array:
    y = np.asarray(y).ravel()
    if len(y) != m:
        raise ValueError(f"y must have one label per row of X ({m}), got {len(y)}.")
    if not np.issubdtype(y.dtype, np.number) or not np.all(np.abs(y) == 1):
        raise ValueError(
            "y must hold -1 and +1 only; encode other labels first, "
            "for example np.where(y == positive_class, 1, -1)."
        )
    return np.ascontiguousarray(y, dtype=np.int8)


def _vector(name: str, values: Any, size: int, meaning: str) -> Array:
    vector = np.ascontiguousarray(values, dtype=np.float64).ravel()
    if len(vector) != size:
        raise ValueError(f"{name} must have {size} entries, {meaning}, got {len(vector)}.")
    if not np.all(np.isfinite(vector)):
        raise ValueError(f"{name} holds NaN or infinity.")
    return vector


def _penalty(C: Any, sample_weight: Any, m: int) -> Array:
    if not (np.ndim(C) == 0 and np.isfinite(C) and C > 0.0):
        raise ValueError(
            f"C must be one positive, finite number, got {C!r}; "
            "pass penalties per sample as sample_weight."
        )
    if sample_weight is None:
        return np.full(m, float(C))
    weight = _vector("sample_weight", sample_weight, m, "one per row of X")
    if np.any(weight < 0.0):
        raise ValueError(f"sample_weight must not be negative, got {weight.min()!r}.")
    if not np.any(weight > 0.0):
        raise ValueError("sample_weight is zero for every sample: no sample is left.")
    return float(C) * weight
