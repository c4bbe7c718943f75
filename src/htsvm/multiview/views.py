"""What a view is: one of several descriptions of the same samples.

A view is a named set of columns. Two forms of data say the same thing:

- one two-dimensional X and `views`, the columns of each view: what scikit-learn's tools can split,
  shuffle and search over;
- a list of matrices, or a dict of them by name, with one row per sample in each: what one has
  before stacking. Such views keep their own kind, sparse or dense, float32 or float64.

`stack_views` leads from the second form to the first.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp

from htsvm._sklearn import get_feature_names
from htsvm._typing import Array

# A sparse matrix takes this many bytes for the place of a stored value, beside the value.
INDEX_BYTES = 4


@dataclass(frozen=True)
class columns_starting_with:
    """Select the columns of a data frame whose names start with `prefix`.

    For views whose widths are only known after a transformer has been fitted: let it put out data
    frames (``set_output(transform="pandas")``), and select by the prefix that it gives its columns.

    Parameters
    ----------
    prefix : str
        How the names start.
    """

    prefix: str

    def __call__(self, X: Any) -> list[str]:
        """Return the names of the columns of `X` that start with the prefix."""
        names = get_feature_names(X)
        if names is None:
            raise ValueError(
                f"views selects the columns starting with {self.prefix!r}, but X has no column "
                "names; let the transformer before it put out data frames, "
                "set_output(transform='pandas'), or, where it puts out sparse matrices, wrap it: "
                "make_pipeline(ColumnViews(transformer), classifier)."
            )
        return [name for name in names if name.startswith(self.prefix)]


def is_view_collection(X: Any) -> bool:
    """Return whether X is a list, tuple or dict of matrices instead of one matrix.

    A list of rows is one matrix, as everywhere in scikit-learn.
    """
    if isinstance(X, Mapping):
        # Sparse matrices in DOK format are mappings too.
        return not hasattr(X, "shape")
    if not isinstance(X, (list, tuple)) or not X:
        return False
    first: Any = next((part for part in X if part is not None), None)
    if first is None:
        return True
    if hasattr(first, "shape"):
        return len(first.shape) == 2
    return isinstance(first, (list, tuple)) and bool(first) and isinstance(first[0], (list, tuple))


def named_parts(X: Any) -> dict[Hashable, Any]:
    """Return the matrices of a collection by name; those of a list are called 0, 1, ..."""
    return dict(X) if isinstance(X, Mapping) else dict(enumerate(X))


def stack_views(X: Any) -> tuple[Any, Any]:
    """Put views side by side, so that cross-validation and grid searches can split them.

    Parameters
    ----------
    X : list or dict of {array-like, sparse matrix} of shape (n_samples, n_columns)
        The views.

    Returns
    -------
    X : ndarray or CSR matrix of shape (n_samples, n_features)
        All columns. CSR if any view is sparse: an estimator then takes the dense ones out as dense
        arrays again, since they are smaller that way.
    views : list or dict of int
        The widths, to be given to an estimator as `views`.

    Examples
    --------
    >>> import numpy as np
    >>> from htsvm.multiview import stack_views
    >>> X, views = stack_views({"shape": np.ones((5, 2)), "colour": np.zeros((5, 3))})
    >>> X.shape, views
    ((5, 5), {'shape': 2, 'colour': 3})
    """
    if not is_view_collection(X):
        raise TypeError(
            f"stack_views takes a list or a dict of matrices, got {type(X).__name__}; one matrix "
            "needs no stacking."
        )
    check_same_index(named_parts(X))
    parts = {
        name: part if sp.issparse(part) else np.asarray(part)
        for name, part in named_parts(X).items()
    }
    for name, part in parts.items():
        if part.ndim != 2:
            raise ValueError(
                f"view {name!r} must have two dimensions, got the shape {part.shape}; reshape a "
                "single column with reshape(-1, 1)."
            )
    check_same_rows(parts)
    widths = {name: int(part.shape[1]) for name, part in parts.items()}
    some_sparse = any(sp.issparse(part) for part in parts.values())
    blocks = list(parts.values())
    stacked = sp.hstack(blocks, format="csr") if some_sparse else np.hstack(blocks)
    return stacked, widths if isinstance(X, Mapping) else list(widths.values())


def check_same_rows(parts: Mapping[Hashable, Any]) -> None:
    """Raise an error unless all matrices have the same number of rows."""
    rows = {name: part.shape[0] for name, part in parts.items()}
    if len(set(rows.values())) > 1:
        raise ValueError(
            f"the views must describe the same samples, row by row, but their numbers of rows "
            f"differ: {rows}."
        )


def check_same_index(parts: Mapping[Hashable, Any]) -> None:
    """Raise an error where data frames name their rows differently, or order them differently."""
    named = {
        name: part.index
        for name, part in parts.items()
        if hasattr(part, "index") and hasattr(part, "columns")
    }
    first = next(iter(named), None)
    for name, index in named.items():
        if not index.equals(named[first]):
            raise ValueError(
                f"the views {first!r} and {name!r} are data frames whose indices differ: rows of "
                "the same sample would not stand side by side. Align them with .loc or .reindex, "
                "or reset_index(drop=True) if the order is the same."
            )


def views_from_column_transformer(transformer: Any) -> dict[Hashable, Any]:
    """Return the views that the parts of a ColumnTransformer put out.

    Parameters
    ----------
    transformer : ColumnTransformer
        If it is fitted, its views are slices. If not, as before `Pipeline.fit`, they are selected
        by the names of its output, which therefore must be data frames
        (``transformer.set_output(transform="pandas")``) with ``verbose_feature_names_out=True``.
        Where a part puts out a sparse matrix, as text does, use `ColumnViews` instead.

    Returns
    -------
    dict
        Slices or selectors by the names of the parts, without parts that put out no column. To be
        given to an estimator as `views`.
    """
    if hasattr(transformer, "output_indices_"):
        return {
            name: place
            for name, place in transformer.output_indices_.items()
            if place.stop > place.start
        }
    if not hasattr(transformer, "transformers"):
        raise TypeError(
            f"transformer must be a ColumnTransformer, got {type(transformer).__name__}."
        )
    if transformer.verbose_feature_names_out is not True:
        raise ValueError(
            "transformer is not fitted, so its views can only be told apart by their names: set "
            "verbose_feature_names_out=True, or fit it first."
        )
    kept = [name for name, part, _ in transformer.transformers if part != "drop"]
    if transformer.remainder != "drop":
        kept.append("remainder")
    return {name: columns_starting_with(f"{name}__") for name in kept}


# ---------------------------------------------------------------------------------- resolving


def resolve_views(views: Any, X: Any) -> dict[Hashable, Array]:
    """Return the columns of the views that the argument `views` describes, by name.

    Parameters
    ----------
    views : None, list or dict
        Column sets (slices, indices, masks, column names, callables such as
        `make_column_selector`) or widths. None is one view of all columns.
    X : {array, sparse matrix, data frame} of shape (n_samples, n_features)
        The data as the user gave them; callables are called with it.

    Returns
    -------
    dict of ndarrays of intp
        In the order given, by the keys of a dict or by position, the columns of each in the order
        of the view. Views may share columns, and a column may be in none of them.
    """
    n = int(X.shape[1])
    if views is None:
        return {0: np.arange(n)}
    if isinstance(views, (str, bytes)) or not isinstance(views, (Mapping, Sequence, np.ndarray)):
        raise ValueError(
            f"views must be None, or a list or dict of column sets or of widths, got {views!r}."
        )
    named = named_parts(views)
    if not named:
        raise ValueError("views is empty; leave it None for one view of all columns.")
    widths = [_is_width(spec) for spec in named.values()]
    if all(widths):
        return _from_widths(named, n)
    if any(widths):
        raise ValueError(
            f"views mixes widths (whole numbers) with column sets: {views!r}; write a single "
            "column as a list, for example [3]."
        )
    names = get_feature_names(X)
    return {name: _columns(name, spec, X, names) for name, spec in named.items()}


def _is_width(spec: Any) -> bool:
    return isinstance(spec, Integral) and not isinstance(spec, (bool, np.bool_))


def _from_widths(widths: dict[Hashable, Any], n: int) -> dict[Hashable, Array]:
    for name, width in widths.items():
        if width < 1:
            raise ValueError(f"views[{name!r}] is a width and must be at least 1, got {width!r}.")
    total = sum(widths.values())
    if total != n:
        raise ValueError(
            f"views are widths that add up to {total}, but X has {n} columns: "
            f"{list(widths.values())!r}."
        )
    edges = pairwise(np.cumsum([0, *widths.values()]))
    return {name: np.arange(*ends) for name, ends in zip(widths, edges, strict=True)}


def _columns(name: Hashable, spec: Any, X: Any, names: Array | None) -> Array:
    """Return the column indices of one view."""
    n = int(X.shape[1])
    if callable(spec):
        spec = spec(X)
    if isinstance(spec, slice):
        columns = np.arange(n)[_positions(name, spec, n, names)]
    else:
        columns = _listed(name, [spec] if isinstance(spec, str) else spec, n, names)
    if len(columns) == 0:
        raise ValueError(f"views[{name!r}] selects no column of the {n} columns of X: {spec!r}.")
    if len(np.unique(columns)) < len(columns):
        raise ValueError(f"views[{name!r}] names a column of X twice: {spec!r}.")
    return columns


def _positions(name: Hashable, spec: slice, n: int, names: Array | None) -> slice:
    """Return a slice of positions; names in a slice include the last, as in pandas."""
    start, stop = spec.start, spec.stop
    if isinstance(start, str):
        start = int(_by_name(name, [start], names)[0])
    if isinstance(stop, str):
        stop = int(_by_name(name, [stop], names)[0]) + 1
    if stop is not None and stop > n:
        raise ValueError(
            f"views[{name!r}] ends with column {stop}, but X has {n} columns. If a transformer in "
            "a pipeline makes them, their number may change with the data: see ColumnViews."
        )
    return slice(start, stop, spec.step)


def _listed(name: Hashable, spec: Any, n: int, names: Array | None) -> Array:
    """Return the column indices for a mask, a list of indices or a list of names."""
    listed = np.asarray(spec)
    if listed.ndim != 1:
        raise ValueError(
            f"views[{name!r}] must be a slice, a list of columns, a mask or a callable that "
            f"returns one of these, got {spec!r}."
        )
    if listed.dtype == bool:
        if len(listed) != n:
            raise ValueError(
                f"views[{name!r}] is a mask of length {len(listed)}, but X has {n} columns."
            )
        return np.flatnonzero(listed)
    if len(listed) == 0:
        return np.empty(0, dtype=np.intp)
    if listed.dtype.kind in "iu":
        wrong = listed[(listed < -n) | (listed >= n)]
        if len(wrong):
            raise ValueError(
                f"views[{name!r}] names the columns {wrong.tolist()!r}, but X has {n} columns."
            )
        return np.where(listed < 0, listed + n, listed).astype(np.intp)
    return _by_name(name, listed.tolist(), names)


def _by_name(name: Hashable, wanted: list[Any], names: Array | None) -> Array:
    """Return the positions of named columns."""
    if not all(isinstance(one, str) for one in wanted):
        raise ValueError(
            f"views[{name!r}] must hold column positions, names or truth values, got {wanted!r}."
        )
    if names is None:
        raise ValueError(
            f"views[{name!r}] gives column names, but X has none; pass a data frame, or give "
            "positions."
        )
    places = {column: place for place, column in enumerate(names)}
    missing = [column for column in wanted if column not in places]
    if missing:
        raise ValueError(f"views[{name!r}] names columns that X does not have: {missing!r}.")
    return np.array([places[column] for column in wanted], dtype=np.intp)


# ---------------------------------------------------------------------------------- splitting


def split_views(X: Any, columns: Sequence[Array]) -> list[Any]:
    """Return one matrix per view, C-ordered or CSR, from one with the columns of all.

    A view of a sparse X that would be smaller as a dense array comes out as one.
    """
    parts = [take_columns(X, of_view) for of_view in columns]
    return [part.toarray() if _smaller_dense(part, X) else part for part in parts]


def _smaller_dense(part: Any, X: Any) -> bool:
    """Return whether a sparse view is smaller as an array; what is all of X stays sparse."""
    if not sp.issparse(part) or part.shape[1] == X.shape[1]:
        return False
    size = int(part.dtype.itemsize)
    return bool(part.nnz * (size + INDEX_BYTES) >= part.shape[0] * part.shape[1] * size)


def take_columns(X: Any, columns: Array) -> Any:
    """Return some columns of X as a C-ordered array or CSR matrix; X itself where it is all."""
    whole = len(columns) == X.shape[1] and np.array_equal(columns, np.arange(X.shape[1]))
    part = X if whole else X[:, _contiguous(columns)]
    return part.tocsr() if sp.issparse(part) else np.ascontiguousarray(part)


def _contiguous(columns: Array) -> Any:
    """Return a slice where the columns are neighbours in order: that is quicker."""
    low, high = int(columns[0]), int(columns[-1])
    if high - low + 1 == len(columns) and np.all(np.diff(columns) == 1):
        return slice(low, high + 1)
    return columns
