"""The pool of logistic models that are averaged: fitted on folds, scored on held-out rows.

Plain ones come first, at every C. From their held-out probabilities the flip matrix is estimated,
and every robust model starts from the plain one at the same C: a strongly regularised start would
get stuck.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from joblib import Parallel, delayed

from htsvm._typing import Array
from htsvm.logistic.batch import Members, minimise, started
from htsvm.logistic.noise import confident_joint, log_loss, probabilities, relearned
from htsvm.logistic.rows import EXACT_VALUES, Rows, SearchColumns
from htsvm.losses.cross_entropy import TruncatedEntropy

# Two classes: rounds of a few steps and a new flip matrix, and what that matrix starts from.
ROUNDS, CONFIDENCE = 5, 0.5


class Kind(NamedTuple):
    """A model of the pool.

    Attributes
    ----------
    family : {"logistic", "truncated", "corrected"}
        Its loss.
    cap : float
        In units of log K; inf but for "truncated".
    C : float
        Its penalty, in the units of its columns.
    standardised : bool
        Whether its regulariser is that of standardised columns.
    """

    family: str
    cap: float
    C: float
    standardised: bool


@dataclass(frozen=True, eq=False)
class PoolTask:
    """Data and what is fitted to them.

    Attributes
    ----------
    X, codes, weights : ndarray or CSR matrix, ndarray, ndarray
        All rows.
    classes : int
        Their number.
    columns : SearchColumns
        Where the search works.
    splits : sequence of (train, test)
        The folds.
    intercept : bool
        Whether there is one.
    caps, knee : sequence of float, float
        Those of the truncated models: in units of log K, and as a share of the cap.
    steps : int
        The most steps of a fit.
    n_jobs : int or None
        Threads over folds.
    """

    X: Any
    codes: Array
    weights: Array | None
    classes: int
    columns: SearchColumns
    splits: Sequence[tuple[Array, Array]]
    intercept: bool
    caps: Sequence[float]
    knee: float
    steps: int
    n_jobs: int | None

    @property
    def kind(self) -> Any:
        """The precision of the search."""
        stored = self.X.nnz if hasattr(self.X, "nnz") else self.X.size
        return np.float64 if stored <= EXACT_VALUES else np.float32

    def rows(self, which: Array) -> Rows:
        """Return a copy of some rows inside their columns."""
        which = which if self.weights is None else which[self.weights[which] > 0.0]
        X = self.columns.inside(self.X[which], self.intercept, self.kind)
        weights = None if self.weights is None else self.weights[which].astype(self.kind)
        return Rows(X, self.codes[which], weights, self.classes)

    def held(self, fold: int, points: Array) -> Array:
        """Return the scores (n_members, n_held, n_scores) of the rows held out in a fold."""
        test, step = self.splits[fold][1], max((1 << 24) // max(self.X.shape[1], 1), 1)
        flat = points.reshape(len(points), -1)
        parts = [
            self.columns.inside(self.X[test[first : first + step]], self.intercept, self.kind)
            @ flat
            for first in range(0, len(test), step)
        ]
        found = np.concatenate(parts).reshape(len(test), *points.shape[1:])
        return np.ascontiguousarray(np.moveaxis(found, 0, 1), dtype=np.float32)

    def ridges(self, kinds: Sequence[Kind]) -> Array:
        """Return the regularisers (n_columns, n_models), times the variance of the columns."""
        given = 1.0 / self.columns.shares
        own = np.empty((len(given) + self.intercept, len(kinds)))
        for k, kind in enumerate(kinds):
            own[: len(given), k] = self.columns.varied if kind.standardised else given
        if self.intercept:
            own[-1] = 0.0
        return own

    def penalties(self, kinds: Sequence[Kind]) -> Array:
        """Return C times the variance of the columns."""
        columns = self.columns
        return np.array(
            [k.C * (columns.varied if k.standardised else columns.variance) for k in kinds]
        )

    def in_folds(self, work: Any, *more: Any) -> list[Any]:
        """Return what some work finds in each fold."""
        found: list[Any] = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(work)(fold, *more) for fold in range(len(self.splits))
        )
        return found

    def members(self, kinds: Sequence[Kind], flips: Array | None = None) -> Members:
        """Return the models of a batch."""
        losses = [
            None
            if kind.family == "corrected"
            else TruncatedEntropy.of_classes(kind.cap, self.knee, self.classes)
            for kind in kinds
        ]
        return Members(losses, self.penalties(kinds), self.ridges(kinds), flips)

    def plain(self, fold: int, kinds: Sequence[Kind]) -> tuple[Array, Array]:
        """Fit the plain models on a fold; return points and held-out scores."""
        rows = self.rows(self.splits[fold][0])
        start = started(rows, len(kinds), self.intercept)
        points = minimise(rows, self.members(kinds), start, self.steps)
        return points, self.held(fold, points)

    def robust(
        self, fold: int, starts: list[Array], kinds: list[Kind], flips: Array
    ) -> tuple[Array, Array, Array]:
        """Fit robust models from the plain ones; return points, held-out scores and matrices."""
        rows, start = self.rows(self.splits[fold][0]), starts[fold]
        count = start.shape[1]
        truncated = [kind for kind in kinds if kind.family == "truncated"]
        rest = [kind for kind in kinds if kind.family == "corrected"]
        first = np.tile(start, (1, len(truncated) // count, 1))
        points = minimise(rows, self.members(truncated), first, self.steps) if truncated else first
        own = np.repeat(flips[None], len(rest), axis=0)
        if self.classes == 2:
            own = CONFIDENCE * (own + np.eye(2))
            for _ in range(ROUNDS):
                start = minimise(rows, self.members(rest, own), start, max(self.steps // 4, 1))
                own = relearned(rows, start, own)
            start = minimise(rows, self.members(rest, own), start, max(self.steps // 2, 1))
        else:
            start = minimise(rows, self.members(rest, own), start, self.steps)
        points = np.concatenate([points, start], axis=1)
        return points, self.held(fold, points), own


@dataclass(frozen=True, eq=False)
class Pool:
    """All models of all folds.

    Attributes
    ----------
    kinds : list of Kind
        The models.
    decisions : ndarray of shape (n_models, n_held, n_scores)
        The scores of held-out rows.
    rows, codes, weights, fold : ndarray of shape (n_held,)
        Which rows these are, their labels, what they count, and where they were held out.
    points : ndarray of shape (n_columns, n_models, n_scores)
        The means of the solutions of the folds.
    flips : ndarray of shape (n_C, n_classes, n_classes)
        The flip matrices of the corrected models, which come last; means over the folds.
    """

    kinds: list[Kind]
    decisions: Array
    rows: Array
    codes: Array
    weights: Array
    fold: Array
    points: Array
    flips: Array


def fitted_pool(task: PoolTask, grids: dict[bool, Array]) -> Pool:
    """Fit the pool.

    Parameters
    ----------
    task : PoolTask
        The data.
    grids : dict
        The C of models of standardised (True) and of given columns (False).
    """
    rows = np.concatenate([test for _, test in task.splits])
    codes = task.codes[rows]
    # However often a sample is held out, it counts once.
    weights = 1.0 / np.bincount(rows)[rows]
    weights = weights if task.weights is None else weights * task.weights[rows]
    number = np.repeat(np.arange(len(task.splits)), [len(test) for _, test in task.splits])
    plain = [Kind("logistic", np.inf, C, own) for own, Cs in grids.items() for C in Cs]
    points, scores = (list(part) for part in zip(*task.in_folds(task.plain, plain), strict=True))
    decisions = np.concatenate(scores, axis=1)
    misses = np.array([log_loss(one, codes, weights) for one in decisions])
    best = int(misses.argmin())
    # Only the columns in which labels are better predicted: standardised ones, or as given.
    keep = np.flatnonzero([kind.standardised == plain[best].standardised for kind in plain])
    plain, points = [plain[k] for k in keep], [part[:, keep] for part in points]
    joint = confident_joint(probabilities(decisions[best]), codes, weights)
    kinds = [kind._replace(family="truncated", cap=cap) for cap in task.caps for kind in plain]
    kinds += [kind._replace(family="corrected") for kind in plain]
    found = task.in_folds(task.robust, points, kinds, joint)
    middle = sum(np.concatenate([a, b[0]], axis=1) for a, b in zip(points, found, strict=True))
    decisions = np.concatenate([decisions[keep], np.concatenate([f[1] for f in found], 1)])
    flips = np.mean([f[2] for f in found], axis=0)
    middle = np.asarray(middle, dtype=np.float64) / len(task.splits)
    return Pool(plain + kinds, decisions, rows, codes, weights, number, middle, flips)
