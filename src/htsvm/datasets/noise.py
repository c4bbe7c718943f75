"""Wrong labels: exact numbers of them, of three kinds."""

from __future__ import annotations

from numbers import Real
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d

from htsvm._seeds import generator_of
from htsvm._typing import Array

KINDS = ("symmetric", "per-class", "boundary")
# How steeply boundary noise falls off, per mean distance.
FALL = 3.0


def flip_labels(
    y: Any,
    rate: float,
    *,
    kind: str = "symmetric",
    classes: Any = None,
    scores: Any = None,
    random_state: Any = None,
) -> tuple[Array, Array]:
    """Give an exact share of samples a wrong label.

    Parameters
    ----------
    y : array-like of shape (n_samples,)
        Labels of at least two classes. In the wrong label each other class is equally likely.
    rate : float
        The share to flip, from 0 to 1. Exactly ``round(rate * n)`` labels are flipped.
    kind : {"symmetric", "per-class", "boundary"}, default="symmetric"
        "symmetric" draws from all samples alike. "per-class" flips the share in each class on its
        own, so that the class frequencies stay in proportion. "boundary" prefers samples near the
        decision boundary: drawn without replacement, with weights
        ``exp(-3 |score| / mean |score|)``.
    classes : array-like, optional
        Flip labels of these classes only; the share is of their samples.
    scores : array-like of shape (n_samples,), optional
        Signed distances from the boundary, needed for "boundary": for instance the decision values
        of a model of the clean data.
    random_state : int, RandomState, Generator or None, default=None
        Drives the choice. For one seed a higher rate flips the same samples and some more. None
        always takes the same seed; a generator goes on where it was.

    Returns
    -------
    noisy : ndarray of shape (n_samples,)
        The labels with errors.
    flipped : ndarray of bool of shape (n_samples,)
        Which ones are wrong.

    Examples
    --------
    >>> import numpy as np
    >>> from htsvm.datasets import flip_labels
    >>> y = np.array([1] * 10 + [-1] * 30)
    >>> _, flipped = flip_labels(y, 0.2, kind="per-class", random_state=0)
    >>> int(flipped[:10].sum()), int(flipped[10:].sum())
    (2, 6)
    """
    y = column_or_1d(y)
    known, codes = np.unique(y, return_inverse=True)
    candidates = _candidates(y, known, rate, kind, classes)
    rng = generator_of(random_state)
    flipped = np.zeros(len(y), dtype=bool)
    if kind == "boundary":
        order = _near_first(y, scores, candidates, rng)
        flipped[order[: round(rate * len(order))]] = True
    else:
        if scores is not None:
            raise ValueError(f'scores are for kind="boundary" only, got kind={kind!r}.')
        split = [candidates[codes[candidates] == k] for k in range(len(known))]
        for group in split if kind == "per-class" else [candidates]:
            order = rng.permutation(group)
            flipped[order[: round(rate * len(group))]] = True
    noisy = y.copy()
    noisy[flipped] = known[_other_codes(codes, len(known), rng)[flipped]]
    return noisy, flipped


def _candidates(y: Array, known: Array, rate: float, kind: str, classes: Any) -> Array:
    """Return the samples that may be flipped, after checking the arguments."""
    if kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(map(repr, KINDS))}, got {kind!r}.")
    if not isinstance(rate, Real) or not 0.0 <= rate <= 1.0:
        raise ValueError(f"rate must be a number between 0 and 1, got {rate!r}.")
    if y.dtype.kind == "f" and np.isnan(y).any():
        raise ValueError(f"y has {np.isnan(y).sum()} labels that are NaN.")
    if len(known) < 2:
        raise ValueError(f"y needs at least two classes to flip labels, got {known.tolist()!r}.")
    if classes is None:
        return np.arange(len(y))
    wanted = np.atleast_1d(classes)
    unknown = wanted[~np.isin(wanted, known)]
    if len(unknown):
        raise ValueError(
            f"classes names {unknown.tolist()!r}, but y has the classes {known.tolist()!r}."
        )
    return np.flatnonzero(np.isin(y, wanted))


def _near_first(y: Array, scores: Any, candidates: Array, rng: np.random.Generator) -> Array:
    """Return the candidates in a random order in which those near the boundary come early."""
    if scores is None:
        raise ValueError('kind="boundary" needs scores: the signed distance of each sample.')
    scores = column_or_1d(scores)
    check_consistent_length(y, scores)
    distance = np.abs(scores[candidates].astype(float))
    if not np.all(np.isfinite(distance)):
        raise ValueError("scores must be finite.")
    scale = distance.mean() or 1.0
    # Exponential keys divided by weights: the k smallest are a weighted sample of k. On the
    # log scale, so that far samples do not overflow.
    keys = np.log(rng.standard_exponential(len(candidates))) + FALL * distance / scale
    ordered: Array = candidates[np.argsort(keys, kind="stable")]
    return ordered


def _other_codes(codes: Array, n_classes: int, rng: np.random.Generator) -> Array:
    """Return for each sample a class that is not its own."""
    if n_classes == 2:
        return 1 - codes
    # Drawn for all samples, so that a higher rate does not change the labels of a lower one.
    shift = rng.integers(1, n_classes, size=len(codes))
    other: Array = (codes + shift) % n_classes
    return other
