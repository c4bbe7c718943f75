"""The robust support vector machine with a kernel, exact or on landmarks."""

from __future__ import annotations

import math
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.validation import check_is_fitted, validate_data

from htsvm._documented import documented
from htsvm._seeds import seed_of
from htsvm._sklearn import Interval, StrOptions
from htsvm._typing import Array
from htsvm.linalg.kernel_functions import NAMES, kernel_function, resolved_gamma
from htsvm.linalg.kernel_operator import KernelNorm
from htsvm.linalg.kernels import COMPILED
from htsvm.linalg.landmarks import blocks
from htsvm.losses import HybridTruncated, Loss
from htsvm.problems.binary import Problem
from htsvm.solvers.search import first_point
from htsvm.svm._kernel_space import (
    FEW_STARTS,
    SELECTIONS,
    FittedSpace,
    check_precomputed,
    is_one_problem,
    kernel_space,
)
from htsvm.svm.base import BaseLinearSVC
from htsvm.svm.validation import canonical, check_scale


class BaseKernelSVC(BaseLinearSVC):
    """What `KernelHTSVC` and its search share: all but the loss and the choice of gamma."""

    # The only solver that several classes in one problem and a kernel matrix have.
    solver: ClassVar[str] = "newton"

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **{
            name: rule
            for name, rule in BaseLinearSVC._parameter_constraints.items()
            if name not in ("C", "warm_start", "solver")
        },
        "knee": [Interval(Real, 0.0, 1.0, closed="neither")],
        "kernel": [StrOptions({*NAMES, "precomputed"}), callable],
        "degree": [Interval(Real, 0.0, None, closed="left")],
        "coef0": [Interval(Real, None, None, closed="neither")],
        "n_landmarks": [StrOptions({"auto"}), Interval(Integral, 1, None, closed="left"), None],
        "landmark_selection": [StrOptions(set(SELECTIONS))],
        "memory_limit": [Interval(Real, 0.0, None, closed="neither")],
    }

    def _has_weights(self) -> bool:
        return False

    def _fit_space(
        self, X: Any, classes: Array, codes: Array, weights: Array | None, gamma: float
    ) -> None:
        """Fit data that has been validated, with a given gamma."""
        one_problem = is_one_problem(self.multi_class, classes)
        rng = np.random.default_rng(seed_of(self.random_state))
        space = kernel_space(self, X, weights, gamma, one_problem, rng)
        C, loss, solver = self._penalty(), self._loss(), self._solver()
        problems = self._problems(space.samples, classes, codes, weights, C=C, loss=loss)
        if not space.all_starts:
            # A problem that landmarks only come near needs no long search.
            solver = replace(solver, starts=FEW_STARTS)
        starts = self._starts_in(space, problems)
        self._fit_problems(problems, starts, solver, classes, codes, weights)
        self._store_kernel(X, space)

    def _validated_data(self, X: Any, y: Any) -> tuple[Any, Array]:
        if self.kernel == "precomputed":
            X, y = validate_data(self, X, y, dtype=np.float64, order="C")
            check_precomputed(X)
            return X, y
        X, y = super()._validated_data(X, y)
        check_scale(X)
        return canonical(X), y

    def _problems(self, X: Any, *args: Any, **stated: Any) -> list[Any]:
        problems = super()._problems(X, *args, **stated)
        if not problems[0].operator.representers:
            return problems
        return [replace(problem, regularizer=KernelNorm(X)) for problem in problems]

    def _starts_in(self, space: FittedSpace, problems: list[Any]) -> list[Any]:
        """Return where problems of a kernel matrix begin: at a fit on a few landmarks.

        A convex problem needs no start where pairs of samples are quick (`solvers.pairs`).
        """
        convex = COMPILED and math.isinf(problems[0].loss.cap)
        if space.landmarks is not None or convex:
            return [None] * len(problems)
        return [space.start(p, self._rough_start) for p in problems]

    def _rough_start(self, problem: Problem, starts: Any) -> Any:
        """Solve a problem on few landmarks roughly; return the solution as a start."""
        solver = replace(self._solver(), n_restarts=0, starts=starts)
        if starts != "auto":
            return first_point(problem, solver)
        # The landmarks span the space: this is the problem itself.
        result = replace(solver, tol=0.1 * self.tol).solve(problem)
        return result.coef, result.intercept, result.multipliers

    def _store_kernel(self, X: Any, space: FittedSpace) -> None:
        """Turn what was fitted in coordinates into a sum over samples."""
        self.method_, self.gamma_ = space.method, space.gamma
        self.landmarks_, self.landmark_coef_ = space.lift(self.coef_)
        del self.coef_
        precomputed = self.kernel == "precomputed"
        self.support_vectors_ = np.empty((0, 0)) if precomputed else X[self.support_]
        self._landmark_rows = None if precomputed else X[self.landmarks_]

    def decision_function(self, X: Any) -> Array:
        """Return the signed scores, a sum over the support vectors or the landmarks.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Samples; with ``kernel="precomputed"`` their kernel with the training samples.

        Returns
        -------
        ndarray of shape (n_samples,) or (n_samples, n_classes)
            For two classes, positive scores mean ``classes_[1]``.
        """
        check_is_fitted(self)
        precomputed = self.kernel == "precomputed"
        X = validate_data(
            self, X, accept_sparse=False if precomputed else "csr",
            dtype=[np.float64, np.float32], reset=False,
        )  # fmt: skip
        X = canonical(X)
        scores = np.tile(self.intercept_, (X.shape[0], 1))
        function = None if precomputed else self._function(self.gamma_)
        for part in blocks(X.shape[0], max(len(self.landmarks_), 1)):
            if function is None:
                values = X[part][:, self.landmarks_]
            elif len(self.landmarks_):
                values = function(X[part], self._landmark_rows)
            else:
                continue
            scores[part] += values @ self.landmark_coef_.T
        return scores.ravel() if scores.shape[1] == 1 else scores

    def _function(self, gamma: float) -> Any:
        return kernel_function(self.kernel, gamma, self.degree, self.coef0)

    def _solver(self) -> Any:
        return self._named_solver("newton")

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.pairwise = self.kernel == "precomputed"
        tags.input_tags.sparse = self.kernel != "precomputed"
        return tags


@documented
@dataclass(eq=False, repr=False)
class KernelHTSVC(BaseKernelSVC):
    r"""Support vector classifier with a kernel that resists wrong labels.

    Minimises

    .. math:: \tfrac12\|w\|^2 + C \sum_i \ell(1 - y_i (\langle w, \phi(x_i)\rangle + b))

    in the space of a kernel :math:`k(x, z) = \langle\phi(x), \phi(z)\rangle`, with the hybrid
    truncated loss of `HTSVC`. Samples further on the wrong side than `cap` allows are given up:
    they are no support vectors, where the hinge loss keeps every one of them.

    Parameters
    ----------
    {C}, {kernel}
    gamma : {"scale", "auto"} or float, default="scale"
        Coefficient of "rbf", "poly", "sigmoid" and "laplacian". "scale" is ``1 / (n_features *
        X.var())``, "auto" ``1 / n_features``.
    {degree}, {coef0}
    cap : float, default=1.0
        The margin violation from which on a sample is ignored. 1 is the decision boundary; ``inf``
        never ignores a sample (the problem of `sklearn.svm.SVC` with 6C/5).
    {knee}, {n_landmarks}, {landmark_selection}, {memory_limit}, {tol}, {max_iter}
    {fit_intercept}, {class_weight}, {multi_class}
    n_restarts : int, default=0
        Further random starts; the lowest objective wins.
    n_jobs : int, optional
        Threads over the binary problems of a fit with ``multi_class="ovr"``.
    random_state : int, RandomState or None, default=None
        Drives the choice of landmarks and all that is random in the solver. None always takes the
        same seed, so that a fit can be repeated.
    {verbose}

    Attributes
    ----------
    method_ : {"exact", "landmarks"}
        Which problem was solved: that of the whole kernel matrix, or the one on landmarks.
    {classes_}, {support_}
    support_vectors_ : {ndarray, CSR matrix} of shape (n_support, n_features)
        The support vectors; of a precomputed kernel an empty array.
    {n_support_}
    dual_coef_ : ndarray of shape (1 or n_classes, n_support)
        Their coefficients.
    landmarks_ : ndarray
        Indices of the samples that the decision is a sum over: the support vectors of an exact
        fit, else the landmarks.
    landmark_coef_ : ndarray of shape (1 or n_classes, n_landmarks)
        Their coefficients: ``decision_function(X) == k(X, landmarks) @ landmark_coef_.T +
        intercept_``.
    {intercept_}
    gamma_ : float
        The gamma in use.
    {objective_}
    certificate_ : list of certificates
        For each problem residuals, objectives and verdict in the space of the kernel (of an exact
        fit) or of the landmarks, for all samples.
    sample_status_ : ndarray of shape (n_samples,), or (n_samples, n_classes) with "ovr"
        What became of each sample, as a `SampleStatus`.
    {ignored_}, {history_}, {n_iter_}
    n_passes_ : float
        The work, in products with the kernel matrix or with the coordinates.
    {seconds_}, {n_features_in_}, {feature_names_in_}

    See Also
    --------
    HTSVC : The linear model.

    Notes
    -----
    Data larger than memory: fit `sklearn.kernel_approximation.Nystroem` on a sample, transform
    block by block, and fit `HTSVC` on the Dask array of the coordinates.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from htsvm import KernelHTSVC
    >>> X, y = make_moons(300, noise=0.1, random_state=0)
    >>> y[:60] = 1 - y[:60]
    >>> clf = KernelHTSVC(C=10).fit(X, y)
    >>> clf.method_, bool(clf.certificate_[0].certified)
    ('exact', True)
    """

    C: float = 1.0
    _: KW_ONLY
    kernel: Any = "rbf"
    gamma: Any = "scale"
    degree: float = 3
    coef0: float = 0.0
    cap: float = 1.0
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
        "C": BaseLinearSVC._parameter_constraints["C"],
        "cap": [Interval(Real, 0.0, None, closed="right")],
        "gamma": [StrOptions({"scale", "auto"}), Interval(Real, 0.0, None, closed="neither")],
    }

    @documented
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KernelHTSVC:
        """Fit the model.

        Parameters
        ----------
        X : {array-like, sparse matrix} of shape (n_samples, n_features)
            Training data; with ``kernel="precomputed"`` the kernel matrix of the samples.
        {y}, {sample_weight}

        Returns
        -------
        self : object
            The fitted estimator.
        """
        self._validate_params()
        X, _, classes, codes, weights = self._validated(X, y, sample_weight)
        with self._overflow_told():
            self._fit_space(X, classes, codes, weights, resolved_gamma(self.gamma, X, weights))
        return self

    def _loss(self) -> Loss:
        return HybridTruncated(knee=self.knee, cap=self.cap)
