"""What an audit is given: labels of any type, samples as numbers without gaps."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, column_or_1d

from htsvm._typing import Array
from htsvm.audit.checks import Finding, column_findings, without_labels
from htsvm.audit.columns import HUGE, columns_of
from htsvm.audit.trust import UNSEEN

# More different labels than this look like an identifier.
MOST_CLASSES = 1000
# A column this much wider than the median one would drown the others.
WIDE = 10.0


def classes_of(y: Any, name: str = "y") -> tuple[Array, Array]:
    """Return the classes and the labels as numbers; refuse what is no classes."""
    values = np.asarray(y)
    if values.ndim == 2 and values.shape[1] != 1:
        raise ValueError(f"y must hold one label per sample, got the shape {values.shape}.")
    values = column_or_1d(values)
    if len(values) == 0:
        raise ValueError("y holds no labels.")
    missing = _missing(values)
    if missing.any():
        rows = np.flatnonzero(missing)
        text = f"y has {len(rows)} missing labels, the first in row {rows[0]}; leave them out."
        raise ValueError(text)
    if values.dtype.kind == "O":
        kinds = {type(value) for value in values}
        if len(kinds) > 1 and not all(issubclass(kind, (int, float, np.number)) for kind in kinds):
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            odd = next(i for i, v in enumerate(values) if type(v) is not type(values[0]))
            said = f"y mixes labels of the types {names}; row {odd} holds {values[odd]!r}."
            raise ValueError(f"{said} Convert them to one type, for instance with astype(str).")
    classes, codes = np.unique(values, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"{name} holds only one class, {classes.tolist()[0]!r}.")
    if len(classes) > min(MOST_CLASSES, len(values) / 2):
        raise ValueError(
            f"{name} has {len(classes)} different labels in {len(values)} rows: that looks like an "
            f"identifier or a measurement, not like classes. An audit needs two samples per class "
            f"on average, and at most {MOST_CLASSES} classes."
        )
    return classes, codes.ravel()


def _missing(values: Array) -> Array:
    if values.dtype.kind in "iubUS":
        return np.zeros(len(values), dtype=bool)
    return np.array([_is_missing(value) for value in values], dtype=bool)


def _is_missing(value: Any) -> bool:
    """Return whether a label is None, NaN, NaT, or pandas' NA, whose comparisons have no truth."""
    try:
        return value is None or bool(value != value)
    except TypeError:
        return True


def index_of(part: Any) -> Any:
    """Return the index of a data frame or series; None for all else."""
    index = getattr(part, "index", None)
    return None if index is None or callable(index) else index


def _views(X: Any) -> dict[str, Any]:
    """Return the views of X by the names that messages have for them."""
    if isinstance(X, (list, tuple)) and len(X) and (hasattr(X[0], "iloc") or np.ndim(X[0]) == 2):
        return {f"view {i + 1}": view for i, view in enumerate(X)}
    return dict(X) if isinstance(X, Mapping) else {"X": X}


def check_frames(X: Any, **others: Any) -> None:
    """Refuse data frames with two columns of a name, and rows that are in another order."""
    first = None
    for name, part in (*_views(X).items(), *others.items()):
        columns: Any = getattr(part, "columns", None)
        index = index_of(part)
        if getattr(columns, "has_duplicates", False):
            twice = columns[columns.duplicated()][0]
            raise ValueError(f"{name} has two columns named {twice!r}; give one another name.")
        if index is None:
            continue
        first = first or (name, index)
        if len(index) != len(first[1]) or index.equals(first[1]):
            continue
        pairs = list(zip(first[1].tolist(), index.tolist(), strict=True))
        row = next((i for i, (one, other) in enumerate(pairs) if repr(one) != repr(other)), 0)
        raise ValueError(
            f"{first[0]} and {name} have different indices: row {row} is {pairs[row][0]!r} in "
            f"{first[0]} and {pairs[row][1]!r} in {name}. Put them in one order, for instance with "
            f"{name}.loc[{first[0]}.index], or take the index off with reset_index(drop=True)."
        )


def per_sample(values: Any, n: int, name: str, what: str, kinds: str = "") -> Array:
    """Return values as an array, one for each of n samples."""
    found = np.asarray(values)
    if found.shape != (n,) or (kinds and found.dtype.kind not in kinds):
        raise ValueError(
            f"{name} must hold {what} for each of the {n} samples, got the type {found.dtype} and "
            f"the shape {found.shape}."
        )
    return found


def flags(trusted: Any, n: int) -> Array:
    """Return which labels are trusted."""
    if trusted is None:
        return np.zeros(n, dtype=bool)
    return per_sample(trusted, n, "trusted", "one truth value", "b")


def weights(sample_weight: Any, n: int) -> Array:
    """Return the weights with a mean of one."""
    if sample_weight is None:
        return np.ones(n)
    weights = per_sample(np.asarray(sample_weight, dtype=float), n, "sample_weight", "a number")
    if not np.all(np.isfinite(weights)) or np.any(weights < 0.0):
        raise ValueError("sample_weight must hold finite numbers, none of them negative.")
    if weights.sum() == 0.0:
        raise ValueError("sample_weight is zero for all samples.")
    return np.asarray(weights * (n / weights.sum()))


def codes_before(given: Any, codes: Array, classes: Array, trusted: Array) -> Array:
    """Return labels before a review as numbers: -1 for no class, `UNSEEN` where none is known."""
    if given is None:
        return np.full(len(codes), UNSEEN)
    values = per_sample(given, len(codes), "given", "a label")
    known = trusted & ~_missing(values) & (values.astype(str) != "")
    return np.where(known, codes_of(values, classes), UNSEEN)


def codes_of(values: Array, classes: Array) -> Array:
    """Return labels as numbers of classes, -1 for others."""
    known = {label: code for code, label in enumerate(classes.tolist())}
    return np.array([known.get(value, -1) for value in values.tolist()], dtype=int)


def group_numbers(groups: Any, n: int) -> Array | None:
    """Return groups as numbers."""
    if groups is None:
        return None
    values = per_sample(groups, n, "groups", "a value").astype(str)
    return np.asarray(np.unique(values, return_inverse=True)[1]).ravel()


def probabilities(pred_probs: Any, n: int, n_classes: int) -> Array:
    """Return probabilities, none of them zero, that sum to one."""
    found = np.asarray(pred_probs, dtype=float)
    if found.shape != (n, n_classes):
        need = f"a row per label and a column per class in sorted order, {n} x {n_classes}"
        raise ValueError(f"pred_probs must have {need}, got the shape {found.shape}.")
    if not np.all(np.isfinite(found)) or np.any(found < 0.0):
        raise ValueError("pred_probs must be finite and not negative.")
    found = np.maximum(found, 1e-9)
    return np.asarray(found / found.sum(axis=1, keepdims=True))


def samples(X: Any, labels: Array) -> tuple[Any, Any, list[Finding]]:
    """Return X and the samples as numbers, without columns that repeat the labels; and findings."""
    parts = _views(X)
    if not parts:
        raise ValueError("X is an empty mapping; it should hold one matrix per view.")
    if "X" not in parts or parts["X"] is not X:
        read = {name: _matrix(view, labels, f"{name}: ") for name, view in parts.items()}
        found = [finding for _, more in read.values() for finding in more]
        return X, {name: view for name, (view, _) in read.items()}, found
    if not (hasattr(X, "iloc") and hasattr(X, "columns")):
        return X, *_matrix(X, labels, "")
    if len(X) != len(labels):
        raise ValueError(f"X has {len(X)} rows, but y has {len(labels)} labels.")
    columns = columns_of(X.reset_index(drop=True), labels=labels)
    views = columns.views()
    if not views:
        said = " ".join(finding.text for finding in columns.findings)
        raise ValueError(f"X has no column to judge the labels by. {said}")
    plain = next(iter(views.values())) if len(views) == 1 else views
    return X.drop(columns=columns.repeated), plain, columns.findings


def _matrix(X: Any, labels: Array, prefix: str) -> tuple[Any, list[Finding]]:
    n = len(labels)
    try:
        matrix = check_array(
            X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False,
            input_name=f"{prefix}X",
        )  # fmt: skip
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        hint = "Give one pandas.DataFrame, whose texts, dates and categories are read."
        raise ValueError(f"{prefix}X holds what is no number ({error}). {hint}") from error
    if matrix.shape[0] != n:
        raise ValueError(f"{prefix}X has {matrix.shape[0]} rows, but y has {n} labels.")
    names = [f"{prefix}{name}" for name in getattr(X, "columns", [])]
    names = names or [f"{prefix}column {j}" for j in range(matrix.shape[1])]
    matrix, names, told = without_labels(matrix, names, labels)
    if sp.issparse(matrix):
        if not np.all(np.abs(matrix.data) <= HUGE):
            text = f"{prefix}X is sparse and has missing or infinite values; fill them first."
            raise ValueError(text)
        return matrix, told
    # The sum of a column shows cheaply whether it holds anything odd.
    with np.errstate(all="ignore"):
        odd = not np.all(np.abs(matrix.sum(axis=0)) < HUGE)
    large = np.abs(matrix) > HUGE if odd else np.zeros(1, dtype=bool)
    matrix = np.where(large, np.nan, matrix) if odd else matrix
    found = told + column_findings(matrix, names)
    if large.any():
        text = f"{prefix}X has {large.sum():,} infinite or too large values: they count as missing."
        found.append(Finding("note", prefix + "X", text))
    if np.isnan(matrix.sum()):
        middle = np.nanmedian(np.where(np.isnan(matrix).all(axis=0), 0.0, matrix), axis=0)
        matrix = np.where(np.isnan(matrix), middle, matrix)
    spread = np.array([column.std() for column in matrix.T])
    wide = spread[spread > 0.0]
    if len(wide) and wide.max() > WIDE * np.median(wide):
        matrix = matrix - matrix.mean(axis=0)
        matrix /= np.where(spread > 0.0, spread, 1.0)
        found.append(Finding("note", prefix + "X", "Columns were scaled to unit variance."))
    return matrix, found
