"""HTSVC with C and the cap chosen by cross-validation."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import check_scoring
from sklearn.utils.extmath import safe_sparse_dot

from htsvm._documented import documented
from htsvm._seeds import seed_of
from htsvm._sklearn import StrOptions
from htsvm._typing import Array
from htsvm.losses import HybridTruncated, Loss
from htsvm.problems import AnyProblem
from htsvm.solvers import Newton, Solver, SolverResult
from htsvm.svm import choosing
from htsvm.svm.averaging import averaged
from htsvm.svm.base import BaseLinearSVC
from htsvm.svm.choosing import Choice, Held
from htsvm.svm.grid import Grid
from htsvm.svm.htsvc import HTSVC
from htsvm.svm.path import check_grid
from htsvm.svm.search import (
    FoldsFit,
    Routed,
    SearchCV,
    TrainingData,
    falling,
    search_constraints,
)

# Folds are solved to this tolerance, in so many rounds, if the fit is to be more exact: their
# scores do not need more.
FOLD_TOL, FOLD_ROUNDS = 1e-2, 30
# A threshold is moved if that gains so many standard errors (choosing-c-and-cap.md).
CLEARLY = 4.0


class LinearSearchCV(SearchCV, FoldsFit, BaseLinearSVC):
    """A search for C and cap whose folds are solved by a `Grid`, in the columns of X or others."""

    # Where the default grid of C begins and ends.
    _range_of_C: ClassVar[tuple[float, float]]

    def _check_grid(self, data: TrainingData) -> None:
        self.Cs_ = check_grid(self.Cs, *self._range_of_C)
        self.caps_ = falling("caps", self.caps, infinite=True)

    def _axes(self) -> dict[str, Any]:
        return {"cap": self.caps_.tolist(), "C": self.Cs_.tolist()}

    def _solve_fold(
        self, data: TrainingData, routed: Routed, number: int, train: Array, test: Array
    ) -> Held:
        _, _, classes, codes, weights = part = data.take(train)
        problems = self._problems(part.X, classes, codes, weights, C=1.0, loss=self._loss_at(1.0))
        grids = [self._grid(problem) for problem in problems]
        # The points by cap and C, for each of them one per problem.
        solved = [grid.solve() for grid in grids]
        cells = [list(zip(*row, strict=True)) for row in zip(*solved, strict=True)]

        def table(value: Callable[[list[SolverResult]], Any]) -> Array:
            return np.array([[value([p.result for p in cell]) for cell in row] for row in cells])

        coef = table(lambda found: np.vstack([one.coef for one in found]))
        intercept = table(lambda found: np.concatenate([np.atleast_1d(r.intercept) for r in found]))
        seconds = np.array([[sum(p.seconds for p in cell) for cell in row] for row in cells])
        began = time.perf_counter()
        flat = coef.reshape(-1, coef.shape[-1])
        scores = np.asarray(safe_sparse_dot(data.X[test], flat.T, dense_output=True))
        scores = scores.reshape(-1, *coef.shape[:3]) + intercept
        held = data.held_out(
            test, number, np.ascontiguousarray(np.moveaxis(scores, 0, 2), dtype=np.float32), seconds
        )
        held.support = table(lambda found: sum(np.count_nonzero(r.multipliers) for r in found))
        held.middle = coef, intercept
        held.passes = sum(grid.passes for grid in grids) * len(train) / len(data.codes)
        if self.scoring is not None:
            began = time.perf_counter()
            self._score_fold(held, data.take(test), routed.score_part(test))
        held.score_seconds[0] = (time.perf_counter() - began) / seconds.size
        if self.verbose:
            what = f"fold {number + 1} of {self.n_splits_}: {seconds.size} points"
            print(f"[{type(self).__name__}] {what} in {seconds.sum():.1f} s", flush=True)
        return held

    def _score_fold(self, held: Held, data: TrainingData, params: dict[str, Any]) -> None:
        """Score every point of the grid with a scorer of scikit-learn."""
        model = HTSVC()
        model.classes_, model.n_features_in_ = data.classes, data.X.shape[1]
        scorer = check_scoring(model, scoring=self.scoring)
        for place in np.ndindex(*held.scores.shape[1:]):
            model.coef_, model.intercept_ = (part[place] for part in held.middle)
            held.scores[0][place] = scorer(model, data.X, data.y, **params)
        held.asked = True

    def _grid(self, problem: AnyProblem) -> Grid:
        solver = Newton(
            tol=max(self.tol, FOLD_TOL),
            max_iter=min(self.max_iter, FOLD_ROUNDS),
            random_state=seed_of(self.random_state),
        )
        return Grid(problem, self.Cs_, self.caps_, self._loss_at, solver)

    def _by_score(self, held: Held) -> Choice:
        caps = np.tile(self.caps_, len(held.decisions) // len(self.caps_))
        return choosing.by_score(held, caps, self.Cs_)

    def _choose(self, held: Held) -> choosing.Place:
        place = super()._choose(held)
        if self.verbose:
            chosen = self.cv_results_["params"][self.best_index_].items()
            what = ", ".join(f"{name} = {value:g}" for name, value in chosen)
            score = f"mean score {self.best_score_:.4f}"
            print(f"[{type(self).__name__}] chose {what}: {score}", flush=True)
        return place

    def _warm_starts(self, classes: Array, problems: Sequence[AnyProblem]) -> list[Any]:
        return self._path_starts(problems)

    def _path_starts(self, problems: Sequence[AnyProblem]) -> list[Any]:
        """Return where the path that the folds went ends, on all the data."""
        # A grid is stated for C = 1.
        grids = [
            self._grid(replace(problem, penalty=problem.penalty / problem.C, C=1.0))
            for problem in problems
        ]
        starts: list[Any] = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(grid.start_at)(self.cap_, self.C_) for grid in grids
        )
        return starts

    def _progress(self) -> Any:
        return super()._progress() if self.verbose > 1 else None

    def _loss_at(self, cap: float) -> HybridTruncated:
        return HybridTruncated(knee=self.knee, cap=cap)

    def _loss(self) -> Loss:
        return self._loss_at(self.cap_)

    def _penalty(self) -> float:
        return self.C_


@documented
@dataclass(eq=False, repr=False)
class HTSVCCV(LinearSearchCV):
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
    refit : {"best", "average"}, default="best"
        What to deliver. "best" fits all the data at the chosen point. "average" is the mean of the
        folds' solutions of all points that are within one standard error of the best accuracy
        (`htsvm.svm.averaging.averaged`): it has no certificate, and no samples that it ignores.
    {knee}
    solver : {"newton", "admm"} or solver object, default="newton"
        The solver of the final fit; the folds are solved by "newton".
    {tol}, {max_iter}, {fit_intercept}, {class_weight}, {multi_class}
    n_restarts : int, default=0
        Further pushes of the final fit; the lowest objective wins.
    random_state : int, RandomState or None, default=None
        Drives the folds and all that is random in the solver: the sample of rows of the first,
        rough phase on large data, and the pushes. None always takes the same seed, so that a fit
        can be repeated.
    {n_jobs of folds}, {verbose of folds}

    Attributes
    ----------
    C_, cap_ : float
        The chosen penalty and cap.
    {best_index_}, {best_score_}
    threshold_ : float
        What a decision value must exceed for ``classes_[1]``; 0 unless it was tuned.
    Cs_, caps_ : ndarray
        The grid, in the order of `scores_`.
    scores_ : ndarray of shape (n_folds, n_caps, n_Cs)
        The score of each point in each fold: accuracy, or what `scoring` says.
    agreement_ : ndarray of shape (n_caps, n_Cs)
        What the rule maximises; absent with another `scoring`.
    weights_ : ndarray of shape (n_caps, n_Cs)
        The shares of the points in the average; only with ``refit="average"``.
    {cv_results_}, {n_splits_}
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
    refit: str = "best"
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

    _range_of_C: ClassVar[tuple[float, float]] = (2.0**-10, 2.0**6)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **search_constraints(HTSVC._parameter_constraints, "C", "cap", "warm_start", "starts"),
        "tune_threshold": ["boolean", StrOptions({"auto"})],
        "refit": [StrOptions({"best", "average"})],
    }

    def _check_grid(self, data: TrainingData) -> None:
        if self.tune_threshold is True and len(data.classes) > 2:
            raise ValueError(
                f"tune_threshold=True needs two classes, but y has {len(data.classes)}; "
                "leave it at 'auto'."
            )
        if self.refit == "average" and self.scoring is not None:
            raise ValueError(
                f"refit='average' goes by accuracy, not by scoring={self.scoring!r}; leave scoring "
                "at None, or use refit='best'."
            )
        super()._check_grid(data)

    def _moved(self, held: Held) -> tuple[Held, Array]:
        """Return what held-out samples say with the thresholds that are to be moved, and these."""
        if self.tune_threshold is True:
            return held.moved()
        if self.tune_threshold == "auto" and not held.asked and held.decisions.shape[-1] == 1:
            return held.moved(CLEARLY)
        return held, np.zeros(held.decisions.shape[:2])

    def _choose(self, held: Held) -> choosing.Place:
        held, thresholds = self._moved(held)
        place = super()._choose(held)
        self.threshold_ = float(thresholds[place])
        return place

    def _fit_chosen(self, data: TrainingData, held: Held, place: choosing.Place) -> None:
        self.search_passes_ = held.passes
        if self.refit == "average":
            self._fit_average(data, held)
            return
        X, _, classes, codes, weights = data
        problems = self._problems(X, classes, codes, weights, C=self.C_, loss=self._loss())
        if len(classes) == 2:
            # Folds end in different minima; between them lies one that is more than chance.
            coef, intercept = (part[place] for part in held.middle)
            starts: list[Any] = [(coef[0], float(intercept[0]), None)]
        else:
            starts = self._path_starts(problems)
        self._fit_problems(problems, starts, self._solver(), classes, codes, weights)

    def _fit_average(self, data: TrainingData, held: Held) -> None:
        """Store the average of the folds' solutions, each less the threshold it was given."""
        held, thresholds = self._moved(held)
        decisions = held.decisions.reshape(-1, *held.decisions.shape[2:])
        found = averaged(decisions, held.codes, held.weights)
        factors = found.factors.reshape(thresholds.shape)
        coef, intercept = held.middle
        self.coef_ = np.einsum("ij,ijkn->kn", factors, coef)
        self.intercept_ = np.einsum("ij,ijk->k", factors, intercept - thresholds[:, :, None])
        self.weights_, self.threshold_ = found.shares.reshape(thresholds.shape), 0.0
        self.classes_ = data.classes

    def _solver(self) -> Solver:
        return self._named_solver(self.solver)

    def as_htsvc(self) -> HTSVC:
        """Return an unfitted `HTSVC` with the chosen C and cap."""
        model: HTSVC = self._plain(HTSVC).set_params(C=self.C_, cap=self.cap_)
        return model
