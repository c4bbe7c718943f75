"""From samples and labels to out-of-sample scores and the order of suspicion."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from htsvm._typing import Array
from htsvm.audit.kernel_scores import LeaveOneOut, kernel_space, one_hot
from htsvm.audit.noise_model import NoiseModel, fit_noise

# How far the second fit follows the noise model instead of the labels as given.
BELIEF = 0.9
Progress = Callable[[str], None]


@dataclass(frozen=True, eq=False)
class Scores:
    """What the fits say about the labels.

    Attributes
    ----------
    first : ndarray of shape (n_samples, n_classes)
        Out-of-sample scores of fits to the labels as given.
    final : ndarray of shape (n_samples, n_classes)
        Those that suggestions come from.
    suspicion : ndarray of shape (n_samples,)
        Larger for labels that are more likely wrong.
    ignored : ndarray of shape (n_samples,)
        In how many fits the label was given up.
    fits : int
        The number of those fits.
    noise : NoiseModel
        Fitted to `first`.
    isolation : ndarray of shape (n_samples,), optional
        How far each sample is from the others.
    about : str
        What was fitted, in words.
    """

    first: Array
    final: Array
    suspicion: Array
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
    X: Any, codes: Array, n_classes: int, weights: Array, trusted: Array | None, seed: int,
    progress: Progress,
) -> Scores:  # fmt: skip
    """Score by kernel least squares: on the labels, then on what the noise model makes of them.

    A label that the first fit and the noise model together disbelieve counts little in the
    second, as a truncated loss would have it; its own score never depends on it. A label is
    suspicious if another class has a higher score in the second fit, if its own score is low there,
    and if it was unlikely in the first.
    """
    progress("kernel features")
    space = kernel_space(X, len(codes), seed)
    progress("leave-one-out scores")
    problem = LeaveOneOut.of(space.features, weights)
    given = one_hot(codes, n_classes)
    first, penalty = problem.best(given)
    progress("noise model")
    noise = fit_noise(first, codes, weights=weights, trusted=trusted)
    believed = 2.0 * noise.posterior(first, codes) - 1.0
    blended = BELIEF * believed + (1.0 - BELIEF) * given
    if trusted is not None:
        blended[trusted] = given[trusted]
    progress("second fit")
    final = problem.scores(blended, penalty)
    gone = [violation(scores, codes) > 0.0 for scores in (first, final)]
    rows = np.arange(len(codes))
    likely = noise.classes(first)[rows, codes]
    return Scores(
        first=first,
        final=final,
        suspicion=violation(final, codes) - final[rows, codes] - likely,
        ignored=np.sum(gone, axis=0),
        fits=len(gone),
        noise=noise,
        isolation=space.isolation,
        about=f"kernel least squares, leave-one-out, penalty {penalty:g}",
    )


def model_scores(
    model: Any, X: Any, codes: Array, n_classes: int, weights: Array | None, trusted: Array |
    None, n_folds: int, seed: int, progress: Progress,
) -> Scores:  # fmt: skip
    """Score by a classifier in folds; each sample by the fit that has not seen it."""
    n = len(codes)
    scores = np.full((n, n_classes), np.nan)
    ignored = np.zeros(n, dtype=int)
    fewest = int(np.bincount(codes, minlength=n_classes).min())
    if fewest < 2:
        raise ValueError(
            f"a class has {fewest} sample: folds need at least 2 of each class. Leave the class "
            "out, or use model=None, which needs no folds."
        )
    splitter = StratifiedKFold(min(n_folds, fewest), shuffle=True, random_state=seed)
    for number, (train, test) in enumerate(splitter.split(np.zeros(n), codes)):
        progress(f"fold {number + 1} of {splitter.get_n_splits()}")
        fitted = clone(model)
        options = {} if weights is None else {"sample_weight": weights[train]}
        fitted.fit(take(X, train), codes[train], **options)
        scores[test] = class_scores(fitted, take(X, test), n_classes)
        if hasattr(fitted, "ignored_") and np.ndim(fitted.ignored_) == 1:
            ignored[train[np.asarray(fitted.ignored_, dtype=int)]] += 1
    missed = violation(scores, codes) > 0.0
    return rated(scores, codes, weights, trusted, ignored + missed, splitter.get_n_splits(),
                 f"{type(model).__name__} in {splitter.get_n_splits()} folds")  # fmt: skip


def rated(
    scores: Array, codes: Array, weights: Array | None, trusted: Array | None, ignored: Array,
    fits: int, about: str,
) -> Scores:  # fmt: skip
    """Order the labels by the noise model of some scores and by their likelihood, half and half."""
    noise = fit_noise(scores, codes, weights=weights, trusted=trusted)
    rows = np.arange(len(codes))
    likelihood = (noise.classes(scores) @ noise.rates)[rows, codes]
    trust = noise.posterior(scores, codes)[rows, codes]
    suspicion = 2.0 - trust - likelihood
    return Scores(scores, scores, suspicion, ignored, fits, noise, None, about)


def class_scores(fitted: Any, X: Any, n_classes: int) -> Array:
    """Return one score per class from a decision function, or from logarithms of probabilities."""
    if hasattr(fitted, "decision_function"):
        found = np.asarray(fitted.decision_function(X), dtype=float)
        if found.ndim == 1:
            found = np.column_stack([-found, found])
        if found.shape[1] == n_classes:
            return found
        if not hasattr(fitted, "predict_proba"):
            raise ValueError(
                f"{type(fitted).__name__}.decision_function gives {found.shape[1]} columns for "
                f"{n_classes} classes; one per class is needed (decision_function_shape='ovr')."
            )
    return np.asarray(np.log(np.maximum(fitted.predict_proba(X), 1e-9)), dtype=float)


def take(X: Any, rows: Array) -> Any:
    """Return some rows of a matrix, a table or several views."""
    if isinstance(X, Mapping):
        return {name: take(view, rows) for name, view in X.items()}
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]
