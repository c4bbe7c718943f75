"""MvSL0/1-SVM: the 0/1 loss in several views, with structure and learned weights."""

from __future__ import annotations

from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

from htsvm._documented import documented
from htsvm._seeds import seed_of
from htsvm._typing import Array
from htsvm.losses import Loss, ZeroOne
from htsvm.multiview.structured import StructuredMultiViewSVC
from htsvm.multiview.view_classifiers import ViewClassifiers, ViewPoint
from htsvm.multiview.warm_start import for_warm_start
from htsvm.problems import AnyProblem
from htsvm.solvers import SolverResult, ZeroOneSolver


class ZeroOneClassifiers(ViewClassifiers):
    """Classifiers with the 0/1 loss.

    The first round decides which samples each view satisfies. For new weights the classifiers are
    the widest margins for the samples satisfied before (and others that happen to be satisfied
    then), so that the objective never increases.
    """

    solver: ZeroOneSolver

    def _solve_view(
        self, v: int, weights: Array, before: ViewPoint | None, slack: float
    ) -> ViewPoint:
        problem: Any = self._problem(v, weights)
        if before is None:
            return self._point(v, problem, self.solver.solve(problem))
        after = self._point(v, problem, self.solver.refit(problem, before.result))
        return after if self._is_lower(v, weights, after, before, slack) else before

    def _finer(self, problem: Any, result: SolverResult) -> SolverResult:
        # No convex loss lies above the 0/1 loss and touches it.
        finer: Any = for_warm_start(self.solver, problem)
        refitted: SolverResult = finer.refit(problem, result)
        return refitted


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
    structure : float, array-like or dict, default=1.0
        The eta: how much a classifier should vary little within the clusters of the classes; may
        differ from view to view. Zero leaves the term out, and with it all clustering.
    weight_smoothness : float or "auto", default="auto"
        The alpha: how even the view weights should be. Small values let the weights of all views
        but one fall to zero. "auto" takes V - 1 times the cost of all V views after the first
        round, and twice as much (up to four times) where a view loses its weight all the same.
    {view_weights}, {kernel of views}, {gamma of views}, {views}, {tol of views}
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
    certificate_ : list of Certificate, or list of lists
        The certificate of each view, for the final weights.
    sample_status_ : ndarray of shape (n_samples, n_views) or (n_samples, n_views, n_classes)
        What became of each sample in each view: safe, on the margin, or ignored, which here is
        every sample inside the margin.
    ignored_ : ndarray
        Indices of the samples that were ignored by every view with a positive weight (with several
        classes, in the problem of their own class).
    {view_weights_}
    weight_smoothness_ : ndarray of shape (n_problems,)
        The alpha of each binary problem.
    weight_residual_ : ndarray of shape (n_problems,)
        How far the weights are from the best ones for the classifiers, in the largest component.
    cluster_labels_, n_clusters_ : ndarray of shape (n_samples, n_views), list of int
        The cluster of each sample in each view, and their numbers; None where `structure` is zero.
    objective_, history_, n_iter_
        The objective; one row per round, in which it never increases; the number of rounds.
    {support_ of views}
    dual_coef_ : list of ndarrays of shape (1 or n_classes, n_support)
        Their coefficients: :math:`(\theta_v I + \eta \Sigma_v) w_v = \sum_i d_{vi} x_{iv}`.
    {n_support_ of views}, {view_coef_}, {view_intercept_}, {coef_ of views}, {intercept_ of views},
    {classes_}, {view_names_}, {view_columns_}, {n_features_in_}, {feature_names_in_}

    Notes
    -----
    Structure, weights and certificates are those of `MultiViewHTSVC`, the solver is that of
    `ZeroOneSVC`. Which samples a view satisfies is found in the first round, with equal weights; in
    later rounds its classifier is the one with the widest margin for them. Every view ends in a
    local minimiser for the final weights. With one view and ``structure=0`` this is `ZeroOneSVC`.

    *A reconstruction.* The article was not at hand. By the words of Yang et al. (same group), whose
    model replaces the loss of this one, the model is taken as `MultiViewHTSVC` with the 0/1
    loss, and so are the decision and the structure. Default C and eta of one are ours. The
    solver is ours too: the ADMM of the single-view model seldom settles.

    References
    ----------
    Chen et al., 2025: the multi-view SL0/1-SVM, as cited by Y. Yang, C. Chen, Y. Liu, H. Wang.
    Robust and sparse support vector machine via hybrid truncated loss for supervised
    classification.

    H. Wang, Y. Shao, S. Zhou, C. Zhang, N. Xiu. Support vector machine classifier via L0/1
    soft-margin loss. IEEE Transactions on Pattern Analysis and Machine Intelligence 44, 2022.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from htsvm.baselines import MvSL01SVM
    >>> X, y = make_classification(n_samples=200, random_state=0)
    >>> clf = MvSL01SVM(views=[slice(0, 10), slice(10, 20)]).fit(X, y)
    >>> all(one.certified for one in clf.certificate_)
    True
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

    def _classifiers(
        self,
        problems: list[AnyProblem],
        strength: Array,
        covariances: list[list[Array]] | None,
        n_jobs: int | None,
    ) -> ViewClassifiers:
        solver = ZeroOneSolver(
            tol=self.tol,
            max_iter=self.max_iter,
            n_restarts=self.n_restarts,
            random_state=seed_of(self.random_state),
            callback=self._progress() if self.verbose > 1 else None,
        )
        return ZeroOneClassifiers(problems, solver, strength, covariances, n_jobs=n_jobs)
