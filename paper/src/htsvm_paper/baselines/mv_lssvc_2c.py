"""MvLSSVC-2C: least squares in several views, with structure and learned weights."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from numbers import Integral, Real
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.utils._param_validation import HasMethods, Interval, StrOptions
from sklearn.utils.validation import check_memory

from htsvm._documented import documented
from htsvm._seeds import seed_of
from htsvm._typing import Array
from htsvm_paper.baselines._base import BinaryFit, MultiViewBaseline
from htsvm.linalg.spaces import LARGEST_SIDE
from htsvm.multiview.alternation import LEAST_WEIGHT, Classifiers
from htsvm.multiview.parameters import per_view
from htsvm.multiview.preparation import Prepared, prepare_views
from htsvm.optimality import GradientCertificate
from htsvm.optimality.residuals import gradient_residuals


@documented
@dataclass(eq=False, repr=False)
class MvLSSVC2C(MultiViewBaseline):
    r"""Least squares classifiers in any number of views, with structure (MvLSSVC-2C).

    A reconstruction: see the notes.

    .. math::
        \min\ \tfrac12 \sum_v \theta_v \|w_v\|^2 + \tfrac\alpha2 \|\theta\|^2
        + \tfrac\eta2 \sum_v w_v^\top \Sigma_v w_v \\
        + \tfrac C2 \sum_v \sum_i (1 - y_i f_v(x_i))^2
        + \tfrac D2 \sum_{u<v} \sum_i (f_u(x_i) - f_v(x_i))^2,

    over :math:`f_v(x) = w_v^\top x_v + b_v` and weights :math:`\theta` on the simplex, with
    :math:`\Sigma_v = \sum_u \theta_u \Sigma_{vu}` as in `MultiViewHTSVC`. The decision is
    :math:`\sum_v \theta_v f_v`.

    Parameters
    ----------
    C : float, array-like or dict, default=1.0
        Penalty of the squared errors. One number, or one per view, in their order or by name.
    structure : float, array-like or dict, default=1.0
        The eta: how much a classifier should vary little within the clusters of the classes; may
        differ from view to view. Zero leaves the term out, and with it all clustering.
    D : float, default=0.0
        Penalty of disagreement between each pair of views; not part of the model as described.
    weight_smoothness : float or "auto", default="auto"
        The alpha: how even the view weights should be. "auto" takes V - 1 times the cost of all V
        views after the first round; see `weight_smoothness_`.
    {view_weights}, {views}
    tol : float, default=1e-6
        The largest residual of the gradient, and the largest change of a view weight in another
        round.
    {max_rounds}, {fit_intercept}, {class_weight of pairs}, {memory}, {n_jobs}
    random_state : int, RandomState or None, default=None
        Drives the summary that is clustered where there are many samples. None always takes the
        same seed, so that a fit can be repeated.
    {verbose of rounds}

    Attributes
    ----------
    {view_weights_}
    weight_smoothness_ : ndarray of shape (n_problems,)
        The alpha of each binary problem.
    certificate_ : list of GradientCertificate
        For each binary problem, the residuals of the gradient, computed from the data, and how much
        the weights would still change.
    objective_, history_, n_iter_
        The objective; one row per round, in which it never increases; the number of rounds.
    {n_support_ of all}, {view_coef_}, {view_intercept_}, {coef_ of views}, {intercept_ of views},
    {classes_}, {view_names_}, {view_columns_}, {n_features_in_}, {feature_names_in_}

    Notes
    -----
    For fixed weights the classifiers solve one linear system per view (one for all of them if D >
    0), with min(n_samples, n_columns) unknowns at most, for which 10,000 is the limit; the
    intercepts follow from the means. For fixed classifiers the weights are a projection onto the
    simplex. Both steps are exact. Every sample has a part in the classifiers.

    *A reconstruction.* Neither the article nor code was at hand. Yang et al. describe it as
    least squares classifiers coupled by a term of interaction between the views, for which
    hierarchical clustering is used; that is taken to be the structural term of their own model, of
    the same group. The term with D is the other reading of "interaction" and is left out by
    default. The decision by the learned weights and all defaults are ours.

    References
    ----------
    Zhang et al., 2025: MvLSSVC-2C, as cited by Y. Yang, C. Chen, Y. Liu, H. Wang. Robust and sparse
    support vector machine via hybrid truncated loss for supervised classification.

    J. Suykens, J. Vandewalle. Least squares support vector machine classifiers. Neural Processing
    Letters 9, 1999.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from htsvm.baselines import MvLSSVC2C
    >>> X, y = make_classification(n_samples=200, random_state=0)
    >>> clf = MvLSSVC2C(views=[slice(0, 10), slice(10, 20)]).fit(X, y)
    >>> clf.certificate_[0].certified
    True
    """

    C: Any = 1.0
    _: KW_ONLY
    structure: Any = 1.0
    D: float = 0.0
    weight_smoothness: Any = "auto"
    view_weights: Any = "learned"
    views: Any = None
    tol: float = 1e-6
    max_rounds: int = 200
    fit_intercept: bool = True
    class_weight: Any = None
    memory: Any = None
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **MultiViewBaseline._parameter_constraints,
        "C": [Real, "array-like", dict],
        "structure": [Real, "array-like", dict],
        "D": [Interval(Real, 0.0, None, closed="left")],
        "weight_smoothness": [Interval(Real, 0.0, None, closed="neither"), StrOptions({"auto"})],
        "view_weights": [StrOptions({"learned", "uniform"}), "array-like", dict],
        "max_rounds": [Interval(Integral, 1, None, closed="left")],
        "memory": [None, str, HasMethods(["cache"])],
        "random_state": ["random_state"],
    }
    _balanced_rest: ClassVar[bool] = False

    def _prepared(self, views: list[Any], codes: Array, weights: Array | None) -> Prepared:
        """Return the views in coordinates, and their structure if it counts."""
        prepared = prepare_views(
            views, self.view_names_, codes, weights, strength=self._strength(),
            memory=check_memory(self.memory), seed=seed_of(self.random_state),
        )  # fmt: skip
        for name, X in zip(self.view_names_, prepared.coordinates, strict=True):
            if X.shape[1] > LARGEST_SIDE:
                raise ValueError(
                    f"MvLSSVC2C solves a linear system with one unknown per column: view {name!r} "
                    f"has {X.shape[1]}, more than {LARGEST_SIDE}. Reduce its columns first, for "
                    "example with TruncatedSVD."
                )
        return prepared

    def _strength(self) -> Array:
        """Return the eta of each view."""
        return per_view("structure", self.structure, self.view_names_, zero=True)

    def _binary(self, prepared: Prepared, y: Array, factors: Array) -> BinaryFit:
        problem = LeastSquaresViews(
            prepared.coordinates, y, factors, per_view("C", self.C, self.view_names_),
            float(self.D), self._strength(), prepared.covariances, bool(self.fit_intercept),
        )  # fmt: skip
        ended = self._alternated(problem)
        coefs, intercepts = ended.point
        stationarity, balance = problem.residuals(coefs, intercepts, ended.weights)
        certificate = GradientCertificate(
            stationarity=stationarity, balance=balance, objective=ended.objective, tol=self.tol,
            weight_change=ended.change,
        )  # fmt: skip
        return BinaryFit(
            coefs, intercepts, ended.weights, certificate, len(ended.history["iteration"]),
            ended.history, extra={"weight_smoothness_": ended.smoothness},
        )  # fmt: skip


Functions = tuple[list[Array], Array]


@dataclass
class LeastSquaresViews(Classifiers[Functions]):
    """The problem for fixed weights.

    Parameters
    ----------
    views : list of {ndarray, CSR matrix} of shape (n_samples, n_columns)
        The views.
    y, factors : ndarrays of shape (n_samples,)
        Labels in {-1, +1} and the weight of each sample.
    penalties : ndarray of shape (n_views,)
        The C of each view.
    coupling : float
        The D.
    structure : ndarray of shape (n_views,)
        The eta of each view.
    covariances : list of lists of ndarrays, or None
        The Sigma^(v,u); None where all of `structure` is zero.
    fit_intercept : bool
        Whether there are intercepts. With them everything is centred: then the mean of each f_v is
        the mean of y, whatever the coefficients.
    """

    views: list[Any]
    y: Array
    factors: Array
    penalties: Array
    coupling: float
    structure: Array
    covariances: list[list[Array]] | None
    fit_intercept: bool

    def __post_init__(self) -> None:
        share = self.factors / self.factors.sum()
        centre = 1.0 if self.fit_intercept else 0.0
        self.means = [centre * np.asarray(X.T @ share).ravel() for X in self.views]
        self.level = centre * float(share @ self.y)
        pull = self.factors * (self.y - self.level)
        V = range(len(self.views))
        self.targets = [np.asarray(X.T @ pull).ravel() for X in self.views]
        # With an intercept the pulls add up to zero, and the means drop out.
        pairs = [(u, v) for u in V for v in V if u == v or (self.coupling > 0.0 and u < v)]
        self.products = {(u, v): self._product(u, v) for u, v in pairs}

    def _product(self, u: int, v: int) -> Array:
        """Return the product of two centred views, with the weights of the samples."""
        left, right = self.views[u], self.views[v]
        if not (sp.issparse(left) or sp.issparse(right)):
            weighted = self.factors[:, None] * (right - self.means[v])
            dense: Array = (left - self.means[u]).T @ weighted
            return dense
        scaled = sp.diags(self.factors) @ sp.csr_matrix(right)
        product = np.asarray((sp.csr_matrix(left).T @ scaled).toarray())
        total: Array = product - self.factors.sum() * np.outer(self.means[u], self.means[v])
        return total

    def solve(self, weights: Array, before: Functions | None, gain: float) -> Functions:
        """Solve the linear systems; what was before is of no use here."""
        others = (len(self.views) - 1) * self.coupling
        blocks = []
        for v, C in enumerate(self.penalties):
            A = (C + others) * self.products[v, v] + self._spread(v, weights)
            A[np.diag_indices(len(A))] += max(float(weights[v]), LEAST_WEIGHT)
            blocks.append(A)
        rhs = [C * target for C, target in zip(self.penalties, self.targets, strict=True)]
        if self.coupling == 0.0:
            coefs = [
                scipy.linalg.solve(A, r, assume_a="pos") for A, r in zip(blocks, rhs, strict=True)
            ]
        else:
            coefs = self._solve_coupled(blocks, rhs)
        pairs = zip(self.means, coefs, strict=True)
        return coefs, np.array([self.level - float(mean @ w) for mean, w in pairs])

    def _solve_coupled(self, blocks: list[Array], rhs: list[Array]) -> list[Array]:
        edges = np.cumsum([0] + [len(A) for A in blocks])
        H = scipy.linalg.block_diag(*blocks)
        for (u, v), product in self.products.items():
            if u != v:
                at_u, at_v = slice(edges[u], edges[u + 1]), slice(edges[v], edges[v + 1])
                H[at_u, at_v] = -self.coupling * product
                H[at_v, at_u] = H[at_u, at_v].T
        solution = scipy.linalg.solve(H, np.concatenate(rhs), assume_a="pos")
        return list(np.split(solution, edges[1:-1]))

    def _spread(self, v: int, weights: Array) -> Array:
        """Return the structural matrix of a view, with its factor."""
        n = self.views[v].shape[1]
        if self.covariances is None or self.structure[v] == 0.0:
            return np.zeros((n, n))
        total: Array = self.structure[v] * np.einsum("u,uij->ij", weights, self.covariances[v])
        return total

    def costs(self, point: Functions) -> Array:
        """Return twice the slopes of the objective in the weights."""
        costs = np.array([float(w @ w) for w in point[0]])
        for v, w in enumerate(point[0]):
            if self.covariances is not None and self.structure[v] > 0.0:
                costs += self.structure[v] * np.array([w @ (S @ w) for S in self.covariances[v]])
        return costs

    def objective(self, point: Functions, weights: Array) -> float:
        """Return the objective, without the term of the weights alone."""
        values = self._values(*point)
        errors = ((values - self.y) ** 2) @ self.factors
        total = float(weights @ self.costs(point) + self.penalties @ errors)
        for u in range(len(values)):
            for v in range(u):
                total += self.coupling * float(((values[u] - values[v]) ** 2) @ self.factors)
        return 0.5 * total

    def residuals(self, coefs: list[Array], b: Array, weights: Array) -> tuple[float, float]:
        """Return the size of the gradient in the coefficients, and in the intercepts."""
        values = self._values(coefs, b)
        pull = self.penalties[:, None] * (values - self.y)
        pull += self.coupling * (len(values) * values - values.sum(axis=0))
        pull *= self.factors
        own = [
            max(float(weights[v]), LEAST_WEIGHT) * w + self._spread(v, weights) @ w
            for v, w in enumerate(coefs)
        ]
        return gradient_residuals(own, self.views, pull, self.fit_intercept)

    def _values(self, coefs: list[Array], b: Array) -> Array:
        products = [X @ w for X, w in zip(self.views, coefs, strict=True)]
        values: Array = np.array(products) + b[:, None]
        return values
