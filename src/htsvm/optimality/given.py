"""Checks and conversions of what `certify` and `certify_multiclass` are given."""

from __future__ import annotations

from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg import Quadratic, as_operator
from htsvm.losses import Loss, require


def stated(
    needed_by: str, ability: str, X: Any, C: Any, loss: Loss, sample_weight: Any, regularizer: Any,
    fit_intercept: bool,
) -> dict[str, Any]:  # fmt: skip
    """Return what problems have in common, or raise an error that names the argument at fault."""
    if not isinstance(loss, Loss):
        raise TypeError(f"loss must be an htsvm.losses.Loss, got {loss!r}.")
    require(loss, (ability,), needed_by)
    operator = as_operator(X)
    m, n = operator.shape
    if m == 0:
        raise ValueError("X has no rows: a certificate needs at least one sample.")
    R = regularizer if isinstance(regularizer, Quadratic) else Quadratic(regularizer, n)
    return {
        "operator": operator, "penalty": _penalty(C, sample_weight, m), "C": float(C),
        "loss": loss, "regularizer": R, "fit_intercept": bool(fit_intercept),
    }  # fmt: skip


def labels(y: Any, m: int) -> Array:
    """Return labels, -1 and +1."""
    y = np.asarray(y).ravel()
    if len(y) != m:
        raise ValueError(f"y must have one label per row of X ({m}), got {len(y)}.")
    if not np.issubdtype(y.dtype, np.number) or not np.all(np.abs(y) == 1):
        raise ValueError(
            "y must hold -1 and +1 only; encode other labels first, "
            "for example np.where(y == positive_class, 1, -1)."
        )
    return np.ascontiguousarray(y, dtype=np.int8)


def vector(name: str, values: Any, size: int, meaning: str) -> Array:
    """Return a vector of finite numbers."""
    array = np.ascontiguousarray(values, dtype=np.float64).ravel()
    if len(array) != size:
        raise ValueError(f"{name} must have {size} entries, {meaning}, got {len(array)}.")
    if not np.all(np.isfinite(array)):
        raise ValueError(f"{name} holds NaN or infinity.")
    return array


def _penalty(C: Any, sample_weight: Any, m: int) -> Array:
    if not (np.ndim(C) == 0 and np.isfinite(C) and C > 0.0):
        raise ValueError(
            f"C must be one positive, finite number, got {C!r}; "
            "pass penalties per sample as sample_weight."
        )
    if sample_weight is None:
        return np.full(m, float(C))
    weight = vector("sample_weight", sample_weight, m, "one per row of X")
    if np.any(weight < 0.0):
        raise ValueError(f"sample_weight must not be negative, got {weight.min()!r}.")
    if not np.any(weight > 0.0):
        raise ValueError("sample_weight is zero for every sample: no sample is left.")
    return float(C) * weight
