"""Out-of-sample scores of every sample by kernel least squares, from one decomposition.

A least squares classifier on some hundred kernel features has its leave-one-out scores in closed
form: no folds, and other targets or other penalties cost a product each. Rows are passed over in
blocks, so that a table of any length needs little more memory than its own.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cho_factor, cho_solve, cholesky, eigh, solve_triangular

from htsvm._typing import Array

# Landmarks: a third of the rows, but within these bounds; 200 lose .02 to .06 of average precision
# on labels of people. Rows times squared landmarks, which is what it costs, stay below WORK.
LEAST_LANDMARKS, MOST_LANDMARKS, WORK = 100, 1500, 2.5e10
# Tables of few columns gain nothing by more than these: .707 against .708 on the design sets.
FEW, PER_COLUMN = 200, 10
# The kernel is the mean of Gaussian kernels with these factors of the median squared distance:
# as good as the best of them, without a choice.
WIDTHS = (0.02, 0.5)
# Data with few columns have them as features too, of this size in the mean. A linear rule is
# then hardly shrunk by a penalty that suits the kernel.
LINEAR_COLUMNS, LINEAR_PART = 50, 3.0
PENALTIES = tuple(10.0 ** (step / 2.0) for step in range(-4, 5))
# Beyond this many rows features are in single precision.
MANY_ROWS = 2_000
# Values of a block of features, and of all features up to which they are kept.
BLOCK, KEPT = 1_000_000, 100_000_000
# Rows on which the penalty is chosen.
CHOSEN_ON = 50_000
# Landmarks of sparse data with more columns than this stay sparse.
DENSE_COLUMNS = 20_000
# Added to the diagonal of the kernel between landmarks, times their number: directions in which it
# hardly differs from zero count little.
RIDGE = 1e-5
# Leverages are kept below one: a sample that alone decides its own score has no other.
MOST_LEVERAGE = 0.999

Blocks = Callable[[], Iterable[tuple[slice, Array]]]


class LandmarkSpace:
    """Kernel features of n samples, made in blocks of rows; views in a mapping count alike."""

    def __init__(self, X: Any, n: int, seed: int, most: int = MOST_LANDMARKS) -> None:
        self.X, self.n = X, n
        views = list(X.values()) if isinstance(X, Mapping) else [X]
        width = sum(view.shape[1] for view in views)
        most = min(most, max(FEW, PER_COLUMN * width), n // 3, int(np.sqrt(WORK / n)))
        most = min(n, max(LEAST_LANDMARKS, most))
        self.marks = np.sort(np.random.default_rng(seed).choice(n, most, replace=False))
        self.views = [_View(view, self.marks) for view in views]
        self.kind = np.float32 if n > MANY_ROWS else np.float64
        squared = self._distances(self.marks)
        between = _kernel(squared).astype(np.float64)
        between[np.diag_indices_from(between)] += RIDGE * len(between)
        self.root = cholesky(between, lower=True, check_finite=False).astype(self.kind)
        self.columns = None if isinstance(X, Mapping) or X.shape[1] > LINEAR_COLUMNS else X
        if self.columns is not None:
            self.middle = np.asarray(X.mean(axis=0)).ravel()
            size = float(np.sqrt(max(squares(X).mean() - self.middle @ self.middle, 0.0)))
            # Equal rows differ by rounding alone.
            self.unit = LINEAR_PART / size if size > 1e-9 * np.abs(self.middle).max() else 0.0
        #: Squared distance of each sample to the third nearest landmark, in units of the median.
        self.isolation = np.zeros(n)
        step = max(256, BLOCK // most)
        self.parts = [slice(low, min(low + step, n)) for low in range(0, n, step)]

    def _distances(self, rows: Any) -> Array:
        found = reduce(np.add, (view.distances(rows) for view in self.views))
        return np.asarray(found / len(self.views), dtype=self.kind)

    def blocks(self) -> Iterator[tuple[slice, Array]]:
        """Yield parts of the rows with their features, whose inner products are the kernel."""
        for part in self.parts:
            squared = self._distances(part)
            self.isolation[part] = self._third(squared, part)
            features = solve_triangular(
                self.root, _kernel(squared).T, lower=True, overwrite_b=True, check_finite=False
            ).T
            if self.columns is not None:
                own = self.columns[part]
                own = (own.toarray() if sp.issparse(own) else own) - self.middle
                features = np.hstack([features, (own * self.unit).astype(self.kind)])
            yield part, np.asarray(features)

    def _third(self, squared: Array, part: slice) -> Array:
        """Return the distance to the third nearest landmark other than the sample itself."""
        others = squared.copy()
        mine = np.flatnonzero((self.marks >= part.start) & (self.marks < part.stop))
        others[self.marks[mine] - part.start, mine] = np.inf
        place = max(min(3, len(self.marks) - 1) - 1, 0)
        found = np.partition(others, place, axis=1)[:, place]
        return np.where(np.isfinite(found), found, 0.0)


class _View:
    """Squared distances of the rows of one matrix to its landmarks; one is their median."""

    def __init__(self, X: Any, marks: Array) -> None:
        self.X, self.chosen = X, X[marks]
        self.other = squares(self.chosen)
        if sp.issparse(X) and X.shape[1] <= DENSE_COLUMNS:
            self.chosen = self.chosen.toarray()
        self.unit = 1.0
        self.unit = float(np.median(self.distances(marks))) or 1.0

    def distances(self, rows: Any) -> Array:
        own = self.X[rows]
        squared = own @ self.chosen.T
        if sp.issparse(squared):
            squared = squared.toarray()
        squared *= -2.0
        squared += squares(own)[:, None].astype(squared.dtype)
        squared += self.other.astype(squared.dtype)
        np.maximum(squared, 0.0, out=squared)
        squared /= self.unit
        return np.asarray(squared)


def squares(X: Any) -> Array:
    """Return the squared lengths of the rows."""
    if sp.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.asarray(np.einsum("ij,ij->i", X, X))


def _kernel(squared: Array) -> Array:
    kernel, part = np.zeros_like(squared), np.empty_like(squared)
    for width in WIDTHS:
        np.multiply(squared, -width, out=part)
        kernel += np.exp(part, out=part)
    return kernel


@dataclass(frozen=True, eq=False)
class LeaveOneOut:
    """A decomposed least squares problem: out-of-sample scores for any targets and penalty.

    Rows of the folds 0, 1, ... are scored by fits without their whole fold, those of the fold -1 by
    fits without themselves alone.
    """

    blocks: Blocks
    spectrum: Array
    weights: Array
    folds: Array
    grams: Array

    @classmethod
    def of(
        cls, features: Array | LandmarkSpace, weights: Array, folds: Array | None = None
    ) -> LeaveOneOut:
        """Decompose the problem with these features and sample weights (summing to n)."""
        n, total = len(weights), weights.sum()
        folds = np.full(n, -1) if folds is None else folds
        if isinstance(features, LandmarkSpace):
            blocks: Blocks = features.blocks
            blocks = _kept(blocks()) if n * len(features.marks) <= KEPT else blocks
        else:
            blocks = _kept([(slice(0, n), features)])
        # The mean of the first block takes most of the common part away before squares are summed.
        shift = next(iter(blocks()))[1].mean(axis=0)
        gram, mean = np.zeros((len(shift), len(shift))), np.zeros(len(shift))
        for part, Z in blocks():
            Z = Z - shift
            mean += (weights[part] @ Z) / total
            if not np.all(weights[part] == 1.0):
                Z = Z * np.sqrt(weights[part]).astype(Z.dtype)[:, None]
            gram += Z.T @ Z  # NumPy sees that both are the same and calls syrk.
        gram -= total * np.outer(mean, mean)
        spectrum, basis = eigh(gram, overwrite_a=True, driver="evd")
        mean = shift + mean

        def rotated() -> Iterator[tuple[slice, Array]]:
            for part, Z in blocks():
                yield part, (Z - mean.astype(Z.dtype)) @ basis.astype(Z.dtype)

        again = _kept(rotated()) if n * len(spectrum) <= 2 * KEPT else rotated
        return cls(again, np.maximum(spectrum, 0.0), weights, folds, _grams(again, weights, folds))

    def scores(self, targets: Array, penalty: float) -> Array:
        """Return for each sample the scores of a fit without it, of the shape of `targets`."""
        found = np.empty(targets.shape)
        for part, (own,) in self._tried(targets, (penalty,)):
            found[part] = own
        return found

    def best(self, targets: Array) -> tuple[Array, float]:
        """Return the scores with the smallest squared leave-one-out error, and the penalty."""
        errors = np.zeros(len(PENALTIES))
        for part, tried in self._tried(targets, PENALTIES):
            if part.start > CHOSEN_ON:
                break
            errors += [self.weights[part] @ ((own - targets[part]) ** 2).sum(1) for own in tried]
        penalty = PENALTIES[int(np.argmin(errors))]
        return self.scores(targets, penalty), penalty

    def _tried(
        self, targets: Array, penalties: tuple[float, ...]
    ) -> Iterator[tuple[slice, list[Array]]]:
        """Yield parts of the rows with their scores for some penalties."""
        total, mean = self.weights.sum(), self.weights @ targets / self.weights.sum()
        weighted = self.weights[:, None] * (targets - mean)
        pulled = sum(R.T @ weighted[part].astype(R.dtype) for part, R in self.blocks())
        shrinks = 1.0 / (self.spectrum[:, None] + np.array(penalties))
        coefs = (shrinks[:, :, None] * pulled[:, None, :]).reshape(len(shrinks), -1)
        without = [self._without(targets - mean, pulled, penalty) for penalty in penalties]
        for part, R in self.blocks():
            fitted = (R @ coefs.astype(R.dtype)).reshape(len(R), len(penalties), -1)
            leverages = np.square(R) @ shrinks.astype(R.dtype) + 1.0 / total
            leverages = np.minimum(leverages * self.weights[part, None], MOST_LEVERAGE)
            found = []
            for place, solved in enumerate(without):
                own = leverages[:, place, None]
                left = np.asarray((fitted[:, place] + mean - own * targets[part]) / (1.0 - own))
                for fold, coef in enumerate(solved):
                    rows = np.flatnonzero(self.folds[part] == fold)
                    left[rows] = R[rows] @ coef[:-1] + coef[-1] + mean
                found.append(np.asarray(left, dtype=np.float64))
            yield part, found

    def _without(self, targets: Array, pulled: Array, penalty: float) -> list[Array]:
        """Return for each fold the coefficients and the intercept of a fit without it."""
        d, found = len(self.spectrum), []
        moments = np.zeros((len(self.grams), d + 1, targets.shape[1]))
        for part, R in self.blocks() if len(moments) else ():
            for fold in range(len(moments)):
                rows = np.flatnonzero(self.folds[part] == fold)
                own = self.weights[part][rows, None] * targets[part][rows]
                moments[fold, :d] += R[rows].T @ own.astype(R.dtype)
                moments[fold, d] += own.sum(axis=0)
        whole = np.append(self.spectrum, self.weights.sum())
        for gram, moment in zip(self.grams, moments, strict=True):
            left = np.diag(whole + penalty * (np.arange(d + 1) < d)) - gram
            left[np.diag_indices(d + 1)] += 1e-9 * whole[-1]
            right = np.vstack([pulled, np.zeros((1, targets.shape[1]))]) - moment
            found.append(cho_solve(cho_factor(left, overwrite_a=True), right))
        return found


def _kept(blocks: Iterable[tuple[slice, Array]]) -> Blocks:
    kept = list(blocks)
    return lambda: kept


def _grams(blocks: Blocks, weights: Array, folds: Array) -> Array:
    """Return the inner products of the features and a one over the rows of each fold."""
    found: list[Array] = []
    for fold in range(folds.max(initial=-1) + 1):
        gram = 0.0
        for part, R in blocks():
            rows = np.flatnonzero(folds[part] == fold)
            one = np.hstack([R[rows], np.ones((len(rows), 1), R.dtype)])
            gram = gram + (one * weights[part][rows, None].astype(R.dtype)).T @ one
        found.append(np.asarray(gram, dtype=np.float64))
    return np.array(found)


def one_hot(codes: Array, n_classes: int) -> Array:
    """Return targets of +1 for the own class and -1 for the others."""
    targets = np.full((len(codes), n_classes), -1.0)
    targets[np.arange(len(codes)), codes] = 1.0
    return targets
