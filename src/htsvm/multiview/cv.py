"""MultiViewHTSVC with its trade-offs chosen by cross-validation."""

from __future__ import annotations

import copy
import time
from dataclasses import KW_ONLY, dataclass, replace
from itertools import product
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics import check_scoring, get_scorer_names

from htsvm._documented import documented
from htsvm._seeds import seed_of
from htsvm._sklearn import Interval, StrOptions, validated_fit
from htsvm._typing import Array
from htsvm.exceptions import warn_user
from htsvm.multiview.alternation import Outcome
from htsvm.multiview.htsvc import MultiViewHTSVC, TruncatedMultiViewSVC
from htsvm.multiview.preparation import Prepared
from htsvm.multiview.view_classifiers import ViewPoint, ViewPoints
from htsvm.problems import AnyProblem
from htsvm.svm import choosing, folds
from htsvm.svm.folds import Fold, Held
from htsvm.svm.path import check_grid

# A view with a smaller weight has none.
LOST = 1e-3

# The place of a point in the grid: structure, cap, smoothness, C.
Place = tuple[int, int, int, int]
# Classifiers by problem, structure, cap and C, then by view and view weights.
Known = dict[tuple[int, int, int, int], dict[tuple[int, bytes], ViewPoint]]


@documented
@dataclass(eq=False, repr=False)
class MultiViewHTSVCCV(TruncatedMultiViewSVC):
    r"""MultiViewHTSVC that chooses C, structure, cap and smoothness by cross-validation.

    The views of a fold are brought into coordinates and clustered once for all points of the grid,
    and each point starts from the solution of its neighbour, so that the grid costs a few fits, not
    one per point. Then the best point is fitted to all the data.

    Parameters
    ----------
    Cs : int or array-like, default=5
        The penalties to try (the paper's C), the same for all views; or how many between 1/16
        and 16.
    structures : float or array-like, default=0.0
        The strengths of the structure to try (the paper's eta), the same for all views.
    smoothnesses : float, "auto" or list of these, default="auto"
        The values of `weight_smoothness` to try (the paper's alpha).
    caps : float or array-like, default=1.0
        The caps to try: the margin violation from which on a view ignores a sample. ``inf`` is the
        convex model.
    {cv}
    scoring : str or callable, default=None
        None is a rule for labels that may be wrong: of all points whose accuracy on the held-out
        samples is within half a standard error of the best, the one whose held-out decisions agree
        best with the labels (`htsvm.svm.choosing.agreement`). Otherwise a score to maximise, by its
        name in scikit-learn or a scorer; of equal means the larger cap is taken, then the larger
        structure and smoothness, then the smaller C.
    {knee}, {view_weights}, {kernel of views}, {gamma of views}, {views}
    solver : {"newton", "admm"} or solver object, default="newton"
        What solves the problem of a view in a round.
    {tol of views}
    max_iter : int, default=1000
        The largest number of iterations of the solver for one view in one round.
    {max_rounds}, {fit_intercept}, {class_weight}
    multi_class : {"auto", "joint", "ovr"}, default="auto"
        How to fit more than two classes: as one problem ("joint"), or each class against the rest
        ("ovr"). "auto" is "joint", but "ovr" with "admm".
    {memory}, {starts of views}
    n_restarts : int, default=0
        Further starts for the "newton" solver in the first round of the final fit.
    n_jobs : int, optional
        Threads over folds, and over the views in the final fit.
    {random_state of views}
    verbose : int, default=0
        1 prints a line per round of the final fit, 2 also one per iteration of the solver.

    Attributes
    ----------
    C_, structure_, cap_ : float
        The chosen penalty, strength of the structure, and cap.
    weight_smoothness_ : ndarray of shape (n_problems,)
        The alpha of the final fit; what was chosen is `smoothness_`, which may be "auto".
    Cs_, structures_, caps_, smoothnesses_ : ndarrays and list
        The grid, in the order of `scores_`.
    scores_ : ndarray of shape (n_folds, n_structures, n_caps, n_smoothnesses, n_Cs)
        The score of each point in each fold: accuracy, or what `scoring` says.
    agreement_ : ndarray of shape (n_structures, n_caps, n_smoothnesses, n_Cs)
        What the rule maximises; absent with another `scoring`.
    view_weights_, view_coef_, coef_, certificate_, support_, sample_status_, ...
        Those of the final fit, under the names that they have in `MultiViewHTSVC`.

    See Also
    --------
    MultiViewHTSVC : The model.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from htsvm.multiview import MultiViewHTSVCCV
    >>> X, y = make_classification(n_samples=200, flip_y=0.2, random_state=0)
    >>> clf = MultiViewHTSVCCV(Cs=3, structures=[0.0, 0.1], views=[10, 10], cv=3).fit(X, y)
    >>> clf.scores_.shape
    (3, 2, 1, 1, 3)
    """

    _: KW_ONLY
    Cs: Any = 5
    structures: Any = 0.0
    smoothnesses: Any = "auto"
    caps: Any = 1.0
    cv: Any = None
    scoring: Any = None
    knee: float = 2.0 / 3.0
    view_weights: Any = "learned"
    kernel: Any = "linear"
    gamma: Any = "scale"
    views: Any = None
    solver: Any = "newton"
    tol: float = 1e-3
    max_iter: int = 1000
    max_rounds: int = 50
    fit_intercept: bool = True
    class_weight: Any = None
    multi_class: str = "auto"
    memory: Any = None
    starts: Any = "auto"
    n_restarts: int = 0
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **TruncatedMultiViewSVC._parameter_constraints,
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "structures": [Interval(Real, 0.0, None, closed="left"), "array-like"],
        "smoothnesses": [
            Interval(Real, 0.0, None, closed="neither"), StrOptions({"auto"}), list, tuple,
            np.ndarray,
        ],
        "caps": [Interval(Real, 0.0, None, closed="right"), "array-like"],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
    }  # fmt: skip
    for _name in ("C", "cap", "structure", "weight_smoothness"):
        del _parameter_constraints[_name]
    del _name

    @validated_fit
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MultiViewHTSVCCV:
        """Choose the trade-offs by cross-validation, then fit all the data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or list or dict of views
            Training data.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Factors of C per sample; they also weigh the scores.

        Returns
        -------
        self : object
            The fitted estimator.
        """
        views, y, classes, codes, weights = self._validated(X, y, sample_weight)
        self._check_grids()
        seed = seed_of(self.random_state)
        splits = folds.splits(self.cv, views[0], y, codes, seed, {})
        self.classes_ = classes
        parts: list[Fold] = Parallel(n_jobs=self.n_jobs, prefer="threads")(
            delayed(self._fold)(views, y, codes, weights, train, test, number)
            for number, (train, test) in enumerate(splits)
        )
        place = self._chosen(Held.of(parts, codes, weights))
        self.structure_, self.cap_, self.smoothness_, self.C_ = self._at(place)
        self._fit_checked(views, classes, codes, weights)
        return self

    # --------------------------------------------------------------------------------- the grid

    def _check_grids(self) -> None:
        """Set the grid; of all but C the tamest values come first."""
        self.Cs_ = check_grid(self.Cs)
        self.structures_ = _falling("structures", self.structures, least=0.0)
        self.caps_ = _falling("caps", self.caps, infinite=True)
        self.smoothnesses_ = _check_smoothnesses(self.smoothnesses)

    def _at(self, place: Place) -> tuple[float, float, Any, float]:
        """Return structure, cap, smoothness and C of a point."""
        s, c, a, i = place
        return (
            float(self.structures_[s]), float(self.caps_[c]), self.smoothnesses_[a],
            float(self.Cs_[i]),
        )  # fmt: skip

    def _places(self) -> list[Place]:
        """Return the points in the order in which they are solved."""
        falling = np.argsort(-self.Cs_, kind="stable").tolist()
        axes = (self.structures_, self.caps_, self.smoothnesses_)
        return [
            (s, c, a, i) for s, c, a in product(*(range(len(axis)) for axis in axes))
            for i in falling
        ]  # fmt: skip

    def _chosen(self, held: Held) -> Place:
        """Return the point that the rule or the score asked for prefers."""
        shape = (len(self.structures_), len(self.caps_), len(self.smoothnesses_), len(self.Cs_))
        self.scores_ = held.scores.reshape(-1, *shape)
        if not held.asked:
            values = choosing.agreements(held)
            self.agreement_ = values.reshape(shape)
            choice = choosing.by_agreement(held, values, self.Cs_)
            for remark in choice.remarks:
                warn_user(f"{type(self).__name__}: {remark}", UserWarning)
            row, i = choice.place
            s, c, a = np.unravel_index(row, shape[:3])
            return int(s), int(c), int(a), i
        if hasattr(self, "agreement_"):
            del self.agreement_
        means = self.scores_.mean(axis=0)
        best = np.argwhere(means >= means.max() - 1e-12)

        def tameness(place: Place) -> tuple[float, ...]:
            structure, cap, smoothness, C = self._at(place)
            return cap, structure, np.inf if smoothness == "auto" else smoothness, -C

        places: list[Place] = [(s, c, a, i) for s, c, a, i in best.tolist()]
        return max(places, key=tameness)

    # -------------------------------------------------------------------------------- one fold

    def _fold(
        self,
        views: list[Any],
        y: Array,
        codes: Array,
        weights: Array | None,
        train: Array,
        test: Array,
        number: int,
    ) -> Fold:
        """Solve all points on one fold; rows of its grid are all of a point but C."""
        kept = folds.some(weights, train)
        strongest = np.full(len(views), self.structures_.max())
        prepared = self._prepared([X[train] for X in views], codes[train], kept, strongest)
        model = copy.copy(self)
        model.n_jobs, model.verbose, model.n_restarts = None, 0, 0
        model.C_, model.cap_ = 1.0, 1.0
        problems = model._view_problems(prepared.spaces, self.classes_, codes[train], kept)
        samples = dict(zip(self.view_names_, (X[test] for X in views), strict=True))
        shape = (len(self._places()) // len(self.Cs_), len(self.Cs_))
        n_scores = 1 if len(self.classes_) == 2 else len(self.classes_)
        decisions = np.empty((*shape, len(test), n_scores), dtype=np.float32)
        scores, seconds = np.empty(shape), np.empty(shape)
        found: dict[Place, list[Outcome[ViewPoints]]] = {}
        known: Known = {}
        before: Place | None = None
        for number_of, place in enumerate(self._places()):
            began = time.perf_counter()
            start = None if before is None else found[_neighbour(place, before)]
            found[place] = model._solve_point(place, problems, prepared, start, known)
            model._store_fit(found[place], prepared.spaces)
            cell = (number_of // len(self.Cs_), place[3])
            seconds[cell] = time.perf_counter() - began
            decisions[cell] = model.decision_function(samples).reshape(len(test), -1)
            if self.scoring is not None:
                scores[cell] = model._score(samples, y[test], folds.some(weights, test))
            before = place
        asked = None if self.scoring is None else scores
        none = np.zeros(0)
        return Fold(test, none, none, decisions, seconds, 0.0, 0.0, number, asked)

    def _solve_point(
        self,
        place: Place,
        problems: list[list[AnyProblem]],
        prepared: Prepared,
        starts: list[Outcome[ViewPoints]] | None,
        known: Known,
    ) -> list[Outcome[ViewPoints]]:
        """Solve all problems of one point, stated for C = 1, from the solutions for another.

        Points that differ in smoothness alone share what they find for the same view weights: often
        all of them begin with even weights, and end with the whole weight on one view.
        """
        self.structure_, self.cap_, self.smoothness_, self.C_ = self._at(place)
        outcomes = []
        for k, of_views in enumerate(problems):
            losses = zip(of_views, self._losses(), strict=True)
            stated = [replace(one.scaled(self.C_), loss=loss) for one, loss in losses]
            classifiers = self._classifiers(stated, self._strength(), prepared.covariances, None)
            classifiers.certify = False
            classifiers.known = known.setdefault((k, place[0], place[1], place[3]), {})
            if starts is not None:
                classifiers.start = starts[k].point
            first = None if starts is None else _even_or(starts[k].weights)
            outcomes.append(self._alternation(classifiers, first).run())
        return outcomes

    def _score(self, samples: dict[Any, Any], y: Array, weights: Array | None) -> float:
        scorer = check_scoring(self, scoring=self.scoring)
        options = {} if weights is None else {"sample_weight": weights}
        return float(scorer(self, samples, y, **options))

    # ------------------------------------------------------------------------- what was chosen

    def _penalties(self) -> Array:
        return np.full(len(self.view_names_), self.C_)

    def _strength(self) -> Array:
        return np.full(len(self.view_names_), self.structure_)

    def _caps(self) -> Array:
        return np.full(len(self.view_names_), self.cap_)

    def _smoothness(self) -> Any:
        return self.smoothness_

    def as_multiview_htsvc(self) -> MultiViewHTSVC:
        """Return an unfitted `MultiViewHTSVC` with the chosen trade-offs."""
        shared = MultiViewHTSVC().get_params().keys() & self.get_params().keys()
        options = {name: getattr(self, name) for name in shared}
        return MultiViewHTSVC(
            self.C_, cap=self.cap_, structure=self.structure_, weight_smoothness=self.smoothness_,
            **options,
        )  # fmt: skip


def _neighbour(place: Place, before: Place) -> Place:
    """Return the point to start from: the last one, or where C begins again the last that did."""
    return before if before[:3] == place[:3] else (*before[:3], place[3])


def _even_or(weights: Array) -> Array | None:
    """Return the weights to start from; None, for even ones, where a view has lost its weight.

    A view without weight is not held back, so that it never gets any again: what one point of the
    grid has lost would be lost for all that come after it.
    """
    return None if np.min(weights) < LOST else weights


def _falling(name: str, values: Any, least: float | None = None, infinite: bool = False) -> Array:
    """Return the different values of an axis, largest first."""
    grid = np.atleast_1d(np.asarray(values, dtype=np.float64))
    fine = (grid > 0.0) if least is None else (grid >= least)
    if grid.ndim != 1 or len(grid) == 0 or not np.all(fine & (infinite | np.isfinite(grid))):
        wanted = "positive" if least is None else "not negative"
        raise ValueError(
            f"{name} must be {wanted}{'' if infinite else ' and finite'}, one or several, got "
            f"{values!r}."
        )
    return np.unique(grid)[::-1]


def _check_smoothnesses(values: Any) -> list[Any]:
    """Return the different values of alpha: "auto" first, then the largest."""
    listed = [values] if isinstance(values, (str, Real)) else list(values)
    numbers = [value for value in listed if not isinstance(value, str)]
    names = [value for value in listed if isinstance(value, str)]
    if not listed or any(name != "auto" for name in names):
        raise ValueError(f"smoothnesses must be positive numbers or 'auto', got {values!r}.")
    falling = _falling("smoothnesses", numbers).tolist() if numbers else []
    return [*dict.fromkeys(names), *falling]
