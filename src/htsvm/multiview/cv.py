"""MultiViewHTSVC with its trade-offs chosen by cross-validation."""

from __future__ import annotations

import copy
import time
from dataclasses import KW_ONLY, dataclass, replace
from itertools import product
from numbers import Real
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import check_scoring

from htsvm._documented import documented
from htsvm._sklearn import Interval, StrOptions, validated_fit
from htsvm._typing import Array
from htsvm.multiview.alternation import Outcome
from htsvm.multiview.htsvc import MultiViewHTSVC, TruncatedMultiViewSVC
from htsvm.multiview.preparation import Prepared
from htsvm.multiview.view_classifiers import ViewPoint, ViewPoints
from htsvm.problems import AnyProblem
from htsvm.svm.choosing import Choice, Held
from htsvm.svm.path import check_grid
from htsvm.svm.search import Routed, SearchCV, TrainingData, falling, search_constraints

# A view with a smaller weight has none.
LOST = 1e-3

# The place of a point in the grid: structure, cap, smoothness, C.
Place = tuple[int, ...]
# Classifiers by problem, structure, cap and C, then by view and view weights.
Known = dict[tuple[int, ...], dict[tuple[int, bytes], ViewPoint]]


@documented
@dataclass(eq=False, repr=False)
class MultiViewHTSVCCV(SearchCV, TruncatedMultiViewSVC):
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
    {tol of views}, {max_iter of views}, {max_rounds}, {fit_intercept}, {class_weight}
    multi_class : {"auto", "joint", "ovr"}, default="auto"
        How to fit more than two classes: as one problem ("joint"), or each class against the rest
        ("ovr"). "auto" is "joint", but "ovr" with "admm".
    {memory}, {starts of views}
    n_restarts : int, default=0
        Further pushes of the "newton" solver in the first round of the final fit.
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
    {best_index_}, {best_score_}, {cv_results_}, {n_splits_}
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **search_constraints(
            TruncatedMultiViewSVC._parameter_constraints,
            "C", "cap", "structure", "weight_smoothness",
        ),
        "structures": [Interval(Real, 0.0, None, closed="left"), "array-like"],
        "smoothnesses": [
            Interval(Real, 0.0, None, closed="neither"), StrOptions({"auto"}), list, tuple,
            np.ndarray,
        ],
    }  # fmt: skip

    @validated_fit
    @documented
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> MultiViewHTSVCCV:
        """Choose the trade-offs by cross-validation, then fit all the data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features), or list or dict of views
            Training data.
        {y}, {sample_weight of folds}

        Returns
        -------
        self : object
            The fitted estimator.
        """
        data = TrainingData(*self._validated(X, y, sample_weight))
        score = {} if data.weights is None else {"sample_weight": data.weights}
        self._search(data, Routed({}, score, data.y))
        return self

    # --------------------------------------------------------------------------------- the grid

    def _check_grid(self, data: TrainingData) -> None:
        """Set the grid; of all but C the tamest values come first."""
        self.Cs_ = check_grid(self.Cs)
        self.structures_ = falling("structures", self.structures, least=0.0)
        self.caps_ = falling("caps", self.caps, infinite=True)
        self.smoothnesses_ = _check_smoothnesses(self.smoothnesses)

    def _axes(self) -> dict[str, Any]:
        return {
            "structure": self.structures_.tolist(), "cap": self.caps_.tolist(),
            "smoothness": self.smoothnesses_, "C": self.Cs_.tolist(),
        }  # fmt: skip

    def _places(self) -> list[Place]:
        """Return the points in the order in which they are solved: C from the largest."""
        *others, _ = self._axes().values()
        falling = np.argsort(-self.Cs_, kind="stable").tolist()
        return list(product(*(range(len(axis)) for axis in others), falling))

    def _by_score(self, held: Held) -> Choice:
        """Choose the best mean score; of equals the tamest point."""
        means = held.means

        def tameness(k: int) -> tuple[float, ...]:
            structure, cap, smoothness, C = points[k]
            return cap, structure, np.inf if smoothness == "auto" else smoothness, -C

        points = list(product(*self._axes().values()))
        best = max(np.flatnonzero(means >= means.max() - 1e-12).tolist(), key=tameness)
        i, j = divmod(best, len(self.Cs_))
        return Choice((i, j), means)

    # -------------------------------------------------------------------------------- one fold

    def _solve_fold(
        self, data: TrainingData, routed: Routed, number: int, train: Array, test: Array
    ) -> Held:
        """Solve all points on one fold; rows of its grid are all of a point but C."""
        views, _, classes, codes, weights = data.take(train)
        prepared = self._prepared(
            views, codes, weights, np.full(len(views), self.structures_.max())
        )
        model = copy.copy(self)
        model.n_jobs, model.verbose, model.n_restarts = None, 0, 0
        model.classes_, model.C_, model.cap_ = classes, 1.0, 1.0
        problems = model._view_problems(prepared.spaces, classes, codes, weights)
        samples = dict(zip(self.view_names_, data.take(test).X, strict=True))
        places = self._places()
        shape = (len(places) // len(self.Cs_), len(self.Cs_))
        n_scores = 1 if len(classes) == 2 else len(classes)
        decisions = np.empty((*shape, len(test), n_scores), dtype=np.float32)
        held = data.held_out(test, number, decisions, np.empty(shape))
        held.asked = self.scoring is not None
        found: dict[Place, list[Outcome[ViewPoints]]] = {}
        known: Known = {}
        for k, place in enumerate(places):
            began = time.perf_counter()
            # From the last point; where C begins again, from the last that had the same C.
            back = 1 if k % len(self.Cs_) else len(self.Cs_)
            start = found[places[k - back]] if k else None
            found[place] = model._solve_point(place, problems, prepared, start, known)
            model._store_fit(found[place], prepared.spaces)
            cell = (k // len(self.Cs_), place[3])
            held.fit_seconds[0][cell] = time.perf_counter() - began
            decisions[cell] = model.decision_function(samples).reshape(len(test), -1)
            if held.asked:
                scorer = check_scoring(model, scoring=self.scoring)
                held.scores[0][cell] = scorer(
                    model, samples, data.y[test], **routed.score_part(test)
                )
        return held

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
        axes = zip(self._axes().values(), place, strict=True)
        self.structure_, self.cap_, self.smoothness_, self.C_ = (axis[i] for axis, i in axes)
        outcomes = []
        for k, of_views in enumerate(problems):
            losses = zip(of_views, self._losses(), strict=True)
            stated = [replace(one.scaled(self.C_), loss=loss) for one, loss in losses]
            classifiers = self._classifiers(stated, self._strength(), prepared.covariances, None)
            classifiers.certify = False
            classifiers.known = known.setdefault((k, place[0], place[1], place[3]), {})
            first = None
            if starts is not None:
                classifiers.start = starts[k].point
                # A view without weight is not held back, so that it never gets any again: what one
                # point has lost would be lost for all after it. They start from even weights.
                first = None if np.min(starts[k].weights) < LOST else starts[k].weights
            outcomes.append(self._alternation(classifiers, first).run())
        return outcomes

    # ------------------------------------------------------------------------- what was chosen

    def _fit_chosen(self, data: TrainingData, held: Held, place: Place) -> None:
        self._fit_checked(data.X, data.classes, data.codes, data.weights)

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
        model: MultiViewHTSVC = self._plain(MultiViewHTSVC).set_params(
            C=self.C_, cap=self.cap_, structure=self.structure_, weight_smoothness=self.smoothness_
        )
        return model


def _check_smoothnesses(values: Any) -> list[Any]:
    """Return the different values of alpha: "auto" first, then the largest."""
    listed = [values] if isinstance(values, (str, Real)) else list(values)
    numbers = [value for value in listed if not isinstance(value, str)]
    names = [value for value in listed if isinstance(value, str)]
    if not listed or any(name != "auto" for name in names):
        raise ValueError(f"smoothnesses must be positive numbers or 'auto', got {values!r}.")
    others = falling("smoothnesses", numbers).tolist() if numbers else []
    return [*dict.fromkeys(names), *others]
