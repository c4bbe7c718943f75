"""The choice of C, cap and gamma for a kernel, by the rule for noisy labels."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.metrics import get_scorer_names
from sklearn.utils.metadata_routing import MetadataRouter

from htsvm._documented import documented
from htsvm._seeds import seed_of
from htsvm._sklearn import Interval, StrOptions
from htsvm._typing import Array
from htsvm.exceptions import warn_user
from htsvm.linalg.kernel_functions import resolved_gamma
from htsvm.losses import HybridTruncated, Loss
from htsvm.problems.binary import Problem
from htsvm.svm import choosing, folds
from htsvm.svm._kernel_space import is_one_problem, kernel_space
from htsvm.svm.choosing import sparser
from htsvm.svm.cv import HTSVCCV, check_caps
from htsvm.svm.folds import Held, Routed
from htsvm.svm.kernel import BaseKernelSVC
from htsvm.svm.path import check_grid

# Where the default grid of C begins and ends, and the factors of the default gamma.
SMALLEST_C, LARGEST_C = 2.0**-6, 2.0**8
FACTORS = (0.25, 1.0, 4.0)
# The kernels that have no gamma.
WITHOUT_GAMMA = ("linear", "cosine", "precomputed")


@documented
@dataclass(eq=False, repr=False)
class KernelHTSVCCV(BaseKernelSVC):
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
    kernel : {"rbf", "poly", "sigmoid", "laplacian", "cosine", "linear", "precomputed"} or \
            callable, default="rbf"
        The kernel, as in `KernelHTSVC`.
    {degree}, {coef0}, {knee}
    n_landmarks : int, "auto" or None, default="auto"
        Landmarks of the final fit: a number, None for an exact fit, "auto" by size.
    landmark_selection : {"kmeans++", "uniform"}, default="kmeans++"
        How landmarks are chosen.
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
    best_index_, best_score_ : int, float
        The place of the chosen point in `cv_results_`, and its mean score.
    cv_results_ : dict of ndarrays
        The table of the grid, as `GridSearchCV` gives it.
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

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **BaseKernelSVC._parameter_constraints,
        "Cs": [Interval(Integral, 1, None, closed="left"), "array-like"],
        "caps": [Interval(Real, 0.0, None, closed="right"), "array-like"],
        "gammas": [StrOptions({"auto"}), "array-like"],
        "cv": ["cv_object"],
        "scoring": [StrOptions(set(get_scorer_names())), callable, None],
    }

    @documented
    def fit(self, X: Any, y: Any, sample_weight: Any = None, **params: Any) -> KernelHTSVCCV:
        """Choose C, cap and gamma by cross-validation, then fit all the data.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data; with ``kernel="precomputed"`` the kernel matrix of the samples.
        {y}, {sample_weight of folds}, {**params}

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        routed = Routed.of(self, X, sample_weight, params)
        X, y, classes, codes, weights = self._validated(X, y, sample_weight)
        self.Cs_ = check_grid(self.Cs, SMALLEST_C, LARGEST_C)
        self.caps_ = check_caps(self.caps)
        self.gammas_ = self._checked_gammas(X, weights)
        splits = folds.splits(self.cv, X, y, codes, seed_of(self.random_state), routed.split)
        self._search = self._linear_search()
        try:
            held = [
                self._search._cross_validate(
                    self._coordinates(X, classes, weights, float(gamma)),
                    y,
                    classes,
                    codes,
                    weights,
                    splits,
                    routed,
                )
                for gamma in self.gammas_
            ]
            self._choose(held)
            self._fit_space(X, classes, codes, weights, self.gamma_)
        finally:
            del self._search
        return self

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
        values = np.atleast_1d(np.asarray(self.gammas, dtype=np.float64))
        if values.ndim != 1 or not np.all(np.isfinite(values) & (values > 0.0)):
            raise ValueError(f"gammas must be positive and finite, got {self.gammas!r}.")
        return np.unique(values)

    def _linear_search(self) -> HTSVCCV:
        """Return the search over C and cap in coordinates."""
        shared = HTSVCCV().get_params().keys() & self.get_params().keys()
        search = HTSVCCV(**{name: getattr(self, name) for name in shared})
        search.Cs_, search.caps_ = self.Cs_, self.caps_
        return search

    def _coordinates(self, X: Any, classes: Array, weights: Array | None, gamma: float) -> Array:
        rng = np.random.default_rng(seed_of(self.random_state))
        one_problem = is_one_problem(self.multi_class, classes)
        space = kernel_space(self, X, weights, gamma, one_problem, rng, in_coordinates=True)
        coordinates: Array = space.samples
        return coordinates

    def _choose(self, held: list[Held]) -> None:
        """Choose a point; gammas and caps together are the first axis of the grid."""
        together = Held.stacked(held)
        caps, Cs = np.tile(self.caps_, len(held)), self.Cs_
        more: dict[str, Array] = {}
        if together.asked:
            choice = choosing.by_score(together, caps, Cs)
        else:
            more["agreement"] = choosing.agreements(together)
            choice = sparser(
                together, more["agreement"], choosing.by_agreement(together, more["agreement"], Cs)
            )
        self.cap_, self.C_ = float(caps[choice.place[0]]), float(Cs[choice.place[1]])
        self.gamma_ = float(self.gammas_[choice.place[0] // len(self.caps_)])
        self.n_splits_ = len(together.scores)
        self.scores_ = together.scores.reshape(self.n_splits_, len(held), -1, len(Cs))
        self.best_score_ = float(together.means[choice.place])
        self.best_index_ = choice.place[0] * len(Cs) + choice.place[1]
        table = together.table(caps, Cs, choice.order, more)
        gammas = np.repeat(self.gammas_, len(self.caps_) * len(Cs))
        table["param_gamma"] = np.ma.MaskedArray(gammas)
        table["params"] = [
            {**point, "gamma": float(gamma)}
            for point, gamma in zip(table["params"], gammas, strict=True)
        ]
        self.cv_results_ = table
        self._search.cap_, self._search.C_ = self.cap_, self.C_
        if self.verbose:
            print(
                f"[{type(self).__name__}] chose C = {self.C_:g}, cap = {self.cap_:g}, gamma = "
                f"{self.gamma_:g}: mean score {self.best_score_:.4f}",
                flush=True,
            )
        for text in choice.remarks:
            warn_user(f"{type(self).__name__}: {text}", UserWarning)

    # --------------------------------------------------------------------------- the final fit

    def _warm_starts(self, classes: Array, problems: Any) -> list[Any]:
        """Return the end of the path that the folds went, on all the data."""
        if self._space.landmarks is not None:
            return self._search._warm_starts(classes, problems)
        return super()._warm_starts(classes, problems)

    def _rough_start(self, problem: Problem, starts: Any) -> Any:
        return self._search._warm_starts(np.array([0, 1]), [problem])[0]

    def _progress(self) -> Any:
        return super()._progress() if self.verbose > 1 else None

    def _loss(self) -> Loss:
        return HybridTruncated(knee=self.knee, cap=self.cap_)

    def _penalty(self) -> float:
        return self.C_

    def get_metadata_routing(self) -> MetadataRouter:
        """Return how metadata are routed: to this estimator, the splitter and the scorer."""
        return folds.router_of(self)
