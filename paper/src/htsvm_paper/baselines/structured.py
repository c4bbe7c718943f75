"""MvLSSVC-2C and MvSL0/1-SVM: any number of views with structure and learned weights."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from itertools import combinations
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
import scipy.sparse as sp
from sklearn.utils.validation import check_memory

from htsvm.extend import (
    Array,
    Classifiers,
    Loss,
    Prepared,
    Solver,
    StructuredMultiViewSVC,
    per_view,
    prepare_views,
    seed_of,
)
from htsvm_paper.baselines._base import BinaryFit, MultiViewBaseline, documented
from htsvm_paper.certificates import GradientCertificate
from htsvm_paper.losses import ZeroOne
from htsvm_paper.solvers import ZeroOneSolver
from htsvm_paper.solvers.views import ViewsProblem, weighted_product

# The largest side of a linear system: 800 MB. The least weight of a view in its own problem.
LARGEST_SIDE, LEAST_WEIGHT = 10_000, 1e-6


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
    {C of views}, {structure}, {D}, {weight_smoothness}, {view_weights}, {views}
    tol : float, default=1e-6
        The largest residual of the gradient, and change of a view weight in another round.
    {max_rounds}, {fit_intercept}, {class_weight of pairs}, {memory}, {n_jobs}
    random_state : int, RandomState or None, default=None
        Drives the summary that is clustered where there are many samples. None always takes the
        same seed, so that a fit can be repeated.
    {verbose of rounds}

    Attributes
    ----------
    {view_weights_}, {weight_smoothness_}
    certificate_ : list of GradientCertificate
        For each binary problem, the residuals of the gradient, computed from the data, and how much
        the weights would still change.
    {n_support_ of all}, {objective_ of rounds}, {history_ of rounds}, {n_iter_ of rounds}
    {attributes}

    Notes
    -----
    For fixed weights the classifiers solve one linear system per view (one for all of them if D >
    0), with at most min(n_samples, n_columns) unknowns, up to 10,000; for fixed classifiers the
    weights are a projection onto the simplex. Both steps are exact.

    *A reconstruction.* Neither the article nor code was at hand. Yang et al. describe it as least
    squares classifiers coupled by an interaction of the views, for which hierarchical clustering is
    used: taken to be the structural term of their own model, of the same group. The term with D is
    the other reading. The decision by the learned weights and all defaults are ours.

    References
    ----------
    Zhang et al., 2025: MvLSSVC-2C, as cited in the paper of `MultiViewHTSVC`.

    J. Suykens, J. Vandewalle. Least squares support vector machine classifiers. Neural Processing
    Letters 9, 1999.
    """

    _: KW_ONLY
    structure: Any = 1.0
    D: float = 0.0
    weight_smoothness: Any = "auto"
    view_weights: Any = "learned"
    max_rounds: int = 200
    memory: Any = None
    random_state: Any = None

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
            *self._terms(prepared, y, factors), np.ones(len(prepared.spaces)), factors,
            self._strength(), prepared.covariances, fit_intercept=bool(self.fit_intercept),
        )  # fmt: skip
        ended = self._by_turns(problem).run()
        stationarity, balance = problem.residuals_at(ended.point, ended.weights)
        certificate = GradientCertificate(
            stationarity=stationarity, balance=balance, objective=ended.objective, tol=self.tol
        )
        fit = BinaryFit(*problem.parts(ended.point), ended.weights, certificate)
        return self._learned(fit, ended)


@dataclass(frozen=True, eq=False)
class LeastSquaresViews(ViewsProblem, Classifiers[Array]):
    """Squared errors in all views; see `ViewsProblem`, of which the theta are not used.

    With intercepts everything is centred: the mean of each f_v is the mean of y.
    """

    # The weight of each sample, the eta of each view, and the Sigma^(v,u), if any eta is positive.
    factors: Array
    structure: Array
    covariances: list[list[Array]] | None

    @cached_property
    def means(self) -> list[Array]:
        """The means of the columns of each view, and of y; zero without intercepts."""
        share = self.factors / self.factors.sum() * self.fit_intercept
        return [np.asarray(X.T @ share).ravel() for X in (*self.views, self.y[:, None])]

    @cached_property
    def products(self) -> list[list[Any]]:
        """The products of the centred views, with the weights of the samples, as far as needed."""
        views, tied = range(len(self.views)), np.any(self.coupling > 0.0)
        return [[self._product(u, v) if tied or u == v else None for v in views] for u in views]

    def _product(self, u: int, v: int) -> Array:
        (left, right), (a, b) = (self.views[u], self.views[v]), (self.means[u], self.means[v])
        if not (sp.issparse(left) or sp.issparse(right)):
            return weighted_product(left - a, right - b, self.factors)
        # Centred afterwards, so that sparse views stay sparse.
        product = weighted_product(left, right, self.factors)
        return np.asarray(product - self.factors.sum() * np.outer(a, b))

    def solve(self, weights: Array, before: Array | None, gain: float) -> Array:
        """Return the solution of the linear systems; what was before is of no use here."""
        C, D = self.penalties[:, 0] / self.factors[0], self.coupling[0] / self.factors[0]
        # With an intercept the pulls add up to zero, and the means drop out.
        targets = self.pull(self.penalties * (self.y - self.means[-1]))
        blocks, rhs = [], np.split(targets, self.edges[1:-1])
        for v, products in enumerate(self.products):
            A = (C[v] + (len(C) - 1) * D) * products[v] + self._spread(v, weights)
            A[np.diag_indices(len(A))] += max(float(weights[v]), LEAST_WEIGHT)
            blocks.append([A if u == v else -D * products[u] for u in range(len(C)) if D or u == v])
        if D == 0.0:
            pairs = zip(blocks, rhs, strict=True)
            coef = np.concatenate([scipy.linalg.solve(A, r, assume_a="pos") for (A,), r in pairs])
        else:
            coef = scipy.linalg.solve(np.block(blocks), targets, assume_a="pos")
        means = zip(self.means, np.split(coef, self.edges[1:-1]), strict=False)
        return self.joined(coef, np.array([self.means[-1][0] - mean @ w for mean, w in means]))

    def _spread(self, v: int, weights: Array) -> Any:
        """Return the structural matrix of a view, with its factor."""
        if self.covariances is None or self.structure[v] == 0.0:
            return 0.0
        return self.structure[v] * np.einsum("u,uij->ij", weights, self.covariances[v])

    def costs(self, point: Array) -> Array:
        """Return twice the slopes of the objective in the view weights."""
        coefs = self.parts(point)[0]
        costs = np.array([float(w @ w) for w in coefs])
        for w, eta, sigma in zip(coefs, self.structure, self.covariances or [], strict=False):
            if eta > 0.0:
                costs += eta * np.array([w @ (S @ w) for S in sigma])
        return costs

    def objective(self, point: Array, weights: Array) -> float:
        """Return the objective, without the term of the view weights alone."""
        f = self.decisions(point)
        total = float(weights @ self.costs(point) + np.sum(self.penalties * (f - self.y) ** 2))
        ties = sum((f[u] - f[v]) ** 2 @ self.coupling for u, v in combinations(range(len(f)), 2))
        return 0.5 * (total + float(ties))

    def residuals_at(self, z: Array, weights: Array) -> tuple[float, float]:
        """Return the size of the gradient in the coefficients, and in the intercepts."""
        f = self.decisions(z)
        slopes = self.penalties * (f - self.y) + self.coupling * (len(f) * f - f.sum(axis=0))
        theta = np.maximum(weights, LEAST_WEIGHT)
        coefs = enumerate(self.parts(z)[0])
        own = [theta[v] * w + np.dot(self._spread(v, weights), w) for v, w in coefs]
        return self.residuals(np.concatenate(own), slopes)


@documented
@dataclass(eq=False, repr=False)
class MvSL01SVM(StructuredMultiViewSVC):
    r"""Classifiers with the 0/1 loss in any number of views, with structure (MvSL0/1-SVM).

    A reconstruction: see the notes.

    .. math::
        \min\ \tfrac12 \sum_v \theta_v \|w_v\|^2 + \tfrac\alpha2 \|\theta\|^2
        + \tfrac\eta2 \sum_v w_v^\top \Sigma_v w_v \\
        + C \sum_v \#\{i : y_i f_v(x_i) < 1\}, \qquad \Sigma_v = \sum_u \theta_u \Sigma_{vu},

    over :math:`f_v(x) = w_v^\top x_v + b_v` and weights :math:`\theta` on the simplex, with the
    :math:`\Sigma_{vu}` of `MultiViewHTSVC`. The decision is :math:`\sum_v \theta_v f_v`.

    Parameters
    ----------
    C : float, array-like or dict, default=1.0
        What a sample inside the margin of a view costs. One number, or one per view.
    {structure}, {weight_smoothness}, {view_weights}, {kernel of views}, {gamma of views}, {views},
    {tol of views}
    max_iter : int, default=200
        The largest number of iterations for one view in the first round.
    {max_rounds}
    n_restarts : int, default=0
        Further starts in the first round; the lowest objective wins.
    {fit_intercept}, {class_weight}, {memory}
    n_jobs : int, optional
        Threads over the views, or over the binary problems of a multi-class fit.
    {random_state of views}
    verbose : int, default=0
        1 prints a line per round, 2 also one per iteration of the solver.

    Attributes
    ----------
    sample_status_ : ndarray of shape (n_samples, n_views) or (n_samples, n_views, n_classes)
        What became of each sample in each view: safe, on the margin, or ignored, which here is
        every sample inside the margin.
    {objective_ of rounds}, {history_ of rounds}, {n_iter_ of rounds}
    certificate_, weight_smoothness_, weight_residual_, cluster_labels_, n_clusters_, ignored_
        As in `MultiViewHTSVC`, and so are all others.

    Notes
    -----
    Structure, weights and certificates are those of `MultiViewHTSVC`, the solver is that of
    `ZeroOneSVC`. Which samples a view satisfies is found in the first round, with equal weights; in
    later rounds its classifier has the widest margin for them, a local minimiser.

    *A reconstruction.* The article was not at hand. By the words of Yang et al. (same group), whose
    model replaces the loss of this one, it is taken as `MultiViewHTSVC` with the 0/1 loss. Defaults
    are ours, and so is the solver: the ADMM of the single-view model seldom settles.

    References
    ----------
    Chen et al., 2025: the multi-view SL0/1-SVM, as cited in the paper of `MultiViewHTSVC`.
    """

    C: Any = 1.0
    _: KW_ONLY
    structure: Any = 1.0
    weight_smoothness: Any = "auto"
    view_weights: Any = "learned"
    kernel: Any = "linear"
    gamma: Any = "scale"
    views: Any = None
    tol: float = 1e-3
    max_iter: int = 200
    max_rounds: int = 50
    fit_intercept: bool = True
    class_weight: Any = None
    memory: Any = None
    n_restarts: int = 0
    n_jobs: int | None = None
    random_state: Any = None
    verbose: int = 0

    _cap_name: ClassVar[str | None] = None

    def _losses(self) -> list[Loss]:
        return [ZeroOne() for _ in self.view_names_]

    def _solver(self) -> Solver:
        solver = self._named_solver(ZeroOneSolver())
        return solver if self.verbose > 1 else replace(solver, callback=None)
