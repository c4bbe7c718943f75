"""The pool of logistic models that are averaged: fitted on folds, scored on held-out rows.

Plain ones come first, at every C. From their held-out probabilities the flip matrix is estimated,
and every robust model starts from the plain one at the same C: a strongly regularised start would
get stuck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from joblib import Parallel, delayed
from sklearn.utils.sparsefuncs import mean_variance_axis

from htsvm._typing import Array
from htsvm.linalg import as_operator
from htsvm.linalg.scaled import moments
from htsvm.logistic.batch import BLOCK_VALUES, Batch, Rows
from htsvm.logistic.noise import confident_joint, log_loss, relearned
from htsvm.losses.cross_entropy import (
    CorrectedEntropy,
    Entropy,
    TruncatedEntropy,
    log_probabilities,
)

# A spread that is this share of the mean is rounding.
ROUNDING = 1e-13
# Scales that differ by less than this factor count as equal.
UNEVEN = 1.5
# A column with a smaller share of the total variance says nothing unless columns are standardised.
LEAST_SHARE = 1e-16
# Up to so many stored values double precision costs next to nothing, and weights are the same as
# copies to its last digits.
EXACT_VALUES = 100_000
# Two classes: rounds of a few steps and a new flip matrix, and what that matrix starts from.
ROUNDS, CONFIDENCE = 5, 0.5
# Values of held-out rows that are copied together.
HELD_VALUES = 1 << 24


class SearchColumns:
    """What is taken off each column and what it is divided by, and the total variance.

    That is for the arithmetic alone: float32 has seven digits, and a column of dates has spent them
    on the century. What is minimised stays stated in given or in standardised columns by the
    regulariser, a number per column.

    Parameters
    ----------
    X : ndarray or CSR matrix
        All rows.
    weights : ndarray of shape (n_samples,)
        What they count.
    intercept : bool
        Whether there is one. Only then columns are centred, sparse ones if all values are stored.
    """

    def __init__(self, X: Any, weights: Array, intercept: bool) -> None:
        self.intercept, full = intercept, True
        if sp.issparse(X):
            full = np.bincount(X.indices, minlength=X.shape[1]) == X.shape[0]
            self.mean, variance = mean_variance_axis(X, 0, weights / weights.sum())
        else:
            found = moments(as_operator(X), weights, float(weights.max()))
            self.mean, variance = found.mean, found.squares / found.mass
        varies = variance > (ROUNDING * self.mean) ** 2
        variance = np.where(varies, variance, 0.0)
        self.centre = np.where(full & intercept, self.mean, 0.0)
        square = variance + np.square(self.mean - self.centre)
        self.scale = np.sqrt(np.where(square > 0.0, square, 1.0))
        # The mean squared length of rows, centred if there is an intercept, and who has a share.
        self.variance = float((variance if intercept else square).sum()) or 1.0
        shares = np.where(square > 0.0, square / self.variance, 1.0)
        self.given = np.where(shares > LEAST_SHARE, 1.0 / np.maximum(shares, LEAST_SHARE), np.inf)
        self.spread = np.sqrt(np.where(varies, variance, 1.0))
        self.varied = max(int(np.count_nonzero(varies)), 1)

    @property
    def uneven(self) -> bool:
        """Whether scales differ so that it matters whether the columns are standardised."""
        return bool(self.spread.max(initial=0.0) > UNEVEN * self.spread.min(initial=np.inf))

    def size(self, standardised: bool) -> float:
        """Return the total variance, of given or of standardised columns."""
        return float(self.varied) if standardised else self.variance

    def ridge(self, standardised: bool) -> Array:
        """Return the regulariser of each column in these, times the size; zero for an intercept."""
        own = np.full(len(self.scale), float(self.varied)) if standardised else self.given
        return np.append(own, [0.0] * self.intercept)

    def inside(self, X: Any, kind: Any) -> Any:
        """Return a copy of rows in these columns, and one of ones if there is an intercept."""
        if not sp.issparse(X):
            rows = np.ones((X.shape[0], X.shape[1] + self.intercept), dtype=kind)
            step = max(BLOCK_VALUES // max(X.shape[1], 1), 1)
            for first in range(0, len(rows), step):
                part = slice(first, first + step)
                rows[part, : X.shape[1]] = (X[part] - self.centre) / self.scale
            return rows
        data = ((X.data - self.centre[X.indices]) / self.scale[X.indices]).astype(kind)
        rows = sp.csr_matrix((data, X.indices, X.indptr), shape=X.shape)
        if self.intercept:
            rows = sp.hstack([rows, np.ones((X.shape[0], 1), dtype=kind)], format="csr")
        return rows

    def outside(self, points: Array) -> tuple[Array, Array]:
        """Return coefficients and intercepts, rows per score, of points (w, b) in these columns."""
        inside = points.astype(np.float64)
        coef = (inside[: len(self.scale)] / self.scale[:, None]).T
        own = inside[-1] - coef @ self.centre if self.intercept else np.zeros(len(coef))
        return np.ascontiguousarray(coef), own


class Kind(NamedTuple):
    """A model: its loss ("logistic", "truncated", "corrected"), cap, C, and columns."""

    loss: str
    cap: float
    C: float
    standardize: bool


@dataclass(eq=False)
class Pool:
    """Data, folds, and the models that are fitted to them.

    Attributes
    ----------
    X, codes, weights, classes : ndarray or CSR matrix, ndarray, ndarray or None, int
        All rows, their labels, what they count, and how many classes there are.
    columns : SearchColumns
        Where the search works.
    splits : sequence of (train, test)
        The folds.
    knee, steps, n_jobs : float, int, int or None
        The knee of truncated models, the most steps of a fit, and threads over folds.
    rows, fold, held_codes, held_weights : ndarray of shape (n_held,)
        Which rows were held out and where, their labels, and what they count.
    kinds : list of Kind
        The models; the corrected ones come last.
    decisions : ndarray of shape (n_models, n_held, n_scores)
        The scores of held-out rows.
    points : ndarray of shape (n_columns, n_models, n_scores)
        The means of the solutions of the folds.
    flips : ndarray of shape (n_C, n_classes, n_classes)
        The flip matrices of the corrected models; means over the folds.
    """

    X: Any
    codes: Array
    weights: Array | None
    classes: int
    columns: SearchColumns
    splits: Sequence[tuple[Array, Array]]
    knee: float
    steps: int
    n_jobs: int | None
    kinds: list[Kind] = field(init=False)
    decisions: Array = field(init=False)
    points: Array = field(init=False)
    flips: Array = field(init=False)

    def __post_init__(self) -> None:
        tests = [test for _, test in self.splits]
        self.rows = rows = np.concatenate(tests)
        self.fold = np.repeat(np.arange(len(tests)), [len(test) for test in tests])
        # However often a sample is held out, it counts once.
        once = 1.0 / np.bincount(rows)[rows]
        self.held_weights = once if self.weights is None else once * self.weights[rows]
        self.held_codes = self.codes[rows]
        stored = self.X.nnz if hasattr(self.X, "nnz") else self.X.size
        self.kind = np.float64 if stored <= EXACT_VALUES else np.float32

    def fit(self, grids: dict[bool, Array], caps: Sequence[float]) -> None:
        """Fit the pool.

        Parameters
        ----------
        grids : dict
            The C of models of standardised (True) and of given columns (False).
        caps : sequence of float
            Those of the truncated models, in units of log K.
        """
        kinds = [Kind("logistic", np.inf, C, own) for own, Cs in grids.items() for C in Cs]
        points, scores = self._in_folds(self._plain, kinds)
        decisions = np.concatenate(scores, axis=1)
        misses = [log_loss(one, self.held_codes, self.held_weights) for one in decisions]
        best = int(np.argmin(misses))
        likely = np.exp(log_probabilities(decisions[best]))
        joint = confident_joint(likely, self.held_codes, self.held_weights)
        # Only the columns in which labels are better predicted: standardised ones, or as given.
        keep = np.flatnonzero([kind.standardize == kinds[best].standardize for kind in kinds])
        kinds, points = [kinds[k] for k in keep], [part[:, keep] for part in points]
        truncated = [one._replace(loss="truncated", cap=cap) for cap in caps for one in kinds]
        corrected = [one._replace(loss="corrected") for one in kinds]
        more, scores, flips = self._in_folds(self._robust, points, truncated, corrected, joint)
        self.kinds, self.flips = kinds + truncated + corrected, np.mean(flips, axis=0)
        self.decisions = np.concatenate([decisions[keep], np.concatenate(scores, axis=1)])
        ends = [np.concatenate(pair, axis=1) for pair in zip(points, more, strict=True)]
        self.points = np.asarray(sum(ends), dtype=np.float64) / len(ends)

    def _in_folds(self, work: Any, *more: Any) -> list[list[Any]]:
        """Return lists over folds of what some work finds there."""
        found = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(work)(fold, *more) for fold in range(len(self.splits))
        )
        return [list(part) for part in zip(*found, strict=True)]

    def _plain(self, fold: int, kinds: list[Kind]) -> tuple[Array, Array]:
        """Fit the plain models on a fold; return points and held-out scores."""
        rows = self._training(fold)
        start = rows.started(len(kinds), self.columns.intercept)
        points = self._minimised(rows, TruncatedEntropy(), kinds, start)
        return points, self._held(fold, points)

    def _robust(
        self, fold: int, starts: list[Array], truncated: list[Kind], kinds: list[Kind], flips: Array
    ) -> tuple[Array, Array, Array]:
        """Fit robust models from the plain ones; return points, held-out scores and matrices."""
        rows, points, ends = self._training(fold), starts[fold], []
        if truncated:
            caps = np.array([kind.cap for kind in truncated])
            loss = TruncatedEntropy.of_classes(caps, self.knee, self.classes)
            first = np.tile(points, (1, len(truncated) // len(kinds), 1))
            ends = [self._minimised(rows, loss, truncated, first)]
        own, share = np.repeat(flips[None], len(kinds), axis=0), 1
        if self.classes == 2:
            own, share = CONFIDENCE * (own + np.eye(2)), 2
            for _ in range(ROUNDS):
                points = self._minimised(rows, CorrectedEntropy(own), kinds, points, 4)
                own = relearned(rows, points, own)
        ends.append(self._minimised(rows, CorrectedEntropy(own), kinds, points, share))
        points = np.concatenate(ends, axis=1)
        return points, self._held(fold, points), own

    def _training(self, fold: int) -> Rows:
        """Return a copy of the rows of a fold, inside their columns."""
        which, weights = self.splits[fold][0], None
        if self.weights is not None:
            which = which[self.weights[which] > 0.0]
            weights = self.weights[which].astype(self.kind)
        X = self.columns.inside(self.X[which], self.kind)
        return Rows(X, self.codes[which], weights, self.classes)

    def _minimised(
        self, rows: Rows, loss: Entropy, kinds: list[Kind], start: Array, share: int = 1
    ) -> Array:
        """Fit models from a start, in a share of the steps."""
        columns = self.columns
        penalty = np.array([kind.C * columns.size(kind.standardize) for kind in kinds])
        ridge = np.column_stack([columns.ridge(kind.standardize) for kind in kinds])
        return Batch(rows, loss, penalty, ridge).minimised(start, max(self.steps // share, 1))

    def _held(self, fold: int, points: Array) -> Array:
        """Return the scores (n_members, n_held, n_scores) of the rows held out in a fold."""
        test, step = self.splits[fold][1], max(HELD_VALUES // max(self.X.shape[1], 1), 1)
        flat = points.reshape(len(points), -1)
        parts = [test[first : first + step] for first in range(0, len(test), step)]
        scores = [self.columns.inside(self.X[part], self.kind) @ flat for part in parts]
        found = np.concatenate(scores).reshape(len(test), *points.shape[1:])
        return np.ascontiguousarray(np.moveaxis(found, 0, 1), dtype=np.float32)
