"""Which labels are wrong: `audit_labels`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.utils import check_array, column_or_1d

from htsvm._seeds import seed_of
from htsvm._typing import Array
from htsvm.audit.calibration import calibrate, doubt
from htsvm.audit.checks import Finding, class_findings, column_findings, duplicates, outliers
from htsvm.audit.columns import HUGE, columns_of
from htsvm.audit.result import LabelAudit
from htsvm.audit.scoring import (
    Scores,
    class_scores,
    kernel_scores,
    model_scores,
    rated,
    violation,
)

# More different labels than this look like an identifier or a number, and are refused.
MOST_CLASSES = 1000
# A column this much wider than the median one would drown the others.
WIDE = 10.0


def audit_labels(
    X: Any,
    y: Any,
    *,
    model: Any = None,
    sample_weight: Any = None,
    trusted: Any = None,
    cv: int = 5,
    random_state: Any = None,
    progress: Callable[[str], None] | None = None,
) -> LabelAudit:
    """Estimate which labels are wrong, how many, and what they should be.

    Parameters
    ----------
    X : {array-like, sparse matrix, DataFrame, Dask collection}, or a mapping or list of those
        Samples of shape (n_samples, n_features). Several matrices are several views of the same
        samples. Missing values (NaN) are filled with medians. Columns are scaled to unit variance
        where one is ten times as wide as the median one. A data frame may also have columns of
        dates, categories and texts, which are read as on the command line. Where several of X, y,
        `trusted` and `sample_weight` have an index, it must be the same.
    y : array-like of shape (n_samples,)
        Labels as given, of any type. A Series lends its index to the result.
    model : classifier, optional
        Any classifier with `decision_function` or `predict_proba`, ours or not; it is fitted in
        folds, to a data frame as it is given. Dask collections are scored by one fit (of
        ``HTSVC(C=0.1, cap=2)`` by default) to all rows. None is kernel least squares with
        leave-one-out scores, fitted once to the labels and once to what a model of the noise makes
        of them: quicker, and better at it.
    sample_weight : array-like of shape (n_samples,), optional
        How much each sample counts, in fits and in shares.
    trusted : array-like of bool of shape (n_samples,), optional
        Labels that have been reviewed. They are never suspected, and others are judged by them.
    cv : int, default=5
        Folds for `model`.
    random_state : int, RandomState or None, default=None
        Drives landmarks and folds. None always takes the same seed.
    progress : callable, optional
        Called with a few words before each step.

    Returns
    -------
    LabelAudit
        A trust and a suggestion per label, the noise matrix, and what else was found.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from htsvm.audit import audit_labels
    >>> X, y = load_iris(return_X_y=True)
    >>> y[:5] = 2
    >>> audit = audit_labels(X, y)
    >>> sorted(audit.issues().index[:5])
    [0, 1, 2, 3, 4]
    """
    say = progress or (lambda text: None)
    if hasattr(X, "to_pandas"):
        X = X.to_pandas()
    index = _index_of(y)
    _check_frames(X, y=y, trusted=trusted, sample_weight=sample_weight)
    classes, codes = _labels(y)
    n = len(codes)
    known = _flags(trusted, n)
    weights = _weights(sample_weight, n)
    findings = class_findings(classes, codes)
    if _is_dask(X):
        scores = _dask_scores(model, X, y, classes, codes, weights, known, say)
        plain = None
        findings.append(
            Finding("note", "X", "Duplicates, outliers and neighbours are not looked for on Dask.")
        )
    else:
        plain, more = _samples(X, n)
        findings += more
        scores = _scores(
            model, X, plain, codes, len(classes), weights, known, cv, seed_of(random_state), say
        )
    say("calibration")
    own = np.ones(n) if weights is None else weights
    doubts = doubt(scores, codes, own, known)
    trust = calibrate(scores.suspicion, doubts, own)
    if known is not None:
        trust[known] = 1.0
    say("duplicates and outliers")
    return LabelAudit(
        classes=classes,
        codes=codes,
        trust=trust,
        suggested=scores.final.argmax(axis=1),
        margin=violation(scores.final, codes),
        ignored=scores.ignored,
        fits=scores.fits,
        duplicate=np.full(n, -1) if plain is None else duplicates(plain, codes),
        outlier=outliers(scores.isolation, n),
        trusted=np.zeros(n, dtype=bool) if known is None else known,
        weights=own,
        doubt=doubts,
        noise=scores.noise,
        scores=scores.first,
        index=np.arange(n) if index is None else np.asarray(index),
        findings=tuple(findings),
        about=scores.about,
        samples=plain,
    )


def _scores(
    model: Any, X: Any, plain: Any, codes: Array, n_classes: int, weights: Array | None,
    known: Array | None, cv: int, seed: int, say: Callable[[str], None],
) -> Scores:  # fmt: skip
    if model is None:
        own = np.ones(len(codes)) if weights is None else weights
        return kernel_scores(plain, codes, n_classes, own, known, seed, say)
    scored = hasattr(model, "decision_function") or hasattr(model, "predict_proba")
    if not (hasattr(model, "fit") and scored):
        raise TypeError(
            f"model must be a classifier with decision_function or predict_proba, got {model!r}."
        )
    if isinstance(cv, bool) or not isinstance(cv, int) or cv < 2:
        raise ValueError(f"cv must be a number of folds, at least 2, got {cv!r}.")
    # Data frames and mappings go to the model as they are: its pipeline may want them.
    given = X if hasattr(X, "iloc") or isinstance(X, Mapping) else plain
    return model_scores(model, given, codes, n_classes, weights, known, cv, seed, say)


def _dask_scores(
    model: Any, X: Any, y: Any, classes: Array, codes: Array, weights: Array | None,
    known: Array | None, say: Callable[[str], None],
) -> Scores:  # fmt: skip
    from htsvm.svm import HTSVC

    say("one fit on the workers")
    fitted = HTSVC(C=0.1, cap=2.0) if model is None else model
    fitted = fitted.fit(X, y) if weights is None else fitted.fit(X, y, sample_weight=weights)

    def computed(part: Any) -> Array:
        return np.asarray(part.compute() if hasattr(part, "compute") else part)

    held = SimpleNamespace(decision_function=lambda X: computed(fitted.decision_function(X)))
    found = class_scores(held, X, len(classes))
    ignored = np.zeros(len(codes), dtype=int)
    ignored[computed(getattr(fitted, "ignored_", [])).astype(int)] = 1
    return rated(found, codes, weights, known, ignored, 1, f"{type(fitted).__name__} on Dask")


# ----------------------------------------------------------------------------------- input


def _is_dask(X: Any) -> bool:
    return type(X).__module__.split(".")[0] in ("dask", "dask_expr") and hasattr(X, "compute")


def _labels(y: Any) -> tuple[Array, Array]:
    """Return the classes and the labels as numbers."""
    values = np.asarray(y.compute() if _is_dask(y) else y)
    if values.ndim == 2 and values.shape[1] != 1:
        raise ValueError(f"y must hold one label per sample, got the shape {values.shape}.")
    values = column_or_1d(values)
    if len(values) == 0:
        raise ValueError("y holds no labels.")
    missing = _missing(values)
    if missing.any():
        rows = np.flatnonzero(missing)
        raise ValueError(
            f"y has {len(rows)} missing labels, the first in row {rows[0]}; leave these rows out."
        )
    if values.dtype.kind == "O":
        kinds = {type(value) for value in values}
        if len(kinds) > 1 and not all(issubclass(kind, (int, float, np.number)) for kind in kinds):
            names = ", ".join(sorted(kind.__name__ for kind in kinds))
            odd = next(i for i, v in enumerate(values) if type(v) is not type(values[0]))
            raise ValueError(
                f"y mixes labels of the types {names}; row {odd} holds {values[odd]!r}. Convert "
                "them to one type, for instance with astype(str)."
            )
    classes, codes = np.unique(values, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(
            f"y holds only one class, {classes.tolist()[0]!r}; an audit compares classes."
        )
    if len(classes) > MOST_CLASSES:
        raise ValueError(
            f"y has {len(classes)} different labels, more than {MOST_CLASSES}: that looks like an "
            "identifier or a measurement, not like classes. Check the label column, or group them."
        )
    if len(values) < 2 * len(classes):
        raise ValueError(
            f"y has {len(classes)} classes for {len(values)} samples; an audit needs at least two "
            "samples per class on average."
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


def _index_of(part: Any) -> Any:
    """Return the index of a data frame or series; None for all else."""
    index = getattr(part, "index", None)
    return None if index is None or callable(index) or _is_dask(part) else index


def _views(X: Any) -> dict[str, Any]:
    """Return the views of X by the names that messages have for them."""
    if isinstance(X, (list, tuple)) and len(X) and (hasattr(X[0], "iloc") or np.ndim(X[0]) == 2):
        return {f"view {i + 1}": view for i, view in enumerate(X)}
    return dict(X) if isinstance(X, Mapping) else {"X": X}


def _check_frames(X: Any, **others: Any) -> None:
    """Refuse data frames with two columns of a name, and rows that are in another order."""
    first = None
    for name, part in (*_views(X).items(), *others.items()):
        columns: Any = getattr(part, "columns", None)
        index = _index_of(part)
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


def _flags(trusted: Any, n: int) -> Array | None:
    if trusted is None:
        return None
    flags = np.asarray(trusted)
    if flags.shape != (n,) or flags.dtype.kind != "b":
        raise ValueError(
            f"trusted must hold one truth value for each of the {n} samples, got the type "
            f"{flags.dtype} and the shape {flags.shape}."
        )
    return flags if flags.any() else None


def _weights(sample_weight: Any, n: int) -> Array | None:
    """Return the weights with a mean of one."""
    if sample_weight is None:
        return None
    weights = np.asarray(sample_weight, dtype=float)
    if weights.shape != (n,) or not np.all(np.isfinite(weights)) or np.any(weights < 0.0):
        raise ValueError(
            f"sample_weight must hold {n} finite numbers, none of them negative, got the shape "
            f"{weights.shape}."
        )
    if weights.sum() == 0.0:
        raise ValueError("sample_weight is zero for all samples.")
    scaled: Array = weights * (n / weights.sum())
    return scaled


def _samples(X: Any, n: int) -> tuple[Any, list[Finding]]:
    """Return the samples as numbers without gaps, views as a mapping, and what was found."""
    parts = _views(X)
    if not parts:
        raise ValueError("X is an empty mapping; it should hold one matrix per view.")
    if "X" not in parts or parts["X"] is not X:
        found, views = [], {}
        for name, view in parts.items():
            views[name], more = _matrix(view, n, f"{name}: ")
            found += more
        return views, found
    if _needs_reading(X):
        columns = columns_of(X.reset_index(drop=True))
        views = columns.views()
        if not views:
            said = " ".join(finding.text for finding in columns.findings)
            raise ValueError(f"X has no column to judge the labels by. {said}")
        if len(X) != n:
            raise ValueError(f"X has {len(X)} rows, but y has {n} labels.")
        return (next(iter(views.values())) if len(views) == 1 else views), columns.findings
    return _matrix(X, n, "")


def _needs_reading(X: Any) -> bool:
    """Return whether a data frame has columns of other things than numbers."""
    if not hasattr(X, "iloc") or not hasattr(X, "columns"):
        return False
    return any(getattr(kind, "kind", "O") not in "biuf" for kind in X.dtypes)


def _matrix(X: Any, n: int, prefix: str) -> tuple[Any, list[Finding]]:
    names = [f"{prefix}{name}" for name in getattr(X, "columns", [])]
    try:
        matrix = check_array(
            X, accept_sparse="csr", dtype=[np.float64, np.float32], ensure_all_finite=False,
            input_name=f"{prefix}X",
        )  # fmt: skip
    except ValueError as error:
        if "could not convert" not in str(error):
            raise
        raise ValueError(
            f"{prefix}X holds what is no number ({error}). Give one pandas.DataFrame, whose "
            "columns of texts, dates and categories are read."
        ) from error
    if matrix.shape[0] != n:
        raise ValueError(f"{prefix}X has {matrix.shape[0]} rows, but y has {n} labels.")
    stored = matrix.data if sp.issparse(matrix) else matrix
    endless = np.abs(stored) > HUGE
    if sp.issparse(matrix):
        if endless.any() or np.isnan(stored).any():
            raise ValueError(
                f"{prefix}X is sparse and has missing or infinite values; fill them first."
            )
        return matrix, []
    if endless.any():
        matrix = np.where(endless, np.nan, matrix)
    found = column_findings(
        matrix, names or [f"{prefix}column {j}" for j in range(matrix.shape[1])]
    )
    if endless.any():
        text = (
            f"{prefix}X has {endless.sum():,} infinite or too large values, which count as missing."
        )
        found.append(Finding("note", prefix + "X", text))
    if np.isnan(matrix).any():
        middle = np.nanmedian(np.where(np.isnan(matrix).all(axis=0), 0.0, matrix), axis=0)
        matrix = np.where(np.isnan(matrix), middle, matrix)
    spread = matrix.std(axis=0)
    wide = spread[spread > 0.0]
    if len(wide) and wide.max() > WIDE * np.median(wide):
        matrix = (matrix - matrix.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
        found.append(Finding("note", prefix + "X", "Columns were scaled to unit variance."))
    return matrix, found
