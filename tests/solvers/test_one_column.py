"""The lowest point of a problem with one column."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize

from htsvm import HTSVC
from htsvm.baselines import RampSVC
from htsvm.linalg import as_operator
from htsvm.losses import Hinge, HybridTruncated, Ramp
from htsvm.problems.build import BinaryTask
from htsvm.solvers.starts.one_column import MOST_SAMPLES, lowest_point, suits
from tests import oracles
from tests.oracles.tiny import COUNT, tiny


def problem_of(X, y, C, loss, weights=None, fit_intercept=True):
    task = BinaryTask(np.ones(2), C, loss, fit_intercept, 1, np.ones(2))
    return task.problem(as_operator(np.asarray(X, float)), np.asarray(y), weights)


def value(problem, z):
    return problem.objective_at(np.array(z[:1]), float(z[1]) if problem.fit_intercept else 0.0)


@pytest.mark.parametrize("seed", range(0, COUNT, 2))
def test_global_optima(seed):
    """Optima that SCIP has found and proved."""
    optima = json.loads((Path(oracles.__file__).parent / "global_optima.json").read_text())
    X, y, C = tiny(seed)
    problem = problem_of(X, (y > 0).astype(int), C, HybridTruncated())
    known = optima["hybrid_truncated"][seed]["objective"]
    assert value(problem, lowest_point(problem)) == pytest.approx(known, rel=1e-5)
    assert HTSVC(C=C).fit(X, y).objective_[0] <= known * (1.0 + 1e-4)


@pytest.mark.parametrize("seed", range(12))
def test_no_search_finds_a_lower_point(seed):
    rng = np.random.default_rng(seed)
    m = int(rng.integers(2, 20))
    x, y = rng.normal(size=(m, 1)), rng.integers(0, 2, m)
    x, y[:2] = (np.round(x) if seed % 3 == 0 else x), (0, 1)
    loss = (
        Ramp([1.0, 2.1][seed % 2]) if seed % 4 == 0 else HybridTruncated(0.6, [0.5, 2.3][seed % 2])
    )
    weights = rng.uniform(0.0, 3.0, m) if seed % 2 else None
    C = 10.0 ** rng.uniform(-1.0, 2.0)
    problem = problem_of(x, y, C, loss, weights, fit_intercept=seed % 5 != 0)
    found = value(problem, lowest_point(problem))
    for _ in range(10):
        start = rng.normal(size=2) * 10.0 ** rng.uniform(-1.0, 1.0)
        end = minimize(lambda z: value(problem, z), start, method="Nelder-Mead")
        assert found <= end.fun * (1.0 + 1e-6)


def test_which_problems_suit():
    x, y = np.arange(6.0)[:, None], np.arange(6) % 2
    assert suits(problem_of(x, y, 1.0, HybridTruncated()))
    assert not suits(problem_of(x, y, 1.0, HybridTruncated(cap=np.inf)))
    assert not suits(problem_of(x, y, 1.0, Hinge()))
    assert not suits(problem_of(np.hstack([x, x]), y, 1.0, Ramp()))
    many = np.arange(float(MOST_SAMPLES + 1))[:, None]
    assert not suits(problem_of(many, np.arange(MOST_SAMPLES + 1) % 2, 1.0, Ramp()))


def test_estimators_use_it():
    """Labels in turns, with a gap: local methods end at 40 and more."""
    x, y = [[0.0], [1.0], [2.0], [3.0]], [0, 0, 1, 1]
    model = HTSVC(C=10).fit(x, y, sample_weight=[1e16, 1e16, 1.0, 1.0])
    assert model.start_ == ["one_column"]
    assert model.objective_[0] == pytest.approx(2.0, rel=1e-6)
    assert "one_column" in RampSVC(ceiling=1.0).fit(x, [0, 1, 0, 1]).starts_[0]
    with pytest.raises(ValueError, match="one_column"):
        HTSVC(starts=["nowhere"]).fit(x, y)
