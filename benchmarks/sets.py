"""The data: sets read from the data folder and sets generated here, each with a test part."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler, normalize

from htsvm.datasets import flip_labels
from htsvm_paper import datasets
from htsvm_paper.datasets import narrow

DEFAULT_FOLDER = Path(__file__).resolve().parents[2] / "shared" / "data"
TEST_SHARE = 0.2
LABEL_NOISE = 0.05


class MissingData(Exception):
    """A set cannot be had here; the message says why."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows and labels to train and to test on.

    Where labels are wrong on purpose, `y` are those given, `y_true` the right ones; `noise` says of
    what kind the errors are, `draw` which draw it is.
    """

    name: str
    X: Any
    y: np.ndarray
    X_test: Any
    y_test: np.ndarray
    noise: str = ""
    y_true: np.ndarray | None = None
    draw: int = 0

    @property
    def n_samples(self) -> int:
        """The number of rows to train on."""
        return int(self.X.shape[0])

    @property
    def nbytes(self) -> int:
        """The size of the training rows in memory."""
        return nbytes(self.X)


@dataclass(frozen=True)
class Source:
    """How to get a set.

    Attributes
    ----------
    name : str
        What `--sets` calls it.
    build : callable
        Returns (X, y, X_test, y_test), or raises MissingData.
    full, quick : bool
        Whether it belongs to the full benchmark, and to the quick one.
    """

    name: str
    build: Callable[[], tuple[Any, np.ndarray, Any, np.ndarray]]
    full: bool = True
    quick: bool = False

    def load(self) -> Dataset:
        """Return the data, or raise MissingData."""
        return Dataset(self.name, *self.build())


def nbytes(X: Any) -> int:
    """Return the size of a matrix in memory."""
    if sp.issparse(X):
        return int(X.data.nbytes + X.indices.nbytes + X.indptr.nbytes)
    return int(X.nbytes)


# ------------------------------------------------------------------------------- from files


def published(name: str) -> Any:
    """Return a data set of the registry, or raise MissingData."""
    if "HTSVM_DATA" not in os.environ and DEFAULT_FOLDER.is_dir():
        os.environ["HTSVM_DATA"] = str(DEFAULT_FOLDER)
    try:
        return datasets.load(name)
    except datasets.DataFileError as error:
        raise MissingData(str(error)) from error


def signs(positive: np.ndarray) -> np.ndarray:
    """Return +1 where `positive`, else -1."""
    return np.where(positive, 1, -1)


def predefined(name: str) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    data = published(name)
    return data.X, data.y, data.X_test, data.y_test


def hold_out(X: Any, y: np.ndarray) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    X, X_test, y, y_test = train_test_split(X, y, test_size=TEST_SHARE, random_state=0, stratify=y)
    return X, y, X_test, y_test


def skin() -> tuple[Any, np.ndarray, Any, np.ndarray]:
    data = published("skin")
    return hold_out(np.ascontiguousarray(data.X / 127.5 - 1.0), data.y)


def susy() -> tuple[Any, np.ndarray, Any, np.ndarray]:
    data = published("susy")
    X, y, X_test, y_test = hold_out(data.X, data.y)
    return narrow(X), y, narrow(X_test), y_test


# ---------------------------------------------------------------------------- wrong labels


def standardised(X: np.ndarray, X_test: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return columns of mean zero and variance one; gaps are filled with the median."""
    middle = np.nanmedian(X, axis=0)
    X, X_test = (np.where(np.isnan(part), middle, part) for part in (X, X_test))
    scaler = StandardScaler().fit(X)
    return scaler.transform(X), scaler.transform(X_test)


def wrong(noise: str, X: np.ndarray, y: np.ndarray, draw: int) -> np.ndarray:
    """Return labels with errors of the given kind."""
    if noise == "none":
        return y
    kind, rate = noise.split()[0], int(noise.split()[1]) / 100.0
    seed = 1000 + draw
    if kind == "one-sided":
        return flip_labels(y, rate, classes=[-1], random_state=seed)[0]
    scores = None
    if kind == "boundary":
        scores = LogisticRegression(max_iter=1000).fit(X, y).decision_function(X)
    return flip_labels(y, rate, kind=kind, scores=scores, random_state=seed)[0]


# -------------------------------------------------------------------------------- generated


def flip(y: np.ndarray, share: float, rng: np.random.Generator) -> np.ndarray:
    """Return labels of which a random share has the wrong sign."""
    return np.where(rng.random(len(y)) < share, -y, y)


def gaussians(m: int, m_test: int = 100_000) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Return the paper's two Gaussians in the plane, equal classes; a fresh sample to test on."""
    rng = np.random.default_rng(0)

    def sample(size: int) -> tuple[np.ndarray, np.ndarray]:
        y = signs(np.arange(size) % 2 == 0)
        X = rng.normal(size=(size, 2)) * np.sqrt([0.2, 3.0]) + y[:, None] * np.array([0.5, -3.0])
        return X, y

    return (*sample(m), *sample(m_test))


def dense(m: int, n: int, m_test: int = 20_000) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Return a noisy linear rule on normal features; 5 % of the training labels are wrong."""
    rng = np.random.default_rng(1)
    rule = rng.normal(size=n) / np.sqrt(n)

    def sample(size: int) -> tuple[np.ndarray, np.ndarray]:
        X = rng.normal(size=(size, n))
        return X, signs(X @ rule + 0.3 * rng.normal(size=size) > 0)

    X, y = sample(m)
    X_test, y_test = sample(m_test)
    return X, flip(y, LABEL_NOISE, rng), X_test, y_test


def uneven(m: int, m_test: int = 20_000) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Return eight dense columns in the manner of cod-rna: classes of one third and two thirds.

    Columns are correlated and of different size, the smaller class has two parts, and the plane
    between the classes is not through their middle; 5 % of the training labels are wrong.
    """
    rng = np.random.default_rng(3)
    n = 8
    mix = rng.normal(size=(n, n)) / np.sqrt(n) + np.eye(n)
    size = 2.0 ** rng.uniform(-2.0, 2.0, size=n)
    first, second = rng.normal(size=(2, n))

    def sample(rows: int) -> tuple[np.ndarray, np.ndarray]:
        y = signs(rng.random(rows) < 1.0 / 3.0)
        middle = np.where(rng.random(rows)[:, None] < 0.7, first, 0.3 * first + second)
        X = rng.normal(size=(rows, n)) @ mix + (y > 0)[:, None] * middle
        return X * size, y

    X, y = sample(m)
    X_test, y_test = sample(m_test)
    return X, flip(y, LABEL_NOISE, rng), X_test, y_test


def text(
    m: int, n: int, m_test: int = 10_000, mean_length: float = 80.0
) -> tuple[Any, np.ndarray, Any, np.ndarray]:
    """Return documents of Zipf-distributed words as normalised tf-idf rows.

    The labels follow a linear rule; 5 % of the training labels are wrong.
    """
    rng = np.random.default_rng(2)
    total = m + m_test
    lengths = np.maximum(5, rng.lognormal(np.log(mean_length) - 0.18, 0.6, total)).astype(int)
    share = np.cumsum(1.0 / np.arange(1, n + 1) ** 0.9)
    words = np.searchsorted(share / share[-1], rng.random(lengths.sum()))
    rows = np.repeat(np.arange(total), lengths)
    counts = sp.csr_matrix((np.ones(len(words)), (rows, words)), shape=(total, n))
    counts.sum_duplicates()
    documents = np.bincount(counts.indices, minlength=n)
    counts.data = 1.0 + np.log(counts.data)
    counts.data *= np.log((1.0 + total) / (1.0 + documents))[counts.indices]
    X = narrow(normalize(counts))
    score = X @ rng.normal(size=n)
    y = signs(score > np.median(score))
    return narrow(X[:m]), flip(y[:m], LABEL_NOISE, rng), narrow(X[m:]), y[m:]


# --------------------------------------------------------------------------------- the list

SOURCES = (
    Source("a1a", partial(predefined, "a1a"), full=False, quick=True),
    Source("w5a", partial(predefined, "w5a"), full=False),
    Source("a9a", partial(predefined, "a9a"), quick=True),
    Source("w8a", partial(predefined, "w8a")),
    Source("ijcnn1", partial(predefined, "ijcnn1")),
    Source("reuters", partial(predefined, "reuters")),
    Source("skin", skin),
    Source("susy", susy),
    Source("gaussians-1e4", partial(gaussians, 10**4), quick=True),
    Source("gaussians-1e5", partial(gaussians, 10**5)),
    Source("gaussians-1e6", partial(gaussians, 10**6)),
    Source("dense-small", partial(dense, 5_000, 20, 5_000), full=False, quick=True),
    Source("dense", partial(dense, 200_000, 100)),
    Source("uneven", partial(uneven, 60_000)),
    Source("text-small", partial(text, 3_000, 5_000, 2_000), full=False),
    Source("text", partial(text, 50_000, 50_000)),
)


def select(names: Iterable[str] | None, quick: bool) -> list[Source]:
    """Return the named sources, or those of the full or the quick benchmark."""
    if names is None:
        return [source for source in SOURCES if (source.quick if quick else source.full)]
    known = {source.name: source for source in SOURCES}
    wanted = list(names)
    unknown = [name for name in wanted if name not in known]
    if unknown:
        raise ValueError(f"unknown sets {unknown}; there are {', '.join(known)}")
    return [known[name] for name in wanted]
