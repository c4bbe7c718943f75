"""The search for a point of a grid by cross-validation, whatever it is that a fold solves."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, field
from itertools import product
from numbers import Integral, Real
from typing import Any, NamedTuple, Self

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import get_scorer, get_scorer_names
from sklearn.model_selection import StratifiedKFold, check_cv
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping, process_routing

from htsvm._documented import documented
from htsvm._seeds import seed_of
from htsvm._sklearn import Interval, StrOptions, check_method_params, routing_enabled, validated_fit
from htsvm._typing import Array
from htsvm.exceptions import warn_user
from htsvm.svm import choosing
from htsvm.svm.base import BaseSVC
from htsvm.svm.choosing import Choice, Held

DEFAULT_FOLDS = 5


def search_constraints(rules: dict[str, list[Any]], *chosen: str) -> dict[str, list[Any]]:
    """Return the constraints of a search for a model: what is `chosen` is no parameter of it."""
    return {name: rule for name, rule in rules.items() if name not in chosen} | {
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "caps": [Interval(Real, 0.0, None, closed="right"), "array-like"],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
    }


class TrainingData(NamedTuple):
    """What has been validated: X, or a list of views, its labels and their weights, if any."""

    X: Any
    y: Array
    classes: Array
    codes: Array
    weights: Array | None

    def take(self, rows: Array) -> TrainingData:
        """Return some rows."""
        X = [view[rows] for view in self.X] if isinstance(self.X, list) else self.X[rows]
        weights = None if self.weights is None else self.weights[rows]
        return self._replace(X=X, y=self.y[rows], codes=self.codes[rows], weights=weights)

    def held_out(self, rows: Array, fold: int, decisions: Array, seconds: Array) -> Held:
        """Return what held-out rows say by their decision values; nobody has asked for scores."""
        return Held(
            decisions, self.codes[rows],
            np.ones(len(rows)) if self.weights is None else self.weights[rows],
            np.full(len(rows), fold), np.empty((1, *seconds.shape)), seconds[None], np.zeros(1),
            asked=False,
        )  # fmt: skip


@dataclass(frozen=True)
class Routed:
    """Keyword arguments of the splitter and the scorer; X tells those per sample from others."""

    split: dict[str, Any] = field(default_factory=dict)
    score: dict[str, Any] = field(default_factory=dict)
    X: Any = None

    @classmethod
    def of(cls, estimator: Any, X: Any, sample_weight: Any, params: dict[str, Any]) -> Routed:
        """Route metadata if that is enabled; else take `groups` and the weights, and no more."""
        if routing_enabled():
            routed = process_routing(estimator, "fit", sample_weight=sample_weight, **params)
            score = dict(routed.scorer.score) if "scorer" in routed else {}
            return cls(dict(routed.splitter.split), score, X)
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


class FoldsFit(BaseSVC):
    """A classifier of one view whose fit is a search over folds: `_search`."""

    @validated_fit
    @documented
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> Self:
        """Fit the grid on all folds, and what they tell to deliver.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data; of a precomputed kernel its matrix.
        {y}, {sample_weight of folds}, {**params}

        Returns
        -------
        self : object
            The fitted estimator.
        """
        routed = Routed.of(self, X, sample_weight, params)
        self._search(TrainingData(*self._validated(X, y, sample_weight)), routed)
        return self

    @abstractmethod
    def _search(self, data: TrainingData, routed: Routed) -> None:
        """Fit data that has been validated."""

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata are routed: to this estimator, the splitter and a scorer."""
        split, score = (MethodMapping().add(caller="fit", callee=to) for to in ("split", "score"))
        router = MetadataRouter(owner=self).add_self_request(self)
        router = router.add(splitter=self.cv, method_mapping=split)
        if not hasattr(self, "scoring"):
            return router
        scoring = "accuracy" if self.scoring is None else self.scoring
        return router.add(scorer=get_scorer(scoring), method_mapping=score)


class SearchCV(BaseSVC):
    """A classifier that chooses a point of a grid by cross-validation, and is fitted there.

    Subclasses say what the grid is, `_check_grid` and `_axes`, how a fold solves all of it,
    `_solve_fold`, and how the chosen point is fitted to all the data, `_fit_chosen`.
    """

    C_: float
    cap_: float
    Cs_: Array

    @abstractmethod
    def _check_grid(self, data: TrainingData) -> None:
        """Check the parameters of the grid and store its axes."""

    @abstractmethod
    def _axes(self) -> dict[str, Any]:
        """Return the values along each axis of the grid, by name; C comes last."""

    @abstractmethod
    def _solve_fold(
        self, data: TrainingData, routed: Routed, number: int, train: Array, test: Array
    ) -> Held:
        """Solve all points of the grid on one fold."""

    @abstractmethod
    def _fit_chosen(self, data: TrainingData, held: Held, place: choosing.Place) -> None:
        """Fit all the data at the chosen point."""

    def _search(self, data: TrainingData, routed: Routed) -> None:
        """Choose a point of the grid and fit it."""
        self._check_grid(data)
        splits = self._splits(data, routed.split)
        self.n_splits_ = len(splits)
        held = self._cross_validate(data, routed, splits)
        self._fit_chosen(data, held, self._choose(held))

    def _splits(self, data: TrainingData, params: dict[str, Any]) -> list[tuple[Array, Array]]:
        """Return the rows to train on and to hold out, for each fold.

        Folds that are only given by their number are shuffled: data are often ordered by class, by
        time or by who labelled them. Small classes get fewer folds by default; two at least.
        """
        cv = self.cv
        if cv is None or isinstance(cv, (int, np.integer)):
            fewest = max(2, min(DEFAULT_FOLDS, int(np.bincount(data.codes).min())))
            number = fewest if cv is None else int(cv or DEFAULT_FOLDS)
            cv = StratifiedKFold(number, shuffle=True, random_state=seed_of(self.random_state))
        X = data.X[0] if isinstance(data.X, list) else data.X
        return given_folds(cv, X, data.y, params)

    def _cross_validate(
        self, data: TrainingData, routed: Routed, splits: list[tuple[Array, Array]]
    ) -> Held:
        """Return what the folds say of the whole grid."""
        folds = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._solve_fold)(data, routed, number, train, test)
            for number, (train, test) in enumerate(splits)
        )
        return Held.joined(folds)

    def _choose(self, held: Held) -> choosing.Place:
        """Choose a point, say what a user should know about it, store and return its place."""
        axes, more = self._axes(), {}
        shape = tuple(len(values) for values in axes.values())
        self.__dict__.pop("agreement_", None)
        if held.asked:
            choice = self._by_score(held)
        else:
            more["agreement"] = choosing.agreements(held)
            self.agreement_ = more["agreement"].reshape(shape)
            choice = self._by_agreement(held, more["agreement"])
        self.best_index_ = int(np.ravel_multi_index(choice.place, choice.order.shape))
        self.best_score_ = float(held.means[choice.place])
        self.scores_ = held.scores.reshape(-1, *shape)
        self.cv_results_ = _table(held, axes, choice.order, more)
        for name, value in self.cv_results_["params"][self.best_index_].items():
            setattr(self, f"{name}_", value)
        for text in choice.remarks:
            warn_user(f"{type(self).__name__}: {text}", UserWarning)
        return choice.place

    def _by_agreement(self, held: Held, agreement: Array) -> Choice:
        return choosing.by_agreement(held, agreement, self.Cs_)

    @abstractmethod
    def _by_score(self, held: Held) -> Choice:
        """Choose by the score that was asked for."""

    def _plain(self, kind: Any) -> Any:
        """Return an unfitted model of another kind, with the options of this one."""
        shared = kind().get_params().keys() & self.get_params().keys()
        return kind(**{name: getattr(self, name) for name in shared})


def given_folds(cv: Any, X: Any, y: Array, params: dict[str, Any]) -> list[tuple[Array, Array]]:
    """Return the folds of a splitter, or those that are given one by one; at least one."""
    found = list(check_cv(cv, y, classifier=True).split(X, y, **params))
    if not found:
        raise ValueError(f"cv={cv!r} gave no folds; give a splitter with at least one.")
    return found


def _table(
    held: Held, axes: dict[str, Any], order: Array, more: dict[str, Array]
) -> dict[str, Any]:
    """Return the grid as `GridSearchCV` does: a row per point, ranked by `order`, C last."""
    values = zip(*product(*axes.values()), strict=True)
    columns = dict(reversed(list(zip(axes, values, strict=True))))
    flat = held.scores.reshape(len(held.scores), -1)
    seconds = held.fit_seconds.reshape(len(flat), -1)
    each = np.repeat(held.score_seconds[:, None], flat.shape[1], axis=1)
    above = order.ravel()[None, :] > order.ravel()[:, None]
    return {
        "mean_fit_time": seconds.mean(axis=0),
        "std_fit_time": seconds.std(axis=0),
        "mean_score_time": each.mean(axis=0),
        "std_score_time": each.std(axis=0),
        **{
            f"param_{name}": np.ma.MaskedArray(column, dtype=object if "auto" in column else float)
            for name, column in columns.items()
        },
        "params": [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ],
        **{f"split{k}_test_score": row for k, row in enumerate(flat)},
        "mean_test_score": flat.mean(axis=0),
        "std_test_score": flat.std(axis=0),
        "rank_test_score": 1 + np.sum(above, axis=1, dtype=np.int32),
        **{name: values.ravel() for name, values in more.items()},
    }


def falling(name: str, values: Any, least: float | None = None, infinite: bool = False) -> Array:
    """Return the different values of an axis, largest first."""
    grid = np.atleast_1d(np.asarray(values, dtype=np.float64))
    fine = (grid > 0.0) if least is None else (grid >= least)
    if grid.ndim != 1 or len(grid) == 0 or not np.all(fine & (infinite | np.isfinite(grid))):
        wanted = "positive" if least is None else "not negative"
        wanted += " (inf for no truncation)" if infinite else " and finite"
        raise ValueError(f"{name} must be {wanted}, one or several, got {values!r}.")
    return np.unique(grid)[::-1]
