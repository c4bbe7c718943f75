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
from htsvm.audit.trust import standard

# How far the second fit follows the noise model instead of the labels as given.
BELIEF = 0.5
# Rows that the noise model is fitted to at most, and those per class: more change nothing.
NOISE_ROWS, NOISE_ROWS_PER_CLASS = 20_000, 50
# Tables of up to this many columns are judged by trees and logistic regression too, each fold
# fitted to this many rows at most: average precision +.03 on tables, nothing on images and texts.
ENSEMBLE_COLUMNS, ENSEMBLE_ROWS = 100, 20_000


@dataclass(frozen=True, eq=False)
class AuditTask:
    """Labels as numbers, and how they are judged."""

    codes: Array
    n_classes: int
    weights: Array
    trusted: Array
    folds: Array
    groups: Array | None
    seed: int
    say: Callable[[str], None]


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


def kernel_scores(X: Any, task: AuditTask) -> Scores:
    """Score by kernel least squares: on the labels, then on what the noise model makes of them.

    A label is suspicious if another class has a higher score in the second fit, if its own score is
    low there, and if it was unlikely in the first.
    """
    codes = task.codes
    task.say("kernel features")
    space = LandmarkSpace(X, len(codes), task.seed)
    task.say("leave-one-out scores")
    copies = None
    if task.groups is not None:  # Rows with copies are scored in folds, all others one by one.
        _, place, sizes = np.unique(task.groups, return_inverse=True, return_counts=True)
        copies = np.where(sizes[place.ravel()] > 1, task.folds, -1)
    problem = LeaveOneOut.of(space, task.weights, copies)
    given = one_hot(codes, task.n_classes)
    first, penalty = problem.best(given)
    task.say("noise model")
    noise = noise_of(first, task)
    blended = 2.0 * noise.posterior(first, codes) - 1.0
    blended = BELIEF * blended + (1.0 - BELIEF) * given
    blended[task.trusted] = given[task.trusted]
    task.say("second fit")
    final = problem.scores(blended, penalty)
    gone = [violation(scores, codes) > 0.0 for scores in (first, final)]
    rows = np.arange(len(codes))
    likely = noise.classes(first)[rows, codes]
    suspicion = violation(final, codes) - final[rows, codes] - likely
    about = f"kernel least squares, leave-one-out, penalty {penalty:g}"
    return Scores(
        first, final, tempered(noise.given(first), codes), suspicion, suspicion,
        np.sum(gone, axis=0), len(gone), noise, space.isolation, about,
    )  # fmt: skip


def noise_of(first: Array, task: AuditTask) -> NoiseModel:
    """Fit the noise model, to some of the rows where there are many."""
    n, most = len(first), max(NOISE_ROWS, NOISE_ROWS_PER_CLASS * first.shape[1])
    rows = np.arange(n)
    if n > most:
        rows = np.random.default_rng(task.seed).choice(n, most, replace=False)
        if task.trusted.any():
            rows = np.union1d(rows, np.flatnonzero(task.trusted))
    some = task.weights[rows], task.trusted[rows]
    return fit_noise(first[rows], task.codes[rows], weights=some[0], trusted=some[1])


def with_ensemble(found: Scores, X: Any, task: AuditTask) -> Scores:
    """Return the scores judged by logistic regression and trees as well, where X suits them."""
    if isinstance(X, Mapping) or X.shape[1] > ENSEMBLE_COLUMNS:
        return found
    rng, total = np.random.default_rng(task.seed), found.shares.copy()
    codes, own, n_folds = task.codes, task.weights, int(task.folds.max()) + 1
    scaler = StandardScaler(with_mean=not sp.issparse(X))
    models = {
        "logisticregression__": make_pipeline(scaler, LogisticRegression(max_iter=300)),
        "": ExtraTreesClassifier(50, min_samples_leaf=5, random_state=task.seed),
    }
    for fold in range(n_folds):
        task.say(f"trees, fold {fold + 1}")
        test = task.folds == fold
        train = np.flatnonzero(~test & (own > 0.0))
        if len(train) > ENSEMBLE_ROWS:
            train = np.sort(rng.choice(train, ENSEMBLE_ROWS, replace=False))
        if len(np.unique(codes[train])) < 2:
            return found
        for step, model in models.items():
            model.fit(X[train], codes[train], **{f"{step}sample_weight": own[train]})
            total[np.ix_(test, model.classes_)] += model.predict_proba(X[test])
    total /= 1 + len(models)
    logs = np.log(np.maximum(total, 1e-6))
    logs -= logs.mean(axis=1, keepdims=True)
    likely = noise_of(logs, task).posterior(logs, codes)[np.arange(len(codes)), codes]
    order = standard(found.suspicion) - standard(likely)
    about = f"{found.about}; logistic regression and trees in {n_folds} folds"
    return replace(found, shares=tempered(total, codes), order=order, about=about)


def tempered(shares: Array, codes: Array) -> Array:
    """Return probabilities to the power that makes the given labels most likely."""
    logs, rows = np.log(np.maximum(shares, 1e-12)), np.arange(len(codes))
    some = rows[:: max(1, len(rows) // NOISE_ROWS)]

    def loss(power: float) -> float:
        likely = log_softmax(np.exp(power) * logs[some], axis=1)
        return -float(likely[np.arange(len(some)), codes[some]].mean())

    power = minimize_scalar(loss, bounds=(-2.0, 2.0), method="bounded").x
    return np.asarray(softmax(np.exp(power) * logs, axis=1))


def folds_of(codes: Array, cv: int, groups: Array | None, seed: int) -> Array:
    """Return the fold of each sample: classes are spread evenly, rows of a group stay together."""
    if isinstance(cv, bool) or not isinstance(cv, (int, np.integer)) or cv < 2:
        raise ValueError(f"cv must be a number of folds, at least 2, got {cv!r}.")
    rows = np.arange(len(codes)) if groups is None else groups
    _, first, place = np.unique(rows, return_index=True, return_inverse=True)
    order = np.random.default_rng(seed).permutation(len(first))
    order = order[np.argsort(codes[first][order], kind="stable")]
    folds = np.empty(len(first), dtype=int)
    folds[order] = np.arange(len(first)) % cv
    return folds[place.ravel()]


def model_scores(model: Any, X: Any, task: AuditTask, weighted: bool) -> Scores:
    """Score by a classifier in folds; each sample by the fit that has not seen it."""
    scored = hasattr(model, "predict_proba") or hasattr(model, "decision_function")
    if not (scored and hasattr(model, "fit")):
        need = "a classifier with decision_function or predict_proba"
        raise TypeError(f"model must be {need}, got {model!r}.")
    codes, n_folds = task.codes, int(task.folds.max()) + 1
    fewest = int(np.bincount(codes).min())
    if fewest < 2:
        text = f"a class has {fewest} sample: folds need at least 2 of each class. Leave it out, or"
        raise ValueError(f"{text} use model=None, which needs no folds.")
    scores = np.full((len(codes), task.n_classes), np.nan)
    ignored = np.zeros(len(codes), dtype=int)
    for fold in range(n_folds):
        task.say(f"fold {fold + 1} of {n_folds}")
        train, test = np.flatnonzero(task.folds != fold), np.flatnonzero(task.folds == fold)
        options = {"sample_weight": task.weights[train]} if weighted else {}
        fitted = clone(model).fit(take(X, train), codes[train], **options)
        scores[test] = class_scores(fitted, take(X, test), task.n_classes)
        if hasattr(fitted, "ignored_") and np.ndim(fitted.ignored_) == 1:
            ignored[train[np.asarray(fitted.ignored_, dtype=int)]] += 1
    about = f"{type(model).__name__} in {n_folds} folds"
    return rated(scores, task, ignored, n_folds, about, hasattr(model, "predict_proba"))


def rated(
    scores: Array, task: AuditTask, ignored: Array | int, fits: int, about: str, probable: bool
) -> Scores:
    """Order the labels by how much likelier another one is, by given probabilities or made ones.

    `scores` are logarithms of probabilities if `probable`, else values of a decision function.
    """
    codes, noise = task.codes, noise_of(scores, task)
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
        text = f"{type(fitted).__name__}.decision_function gives {found.shape[1]} columns for"
        raise ValueError(f"{text} {n_classes} classes; one per class is needed.")
    return found


def take(X: Any, rows: Array) -> Any:
    """Return some rows of a matrix, a table or several views."""
    if isinstance(X, Mapping):
        return {name: take(view, rows) for name, view in X.items()}
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
