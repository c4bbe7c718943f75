"""Cross-validation of a whole grid: the folds, and what the held-out samples say."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from sklearn.metrics import check_scoring, get_scorer
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils.extmath import safe_sparse_dot
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from htsvm._sklearn import check_method_params, routing_enabled
from htsvm._typing import Array
from htsvm.svm.grid import Grid

DEFAULT_FOLDS = 5


@dataclass(frozen=True)
class Routed:
    """What goes to the splitter and what to the scorer.

    Attributes
    ----------
    split, score : dict
        Keyword arguments; those for the scorer may have an entry per sample.
    X : array-like
        The data, which tell entries per sample from others.
    """

    split: dict[str, Any]
    score: dict[str, Any]
    X: Any

    @classmethod
    def of(cls, estimator: Any, X: Any, sample_weight: Any, params: dict[str, Any]) -> Routed:
        """Route metadata if that is enabled; else take `groups` and the weights, and no more."""
        if routing_enabled():
            routed = process_routing(estimator, "fit", sample_weight=sample_weight, **params)
            return cls(dict(routed.splitter.split), dict(routed.scorer.score), X)
        unknown = sorted(params.keys() - {"groups"})
        if unknown:
            raise TypeError(
                f"{type(estimator).__name__}.fit() got unexpected arguments {unknown}; besides "
                "sample_weight it takes groups. Others need metadata routing "
                "(sklearn.set_config(enable_metadata_routing=True))."
            )
        score = {} if sample_weight is None else {"sample_weight": sample_weight}
        groups = params.get("groups")
        return cls({} if groups is None else {"groups": groups}, score, X)

    def score_part(self, rows: Array) -> dict[str, Any]:
        """Return what the scorer gets for some rows."""
        part: dict[str, Any] = check_method_params(self.X, self.score, indices=rows)
        return part


def scorer_of(scoring: Any) -> Any:
    """Return the scorer that metadata may be routed to; by default that of accuracy."""
    return get_scorer("accuracy" if scoring is None else scoring)


def router_of(estimator: Any) -> MetadataRouter:
    """Return how metadata are routed: to an estimator, its splitter and its scorer."""
    router = MetadataRouter(owner=estimator).add_self_request(estimator)
    router = router.add(
        splitter=estimator.cv, method_mapping=MethodMapping().add(caller="fit", callee="split")
    )
    return router.add(
        scorer=scorer_of(estimator.scoring),
        method_mapping=MethodMapping().add(caller="fit", callee="score"),
    )


def splits(
    cv: Any, X: Any, y: Array, codes: Array, seed: int, params: dict[str, Any]
) -> list[tuple[Array, Array]]:
    """Return the rows to train on and to hold out, for each fold.

    Folds that are only given by their number are shuffled: data are often ordered by class, by
    time or by who labelled them.
    """
    if cv is None or isinstance(cv, (int, np.integer)):
        number = int(cv or DEFAULT_FOLDS)
        if cv is None:
            # Small classes get fewer folds by default; two at least.
            number = max(2, min(number, int(np.bincount(codes).min())))
        cv = StratifiedKFold(number, shuffle=True, random_state=seed)
    found = list(check_cv(cv, y, classifier=True).split(X, y, **params))
    if not found:
        raise ValueError(f"cv={cv!r} gave no folds; give a splitter with at least one.")
    return found


def some(weights: Array | None, rows: Array) -> Array | None:
    """Return the weights of some rows, if there are weights."""
    return None if weights is None else weights[rows]


@dataclass
class Fold:
    """One fold of the whole grid.

    Attributes
    ----------
    test : ndarray
        The rows held out.
    coef, intercept : ndarray of shape (n_caps, n_Cs, n_scores, n_features) and without the last
        The fits.
    decisions : ndarray of shape (n_caps, n_Cs, n_test, n_scores), float32
        The scores of the held-out rows; one per row for two classes, else one per class.
    fit_seconds, score_seconds : ndarray of shape (n_caps, n_Cs), float
        What it took.
    passes : float
        Work, in products with all of X.
    number : int
        Which fold it is.
    scores : ndarray of shape (n_caps, n_Cs) or None
        The scores that were asked for.
    support : ndarray of shape (n_caps, n_Cs) or None
        The number of multipliers that are not zero.
    """

    test: Array
    coef: Array
    intercept: Array
    decisions: Array
    fit_seconds: Array
    score_seconds: float
    passes: float
    number: int
    scores: Array | None = field(default=None)
    support: Array | None = field(default=None)

    @classmethod
    def of(
        cls, grids: Sequence[Grid], X_test: Any, number: int, train: Array, test: Array, m: int
    ) -> Fold:
        """Solve the grids of all problems of a fit, and decide on the held-out rows."""
        solved = [grid.solve() for grid in grids]
        shape = (len(solved[0]), len(solved[0][0]))
        fits = [
            [[rows[i][j].result for rows in solved] for j in range(shape[1])]
            for i in range(shape[0])
        ]
        coef = np.array([[np.vstack([r.coef for r in cell]) for cell in row] for row in fits])
        intercept = np.array(
            [[np.concatenate([np.atleast_1d(r.intercept) for r in cell]) for cell in row]
             for row in fits]
        )  # fmt: skip
        seconds = np.sum([[[p.seconds for p in row] for row in rows] for rows in solved], axis=0)
        support = [[sum(np.count_nonzero(r.multipliers) for r in cell) for cell in row]
                   for row in fits]  # fmt: skip
        began = time.perf_counter()
        flat = coef.reshape(-1, coef.shape[-1])
        scores = np.asarray(safe_sparse_dot(X_test, flat.T, dense_output=True))
        scores = scores.reshape(-1, *coef.shape[:3]) + intercept
        return cls(
            test=test,
            coef=coef,
            intercept=intercept,
            decisions=np.ascontiguousarray(np.moveaxis(scores, 0, 2), dtype=np.float32),
            fit_seconds=seconds,
            score_seconds=(time.perf_counter() - began) / seconds.size,
            passes=sum(grid.passes for grid in grids) * len(train) / m,
            number=number,
            support=np.array(support),
        )

    def score_by(self, scoring: Any, model: Any, X: Any, y: Array, params: dict[str, Any]) -> None:
        """Score every point of the grid with a scorer of scikit-learn."""
        scorer = check_scoring(model, scoring=scoring)
        shape = self.fit_seconds.shape
        self.scores = np.empty(shape)
        began = time.perf_counter()
        for place in np.ndindex(*shape):
            model.coef_, model.intercept_ = self.coef[place], self.intercept[place]
            self.scores[place] = scorer(model, X, y, **params)
        self.score_seconds = (time.perf_counter() - began) / self.scores.size

    def report(self, name: str, total: int) -> None:
        """Print a line about this fold."""
        print(
            f"[{name}] fold {self.number + 1} of {total}: {self.fit_seconds.size} points in "
            f"{self.fit_seconds.sum():.1f} s",
            flush=True,
        )


@dataclass(frozen=True, eq=False)
class Held:
    """What the held-out samples of all folds say of the whole grid.

    A sample counts as often as it is held out.

    Attributes
    ----------
    decisions : ndarray of shape (n_caps, n_Cs, n_held, n_scores)
        The scores of the held-out samples.
    codes : ndarray of shape (n_held,)
        Their classes.
    weights : ndarray of shape (n_held,)
        Their weights.
    fold : ndarray of shape (n_held,)
        In which fold they were held out.
    scores : ndarray of shape (n_folds, n_caps, n_Cs)
        The scores of the folds: accuracy, or what was asked for.
    fit_seconds : ndarray of shape (n_folds, n_caps, n_Cs)
        Seconds per fit.
    score_seconds : ndarray of shape (n_folds,)
        Seconds per score.
    asked : bool
        Whether a score was asked for.
    middle : tuple of ndarray
        The means of the folds' coefficients and of their intercepts, for each point.
    support : ndarray of shape (n_caps, n_Cs) or None
        The mean number of multipliers that are not zero.
    """

    decisions: Array
    codes: Array
    weights: Array
    fold: Array
    scores: Array
    fit_seconds: Array
    score_seconds: Array
    asked: bool
    middle: tuple[Array, ...] = ()
    support: Array | None = None

    @classmethod
    def of(cls, parts: Sequence[Fold], codes: Array, weights: Array | None) -> Held:
        """Put the folds together."""
        rows = np.concatenate([part.test for part in parts])
        held = np.ones(len(rows)) if weights is None else weights[rows]
        decisions = np.concatenate([part.decisions for part in parts], axis=2)
        fold = np.repeat(np.arange(len(parts)), [len(part.test) for part in parts])
        scores = [part.scores for part in parts if part.scores is not None]
        support = [part.support for part in parts if part.support is not None]
        together = cls(
            decisions=decisions,
            codes=codes[rows],
            weights=held,
            fold=fold,
            scores=np.array(scores),
            fit_seconds=np.array([part.fit_seconds for part in parts]),
            score_seconds=np.array([part.score_seconds for part in parts]),
            asked=bool(scores),
            middle=(
                np.mean([part.coef for part in parts], axis=0),
                np.mean([part.intercept for part in parts], axis=0),
            ),
            support=np.mean(support, axis=0) if support else None,
        )
        return together if scores else replace(together, scores=together._accuracies())

    @staticmethod
    def stacked(held: Sequence[Held]) -> Held:
        """Return several grids on the same folds as one, stacked along the axis of the caps."""
        first = held[0]
        return replace(
            first,
            decisions=np.concatenate([one.decisions for one in held]),
            scores=np.concatenate([one.scores for one in held], axis=1),
            fit_seconds=np.concatenate([one.fit_seconds for one in held], axis=1),
            middle=(),
            support=np.concatenate([one.support for one in held if one.support is not None]),
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

        Parameters
        ----------
        errors : float, default=0.0
            By how many standard errors a threshold other than zero must gain; the error is that of
            the difference, to which only the samples count whose class changes.
        """
        shape = self.decisions.shape[:2]
        thresholds = np.array([self._threshold(place) for place in np.ndindex(*shape)])
        thresholds = thresholds.reshape(shape)
        held = self._less(thresholds)
        changed = _mean(predicted(held.decisions) != predicted(self.decisions), self.weights)
        clear = held.accuracy() - self.accuracy() > errors * np.sqrt(changed / self.size)
        if not np.all(clear | (thresholds == 0.0)):
            thresholds = np.where(clear, thresholds, 0.0)
            held = self._less(thresholds)
        return (held if self.asked else replace(held, scores=held._accuracies())), thresholds

    def _less(self, thresholds: Array) -> Held:
        """Return the decisions less a threshold per point."""
        return replace(
            self, decisions=self.decisions - thresholds[:, :, None, None].astype(np.float32)
        )

    def _accuracies(self) -> Array:
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

    def table(self, caps: Array, Cs: Array, order: Array, more: dict[str, Array]) -> dict[str, Any]:
        """Return the grid as `GridSearchCV` does: a row per point, caps first.

        Parameters
        ----------
        caps, Cs : ndarray
            The grid.
        order : ndarray of shape (n_caps, n_Cs)
            What the points are ranked by; larger is better.
        more : dict of ndarrays of shape (n_caps, n_Cs)
            Further columns.
        """
        pairs = [(float(cap), float(C)) for cap in caps for C in Cs]
        flat = self.scores.reshape(len(self.scores), -1)
        seconds = self.fit_seconds.reshape(len(flat), -1)
        each = np.repeat(self.score_seconds[:, None], flat.shape[1], axis=1)
        ranks = np.ones(flat.shape[1], dtype=np.int32)
        ranks += np.sum(order.ravel()[None, :] > order.ravel()[:, None], axis=1).astype(np.int32)
        return {
            "mean_fit_time": seconds.mean(axis=0),
            "std_fit_time": seconds.std(axis=0),
            "mean_score_time": each.mean(axis=0),
            "std_score_time": each.std(axis=0),
            "param_C": np.ma.MaskedArray([C for _, C in pairs]),
            "param_cap": np.ma.MaskedArray([cap for cap, _ in pairs]),
            "params": [{"C": C, "cap": cap} for cap, C in pairs],
            **{f"split{k}_test_score": row for k, row in enumerate(flat)},
            "mean_test_score": flat.mean(axis=0),
            "std_test_score": flat.std(axis=0),
            "rank_test_score": ranks,
            **{name: values.ravel() for name, values in more.items()},
        }


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
