"""RampSVC: the textbook procedure, global optima, limits and safeguards."""

import json
from pathlib import Path

import numpy as np
import pytest

from htsvm import SampleStatus, certify
from htsvm.baselines import HingeSVC, RampSVC
from htsvm.losses import Ramp
from tests import oracles
from tests.baselines.data import noisy, objective, violations
from tests.oracles import golden
from tests.oracles.dc import solve_dc
from tests.oracles.tiny import COUNT, tiny

X_GOLDEN, Y_GOLDEN = golden.view_a(), golden.labels()


def optima(name):
    return json.loads((Path(oracles.__file__).parent / "global_optima.json").read_text())[name]


def share_of_optima_reached(name, make):
    reached = []
    for seed, optimum in enumerate(optima(name)):
        X, y, C = tiny(seed)
        value = make(C).fit(X, y).objective_[0]
        assert value >= optimum["bound"] - 1e-6 * (1.0 + abs(optimum["bound"]))
        reached.append(value <= optimum["objective"] * (1.0 + 1e-4) + 1e-6)
    assert len(reached) == COUNT
    return np.mean(reached)


# ------------------------------------------------------------------------------------------ ramp


@pytest.mark.parametrize("ceiling", golden.RAMP)
def test_golden_ramp(ceiling):
    value, coef, intercept, support = golden.RAMP[ceiling]
    reference = solve_dc(X_GOLDEN, Y_GOLDEN, loss=Ramp(ceiling))
    assert reference.objective == pytest.approx(value, abs=1e-4)
    clf = RampSVC(ceiling=ceiling, tol=1e-6).fit(X_GOLDEN, Y_GOLDEN)
    assert clf.objective_[0] == pytest.approx(value, abs=1e-4)
    np.testing.assert_allclose(clf.coef_[0], coef, atol=1e-3)
    assert clf.intercept_[0] == pytest.approx(intercept, abs=1e-3)
    assert clf.n_support_.sum() == support


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("ceiling", [1.0, 2.0])
def test_ramp_beside_the_textbook_procedure(seed, ceiling):
    """Both end at stationary points; the textbook's is certified too, and seldom lower."""
    X, y = noisy(m=60, n=3, seed=seed, flip=0.2)
    reference = solve_dc(X, y, loss=Ramp(ceiling))
    assert np.all(np.diff(reference.objectives) <= 1e-7)
    point = certify(
        X, y, reference.coef, reference.intercept, reference.multipliers, C=1.0,
        loss=Ramp(ceiling), tol=1e-5,
    )  # fmt: skip
    assert point.certified
    clf = RampSVC(ceiling=ceiling, tol=1e-5).fit(X, y)
    assert clf.certificate_[0].certified
    assert clf.objective_[0] <= 1.1 * reference.objective


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
@pytest.mark.parametrize("seed", range(6))
def test_ramp_is_never_above_the_hinge_start(seed, C):
    X, y = noisy(m=80, n=3, seed=seed, flip=0.25)
    hinge = HingeSVC(C=C, tol=1e-6).fit(X, y)
    for ceiling in (0.5, 1.0, 2.0, 4.0):
        ramp = RampSVC(C=C, ceiling=ceiling).fit(X, y)
        assert ramp.certificate_[0].certified
        at_hinge = objective(hinge, X, y, C, Ramp(ceiling).value)
        assert ramp.objective_[0] <= at_hinge * (1 + 1e-3)
        assert ramp.objective_[0] == pytest.approx(objective(ramp, X, y, C, Ramp(ceiling).value))


@pytest.mark.parametrize("ceiling", [1e3, np.inf])
def test_a_high_ceiling_is_the_hinge_svm(ceiling):
    X, y = noisy(seed=3)
    ramp = RampSVC(ceiling=ceiling, tol=1e-7).fit(X, y)
    hinge = HingeSVC(tol=1e-7).fit(X, y)
    np.testing.assert_allclose(ramp.coef_, hinge.coef_, atol=1e-5)
    assert len(ramp.ignored_) == 0


def test_ramp_reaches_most_global_optima():
    assert share_of_optima_reached(
        "ramp", lambda C: RampSVC(C=C, ceiling=1.0, tol=1e-6, n_restarts=10)
    ) >= 0.8  # fmt: skip


def test_samples_beyond_the_ceiling_do_not_pull():
    X, y = noisy(m=200, seed=4, flip=0.2)
    clf = RampSVC(ceiling=1.5, tol=1e-6).fit(X, y)
    q = violations(clf, X, y)
    beyond = q > 1.5 + 1e-3
    assert beyond.any()
    assert not np.isin(np.flatnonzero(beyond), clf.support_).any()
    np.testing.assert_array_equal(clf.sample_status_[beyond], SampleStatus.IGNORED)
    assert len(clf.support_) < len(HingeSVC().fit(X, y).support_)


def test_verdict_at_the_kink():
    """Two samples exactly at the ceiling: nothing is known there; elsewhere the loss is convex."""
    X, y = np.array([[1.0], [-1.0]]), np.array([1, -1])
    at_kink = certify(X, y, [0.0], 0.0, [0.0, 0.0], C=1.0, loss=Ramp(1.0))
    assert at_kink.local_minimizer == "undecided"
    away = certify(X, y, [0.0], 0.0, [0.0, 0.0], C=1.0, loss=Ramp(0.5))
    assert (away.local_minimizer, away.nu_max) == ("yes", pytest.approx(1.0))
