"""The choice of C, cap and gamma for a kernel, by the rule for noisy labels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np

from htsvm._documented import documented
from htsvm._seeds import seed_of
from htsvm._sklearn import StrOptions
from htsvm._typing import Array
from htsvm.linalg.kernel_functions import resolved_gamma
from htsvm.problems.binary import Problem
from htsvm.svm import choosing
from htsvm.svm._kernel_space import FittedSpace, is_one_problem, kernel_space
from htsvm.svm.choosing import Choice, Held
from htsvm.svm.cv import LinearSearchCV
from htsvm.svm.kernel import BaseKernelSVC
from htsvm.svm.search import Routed, TrainingData, falling, search_constraints

# The factors of the default gamma, and the kernels that have none.
FACTORS = (0.25, 1.0, 4.0)
WITHOUT_GAMMA = ("linear", "cosine", "precomputed")


@documented
@dataclass(eq=False, repr=False)
class KernelHTSVCCV(LinearSearchCV, BaseKernelSVC):
    """KernelHTSVC that chooses C, cap and gamma by cross-validation, by the rule of `HTSVCCV`.

    Of two classes it then takes the point with the fewest support vectors among those that the
    held-out samples hardly tell from the best: their accuracy is within two standard errors of the
    difference, and their agreement a is at most 0.05 and 0.08 (1 - a^2) lower.

    For each gamma the samples are put into coordinates once (landmarks; all of them for several
    classes and little data), and the grid of C and caps is solved on each fold as `HTSVCCV`
    does. Landmarks are chosen without looking at labels. The final fit begins where the path of
    the folds leads on all the data.

    Parameters
    ----------
    Cs : int or array-like, default=8
        The penalties to try, or how many between 2^-6 and 2^8.
    caps : float or array-like, default=(inf, 2, 1)
        The caps to try.
    gammas : "auto" or array-like, default="auto"
        The values of gamma to try; "auto" is 1/4, 1 and 4 times ``1 / (n_features * X.var())``. A
        kernel without gamma has one value.
    {cv}
    scoring : str or callable, default=None
        None is the rule above; otherwise a score to maximise, as in scikit-learn.
    {kernel}, {degree}, {coef0}, {knee}, {n_landmarks}, {landmark_selection}
    {memory_limit}, {tol}, {max_iter}, {fit_intercept}, {class_weight}, {multi_class}
    n_restarts : int, default=0
        Further random starts of the final fit; the lowest objective wins.
    {n_jobs of folds}
    random_state : int, RandomState or None, default=None
        Drives folds, landmarks and the solver. None always takes the same seed, so that a fit can
        be repeated.
    {verbose of folds}

    Attributes
    ----------
    C_, cap_, gamma_ : float
        The chosen point.
    Cs_, caps_, gammas_ : ndarray
        The grid.
    scores_ : ndarray of shape (n_folds, n_gammas, n_caps, n_Cs)
        The score of each point in each fold.
    agreement_ : ndarray of shape (n_gammas, n_caps, n_Cs)
        How well the held-out decisions agree with the labels; absent with another `scoring`.
    {best_index_}, {best_score_}, {cv_results_}, {n_splits_}
    method_, support_, dual_coef_, landmarks_, certificate_, ...
        Of the final fit; see `KernelHTSVC`.

    See Also
    --------
    KernelHTSVC : The model.
    HTSVCCV : The linear model, and the rule.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from htsvm import KernelHTSVCCV
    >>> X, y = make_moons(200, noise=0.1, random_state=0)
    >>> y[:40] = 1 - y[:40]
    >>> clf = KernelHTSVCCV(Cs=[1.0, 10.0], cv=3).fit(X, y)
    >>> clf.scores_.shape
    (3, 3, 3, 2)
    """

    _: KW_ONLY
    Cs: Any = 8
    caps: Any = (np.inf, 2.0, 1.0)
    gammas: Any = "auto"
    cv: Any = None
    scoring: Any = None
    kernel: Any = "rbf"
    degree: float = 3
    coef0: float = 0.0
    knee: float = 2.0 / 3.0
    n_landmarks: Any = "auto"
    landmark_selection: str = "kmeans++"
    memory_limit: float = 2048
    tol: float = 1e-3
    max_iter: int = 1000
    fit_intercept: bool = True
    class_weight: Any = None
    multi_class: str = "auto"
    n_restarts: int = 0
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    _range_of_C: ClassVar[tuple[float, float]] = (2.0**-6, 2.0**8)
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **search_constraints(BaseKernelSVC._parameter_constraints),
        "gammas": [StrOptions({"auto"}), "array-like"],
    }

    def _check_grid(self, data: TrainingData) -> None:
        super()._check_grid(data)
        self.gammas_ = self._checked_gammas(data.X, data.weights)

    def _axes(self) -> dict[str, Any]:
        return {"gamma": self.gammas_.tolist(), **super()._axes()}

    def _checked_gammas(self, X: Any, weights: Array | None) -> Array:
        """Return the values of gamma to try."""
        given = not (isinstance(self.gammas, str) and self.gammas == "auto")
        if self.kernel in WITHOUT_GAMMA or callable(self.kernel):
            if given:
                raise ValueError(
                    f"gammas={self.gammas!r} is given, but kernel={self.kernel!r} has no gamma; "
                    "leave gammas='auto'."
                )
            return np.ones(1)
        if not given:
            return np.array(FACTORS) * resolved_gamma("scale", X, weights)
        return falling("gammas", self.gammas)[::-1]

    def _cross_validate(
        self, data: TrainingData, routed: Routed, splits: list[tuple[Array, Array]]
    ) -> Held:
        """Return what the folds say of the grid, in the coordinates of each gamma."""
        one_problem, seed = (
            is_one_problem(self.multi_class, data.classes),
            seed_of(self.random_state),
        )
        held = []
        for gamma in self.gammas_.tolist():
            rng = np.random.default_rng(seed)
            space = kernel_space(self, data.X, data.weights, gamma, one_problem, rng, True)
            inside = data._replace(X=space.samples)
            held.append(super()._cross_validate(inside, routed, splits))
        return Held.stacked(held)

    def _by_agreement(self, held: Held, agreement: Array) -> Choice:
        return choosing.sparser(held, agreement, super()._by_agreement(held, agreement))

    def _fit_chosen(self, data: TrainingData, held: Held, place: choosing.Place) -> None:
        self._fit_space(data.X, data.classes, data.codes, data.weights, self.gamma_)

    def _starts_in(self, space: FittedSpace, problems: list[Any]) -> list[Any]:
        if space.landmarks is not None:
            return self._path_starts(problems)
        return super()._starts_in(space, problems)

    def _rough_start(self, problem: Problem, starts: Any) -> Any:
        return self._path_starts([problem])[0]
