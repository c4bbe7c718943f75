"""Hostile problems: one generator, from a seed and a number to a problem and an estimator."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from htsvm import HTSVC, HTSVCCV, KernelHTSVC, KernelHTSVCCV, MultiViewHTSVC, baselines, ht_path
from htsvm.multiview import MultiViewHTSVCCV
from htsvm_paper import baselines as rivals

OWN = (HTSVC, HTSVCCV, KernelHTSVC, KernelHTSVCCV, MultiViewHTSVC, MultiViewHTSVCCV)
FORMS = ("dense", "csr", "csc", "float32", "fortran")
LINEAR = ("HTSVC", "RampSVC", "HingeSVC", "PinballSVC", "LeastSquaresSVC", "ZeroOneSVC", "ht_path")
VIEWS = (
    "MultiViewHTSVC", "MultiViewHTSVCCV", "SVM2K", "MvSVM2C", "MvLSSVC2C", "MvSL01SVM", "MvASYBX",
    "WaveMvSVM",
)  # fmt: skip
KERNELS = ("rbf", "linear", "poly", "laplacian", "sigmoid", "cosine")
# How often each estimator is drawn.
SHARES = {
    "HTSVC": 0.494, "RampSVC": 0.1, "HingeSVC": 0.08, "PinballSVC": 0.06, "LeastSquaresSVC": 0.05,
    "ZeroOneSVC": 0.05, "KernelHTSVC": 0.06, "MultiViewHTSVC": 0.04, "SVM2K": 0.006,
    "MvSVM2C": 0.006, "MvLSSVC2C": 0.006, "MvSL01SVM": 0.004, "MvASYBX": 0.006,
    "WaveMvSVM": 0.006, "HTSVCCV": 0.006, "ht_path": 0.02, "KernelHTSVCCV": 0.003,
    "MultiViewHTSVCCV": 0.003,
}  # fmt: skip


class Path:
    """`ht_path` as an estimator: the smallest of three penalties, reached from the larger ones."""

    def __init__(self, C: float, **options: Any) -> None:
        self.C, self.options = C, options

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Path:
        """Follow the path, and keep its end."""
        Cs = self.C * np.array([1.0, 4.0, 16.0])
        path = ht_path(X, y, Cs=Cs, sample_weight=sample_weight, **self.options)
        self.coef_, self.intercept_ = path.coef[0], path.intercept[0]
        self.objective_, self.certificate_ = path.objective[0], path.certificates[0]
        return self


@dataclass(frozen=True, eq=False)
class Case:
    """A problem and the estimator that is to solve it.

    Attributes
    ----------
    X : ndarray
        The data, dense; `form` says as what it is given.
    y : ndarray of int
        Class codes.
    weights : ndarray or None
        Sample weights.
    estimator : str
        The name of the estimator.
    params : dict
        Its parameters.
    form : str
        One of `FORMS`, or "dask".
    traits : tuple of str
        What makes it hostile, in words.
    words : bool
        Whether labels are words.
    """

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray | None = None
    estimator: str = "HTSVC"
    params: dict[str, Any] = field(default_factory=dict)
    form: str = "dense"
    traits: tuple[str, ...] = ()
    words: bool = False

    def model(self) -> Any:
        """Return the estimator, not fitted."""
        kinds = {kind.__name__: kind for kind in OWN} | {"ht_path": Path}
        kind = kinds.get(self.estimator) or (vars(baselines) | vars(rivals))[self.estimator]
        return kind(**self.params)

    def data(self) -> Any:
        """Return X in its form."""
        if self.form == "float32":
            return self.X.astype(np.float32)
        if self.form == "fortran":
            return np.asfortranarray(self.X)
        if self.form == "dask":
            return self.in_blocks(self.X)
        return self.X if self.form == "dense" else sp.csr_matrix(self.X).asformat(self.form)

    def labels(self) -> np.ndarray:
        """Return the labels as the estimator gets them."""
        return np.array([f"class {c:02d}" for c in self.y]) if self.words else self.y

    def in_blocks(self, array: np.ndarray) -> Any:
        """Return an array as a Dask array of two blocks, where that is the form."""
        if self.form != "dask":
            return array
        import dask.array as da

        rows = len(array) // 2 + 1
        return da.from_array(array, chunks=(rows, *array.shape[1:]))

    def values(self) -> np.ndarray:
        """Return the numbers that the estimator sees."""
        return self.X.astype(np.float32).astype(float) if self.form == "float32" else self.X

    @property
    def linear(self) -> bool:
        """Whether the model is one of one view with weights for the columns."""
        return self.estimator in LINEAR

    def changed(self, **changes: Any) -> Case:
        """Return the case with other data; parameters are replaced one by one."""
        params = {**self.params, **changes.pop("params", {})}
        return replace(self, params=params, **changes)

    def __str__(self) -> str:
        shape = "x".join(map(str, self.X.shape))
        weights = "" if self.weights is None else ", weights"
        options = ", ".join(f"{k}={v!r}" for k, v in self.params.items())
        return (
            f"{self.estimator}({options}) on {shape} {self.form}, "
            f"{len(np.unique(self.y))} classes{weights} [{', '.join(self.traits)}]"
        )


def draw(seed: int, number: int, many: bool = False) -> Case:
    """Return problem `number` of the stream `seed`; if `many`, one of linear models on many rows.

    From about 7,500 rows on a search takes place on a sample of them.
    """
    rng = np.random.default_rng([seed, number])
    estimator = str(rng.choice(list(SHARES), p=np.array([*SHARES.values()])))
    if many and estimator not in LINEAR[:3]:
        estimator = LINEAR[0]
    traits: list[str] = []
    m, n = _shape_of_many(rng) if many else _shape(rng, estimator)
    classes = 2 if rng.random() < 0.96 else int(rng.integers(3, 6))
    if estimator in VIEWS[2:]:
        classes = 2
    if rng.random() < 0.001:
        classes = 11
    X = _rows(rng, max(m, classes), n, traits)
    y = _labels(rng, X, classes, traits)
    weights = _weights(rng, y, traits)
    params = _params(rng, estimator, X, classes, traits)
    form = str(rng.choice(FORMS, p=[0.5, 0.2, 0.1, 0.1, 0.1]))
    if estimator in VIEWS and form == "csc":
        form = "csr"
    return Case(X, y, weights, estimator, params, form, tuple(traits))


def _shape(rng: np.random.Generator, estimator: str) -> tuple[int, int]:
    size = rng.random()
    if estimator not in LINEAR[:3]:
        size = min(size, 0.97)
    if size < 0.86:
        return int(rng.integers(2, 25)), int(rng.integers(1, 6))
    if size < 0.98:
        return int(np.exp(rng.uniform(3, 5.5))), int(np.exp(rng.uniform(0, 3.5)))
    if size < 0.993:
        return int(rng.integers(4, 60)), int(np.exp(rng.uniform(5, 7.5)))
    return int(np.exp(rng.uniform(6, 8.5))), int(np.exp(rng.uniform(0, 4)))


def _shape_of_many(rng: np.random.Generator) -> tuple[int, int]:
    return int(np.exp(rng.uniform(8.5, 10.7))), int(np.exp(rng.uniform(0, 2.7)))


def _rows(rng: np.random.Generator, m: int, n: int, traits: list[str]) -> np.ndarray:
    kind = rng.choice(["normal", "tails", "lognormal", "whole", "binary", "sparse"])
    if kind == "tails":
        X = rng.standard_t(1.2, (m, n))
    elif kind == "lognormal":
        X = rng.lognormal(0.0, 2.0, (m, n)) * (rng.random((m, n)) < 0.5)
    elif kind == "whole":
        X = rng.integers(-3, 4, (m, n)).astype(float)
    elif kind == "binary":
        X = rng.integers(0, 2, (m, n)).astype(float)
    else:
        X = rng.normal(size=(m, n))
        if kind == "sparse":
            X *= rng.random((m, n)) < 0.2
    traits.append(str(kind))
    scale = rng.random()
    if scale < 0.25:
        X = X * 10.0 ** rng.uniform(-8.0, 8.0, size=n)
        traits.append("columns 1e-8 to 1e8")
    elif scale < 0.45:
        X = X * 10.0 ** rng.uniform(-3.0, 3.0)
        traits.append("other units")
    elif scale < 0.5:
        X = X * 10.0 ** rng.uniform(-8.0, 8.0)
        traits.append("far other units")
    if rng.random() < 0.15:
        X = X[rng.integers(0, m, m)]
        traits.append("duplicates")
    if n > 1 and rng.random() < 0.15:
        X[:, 0] = X @ rng.normal(size=n)
        traits.append("collinear")
    if n > 1 and rng.random() < 0.1:
        X[:, -1] = rng.choice([0.0, 1.0, 1e6])
        traits.append("constant column")
    if rng.random() < 0.1:
        X = X + 10.0 ** rng.uniform(0.0, 4.0)
        traits.append("off centre")
    return np.ascontiguousarray(X)


def _labels(rng: np.random.Generator, X: np.ndarray, k: int, traits: list[str]) -> np.ndarray:
    m, n = X.shape
    if rng.random() < 0.3:
        y = rng.integers(0, k, m)
        traits.append("random labels")
    else:
        unit = np.abs(X).max(axis=0)
        scores = (X / np.where(unit > 0.0, unit, 1.0)) @ rng.normal(size=(n, k))
        y = (scores - np.median(scores, axis=0)).argmax(axis=1)
        share = rng.choice([0.0, 0.1, 0.3])
        wrong = rng.random(m) < share
        y[wrong] = rng.integers(0, k, int(wrong.sum()))
        traits.append(f"{share:.0%} wrong labels" if share else "clean labels")
    if k == 2 and rng.random() < 0.1:
        y[:] = 0
        y[rng.integers(0, m)] = 1
        traits.append("one sample of a class")
    # Every class has a sample.
    y[rng.permutation(m)[:k]] = np.arange(k)
    return y


def _weights(rng: np.random.Generator, y: np.ndarray, traits: list[str]) -> np.ndarray | None:
    m, kind = len(y), rng.random()
    if kind < 0.65:
        return None
    if kind < 0.8:
        weights = rng.uniform(0.1, 5.0, m)
        traits.append("weights")
    elif kind < 0.88:
        weights = rng.integers(0, 4, m).astype(float)
        traits.append("whole weights and zeros")
    elif kind < 0.97:
        weights = 10.0 ** rng.uniform(-4.0, 4.0, m)
        traits.append("weights 1e-4 to 1e4")
    else:
        weights = rng.choice([1e-15, 1.0, 1e15], m)
        traits.append("weights 1e-15 to 1e15")
    if not np.any(weights > 0.0):
        weights[:] = 1.0
    return weights


def _params(
    rng: np.random.Generator, estimator: str, X: np.ndarray, k: int, traits: list[str]
) -> dict[str, Any]:
    m, n = X.shape
    C = float(10.0 ** (rng.uniform(-2.0, 2.0) if rng.random() < 0.6 else rng.uniform(-8.0, 8.0)))
    params: dict[str, Any] = {"C": C}
    if estimator.endswith("CV"):
        params = {"cv": 2, "Cs": [C, 10.0 * C]}
    if estimator in ("HTSVC", "ht_path", "KernelHTSVC", "MultiViewHTSVC"):
        if rng.random() < 0.6:
            caps = [0.1, 0.5, 0.9, 1.1, 2.0, 2.3, 3.0, 10.0, 1e3, np.inf]
            params["cap"] = float(rng.choice(caps))
        if rng.random() < 0.3:
            params["knee"] = float(rng.choice([0.01, 0.3, 0.9, 0.999]))
    if estimator == "HTSVC":
        draw_ = rng.random()
        if draw_ < 0.006 and m <= 60:
            params["solver"] = "admm"
        elif draw_ < 0.16:
            params["starts"] = ["convex"]
    if estimator in ("HTSVC", "ht_path") and k > 2 and rng.random() < 0.4:
        params["multi_class"] = "ovr"
    if estimator == "RampSVC":
        params["ceiling"] = float(rng.choice([0.3, 1.0, 2.0, 2.1, 5.0, np.inf]))
    if estimator == "PinballSVC":
        params["tau"] = float(rng.choice([0.0, 0.1, 0.5, 1.0]))
    if estimator == "ZeroOneSVC" and rng.random() < 0.05 and m <= 60:
        params["solver"] = "admm"
    if estimator in ("KernelHTSVC", "KernelHTSVCCV"):
        params["kernel"] = str(rng.choice(KERNELS))
        if rng.random() < 0.3:
            params["n_landmarks"] = int(rng.integers(1, m + 1))
    if estimator in VIEWS:
        left = max(1, n // 2)
        params["views"] = [left, n - left] if n > 1 else [[0], [0]]
        if estimator in VIEWS[2:]:
            params = {"C": C, "views": params["views"]}
    if estimator in LINEAR:
        if rng.random() < 0.15:
            params["fit_intercept"] = False
        if rng.random() < 0.1:
            params["class_weight"] = "balanced"
        if rng.random() < 0.1:
            params["tol"] = float(rng.choice([1e-2, 1e-5, 1e-8]))
    if not 1e-3 <= C <= 1e3:
        traits.append("extreme C")
    return params
