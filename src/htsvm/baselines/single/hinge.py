"""The soft-margin SVM."""

from __future__ import annotations

from htsvm._documented import documented
from htsvm.baselines.single._base import ConvexSVC
from htsvm.losses import Hinge, Loss


@documented
class HingeSVC(ConvexSVC):
    r"""The classical soft-margin linear support vector machine, with a free intercept.

    .. math:: \min_{w,b}\ \tfrac12\|w\|^2 + C \sum_i \max(0,\ 1 - y_i (w^\top x_i + b))

    This is the model of `sklearn.svm.SVC(kernel="linear")`, solved without a kernel matrix.
    `sklearn.svm.LinearSVC(loss="hinge")` is another one: it also penalises the intercept.

    More than two classes are fitted one against the rest, without balancing.

    Parameters
    ----------
    {C}
    {tol of gaps}, {max_iter}, {fit_intercept}, {class_weight}, {warm_start}, {n_jobs},
    {random_state}, {verbose}

    Attributes
    ----------
    {certificate_ of gaps}
    {coef_}, {intercept_}, {classes_}, {objective_}, {support_}, {n_support_}, {dual_coef_}
    sample_status_ : ndarray of shape (n_samples,) or (n_samples, n_classes)
        What became of each sample, as a `SampleStatus`; no sample is ever ignored.
    {history_}, {n_iter_}, {n_passes_}, {seconds_}, {n_features_in_}, {feature_names_in_}

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
