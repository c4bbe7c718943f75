"""Parameters that may differ from view to view."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from typing import Any

import numpy as np

from htsvm._typing import Array


def per_view(
    name: str, value: Any, view_names: list[Hashable], *, zero: bool = False, infinite: bool = False
) -> Array:
    """Return one number per view.

    Parameters
    ----------
    name : str
        What the parameter is called.
    value : float, array-like or dict
        A number for all views, one per view in their order, or one per view by name.
    view_names : list
        The views.
    zero, infinite : bool
        Whether zero and infinity are allowed; negative numbers and NaN never are.
    """
    given = _by_name(name, value, view_names) if isinstance(value, Mapping) else value
    try:
        values = np.asarray(given, dtype=np.float64)
    except OverflowError:
        raise ValueError(f"{name} is too large to compute with; give 1e300 or less.") from None
    if values.ndim == 0:
        values = np.full(len(view_names), float(values))
    if values.shape != (len(view_names),):
        raise ValueError(
            f"{name} must be one number or one per view, of which there are {len(view_names)}, "
            f"got {value!r}."
        )
    fine = (values >= 0.0) if zero else (values > 0.0)
    if not infinite:
        fine &= np.isfinite(values)
    if not fine.all():
        wanted = "not negative" if zero else "positive"
        raise ValueError(
            f"{name} must be {wanted}{'' if infinite else ' and finite'} for every view, "
            f"got {value!r}."
        )
    return values


def each_view(name: str, value: Any, view_names: list[Hashable]) -> list[Any]:
    """Return one value of any kind per view: one for all, a list of them, or a dict by name."""
    if isinstance(value, Mapping):
        return _by_name(name, value, view_names)
    if not isinstance(value, (list, tuple, np.ndarray)):
        return [value] * len(view_names)
    if len(value) != len(view_names):
        raise ValueError(
            f"{name} must be one for all views or one per view, of which there are "
            f"{len(view_names)}, got {value!r}."
        )
    return list(value)


def _by_name(name: str, value: Mapping[Hashable, Any], view_names: list[Hashable]) -> list[Any]:
    if set(value) != set(view_names):
        raise ValueError(
            f"{name} must have one entry for each of the views {view_names!r}, got the keys "
            f"{list(value)!r}."
        )
    return [value[view] for view in view_names]


def fixed_weights(value: Any, view_names: list[Hashable]) -> Array | None:
    """Return view weights that are not to be learned, or None if they are."""
    if isinstance(value, str):
        return np.full(len(view_names), 1.0 / len(view_names)) if value == "uniform" else None
    weights = per_view("view_weights", value, view_names, zero=True)
    if not np.isclose(weights.sum(), 1.0):
        raise ValueError(f"view_weights must add up to 1, got {value!r} with sum {weights.sum()}.")
    scaled: Array = weights / weights.sum()
    return scaled
