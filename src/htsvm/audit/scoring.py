"""From samples and labels to out-of-sample scores and the order of suspicion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy.optimize import minimize_scalar
from scipy.special import log_softmax, softmax
from sklearn.base import clone
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from htsvm._typing import Array
from htsvm.audit.kernel_scores import LandmarkSpace, LeaveOneOut, one_hot
from htsvm.audit.noise_model import NoiseModel, fit_noise

# How far the second fit follows the noise model instead of the labels as given.
BELIEF = 0.5
# Rows that the noise model is fitted to at most, and those per class: more change nothing.
NOISE_ROWS, NOISE_ROWS_PER_CLASS = 20_000, 50
# Tables of up to this many columns are judged by trees and logistic regression too, each fold
# fitted to this many rows at most: average precision +.03 on tables, nothing on images and texts.
ENSEMBLE_COLUMNS, ENSEMBLE_ROWS = 100, 20_000
Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Scores:
    """What the fits say about the labels."""

    first: Array
    final: Array
    shares: Array
    suspicion: Array
    order: Array
    ignored: Array
    fits: int
    noise: NoiseModel
    isolation: Array | None
    about: str


def violation(scores: Array, codes: Array) -> Array:
    """Return by how much the best other class beats the given one; above zero it does."""
    rows = np.arange(len(codes))
    others = scores.copy()
    others[rows, codes] = -np.inf
    return np.asarray(others.max(axis=1) - scores[rows, codes])


def kernel_scores(
    X: Any, codes: Array, n_classes: int, weights: Array | None, trusted: Array | None,
    folds: Array, seed: int, progress: Progress, groups: Array | None = None,
) -> Scores:  # fmt: skip
    """Score by kernel least squares: on the labels, then on what the noise model makes of them.

    A label that the first fit and the noise model together disbelieve counts little in the
    second, as a truncated loss would have it; its own score never depends on it. A label is
    suspicious if another class has a higher score in the second fit, if its own score is low there,
    and if it was unlikely in the first.
    """
    progress("kernel features")
    space = LandmarkSpace(X, len(codes), seed)
    progress("leave-one-out scores")
    copies = None
    if groups is not None:  # Rows with copies are scored in folds, all others one by one.
        _, place, sizes = np.unique(groups, return_inverse=True, return_counts=True)
        copies = np.where(sizes[place.ravel()] > 1, folds, -1)
    own = np.ones(len(codes)) if weights is None else weights
    problem = LeaveOneOut.of(space, own, copies)
    given = one_hot(codes, n_classes)
    first, penalty = problem.best(given)
    progress("noise model")
    noise = noise_of(first, codes, weights, trusted, seed)
    blended = 2.0 * noise.posterior(first, codes) - 1.0
    blended = BELIEF * blended + (1.0 - BELIEF) * given
    if trusted is not None:
        blended[trusted] = given[trusted]
    progress("second fit")
    final = problem.scores(blended, penalty)
    gone = [violation(scores, codes) > 0.0 for scores in (first, final)]
    rows = np.arange(len(codes))
    likely = noise.classes(first)[rows, codes]
    suspicion = violation(final, codes) - final[rows, codes] - likely
    return Scores(
        first=first,
        final=final,
        shares=tempered(noise.given(first), codes),
        suspicion=suspicion,
        order=suspicion,
        ignored=np.sum(gone, axis=0),
        fits=len(gone),
        noise=noise,
        isolation=space.isolation,
        about=f"kernel least squares, leave-one-out, penalty {penalty:g}",
    )


def noise_of(
    first: Array, codes: Array, weights: Array | None, trusted: Array | None, seed: int
) -> NoiseModel:
    """Fit the noise model, to some of the rows where there are many."""
    n, most = len(codes), max(NOISE_ROWS, NOISE_ROWS_PER_CLASS * first.shape[1])
    if n <= most:
        return fit_noise(first, codes, weights=weights, trusted=trusted)
    rows = np.random.default_rng(seed).choice(n, most, replace=False)
    if trusted is not None:
        rows = np.union1d(rows, np.flatnonzero(trusted))
    some = [None if part is None else part[rows] for part in (weights, trusted)]
    return fit_noise(first[rows], codes[rows], weights=some[0], trusted=some[1])


def with_ensemble(
    found: Scores, X: Any, codes: Array, weights: Array | None, trusted: Array | None,
    folds: Array, seed: int, progress: Progress,
) -> Scores:  # fmt: skip
    """Return the scores judged by logistic regression and trees as well, where X suits them."""
    if isinstance(X, Mapping) or X.shape[1] > ENSEMBLE_COLUMNS:
        return found
    rng, total = np.random.default_rng(seed), found.shares.copy()
    own = np.ones(len(codes)) if weights is None else weights
    models = (
        make_pipeline(
            StandardScaler(with_mean=not sp.issparse(X)), LogisticRegression(max_iter=300)
        ),
        ExtraTreesClassifier(50, min_samples_leaf=5, random_state=seed),
    )
    for fold in range(int(folds.max()) + 1):
        progress(f"trees, fold {fold + 1}")
        train, test = np.flatnonzero((folds != fold) & (own > 0.0)), folds == fold
        if len(train) > ENSEMBLE_ROWS:
            train = np.sort(rng.choice(train, ENSEMBLE_ROWS, replace=False))
        if len(np.unique(codes[train])) < 2:
            return found
        for model in models:
            name = getattr(model, "steps", [("",)])[-1][0]
            name = f"{name}__sample_weight" if name else "sample_weight"
            model.fit(X[train], codes[train], **{name: own[train]})
            total[np.ix_(test, model.classes_)] += model.predict_proba(X[test])
    shares = tempered(total / (1 + len(models)), codes)
    logs = np.log(np.maximum(total / (1 + len(models)), 1e-6))
    logs -= logs.mean(axis=1, keepdims=True)
    noise = noise_of(logs, codes, weights, trusted, seed)
    likely = noise.posterior(logs, codes)[np.arange(len(codes)), codes]
    order = _standard(found.suspicion) - _standard(likely)
    about = f"{found.about}; logistic regression and trees in {int(folds.max()) + 1} folds"
    return replace(found, shares=shares, order=order, about=about)


def _standard(values: Array) -> Array:
    spread = float(values.std())
    return np.asarray((values - values.mean()) / (spread if spread > 1e-12 else 1.0))


def tempered(shares: Array, codes: Array) -> Array:
    """Return probabilities to the power that makes the given labels most likely."""
    logs, rows = np.log(np.maximum(shares, 1e-12)), np.arange(len(codes))
    some = rows[:: max(1, len(rows) // NOISE_ROWS)]

    def loss(power: float) -> float:
        likely = log_softmax(np.exp(power) * logs[some], axis=1)
        return -float(likely[np.arange(len(some)), codes[some]].mean())

    power = minimize_scalar(loss, bounds=(-2.0, 2.0), method="bounded").x
    return np.asarray(softmax(np.exp(power) * logs, axis=1))


def folds_of(codes: Array, number: int, groups: Array | None, seed: int) -> Array:
    """Return the fold of each sample: classes are spread evenly, rows of a group stay together."""
    rows = np.arange(len(codes)) if groups is None else groups
    _, first, place = np.unique(rows, return_index=True, return_inverse=True)
    order = np.random.default_rng(seed).permutation(len(first))
    order = order[np.argsort(codes[first][order], kind="stable")]
    folds = np.empty(len(first), dtype=int)
    folds[order] = np.arange(len(first)) % number
    return folds[place.ravel()]


def model_scores(
    model: Any, X: Any, codes: Array, n_classes: int, weights: Array | None, trusted: Array |
    None, folds: Array, seed: int, progress: Progress,
) -> Scores:  # fmt: skip
    """Score by a classifier in folds; each sample by the fit that has not seen it."""
    n, n_folds = len(codes), int(folds.max()) + 1
    scores = np.full((n, n_classes), np.nan)
    ignored = np.zeros(n, dtype=int)
    for fold in range(n_folds):
        progress(f"fold {fold + 1} of {n_folds}")
        train, test = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        fitted = clone(model)
        options = {} if weights is None else {"sample_weight": weights[train]}
        fitted.fit(take(X, train), codes[train], **options)
        scores[test] = class_scores(fitted, take(X, test), n_classes)
        if hasattr(fitted, "ignored_") and np.ndim(fitted.ignored_) == 1:
            ignored[train[np.asarray(fitted.ignored_, dtype=int)]] += 1
    return rated(scores, codes, weights, trusted, ignored, n_folds, seed,
                 f"{type(model).__name__} in {n_folds} folds",
                 hasattr(model, "predict_proba"))  # fmt: skip


def rated(
    scores: Array, codes: Array, weights: Array | None, trusted: Array | None,
    ignored: Array | int, fits: int, seed: int, about: str, probable: bool,
) -> Scores:  # fmt: skip
    """Order the labels by how much likelier another one is, by given probabilities or made ones.

    `scores` are logarithms of probabilities if `probable`, else values of a decision function.
    """
    noise = noise_of(scores, codes, weights, trusted, seed)
    shares = softmax(scores, axis=1) if probable else noise.given(scores)
    suspicion = violation(shares, codes)
    ignored = ignored + (suspicion > 0.0).astype(int)
    return Scores(
        scores, shares, tempered(shares, codes), suspicion, suspicion, ignored, fits, noise, None,
        about,
    )  # fmt: skip


def class_scores(fitted: Any, X: Any, n_classes: int) -> Array:
    """Return logarithms of probabilities, or the values of a decision function, for each class."""
    if hasattr(fitted, "predict_proba"):
        likely = np.asarray(fitted.predict_proba(X), dtype=float)
        every = np.zeros((len(likely), n_classes))
        every[:, np.asarray(fitted.classes_, dtype=int)] = likely
        return np.log(np.maximum(every, 1e-9))
    found = np.asarray(fitted.decision_function(X), dtype=float)
    if found.ndim == 1:
        found = np.column_stack([-found, found])
    if found.shape[1] != n_classes:
        raise ValueError(
            f"{type(fitted).__name__}.decision_function gives {found.shape[1]} columns for "
            f"{n_classes} classes; one per class is needed (decision_function_shape='ovr')."
        )
    return found


def take(X: Any, rows: Array) -> Any:
    """Return some rows of a matrix, a table or several views."""
    if isinstance(X, Mapping):
        return {name: take(view, rows) for name, view in X.items()}
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
