"""Readers: from the paths of files to a data set."""

import bz2
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp
from sklearn.datasets import load_svmlight_file

from htsvm_paper._typing import Array
from htsvm_paper.datasets.dataset import Dataset

SIGNS = ("+1", "-1")


def signs(positive: Array) -> Array:
    """Return +1 where `positive`, else -1."""
    return np.where(positive, 1, -1)


def _named(names: Sequence[str]) -> dict[int, str]:
    return dict(zip((1, -1), names, strict=True))


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
    *, features: int, positive: float = 1.0, names: Sequence[str] = SIGNS
) -> Callable[..., Dataset]:
    """Return a reader of LIBSVM files: training data and, if there is one, the test part."""

    def read(name: str, *paths: Path) -> Dataset:
        parts: list[Any] = []
        for path in paths:
            X, y = load_svmlight_file(str(path), n_features=features)
            parts += [narrow(X), signs(y == positive)]
        X, y, *test = parts
        X_test, y_test = test or (None, None)
        return Dataset(name, X, y, X_test, y_test, class_names=_named(names))

    return read


def table(
    *, label: int, classes: Sequence[Sequence[str]], names: Sequence[str] = (),
    separator: str = ",", header: int = 0, drop: Sequence[int] = (),
    codes: Mapping[str, float] | None = None, one_hot: bool = False, complete: bool = False,
) -> Callable[..., Dataset]:  # fmt: skip
    """Return a reader of a text table.

    `label` is the column of the class, `classes` the published classes that become +1 and those
    that become -1 (rows of others are left out), and `names` what these mean. An empty `separator`
    is white space; `header` counts lines to leave out at the top; `drop` names columns that are no
    features, counted before the label is taken out. `codes` are numbers for the words of a table;
    by default it holds numbers, "?" as NaN. With `one_hot` each value of each column becomes a 0/1
    column, in alphabetical order, also "?". With `complete` rows with missing values are left out.
    """
    signed = {word: sign for sign, words in zip((1, -1), classes, strict=True) for word in words}
    class_names = _named(names or [" or ".join(words) for words in classes])

    def read(name: str, path: Path) -> Dataset:
        content = path.read_bytes()
        if path.suffix == ".bz2":
            content = bz2.decompress(content)
        lines = content.decode("utf-8").splitlines()[header:]
        rows = np.array([line.split(separator or None) for line in lines if line.strip()])
        column = label % rows.shape[1]
        kept = rows[np.isin(rows[:, column], list(signed))]
        y = np.array([signed[word] for word in kept[:, column]])
        words = np.delete(kept, [column, *drop], axis=1)
        if one_hot:
            X = np.hstack([(c[:, None] == np.unique(c)).astype(np.float64) for c in words.T])
        elif codes:
            X = np.vectorize(codes.__getitem__, otypes=[np.float64])(words)
        else:
            X = np.where(words == "?", "nan", words).astype(np.float64)
        there = ~np.isnan(X).any(axis=1) | (not complete)
        return Dataset(name, X[there], y[there], class_names=class_names)

    return read


def mat_views(name: str, path: Path) -> Dataset:
    """Read a .mat file: a cell X of views and a vector y of classes; or its packed form."""
    if path.suffix == ".npz":
        views, y = _packed_views(path)
    else:
        content = scipy.io.loadmat(path)
        views = [_dense(view) for view in content["X"].ravel()]
        y = content["y"].ravel().astype(int)
    class_names = {int(label): str(label) for label in np.unique(y)}
    return Dataset(name, np.hstack(views), y, view_widths=_widths(views), class_names=class_names)


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
    return Dataset(
        name, narrow(content["X"]), signs(content["y"].ravel() > 0), class_names=_named(SIGNS)
    )


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
            name, np.hstack(views), content["y_clean"].astype(int), X_test,
            content["y_test"].astype(int), view_widths=_widths(views),
            class_names={i: str(word) for i, word in enumerate(content["class_names"])},
            other_labels=others,
        )  # fmt: skip


def _dense(view: Any) -> Array:
    array = view.toarray() if sp.issparse(view) else np.asarray(view)
    converted: Array = array.astype(np.float64)
    return converted


def _widths(views: list[Array]) -> tuple[int, ...]:
    return tuple(view.shape[1] for view in views)


def _as_it_is(read: Callable[..., Dataset]) -> Callable[[], Callable[..., Dataset]]:
    return lambda: read


# What makes a reader of the options of a set.
READERS: dict[str, Callable[..., Callable[..., Dataset]]] = {
    "libsvm": libsvm, "table": table,
    **{read.__name__: _as_it_is(read) for read in (mat_views, mat_signs, stl10, cifar10n)},
}  # fmt: skip
