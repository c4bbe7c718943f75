"""Robust logistic regression that averages the models of a cross-validation."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np

from htsvm._documented import documented
from htsvm._seeds import seed_of
from htsvm._sklearn import Interval, StrOptions
from htsvm._typing import Array
from htsvm.linalg.threads import single_threaded_blas
from htsvm.logistic.noise import fitted_slope, flipped_sigmoid
from htsvm.logistic.pool import Kind, Pool, SearchColumns
from htsvm.logistic.regression import SoftmaxClassifier
from htsvm.losses.cross_entropy import log_probabilities
from htsvm.problems.build import class_factors
from htsvm.svm.averaging import Average, averaged
from htsvm.svm.base import BaseSVC
from htsvm.svm.choosing import predicted
from htsvm.svm.search import DEFAULT_FOLDS, FoldsFit, Routed, TrainingData, falling, given_folds

# How many folds do from how many rows on, and up to how many rows are dealt out twice.
FEW_FOLDS, MANY_ROWS, FEW_ROWS = 3, 10_000, 2000
# The grid of C in units of the variance of the columns: from one over the rows to this.
LARGEST = 2.0**7
STEPS = 25


@documented
@dataclass(eq=False, repr=False)
class HTLogisticRegressionCV(SoftmaxClassifier, FoldsFit):
    """Logistic regression for labels that cannot all be trusted, with nothing to choose.

    Plain models, ones whose cross-entropy is truncated, so that unlikely labels no longer pull, and
    ones that see labels through an estimated flip matrix are fitted on folds at several C. None is
    chosen, since held-out labels that are wrong choose badly: all that are as accurate as the best,
    within one standard error, are averaged. The mean of linear models is a linear model.

    Parameters
    ----------
    Cs : int or array-like, default=9
        The penalties, as in `LogisticRegression`, or how many from ``1 / (n v)`` to ``128 / v``,
        with n samples and the total variance v of the columns. 5 is a fast mode.
    caps : float, array-like or None, default=(2.0, 1.0, 0.5)
        The caps of truncated models, in units of log K (K classes): at 1, labels less likely than
        chance are ignored. None leaves these models out.
    cv : int, splitter or iterable, default=None
        The folds: their number, a splitter of scikit-learn, or pairs of training and test indices.
        None is 5, done twice up to 2,000 rows, and 3 from 10,000 rows on. Folds given by number are
        stratified and depend on the values in the rows and `random_state`, not on their order.
    noise : {"class-conditional"} or None, default=None
        None: probabilities are those of labels as noisy as the given ones, and the boundary is
        that of the average. "class-conditional" estimates how often each class was flipped,
        whatever the row: probabilities are those of true classes, and of two classes the boundary
        moves. That gains one to three points of accuracy where one class was flipped more than the
        other; on large data it costs six where labels are wrong near the boundary.
    standardize : bool or "auto", default="auto"
        Whether the regulariser is that of columns of variance one; `coef_` belongs to the given
        ones. "auto" takes what predicts held-out labels better, and leaves columns that are more
        than the rows as they are.
    {knee}, {fit_intercept}
    class_weight : dict, "balanced" or None, default=None
        Factors of C and of held-out samples per class; "balanced" gives classes equal weight.
    max_iter : int, default=25
        The most steps of a fit. More change next to nothing.
    {n_jobs of folds}
    random_state : int, RandomState or None, default=None
        Drives the folds. None always takes the same seed, so that a fit can be repeated.

    Attributes
    ----------
    {coef_}, {intercept_}, {classes_}
    slope_ : float
        What decision values are multiplied by before the softmax of `predict_proba`.
    weights_ : ndarray of shape (n_models,)
        The shares of the models in the average, in the order of `cv_results_`.
    noise_matrix_ : ndarray of shape (n_classes, n_classes)
        The estimated probability of a label (columns) given the true class (rows).
    ignored_ : ndarray
        Indices of the samples whose label is less likely than chance, by the models that were not
        fitted to them.
    cv_results_ : dict of ndarrays
        The table of the grid, for ``pandas.DataFrame``: loss, cap, C and columns of each model,
        its accuracy on the held-out samples, its agreement, and its weight.
    {n_splits_}
    n_iter_ : int
        The steps that a fit may take.
    {n_features_in_}, {feature_names_in_}

    See Also
    --------
    HTLogisticRegression : A single model, with a certificate.
    htsvm.plotting.plot_average : Draws what was averaged.

    Notes
    -----
    A sample of weight two counts twice in fits, held-out accuracy and its error. Weights of less
    than one on average are scaled to one.

    The weight of a model in the average is the fourth power of its agreement
    (`htsvm.svm.choosing.agreement`), after all decisions have been scaled to the same held-out
    size; constant models have none. What each part is worth: docs/guide/robust-probabilities.md.

    More than 100,000 values are fitted in single precision, in centred and scaled columns.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from htsvm import HTLogisticRegressionCV
    >>> X, y = make_classification(n_samples=400, random_state=0)
    >>> y[:100] = 1 - y[:100]
    >>> clf = HTLogisticRegressionCV().fit(X[:300], y[:300])
    >>> clf.predict_proba(X[300:]).shape
    (100, 2)
    """

    _: KW_ONLY
    Cs: Any = 9
    caps: Any = (2.0, 1.0, 0.5)
    cv: Any = None
    noise: str | None = None
    standardize: bool | str = "auto"
    knee: float = 2.0 / 3.0
    fit_intercept: bool = True
    class_weight: Any = None
    max_iter: int = STEPS
    n_jobs: int | None = None
    random_state: Any = None

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: BaseSVC._parameter_constraints[name]
        for name in ("fit_intercept", "class_weight", "max_iter", "n_jobs", "random_state")
    } | {
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "caps": [Interval(Real, 0.0, None, closed="neither"), "array-like", None],
        "cv": ["cv_object"],
        "noise": [StrOptions({"class-conditional"}), None],
        "standardize": ["boolean", StrOptions({"auto"})],
        "knee": [Interval(Real, 0.0, 1.0, closed="neither")],
    }

    def _search(self, data: TrainingData, routed: Routed) -> None:
        self._fit_checked(data.X, data.classes, data.codes, data.weights, routed.split)

    def _fit_checked(
        self, X: Any, classes: Array, codes: Array, weights: Array | None,
        params: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        codes = codes.astype(np.intp)
        counts = counted(self.class_weight, classes, codes, weights)
        each = np.ones(len(codes)) if counts is None else counts
        columns = SearchColumns(X, each, bool(self.fit_intercept))
        splits = self._splits(X, codes, each, columns, params or {})
        caps = [] if self.caps is None else falling("caps", self.caps).tolist()
        pool = Pool(
            X, codes, counts, len(classes), columns, splits, self.knee, self.max_iter, self.n_jobs
        )
        # Products of a batch are small: a second thread of BLAS mostly waits for a core.
        with single_threaded_blas():
            pool.fit(self._grids(X, columns, float(each.sum())), caps)
        found = averaged(pool.decisions, pool.held_codes, pool.held_weights)
        point = np.einsum("pmk,m->pk", pool.points, found.factors)
        self.classes_, self.n_splits_, self.n_iter_ = classes, len(splits), self.max_iter
        self.coef_, self.intercept_ = columns.outside(point)
        held = np.einsum("mnk,m->nk", pool.decisions, found.factors)
        self._calibrate(held, pool, found)
        self._tell(held, pool, found)

    def _grids(self, X: Any, columns: SearchColumns, mass: float) -> dict[bool, Array]:
        """Return the C of given (False) and of standardised columns, where both are to be tried."""
        kinds = [bool(self.standardize)] if self.standardize != "auto" else [False, True]
        # Scales that few rows of many columns show are chance, and rare entries would weigh most.
        if self.standardize == "auto" and (X.shape[1] > X.shape[0] or not columns.uneven):
            kinds = [False]
        if not isinstance(self.Cs, Integral):
            return {own: np.sort(falling("Cs", self.Cs)) for own in kinds}
        grid = np.geomspace(1.0 / mass, LARGEST, int(self.Cs))
        return {own: grid / columns.size(own) for own in kinds}

    def _splits(
        self, X: Any, codes: Array, counts: Array, columns: SearchColumns, params: dict[str, Any]
    ) -> list[tuple[Array, Array]]:
        """Return the rows to train on and to hold out, for each fold."""
        if self.cv is not None and not isinstance(self.cv, Integral):
            every = np.arange(len(codes))
            folds = given_folds(self.cv, X, codes, params)
            return [(every[train], every[test]) for train, test in folds]
        kept = np.flatnonzero(counts > 0.0)
        usual = FEW_FOLDS if len(kept) >= MANY_ROWS else DEFAULT_FOLDS
        number = min(int(self.cv or usual), len(kept))
        splits = []
        for turn in range(2 if self.cv is None and len(kept) <= FEW_ROWS else 1):
            fold = dealt(X, codes, kept, columns, number, seed_of(self.random_state) + turn)
            splits += [(kept[fold != k], kept[fold == k]) for k in range(number)]
        return splits

    def _calibrate(self, held: Array, pool: Pool, found: Average) -> None:
        """Find the slope of the probabilities, and what noise was estimated; may move `held`."""
        own, flips, sigmoid = found.shares[-len(pool.flips) :], None, None
        if own.sum() > 0.0:
            self.noise_matrix_ = np.einsum("m,mij->ij", own / own.sum(), pool.flips)
        else:
            self.noise_matrix_ = pool.flips[int(found.accuracy[-len(own) :].argmax())]
        if self.noise == "class-conditional" and pool.classes == 2:
            sigmoid = flipped_sigmoid(held[:, 0], pool.held_codes, pool.held_weights)
        elif self.noise == "class-conditional":
            flips = self.noise_matrix_
        if sigmoid is None:
            self.slope_ = fitted_slope(held, pool.held_codes, pool.held_weights, flips)
            return
        self.slope_, offset, self.noise_matrix_ = sigmoid
        self.intercept_ = self.intercept_ + offset / self.slope_
        held += offset / self.slope_

    def _tell(self, held: Array, pool: Pool, found: Average) -> None:
        """Store what the average believed."""
        codes, weights = pool.held_codes, pool.held_weights
        own = np.exp(log_probabilities(held * self.slope_))[np.arange(len(held)), codes]
        doubted = (own < 1.0 / pool.classes) & (weights > 0.0)
        self.ignored_, self.weights_ = np.unique(pool.rows[doubted]), found.shares
        self.cv_results_: dict[str, Any] = {"params": [kind._asdict() for kind in pool.kinds]}
        for name, values in zip(Kind._fields, zip(*pool.kinds, strict=True), strict=True):
            kind = object if name == "loss" else None
            self.cv_results_[f"param_{name}"] = np.ma.MaskedArray(values, dtype=kind)
        for k in range(self.n_splits_):
            some = pool.fold == k
            right = predicted(pool.decisions[:, some]) == codes[some]
            mass = float(weights[some].sum()) or 1.0
            self.cv_results_[f"split{k}_test_score"] = right @ weights[some] / mass
        self.cv_results_ |= {
            "mean_test_score": found.accuracy,
            "rank_test_score": 1 + np.sum(found.accuracy[None] > found.accuracy[:, None], axis=1),
            "agreement": found.agreement,
            "constant": found.constant,
            "weight": found.shares,
        }


def counted(class_weight: Any, classes: Array, codes: Array, weights: Array | None) -> Array | None:
    """Return how often each row counts; None where all count once.

    A weight is a number of copies. Weights of less than one on average can be none: they are
    shares, and are scaled to one. Class weights leave the total as it is.
    """
    if weights is None and class_weight is None:
        return None
    counts = np.ones(len(codes)) if weights is None else weights
    counts = counts / min(float(counts[counts > 0.0].mean()), 1.0)
    mass = np.bincount(codes, weights=weights, minlength=len(classes))
    own = class_factors(class_weight, classes, mass)[codes]
    return np.asarray(counts * own * (counts.sum() / (counts @ own)))


def dealt(
    X: Any, codes: Array, rows: Array, columns: SearchColumns, number: int, seed: int
) -> Array:
    """Return the fold of each row: those of a class in turn, in an order that their values give.

    Neither the order of the rows nor the names of the classes matters, and rows that are alike go
    to different folds.
    """
    rng = np.random.default_rng(seed)
    direction = rng.normal(size=X.shape[1]) / columns.spread
    key = np.asarray(X @ direction)[rows] - float(columns.mean @ direction)
    # Digits that no longer follow the direction: neighbours on it are not dealt out together.
    key = np.modf(np.abs(key) * 1e3)[0]
    order = np.lexsort((key, codes[rows]))
    fold = np.empty(len(rows), dtype=np.intp)
    fold[order] = np.arange(len(rows)) % number
    return fold
