"""Checks of parameters and data that estimators share."""

from __future__ import annotations

from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils.multiclass import check_classification_targets

from htsvm._sklearn import Interval, StrOptions
from htsvm._typing import Array
from htsvm.problems.build import check_weights, encode_labels
from htsvm.solvers.api import named

# What scikit-learn checks of the parameters that most estimators have.
CONSTRAINTS: dict[str, list[Any]] = {
    "C": [Interval(Real, 0.0, None, closed="neither")],
    "tol": [Interval(Real, 0.0, None, closed="neither")],
    "max_iter": [Interval(Integral, 1, None, closed="left")],
    "fit_intercept": ["boolean"],
    "class_weight": [StrOptions({"balanced"}), dict, None],
    "multi_class": [StrOptions({"auto", "joint", "crammer_singer", "ovr"})],
    "warm_start": ["boolean"],
    "starts": [StrOptions({"auto"}), list, tuple],
    "n_restarts": [Interval(Integral, 0, None, closed="left")],
    "n_jobs": [
        Interval(Integral, 1, None, closed="left"),
        Interval(Integral, None, -1, closed="right"),
        None,
    ],
    "random_state": ["random_state"],
    "verbose": ["verbose"],
}


# Beyond these, squares of the values of X may overflow, or nothing can be divided by them.
LARGEST_VALUE, SMALLEST_VALUE = 1e100, 1e-250
# From here on products with C may overflow; the certificate says what became of the fit.
LARGEST_PENALTY = 1e100


def plain(label: Any) -> Any:
    """Return a label as people write it: 1.0, not np.float64(1.0)."""
    return label.item() if isinstance(label, np.generic) else label


def check_no_none(y: Any) -> None:
    """Raise ValueError for labels that cannot be sorted: None, or words among numbers."""
    if y is None:
        return
    if getattr(y, "ndim", 0) == 1 and hasattr(y, "isna"):
        _check_none_missing(np.asarray(y.isna(), dtype=bool))
    labels = np.asarray(y) if not hasattr(y, "dtype") or y.dtype == object else None
    if labels is None or labels.dtype != object:
        return
    _check_none_missing(np.array([label is None for label in labels.ravel()], dtype=bool))
    words = np.array([isinstance(label, str) for label in labels.ravel()], dtype=bool)
    if np.any(words) and not np.all(words):
        texts, others = (labels.ravel()[where][0] for where in (words, ~words))
        raise ValueError(
            f"y has words and other values among its labels, as {texts!r} and {plain(others)!r}; "
            "make them one type, for example with y.astype(str)."
        )


def _check_none_missing(missing: Array) -> None:
    """Raise ValueError if any label is missing."""
    rows = np.flatnonzero(missing)
    if len(rows):
        raise ValueError(
            f"y has None among its labels, in {len(rows)} of {missing.size} samples (the first "
            f"in row {rows[0]}); leave these samples out, or give them a label."
        )


def canonical(X: Any) -> Any:
    """Return X; a CSR matrix without repeated entries, which kernels would square one by one."""
    if sp.issparse(X) and not X.has_canonical_format:
        X = X.copy()
        X.sum_duplicates()
    return X


def check_scale(X: Any) -> None:
    """Raise ValueError for values of X whose squares, or inverses, floating point cannot hold."""
    values = X.data if sp.issparse(X) else X
    largest = max(float(values.max(initial=0.0)), -float(values.min(initial=0.0)))
    if largest > LARGEST_VALUE or 0.0 < largest < SMALLEST_VALUE:
        size = "large" if largest > 1.0 else "small"
        raise ValueError(
            f"The values of X are too {size} to compute with: the largest is {largest:.3g}. Scale "
            "the features, for example with sklearn.preprocessing.StandardScaler or MaxAbsScaler."
        )


def is_huge(C: Any) -> bool:
    """Return whether C, or the largest of several, is so large that products may overflow."""
    values = C.values() if isinstance(C, dict) else np.ravel(np.asarray(C, dtype=object))
    numbers = (value for value in values if isinstance(value, int | float | np.number))
    return any(bool(value > LARGEST_PENALTY) for value in numbers)


def as_number(name: str, value: Any) -> float:
    """Return a number as a float; raise ValueError for a whole number that is none."""
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"{name} is too large to compute with; give 1e300 or less.") from None


def checked_labels(name: str, y: Array, sample_weight: Any) -> tuple[Array, Array, Array | None]:
    """Return the classes, their codes in y and the weights, all of them checked."""
    if y.dtype.kind not in "iub":
        check_classification_targets(y)
    weights = check_weights(sample_weight, y)
    classes, codes = encode_labels(y)
    if y.dtype.kind in "iub" and len(classes) > 2:
        # Two whole numbers, the usual case, need no further look at all labels.
        check_classification_targets(y)
    check_classes(name, classes, np.bincount(codes, weights=weights, minlength=len(classes)))
    return classes, codes, weights


def check_classes(name: str, classes: Array, mass: Array) -> None:
    """Raise ValueError for fewer than two classes with a positive weight."""
    if len(classes) < 2:
        raise ValueError(
            f"{name} needs samples of at least two classes, but y holds only one class: "
            f"{plain(classes[0])!r}."
        )
    empty = classes[mass == 0.0].tolist()
    if len(classes) - len(empty) < 2:
        raise ValueError(
            "sample_weight is zero for every sample of all but one class; the classes "
            f"without weight are {empty!r}."
        )


def is_multiclass(multi_class: str, n_classes: int, solver: Any) -> bool:
    """Return whether a fit is to be one problem for all classes.

    Two classes are one binary problem whatever `multi_class` says. "auto" means "joint", except
    for solvers that only know binary problems; "crammer_singer", the name that
    scikit-learn's LinearSVC has for it, is "joint".
    """
    if n_classes == 2 or multi_class == "ovr":
        return False
    able = named(solver).several_classes
    if multi_class != "auto" and not able:
        raise ValueError(
            f"multi_class={multi_class!r} needs solver='newton', got solver={solver!r}; use that "
            "solver, or multi_class='ovr' for one binary problem per class."
        )
    return able
