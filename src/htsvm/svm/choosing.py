"""What held-out samples say of a grid, and the rules by which a point of it is chosen."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from htsvm._typing import Array

# By how many standard errors of the difference in accuracy a point may be worse than the best.
ERRORS = 2.0
# By how much its agreement may be lower, and in units of 1 - agreement^2, as errors of correlations
# are: where the best is nearly certain a little less is much.
MOST_LOWER, SHARE_LOWER = 0.05, 0.08
# Points whose accuracy is within this many standard errors of the best are equally accurate.
WIDTH = 0.5
# A point that is not constant is preferred to one that is, unless it is worse by this many.
CONSTANT_WIDTH = 1.0

Place = tuple[int, int]
_NOTHING: tuple[str, ...] = ()


@dataclass(frozen=True, eq=False)
class Choice:
    """A point of the grid, by the numbers of its cap and of its C, and remarks for the user.

    The points are ranked by `order`, which is largest at the chosen one.
    """

    place: Place
    order: Array
    remarks: tuple[str, ...] = ()


@dataclass(eq=False)
class Held:
    """What the held-out samples of one fold, or of all, say of the whole grid.

    A sample counts as often as it is held out. Whatever else is to be chosen is one axis with the
    caps.

    Attributes
    ----------
    decisions : ndarray of shape (n_caps, n_Cs, n_held, n_scores)
        Their scores; one per sample for two classes, else one per class.
    codes, weights, fold : ndarray of shape (n_held,)
        Their classes, their weights, and in which fold they were held out.
    scores, fit_seconds : ndarray of shape (n_folds, n_caps, n_Cs)
        Accuracy, or what was asked for; seconds per fit.
    score_seconds : ndarray of shape (n_folds,)
        Seconds per score.
    asked : bool
        Whether a score was asked for.
    support : ndarray of shape (n_caps, n_Cs), optional
        The mean number of multipliers that are not zero.
    middle : tuple of ndarray
        The means of the folds' coefficients and of their intercepts, for each point.
    passes : float
        Work, in products with all of X.
    """

    decisions: Array
    codes: Array
    weights: Array
    fold: Array
    scores: Array
    fit_seconds: Array
    score_seconds: Array
    asked: bool
    support: Array | None = None
    middle: tuple[Array, ...] = ()
    passes: float = 0.0

    @staticmethod
    def joined(folds: Sequence[Held]) -> Held:
        """Return what all folds say, one after the other."""

        def every(name: str, axis: int = 0) -> Array:
            return np.concatenate([getattr(fold, name) for fold in folds], axis=axis)

        support = [fold.support for fold in folds if fold.support is not None]
        middles = zip(*(fold.middle for fold in folds), strict=True)
        held = Held(
            every("decisions", 2), every("codes"), every("weights"), every("fold"),
            every("scores"), every("fit_seconds"), every("score_seconds"), folds[0].asked,
            np.mean(support, axis=0) if support else None,
            tuple(np.mean(part, axis=0) for part in middles),
            float(sum(fold.passes for fold in folds)),
        )  # fmt: skip
        return held if held.asked else replace(held, scores=held.accuracies())

    @staticmethod
    def stacked(grids: Sequence[Held]) -> Held:
        """Return several grids on the same folds as one, stacked along the axis of the caps."""
        return replace(
            grids[0],
            decisions=np.concatenate([held.decisions for held in grids]),
            scores=np.concatenate([held.scores for held in grids], axis=1),
            fit_seconds=np.concatenate([held.fit_seconds for held in grids], axis=1),
            support=np.concatenate([held.support for held in grids if held.support is not None]),
            middle=(),
        )

    @property
    def means(self) -> Array:
        """The mean score of each point."""
        mean: Array = self.scores.mean(axis=0)
        return mean

    def constant(self) -> Array:
        """Return at which points all held-out samples get the same class."""
        found = predicted(self.decisions)
        same: Array = np.all(found == found[:, :, :1], axis=2)
        return same

    def accuracy(self) -> Array:
        """Return the accuracy of each point, on the held-out samples of all folds together."""
        return self.share(predicted(self.decisions) == self.codes)

    def share(self, values: Array) -> Array:
        """Return the weighted means over the held-out samples, the last axis."""
        return _mean(values, self.weights)

    @property
    def size(self) -> float:
        """The number of samples that would say as much if all had the same weight."""
        return float(self.weights.sum() ** 2 / np.square(self.weights).sum())

    def moved(self, errors: float = 0.0) -> tuple[Held, Array]:
        """Return the decisions less the thresholds of the best accuracy, and the thresholds.

        A threshold other than zero must gain so many standard `errors` of the difference, to which
        only the samples count whose class changes.
        """
        shape = self.decisions.shape[:2]
        thresholds = np.array([self._threshold(place) for place in np.ndindex(*shape)])
        thresholds = thresholds.reshape(shape)
        held = self._less(thresholds)
        changed = self.share(predicted(held.decisions) != predicted(self.decisions))
        clear = held.accuracy() - self.accuracy() > errors * np.sqrt(changed / self.size)
        if not np.all(clear | (thresholds == 0.0)):
            thresholds = np.where(clear, thresholds, 0.0)
            held = self._less(thresholds)
        return (held if self.asked else replace(held, scores=held.accuracies())), thresholds

    def _less(self, thresholds: Array) -> Held:
        """Return the decisions less a threshold per point."""
        return replace(
            self, decisions=self.decisions - thresholds[:, :, None, None].astype(np.float32)
        )

    def accuracies(self) -> Array:
        """Return the accuracy of each point in each fold."""
        right = predicted(self.decisions) == self.codes
        folds = [self.fold == k for k in range(len(self.fit_seconds))]
        return np.array([_mean(right[:, :, rows], self.weights[rows]) for rows in folds])

    def _threshold(self, place: tuple[int, ...]) -> float:
        """Return where the decisions at a point have the best accuracy; zero among equals."""
        values = self.decisions[place][:, 0].astype(np.float64)
        order = np.argsort(values, kind="stable")
        ranked = values[order]
        # What is gained by calling the samples up to each place negative.
        signed = np.where(self.codes == 1, -self.weights, self.weights)[order]
        gain = np.concatenate([[0.0], np.cumsum(signed)])
        edges = np.concatenate([[ranked[0] - 1.0], ranked, [ranked[-1] + 1.0]])
        possible = np.flatnonzero(edges[1:] > edges[:-1])
        best = possible[int(gain[possible].argmax())]
        at_zero = gain[int(np.searchsorted(ranked, 0.0, side="right"))]
        if at_zero >= gain[best] - 1e-12:
            return 0.0
        return float(0.5 * (edges[best] + edges[best + 1]))


def predicted(decisions: Array) -> Array:
    """Return the class numbers that scores (..., n, 1 or n_classes) stand for."""
    if decisions.shape[-1] == 1:
        return (decisions[..., 0] > 0.0).astype(np.intp)
    best: Array = decisions.argmax(axis=-1)
    return best


def _mean(values: Array, weights: Array) -> Array:
    """Return weighted means over the last axis; plain ones where no weight is positive."""
    total = float(weights.sum())
    if total == 0.0:
        return np.asarray(values.mean(axis=-1))
    return np.asarray(values @ weights / total)


def centred(decisions: Array) -> Array:
    """Return scores (n_samples, n_scores) as float64, of several classes less their mean."""
    values = np.asarray(decisions, dtype=np.float64)
    return values - values.mean(axis=1, keepdims=True) if values.shape[1] > 1 else values


def root_mean_square(values: Array, share: Array) -> float:
    """Return the size of centred scores, for shares of samples that add up to one."""
    return float(np.sqrt(share @ np.square(values).mean(axis=1)))


def agreement(decisions: Array, codes: Array, weights: Array | None = None) -> float:
    """Return how well decision values agree with labels that may be wrong.

    It is the correlation of the labels with ``tanh(f / s)``, where f are the decision values and s
    is their root mean square. Unlike accuracy it rewards a decision that is sure where it is
    right and unsure where it is wrong, so that few samples tell good models from better ones;
    unlike a plain correlation it does not let a few large values decide. Labels flipped at random
    shrink it by the same factor for all models. The values of all folds are taken together: models
    that differ much from fold to fold agree less.

    For several classes the values less their mean are compared with the indicators of the
    classes, over all classes together.

    Parameters
    ----------
    decisions : ndarray of shape (n_samples,) or (n_samples, 1 or n_classes)
        Decision values of samples that the models were not fitted to.
    codes : ndarray of shape (n_samples,)
        The number of each sample's class.
    weights : ndarray of shape (n_samples,), optional
        Weights of the samples.

    Returns
    -------
    float
        Between -1 and 1; 0 where all decisions are equal.

    Examples
    --------
    Any classifier can be chosen by it:

    >>> from sklearn.datasets import make_classification
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.model_selection import cross_val_predict
    >>> from htsvm.svm.choosing import agreement
    >>> X, y = make_classification(300, flip_y=0.4, random_state=0)
    >>> def score(C):
    ...     model = LogisticRegression(C=C)
    ...     return agreement(cross_val_predict(model, X, y, method="decision_function"), y)
    >>> max([0.001, 0.1, 10.0], key=score)
    0.1
    """
    values = centred(np.reshape(decisions, (len(decisions), -1)))
    share = np.ones(len(values)) if weights is None else np.asarray(weights, dtype=np.float64)
    share = share / share.sum()
    several, size = values.shape[1] > 1, root_mean_square(values, share)
    if size == 0.0:
        return 0.0
    sure = np.tanh(values / size)
    target = np.equal.outer(codes, np.arange(values.shape[1]) if several else [1]).astype(float)
    sure -= share @ sure
    target -= share @ target
    spread = float(share @ np.square(sure).sum(axis=1)) * float(
        share @ np.square(target).sum(axis=1)
    )
    if spread <= 1e-24:
        return 0.0
    return float(share @ (sure * target).sum(axis=1)) / float(np.sqrt(spread))


def agreements(held: Held) -> Array:
    """Return the agreement of each point of the grid."""
    shape = held.decisions.shape[:2]
    found = [
        agreement(held.decisions[place], held.codes, held.weights) for place in np.ndindex(*shape)
    ]
    return np.array(found).reshape(shape)


def by_agreement(held: Held, values: Array, Cs: Array) -> Choice:
    """Choose the highest agreement among the points that are as accurate as the best.

    These are the points whose accuracy on all held-out samples is within half a standard error
    of the best; the standard error of a share p of n samples is sqrt(p (1 - p) / n).
    """
    accuracy = held.accuracy()
    top = float(accuracy.max())
    error = float(np.sqrt(top * (1.0 - top) / held.size))
    able = accuracy >= top - WIDTH * error - 1e-12
    constant, remarks = held.constant(), _NOTHING
    if np.all(constant[able]):
        able, remarks = _instead_of_constant(able, constant, accuracy, CONSTANT_WIDTH * error)
    else:
        able &= ~constant
    # Agreements are at most one, so that those of the other points come after.
    order = values + 2.0 * able
    place = _place(order)
    return Choice(place, order, (*remarks, *_at_the_edge(place, accuracy, Cs)))


def by_score(held: Held, caps: Array, Cs: Array) -> Choice:
    """Choose the best mean score; of equals the larger cap, then the smaller C."""
    means = held.means
    able = means >= means.max() - 1e-12
    constant, remarks = held.constant(), _NOTHING
    if np.all(constant[able]):
        spread = float(held.scores[:, able].std(axis=0).max())
        error = CONSTANT_WIDTH * spread / float(np.sqrt(len(held.scores)))
        able, remarks = _instead_of_constant(able, constant, means, error)
    place = max(
        ((int(i), int(j)) for i, j in np.argwhere(able)), key=lambda p: (caps[p[0]], -Cs[p[1]])
    )
    order = np.where(able, means.max(), np.where(constant, means - 1e-9, means))
    return Choice(place, order, (*remarks, *_at_the_edge(place, means, Cs)))


def _instead_of_constant(
    able: Array, constant: Array, values: Array, width: float
) -> tuple[Array, tuple[str, ...]]:
    """Return other points than constant ones if they are hardly worse, and what there is to say."""
    top = float(values[able].max())
    if constant.all():
        return able, (
            "at every point of the grid all held-out samples get the same class: the model is a "
            "constant classifier. Try larger values of C, or other features.",
        )
    others = np.where(constant, -np.inf, values)
    best = float(others.max())
    if best >= top - width:
        return others >= best, (
            f"the best points of the grid are constant classifiers (score {top:.4f}); the best of "
            f"the others ({best:.4f}) is hardly worse and was taken.",
        )
    return able, (
        f"the best points of the grid are constant classifiers: their score is {top:.4f}, that of "
        f"the best other point {best:.4f}. The features tell little about the labels.",
    )


def _at_the_edge(place: Place, values: Array, Cs: Array) -> tuple[str, ...]:
    """Return a remark if the best C is the smallest or the largest of the grid."""
    row, chosen = values[place[0]], float(Cs[place[1]])
    inner = (Cs > Cs.min()) & (Cs < Cs.max())
    # Of two values both are edges: the other one is the rest of the grid.
    rest = inner if inner.any() else np.not_equal(Cs, chosen)
    if not rest.any() or inner[place[1]] or row[place[1]] <= row[rest].max():
        return ()
    word = "smaller" if chosen == Cs.min() else "larger"
    than = "all inside it" if inner.any() else "the other value"
    return (
        f"the chosen C = {chosen:g} is at the edge of the grid and better than {than}; try {word} "
        "values too (Cs).",
    )


def _place(values: Array) -> Place:
    i, j = np.unravel_index(int(values.argmax()), values.shape)
    return int(i), int(j)


def slack(agreement: float) -> float:
    """Return by how much the agreement may be lower than that of the best point."""
    return min(MOST_LOWER, SHARE_LOWER * (1.0 - agreement**2))


def sparser(held: Held, agreement: Array, choice: Choice) -> Choice:
    """Return the point with the fewest support vectors of those hardly worse than the chosen one.

    With a kernel every support vector costs time at each prediction. What this choice saves and
    costs is in docs/developers/choosing-c-and-cap.md. Of more than two classes the choice stays.
    """
    constant = held.constant()
    if held.decisions.shape[-1] > 1 or held.support is None or constant[choice.place]:
        return choice
    named, accuracy = predicted(held.decisions), held.accuracy()
    changed = held.share(named != named[choice.place])
    error = np.sqrt(changed / held.size)
    able = accuracy >= accuracy[choice.place] - ERRORS * error - 1e-12
    best = float(agreement[choice.place])
    able &= (agreement >= best - slack(best)) & ~constant
    # Of as many support vectors, the higher agreement; agreements differ by at most two.
    cost = np.where(able, held.support - 0.1 * agreement, np.inf)
    place = _place(-cost)
    if place == choice.place:
        return choice
    order = choice.order.copy()
    order[place] = order.max() + 1.0
    return replace(choice, place=place, order=order, remarks=())
