"""A baseline from outside the package, by CONTRIBUTING's recipe."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import cross_val_score

from htsvm import HTSVC
from htsvm.extend import ConvexSVC, HybridTruncated, Loss, documented
from tests.baselines.data import noisy


@documented
@dataclass(eq=False, repr=False, kw_only=True)
class UntruncatedSVC(ConvexSVC):
    """HTSVC's loss without its cap.

    Parameters
    ----------
    {C}, {knee}, {tol of gaps}
    """

    knee: float = 0.5

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **ConvexSVC._parameter_constraints,
        "knee": [float],
    }

    def _loss(self) -> Loss:
        return HybridTruncated(knee=self.knee, cap=np.inf)


def test_a_baseline_is_a_loss_and_its_parameters():
    X, y = noisy(m=150, seed=0)
    model = UntruncatedSVC(0.3, knee=0.25).fit(X, y)
    assert model.certificate_[0].certified
    assert "tol : float, default=0.0001" in UntruncatedSVC.__doc__
    assert clone(model).get_params() == model.get_params()
    assert repr(model) == "UntruncatedSVC(C=0.3, knee=0.25)"
    assert cross_val_score(UntruncatedSVC(), X, y, cv=3).mean() > 0.6
    same = HTSVC(0.3, knee=0.25, cap=np.inf, tol=1e-6).fit(X, y)
    np.testing.assert_allclose(
        UntruncatedSVC(0.3, knee=0.25, tol=1e-6).fit(X, y).coef_, same.coef_, atol=1e-4
    )
