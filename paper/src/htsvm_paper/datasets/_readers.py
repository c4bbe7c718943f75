"""Readers: from the paths of files to a data set."""

from __future__ import annotations

import bz2
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from htsvm._typing import Array
from htsvm_paper.datasets.dataset import Dataset

SIGNS = {1: "+1", -1: "-1"}


def signs(positive: Array) -> Array:
    """Return +1 where `positive`, else -1."""
    return np.where(positive, 1, -1)


def narrow(X: Any) -> Any:
    """Return X as CSR with sorted 32-bit indices, which every solver accepts.

    Parameters
    ----------
    X : array-like or sparse matrix
        Any matrix.
    """
    X = sp.csr_matrix(X, dtype=np.float64)
    X.sum_duplicates()
    if max(X.nnz, *X.shape) > np.iinfo(np.int32).max:
        raise ValueError(f"X has {X.nnz} stored values, too many for 32-bit indices.")
    parts = (X.data, X.indices.astype(np.int32), X.indptr.astype(np.int32))
    return sp.csr_matrix(parts, shape=X.shape)


def libsvm(
    n_features: int, positive: float = 1.0, class_names: Mapping[int, str] = SIGNS
) -> Callable[..., Dataset]:
    """Return a reader of LIBSVM files: training data and, if there is one, the test part."""

    def read(name: str, *paths: Path) -> Dataset:
        parts: list[Any] = []
        for path in paths:
            X, y = load_svmlight_file(str(path), n_features=n_features)
            parts += [narrow(X), signs(y == positive)]
        X, y, *test = parts
        X_test, y_test = test or (None, None)
        return Dataset(name, X, y, X_test, y_test, class_names=class_names)

    return read


def table(
    label: int,
    classes: Mapping[str, int],
    *,
    separator: str | None = ",",
    header: int = 0,
    drop: tuple[int, ...] = (),
    values: Callable[[Array], Array] | None = None,
    names: Mapping[int, str] | None = None,
) -> Callable[..., Dataset]:
    """Return a reader of a text table.

    Parameters
    ----------
    label : int
        The column of the class.
    classes : Mapping of published class to label
        Rows of other classes are left out.
    separator : str or None
        Between columns; None is white space.
    header : int
        Lines to leave out at the top.
    drop : tuple of int
        Columns that are no features, counted before the label is taken out.
    values : callable, optional
        From the text columns to numbers; by default numbers, "?" as NaN.
    names : Mapping, optional
        What the labels mean; by default the published classes.
    """
    meaning: dict[int, list[str]] = {}
    for word, sign in classes.items():
        meaning.setdefault(sign, []).append(word)
    class_names = names or {sign: " or ".join(words) for sign, words in meaning.items()}

    def read(name: str, path: Path) -> Dataset:
        content = path.read_bytes()
        if path.suffix == ".bz2":
            content = bz2.decompress(content)
        lines = content.decode("utf-8").splitlines()[header:]
        rows = np.array([line.split(separator) for line in lines if line.strip()])
        column = label % rows.shape[1]
        kept = rows[np.isin(rows[:, column], list(classes))]
        y = np.array([classes[word] for word in kept[:, column]])
        features = np.delete(kept, [column, *drop], axis=1)
        return Dataset(name, (values or numbers)(features), y, class_names=class_names)

    return read


def numbers(columns: Array) -> Array:
    """Return text as numbers, "?" as NaN."""
    return np.where(columns == "?", "nan", columns).astype(np.float64)


def coded(codes: Mapping[str, float]) -> Callable[[Array], Array]:
    """Return a function that replaces words by numbers."""

    def values(columns: Array) -> Array:
        words, places = np.unique(columns, return_inverse=True)
        return np.array([codes[word] for word in words])[places].reshape(columns.shape)

    return values


def one_hot(columns: Array) -> Array:
    """Return a 0/1 column for each value of each column, in alphabetical order; "?" is a value."""
    return np.hstack([(c[:, None] == np.unique(c)).astype(np.float64) for c in columns.T])


def complete_rows(read: Callable[..., Dataset]) -> Callable[..., Dataset]:
    """Return a reader that leaves out rows with missing values."""

    def reduced(name: str, *paths: Path) -> Dataset:
        data = read(name, *paths)
        kept = ~np.isnan(data.X).any(axis=1)
        return Dataset(name, data.X[kept], data.y[kept], class_names=data.class_names)

    return reduced


def mat_views(name: str, path: Path) -> Dataset:
    """Read a .mat file: a cell X of views and a vector y of classes; or its packed form."""
    if path.suffix == ".npz":
        views, y = _packed_views(path)
    else:
        content = scipy.io.loadmat(path)
        views = [_dense(view) for view in content["X"].ravel()]
        y = content["y"].ravel().astype(int)
    return Dataset(
        name,
        np.hstack(views),
        y,
        view_widths=tuple(view.shape[1] for view in views),
        class_names={int(label): str(label) for label in np.unique(y)},
    )


def _packed_views(path: Path) -> tuple[list[Array], Array]:
    """Read views that are stored as whole numbers with this many digits after the point."""
    with np.load(path) as content:
        views: list[Array] = []
        while f"view{len(views)}" in content.files:
            number = len(views)
            views.append(content[f"view{number}"] / 10.0 ** int(content[f"digits{number}"]))
        return views, content["y"].astype(int)


def mat_signs(name: str, path: Path) -> Dataset:
    """Read a .mat file: a sparse matrix X and a vector y of signs."""
    content = scipy.io.loadmat(path)
    return Dataset(name, narrow(content["X"]), signs(content["y"].ravel() > 0), class_names=SIGNS)


def stl10(name: str, path: Path) -> Dataset:
    """Read the HOG and LBP columns of STL-10."""
    with np.load(path) as content:
        views = [_dense(content["hog"]), _dense(content["lbp"])]
        y = content["y"].astype(int)
        words = content["class_names"]
    class_names = {int(label): str(words[label - 1]) for label in np.unique(y)}
    return Dataset(name, np.hstack(views), y, view_widths=_widths(views), class_names=class_names)


def cifar10n(name: str, path: Path) -> Dataset:
    """Read the HOG and LBP columns of CIFAR-10 with clean and human labels."""
    with np.load(path) as content:
        views = [_dense(content["hog"]), _dense(content["lbp"])]
        X_test = np.hstack([_dense(content["hog_test"]), _dense(content["lbp_test"])])
        others = {
            key.removeprefix("y_"): content[key].astype(int)
            for key in content.files
            if key.startswith("y_") and key not in ("y_clean", "y_test")
        }
        return Dataset(
            name,
            np.hstack(views),
            content["y_clean"].astype(int),
            X_test,
            content["y_test"].astype(int),
            view_widths=_widths(views),
            class_names={i: str(word) for i, word in enumerate(content["class_names"])},
            other_labels=others,
        )


def _dense(view: Any) -> Array:
    array = view.toarray() if sp.issparse(view) else np.asarray(view)
    converted: Array = array.astype(np.float64)
    return converted


def _widths(views: list[Array]) -> tuple[int, ...]:
    return tuple(view.shape[1] for view in views)
