"""HTSVC with C and the cap chosen by cross-validation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import get_scorer_names
from sklearn.utils.metadata_routing import MetadataRouter

from htsvm._documented import documented
from htsvm._seeds import seed_of
from htsvm._sklearn import Interval, StrOptions, validated_fit
from htsvm._typing import Array
from htsvm.exceptions import warn_user
from htsvm.losses import HybridTruncated, Loss
from htsvm.problems import AnyProblem
from htsvm.solvers import Newton, Solver
from htsvm.svm import choosing, folds
from htsvm.svm.base import BaseLinearSVC
from htsvm.svm.folds import Fold, Held, Routed
from htsvm.svm.grid import Grid
from htsvm.svm.htsvc import HTSVC
from htsvm.svm.path import check_grid

# Where the default grid of C begins and ends. With many wrong labels the best C is small.
SMALLEST_C, LARGEST_C = 2.0**-10, 2.0**6
# Folds are solved to this tolerance, in so many rounds, if the fit is to be more exact: their
# scores do not need more.
FOLD_TOL, FOLD_ROUNDS = 1e-2, 30
# A threshold is moved if that gains so many standard errors (choosing-c-and-cap.md).
CLEARLY = 4.0


@documented
@dataclass(eq=False, repr=False)
class HTSVCCV(BaseLinearSVC):
    """HTSVC that chooses C and the cap by cross-validation, by a rule made for noisy labels.

    Every fold is fitted for the whole grid, each point from its neighbours, so that a grid of 36
    points and 5 folds costs 30 to 65 fits, not 180. The chosen point is then solved on all the
    data, from the mean of the folds' solutions, so that what is delivered is what was scored.

    Where labels are wrong, so are the labels of the held-out samples, and the count of mistakes
    says little about small differences. The rule therefore looks at the held-out decision
    values: see Notes.

    Parameters
    ----------
    Cs : int or array-like, default=9
        The penalties to try, or how many between 2^-10 and 2^6.
    caps : float or array-like, default=(inf, 4, 2, 1)
        The caps to try. With ``inf`` among them truncation is never forced on data that is better
        off without.
    {cv}
    scoring : str or callable, default=None
        None is the rule described below. Otherwise a score to maximise, as everywhere in
        scikit-learn ("accuracy", "f1", a scorer); of equal means the larger cap, then the smaller
        C is taken.
    tune_threshold : bool or "auto", default="auto"
        Whether to move the threshold of a binary decision from zero to where the held-out decisions
        have the best accuracy. "auto" does so at points of the grid where that is clearly better:
        by more than four standard errors of the difference, and only if `scoring` is None.
    {knee}
    solver : {"newton", "admm"} or solver object, default="newton"
        The solver of the final fit; the folds are solved by "newton".
    {tol}, {max_iter}, {fit_intercept}, {class_weight}, {multi_class}
    n_restarts : int, default=0
        Further starts of the final fit; the lowest objective wins.
    random_state : int, RandomState or None, default=None
        Drives the folds and all that is random in the solver: the sample of rows of the first,
        rough phase on large data, and the restarts. None always takes the same seed, so that a fit
        can be repeated.
    {n_jobs of folds}, {verbose of folds}

    Attributes
    ----------
    C_, cap_ : float
        The chosen penalty and cap.
    best_index_ : int
        Their place in `cv_results_`.
    best_score_ : float
        The mean score of the chosen point.
    threshold_ : float
        What a decision value must exceed for ``classes_[1]``; 0 unless it was tuned.
    Cs_, caps_ : ndarray
        The grid, in the order of `scores_`.
    scores_ : ndarray of shape (n_folds, n_caps, n_Cs)
        The score of each point in each fold: accuracy, or what `scoring` says.
    agreement_ : ndarray of shape (n_caps, n_Cs)
        What the rule maximises; absent with another `scoring`.
    cv_results_ : dict of ndarrays
        The table of the grid, as `GridSearchCV` gives it; for ``pandas.DataFrame``.
    n_splits_ : int
        The number of folds.
    search_passes_ : float
        The work of the search, in products with all of X.
    coef_, intercept_, classes_, certificate_, ...
        As for `HTSVC`, from the final fit.

    See Also
    --------
    HTSVC : The model.
    htsvm.plotting.plot_grid : Draws the scores of the grid.

    Notes
    -----
    The rule: of all points whose accuracy on the held-out samples is within half a standard error
    of the best, the one whose held-out decisions agree best with the labels. The agreement is the
    correlation of the labels with ``tanh(f / s)``, where f are the decision values of all held-out
    samples and s is their root mean square (`htsvm.svm.choosing.agreement`). A point at which all
    held-out samples get the same class is taken only where every other one is clearly worse, and
    then with a warning. Before all that the threshold is moved at points where that clearly
    helps (`tune_threshold`). On large data the accuracy decides, on small data the agreement. How
    the rule was found, and judged on other data, is told in
    docs/developers/choosing-c-and-cap.md.

    A truncated loss has many minima. Fits with a cap below 4 start from least squares,
    shrunk the more the fewer samples there are per feature, and stay near that. The final fit
    starts from the mean of the folds' solutions. With several classes the fits of the folds are
    searches on a smooth loss that come near a minimum; the final fit starts from such a search on
    all the data, and is exact. An `HTSVC` with the same C and cap (`as_htsvc`) looks
    for the lowest objective, and may find another minimum.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from htsvm import HTSVCCV
    >>> X, y = make_classification(n_samples=200, flip_y=0.2, random_state=0)
    >>> clf = HTSVCCV(Cs=3, caps=[float("inf"), 1.0]).fit(X, y)
    >>> clf.scores_.shape
    (5, 2, 3)
    """

    _: KW_ONLY
    Cs: Any = 9
    caps: Any = (np.inf, 4.0, 2.0, 1.0)
    cv: Any = None
    scoring: Any = None
    tune_threshold: bool | str = "auto"
    knee: float = 2.0 / 3.0
    solver: Any = "newton"
    tol: float = 1e-3
    max_iter: int = 1000
    fit_intercept: bool = True
    class_weight: Any = None
    multi_class: str = "auto"
    n_restarts: int = 0
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **HTSVC._parameter_constraints,
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "caps": [Interval(Real, 0.0, None, closed="right"), "array-like"],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
        "tune_threshold": ["boolean", StrOptions({"auto"})],
    }
    for _name in ("C", "cap", "warm_start", "starts"):
        del _parameter_constraints[_name]
    del _name

    @validated_fit
    @documented
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> HTSVCCV:
        """Choose C and cap by cross-validation, then fit all the data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data.
        {y}, {sample_weight of folds}, {**params}

        Returns
        -------
        self : object
            The fitted estimator.
        """
        routed = Routed.of(self, X, sample_weight, params)
        X, y, classes, codes, weights = self._validated(X, y, sample_weight)
        self._check_threshold(classes)
        self.Cs_ = check_grid(self.Cs, SMALLEST_C, LARGEST_C)
        self.caps_ = check_caps(self.caps)
        splits = folds.splits(self.cv, X, y, codes, seed_of(self.random_state), routed.split)
        held = self._cross_validate(X, y, classes, codes, weights, splits, routed)
        place = self._choose(held)
        if len(classes) == 2:
            coef, intercept = (part[place] for part in held.middle)
            self._middle = coef[0], float(intercept[0])
        try:
            self._fit_checked(X, classes, codes, weights)
        finally:
            self.__dict__.pop("_middle", None)
        return self

    # ------------------------------------------------------------------------------ the search

    def _cross_validate(
        self,
        X: Any,
        y: Array,
        classes: Array,
        codes: Array,
        weights: Array | None,
        splits: list[tuple[Array, Array]],
        routed: Routed,
    ) -> Held:
        """Return what the folds say of the whole grid."""
        self.n_splits_ = len(splits)

        def one(number: int, train: Array, test: Array) -> Fold:
            grids = self._grids(X[train], classes, codes[train], folds.some(weights, train))
            fold = Fold.of(grids, X[test], number, train, test, len(codes))
            if self.scoring is not None:
                model = HTSVC()
                model.classes_, model.n_features_in_ = classes, X.shape[1]
                fold.score_by(self.scoring, model, X[test], y[test], routed.score_part(test))
            if self.verbose:
                fold.report(type(self).__name__, self.n_splits_)
            return fold

        parts = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(one)(number, train, test) for number, (train, test) in enumerate(splits)
        )
        self.search_passes_ = float(sum(part.passes for part in parts))
        return Held.of(parts, codes, weights)

    def _grids(self, X: Any, classes: Array, codes: Array, weights: Array | None) -> list[Grid]:
        """Return the grids of all problems of a fit: one, or one per class against the rest."""
        problems = self._problems(X, classes, codes, weights, C=1.0, loss=self._loss_at(1.0))
        return [self._grid(problem) for problem in problems]

    def _grid(self, problem: AnyProblem) -> Grid:
        solver = Newton(
            tol=max(self.tol, FOLD_TOL),
            max_iter=min(self.max_iter, FOLD_ROUNDS),
            random_state=seed_of(self.random_state),
        )
        return Grid(problem, self.Cs_, self.caps_, self._loss_at, solver)

    def _choose(self, held: Held) -> tuple[int, int]:
        """Choose a point of the grid, say what a user should know about it, return its place."""
        caps, Cs = self.caps_, self.Cs_
        thresholds = np.zeros((len(caps), len(Cs)))
        if self.tune_threshold is True:
            held, thresholds = held.moved()
        elif self.tune_threshold == "auto" and not held.asked and held.decisions.shape[-1] == 1:
            held, thresholds = held.moved(CLEARLY)
        more: dict[str, Array] = {}
        if held.asked:
            self.__dict__.pop("agreement_", None)
            choice = choosing.by_score(held, caps, Cs)
        else:
            self.agreement_ = more["agreement"] = choosing.agreements(held)
            choice = choosing.by_agreement(held, self.agreement_, Cs)
        self.cap_, self.C_ = float(caps[choice.place[0]]), float(Cs[choice.place[1]])
        self.scores_ = held.scores
        self.best_score_ = float(held.means[choice.place])
        self.best_index_ = choice.place[0] * len(Cs) + choice.place[1]
        self.cv_results_ = held.table(caps, Cs, choice.order, more)
        self.threshold_ = float(thresholds[choice.place])
        if self.verbose:
            print(
                f"[{type(self).__name__}] chose C = {self.C_:g}, cap = {self.cap_:g}: "
                f"mean score {self.best_score_:.4f}",
                flush=True,
            )
        for text in choice.remarks:
            warn_user(f"{type(self).__name__}: {text}", UserWarning)
        return choice.place

    # --------------------------------------------------------------------------- the final fit

    def _warm_starts(self, classes: Array, problems: Sequence[AnyProblem]) -> list[Any]:
        """Return the middle of the folds' solutions, or where the path that they went ends."""
        if "_middle" in self.__dict__:
            # Folds end in different valleys; between them lies one that is more than chance.
            return [(*self._middle, None)]
        grids = [self._grid(stated_for_one(problem)) for problem in problems]
        starts: list[Any] = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(grid.start_at)(self.cap_, self.C_) for grid in grids
        )
        return starts

    def _check_threshold(self, classes: Array) -> None:
        if self.tune_threshold is True and len(classes) > 2:
            raise ValueError(
                f"tune_threshold=True needs two classes, but y has {len(classes)}; "
                "leave it at 'auto'."
            )

    def _progress(self) -> Any:
        return super()._progress() if self.verbose > 1 else None

    def _loss_at(self, cap: float) -> HybridTruncated:
        return HybridTruncated(knee=self.knee, cap=cap)

    def _loss(self) -> Loss:
        return self._loss_at(self.cap_)

    def _penalty(self) -> float:
        return self.C_

    def _solver(self) -> Solver:
        return self._named_solver(self.solver)

    def as_htsvc(self) -> HTSVC:
        """Return an unfitted `HTSVC` with the chosen C and cap."""
        shared = HTSVC().get_params().keys() & self.get_params().keys()
        options = {name: getattr(self, name) for name in shared}
        return HTSVC(**{**options, "C": self.C_, "cap": self.cap_})

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata are routed: to this estimator, the splitter and the scorer."""
        return folds.router_of(self)


def stated_for_one(problem: AnyProblem) -> AnyProblem:
    """Return the problem for C = 1."""
    return replace(problem, penalty=problem.penalty / problem.C, C=1.0)


def check_caps(caps: Any) -> Array:
    """Return the caps, largest first."""
    values = np.atleast_1d(np.asarray(caps, dtype=np.float64))
    if values.ndim != 1 or len(values) == 0 or not np.all(values > 0.0):
        raise ValueError(f"caps must be positive (inf for no truncation), got {caps!r}.")
    return np.unique(values)[::-1]
