"""The paper's multi-view model: one truncated-loss classifier per view, with learned weights."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass, replace
from numbers import Real
from typing import Any, ClassVar

from htsvm._documented import documented
from htsvm._sklearn import Interval
from htsvm._typing import Array
from htsvm.losses import HybridTruncated, Loss
from htsvm.multiview.base import PER_VIEW
from htsvm.multiview.parameters import per_view
from htsvm.multiview.structured import StructuredMultiViewSVC
from htsvm.solvers import Solver


@dataclass(eq=False, repr=False, kw_only=True)
class TruncatedMultiViewSVC(StructuredMultiViewSVC):
    """Classifiers with the hybrid truncated loss; subclasses say where the trade-offs come from."""

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
        **StructuredMultiViewSVC._parameter_constraints,
        "cap": PER_VIEW,
        "knee": [Interval(Real, 0.0, 1.0, closed="neither")],
        "solver": [str, Solver],
    }

    @abstractmethod
    def _caps(self) -> Array:
        """Return the cap of each view."""

    def _losses(self) -> list[Loss]:
        return [HybridTruncated(knee=self.knee, cap=float(cap)) for cap in self._caps()]

    def _solver(self) -> Solver:
        solver = self._named_solver(self.solver)
        return solver if self.verbose > 1 else replace(solver, callback=None)


@documented
@dataclass(eq=False, repr=False)
class MultiViewHTSVC(TruncatedMultiViewSVC):
    r"""Classifier of samples with several views, which learns how much to trust each view.

    Minimises (the paper's MvL_ht-SVM) over the classifiers :math:`w_v, b_v` of the views and
    their weights :math:`\theta` on the simplex

    .. math::
        \tfrac12 \sum_v \theta_v \|w_v\|^2 + \tfrac\alpha2 \|\theta\|^2
        + \tfrac\eta2 \sum_v w_v^\top \Sigma_v w_v \\
        + C \sum_v \sum_i \ell(1 - y_i (w_v^\top x_{iv} + b_v)), \\
        \Sigma_v = \sum_u \theta_u \Sigma_{vu},

    with the hybrid truncated loss of `HTSVC`. :math:`\Sigma_{vu}` is the sum of the covariances of
    view v within the clusters of view u; the clusters are those of each class by Ward's method,
    their number by the L-method. The decision is :math:`\sum_v \theta_v (w_v^\top x_v + b_v)`.
    With one view and ``structure=0`` this is `HTSVC`.

    More than two classes are one problem (`multi_class`), with one vector of view weights: in
    view v the classifier is a matrix :math:`W_v` with a row :math:`w_{vj}` per class j, and

    .. math::
        \tfrac12 \sum_v \theta_v \|W_v\|^2 + \tfrac\alpha2 \|\theta\|^2
        + \tfrac\eta2 \sum_v \sum_j w_{vj}^\top \Sigma_v w_{vj} \\
        + C \sum_v \sum_i \ell(h_{iv}), \\
        h_{iv} = \max(0,\ 1 + \max_{j \ne y_i} f_{vj}(x_i) - f_{vy_i}(x_i)),

    where :math:`f_{vj}(x) = w_{vj}^\top x_v + b_{vj}`; intercepts are not regularised. A view
    truncates a sample once, not once per class. The decision is the class with the largest
    :math:`\sum_v \theta_v f_{vj}`. For two classes this problem with C and :math:`\alpha` would be
    half the binary one with 2C and :math:`2\alpha`, and the same :math:`\eta`: the best
    :math:`W_v` is :math:`(-w_v/2, w_v/2)`.

    Parameters
    ----------
    C : float, array-like or dict, default=1.0
        Penalty of the loss, the paper's C. One number, or one per view, in their order or by name.
    cap : float, array-like or dict, default=1.0
        The margin violation from which on a view ignores a sample: its loss is constant there.
        One number, or one per view, in their order or by name. ``inf`` is the hinge loss with
        6C/5 in the place of C.
    {knee}
    structure : float, array-like or dict, default=0.0
        The paper's eta: how much a classifier should vary little within clusters; may differ from
        view to view. Zero leaves the term out, and with it all clustering. Clusters count alike
        whatever their size and their covariances are added up, so the same eta means more where
        there are more of them (`n_clusters_`), or where the columns have a larger scale.
    weight_smoothness : float or "auto", default="auto"
        The paper's alpha: how even the view weights should be. Small values let the weights of all
        views but one fall to zero, and "small" is meant in comparison with ``||w_v||²``. "auto"
        takes V - 1 times the cost of all V views after the first round, for which the weight of a
        view falls with its share of the cost, and is at least 1/(2V) at first. Where a view loses
        its weight all the same, "auto" begins again with twice as much (up to four times); see
        `weight_smoothness_`.
    {view_weights}
    kernel : {"linear", "rbf"} or callable, or list or dict of these, default="linear"
        The kernel, for all views or one for each. A callable gets two matrices of samples and
        returns the matrix of their kernel. A kernel needs a matrix with a row and column per
        distinct sample; the structure is then that in the space of the kernel.
    {gamma of views}, {views}
    solver : {"newton", "admm"} or solver object, default="newton"
        What solves the problem of a view in a round. "newton" is the default solver, and "admm"
        the paper's algorithm with safeguards, both of which start from the last round. The
        paper's Algorithm 2 to the letter, which starts each round anew and rarely converges, is
        ``htsvm.solvers.ADMM(safeguards=())``.
    {tol of views}, {max_iter of views}, {max_rounds}, {fit_intercept}, {class_weight}
    multi_class : {"auto", "joint", "ovr"}, default="auto"
        How to fit more than two classes: as one problem ("joint"), or each class against the rest
        ("ovr"), balanced, and with its own view weights. "auto" is "joint", but "ovr" with "admm",
        which only knows two classes.
    {memory}, {starts of views}
    n_restarts : int, default=0
        Further pushes of the "newton" solver in the first round.
    n_jobs : int, optional
        Threads over the views, or over the binary problems of a fit with "ovr".
    {random_state of views}
    verbose : int, default=0
        1 prints a line per round, 2 also one per iteration of the solver.

    Attributes
    ----------
    {view_names_}
    view_weights_ : ndarray of shape (n_views,), or (n_classes, n_views) with "ovr"
        The weights of the views. A view of weight zero takes no part in the decision.
    {view_coef_}, {view_intercept_}, {coef_ of views}, {intercept_ of views}
    support_ : list of ndarrays
        The support vectors of each view: indices of the samples with a multiplier there (with
        several problems, in any of them), the paper's S_v.
    dual_coef_ : list of ndarrays of shape (1 or n_classes, n_support)
        What the support vectors of each view add to its classifier:
        :math:`(\theta_v I + \eta \Sigma_v) w_v = \sum_{i \in S_v} d_{vi} x_{iv}`. For two
        classes :math:`d_{vi} = y_i \lambda_{vi}`, with multipliers
        :math:`0 \le \lambda_{vi} \le \ell'(0) C`.
    n_support_ : ndarray of shape (n_views, n_classes)
        The number of support vectors of each view, by class.
    weight_smoothness_ : ndarray of shape (n_problems,)
        The alpha of each problem: one, or with "ovr" one per class; so for all that follows.
    weight_residual_ : ndarray of shape (n_problems,)
        How far the weights are from the best ones for the classifiers, in the largest component;
        at most `tol` after a fit that converged, and 0 for weights that are not learned.
    cluster_labels_ : ndarray of shape (n_samples, n_views), or None
        The cluster of each sample in each view, numbered through the classes; -1 for samples of
        weight zero. None where `structure` is zero.
    n_clusters_ : list of int, or None
        How many clusters each view has.
    certificate_ : list of Certificate or MulticlassCertificate, or list of lists
        The certificate of each view, for the final weights, computed apart from the solver; with
        "ovr", a list of such lists.
    sample_status_ : ndarray of shape (n_samples, n_views), or (n_samples, n_views, n_classes)
        What became of each sample in each view, as a `SampleStatus`; with "ovr" per class.
    ignored_ : ndarray
        Indices of the samples that were ignored by every view with a positive weight (with "ovr",
        in the problem of their own class).
    objective_ : ndarray of shape (n_problems,)
        The objective of each problem. With one view it leaves out alpha/2, a constant.
    start_ : list of lists of str
        For each problem and view, the start that led to the classifier; "warm" where later rounds
        changed it.
    history_ : dict of ndarrays
        One entry per round in each column: the objective, the view weights it was reached with,
        and more. With "newton" the objective never increases.
    n_iter_ : int
        Rounds (the most over the problems).
    {view_columns_}, {classes_}, {n_features_in_}, {feature_names_in_}

    See Also
    --------
    stack_views : Turns a list or dict of matrices into X and `views`.
    htsvm.plotting : Draws view weights, the objective and the margins of two views.

    Notes
    -----
    The clusters are those of each class. With ``multi_class="ovr"`` they are not formed anew of the
    rest as a whole, so that all binary problems share one structure.

    Ward's method compares all pairs. Where a class has more than 5000 distinct rows in a view, 500
    centres of mini-batch k-means, found on up to 20,000 of these rows, are clustered in their
    place, and each row goes with its nearest centre. Equal rows are clustered as one;
    the covariances count every sample, with its weight.

    X may be a Dask array or DataFrame with all views side by side; see the page on Dask in the
    documentation. `sample_status_` and `ignored_` are Dask arrays then; `structure` must be zero.

    A dense view with more columns than samples is solved in coordinates of its row space, exactly;
    so is a sparse one if it has a structure. With ``structure=0`` a sparse view may be of any size.
    With a structure, min(n_samples, n_columns) may be 10,000 at most.

    A view is cheap, and trusted, if its classifier has a small norm: because it separates the
    classes with a wide margin, or because it has nearly given up. The model has no other measure of
    a view than its cost, and a view of noise may get as much weight as a good one; compare with
    the views one by one. A view whose classifier is constant would be trusted most of all: with
    learned weights it is left out, with a warning, and the others are fitted without it.
    (The algorithm as printed, ``solver=ADMM(safeguards=())``, does not do so.)

    A view of weight zero still has a classifier, for which its weight is taken as 1e-6: without any
    regularisation it might not exist.

    References
    ----------
    Y. Yang, C. Chen, Y. Liu, H. Wang. Robust and sparse support vector machine via hybrid
    truncated loss for supervised classification.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from htsvm.multiview import MultiViewHTSVC
    >>> X, y = make_classification(n_samples=200, shuffle=False, random_state=0)
    >>> clf = MultiViewHTSVC(views={"first": slice(0, 10), "noise": slice(10, 20)}).fit(X, y)
    >>> bool(clf.view_weights_[0] > clf.view_weights_[1])
    True
    """

    C: Any = 1.0
    _: KW_ONLY
    cap: Any = 1.0
    structure: Any = 0.0
    weight_smoothness: Any = "auto"

    def _caps(self) -> Array:
        return per_view("cap", self.cap, self.view_names_, infinite=True)

    def _fitter_on(self, backend: Any) -> Callable[[Any, Any, Any, Any], None]:
        fitter: Callable[[Any, Any, Any, Any], None] = backend.fit_views
        return fitter
