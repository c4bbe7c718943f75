"""What all baselines promise: scikit-learn's contract, weights, sparse data, certificates."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

from htsvm.baselines import HingeSVC, LeastSquaresSVC, RampSVC
from tests.baselines.contract import *  # noqa: F403
from tests.baselines.data import noisy

BASELINES = [HingeSVC(), LeastSquaresSVC(), RampSVC()]


@parametrize_with_checks(BASELINES)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        (RampSVC(ceiling=0.0), "ceiling"),
        (HingeSVC(C=0.0), "C"),
        (LeastSquaresSVC(max_iter=0), "max_iter"),
    ],
)
def test_bad_parameters_are_named(wrong, text):
    X, y = noisy()
    with pytest.raises(ValueError, match=f"'{text}' parameter of {type(wrong).__name__}"):
        wrong.fit(X, y)
