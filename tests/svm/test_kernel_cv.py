"""`KernelHTSVCCV` keeps scikit-learn's contract; a small grid, so that the checks take seconds."""

from __future__ import annotations

from sklearn.utils.estimator_checks import parametrize_with_checks

from htsvm import KernelHTSVCCV


@parametrize_with_checks([KernelHTSVCCV(Cs=2, caps=[2.0], gammas=[0.5], cv=2, tol=1e-9)])
def test_contract(estimator, check):
    check(estimator)
