"""The soft-margin SVM."""

from __future__ import annotations

from htsvm.baselines.single._base import ConvexSVC
from htsvm.losses import Hinge, Loss


class HingeSVC(ConvexSVC):
    r"""The classical soft-margin linear support vector machine, with a free intercept.

    .. math:: \min_{w,b}\ \tfrac12\|w\|^2 + C \sum_i \max(0,\ 1 - y_i (w^\top x_i + b))

    This is the model of `sklearn.svm.SVC(kernel="linear")`, solved without a kernel matrix.
    `sklearn.svm.LinearSVC(loss="hinge")` is another one: it also penalises the intercept.

    More than two classes are fitted one against the rest, without balancing.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of the loss; larger means less regularisation.
    tol : float, default=1e-4
        The largest relative duality gap.
    max_iter : int, default=1000
        The largest number of iterations.
    fit_intercept : bool, default=True
        Whether to fit an intercept, which is not regularised.
    class_weight : dict, "balanced" or None, default=None
        Factors of C per class.
    warm_start : bool, default=False
        Whether to start from the last solution.
    n_jobs : int, optional
        Threads over the binary problems of a multi-class fit.
    random_state : int, RandomState or None, default=None
        Drives the sample of rows of the first, rough phase on large data. None always takes the
        same seed, so that a fit can be repeated.
    verbose : int, default=0
        Whether to print a line per iteration.

    Attributes
    ----------
    certificate_ : list of Certificate
        For each binary problem, the residuals of the optimality conditions and the duality gap
        (`duality_gap`, `relative_duality_gap`): the objective is above its minimum by no more.
    coef_, intercept_ : ndarrays of shape (1 or n_classes, n_features), (1 or n_classes,)
        Weights and intercepts.
    classes_ : ndarray of shape (n_classes,)
        The class labels.
    objective_ : ndarray
        The objective of each binary problem.
    support_ : ndarray
        Indices of the support vectors.
    n_support_ : ndarray of shape (n_classes,)
        Their number per class.
    dual_coef_ : ndarray of shape (1 or n_classes, n_support)
        Their coefficients: ``coef_ == dual_coef_ @ X[support_]``.
    sample_status_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        What became of each sample, as a `SampleStatus`; no sample is ever ignored.
    history_ : dict of ndarrays
        One entry per iteration in each column.
    n_iter_ : int
        Iterations (the most over the problems).
    n_passes_ : float
        The work, in units of one product ``X @ w``.
    seconds_ : list of dict
        For each problem, seconds by part.
    n_features_in_, feature_names_in_ : int, ndarray
        The number of features, and their names, if X had any.

    See Also
    --------
    PinballSVC : With a cost for large margins too.
    RampSVC : With a ceiling on the loss of a sample.

    References
    ----------
    C. Cortes, V. Vapnik. Support-vector networks. Machine Learning 20, 1995.

    Examples
    --------
    >>> from sklearn.datasets import make_classification
    >>> from htsvm.baselines import HingeSVC
    >>> X, y = make_classification(n_samples=200, random_state=0)
    >>> clf = HingeSVC().fit(X, y)
    >>> clf.certificate_[0].relative_duality_gap < 1e-3
    True
    """

    def _loss(self) -> Loss:
        return Hinge()
