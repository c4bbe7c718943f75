"""Descents on sparse rows of very many columns, and the momentum between their rounds."""

import numpy as np
import pytest
import scipy.sparse as sp

from htsvm import HTSVC
from htsvm.linalg import kernels
from htsvm.linalg.csr import CSROperator
from htsvm.linalg.quadratic import Quadratic
from htsvm.losses import HybridTruncated
from htsvm.problems.binary import Problem
from htsvm.solvers import Newton
from htsvm.solvers.newton import wide
from htsvm.solvers.newton.run import Run

needs_compiled = pytest.mark.skipif(not kernels.COMPILED, reason="sweeps need the compiled kernels")


def documents(noise, m=4000, n=6000, seed=0):
    rng = np.random.default_rng(seed)
    X = sp.random(m, n, 0.005, format="csr", random_state=seed)
    X = sp.csr_matrix(X.multiply(1.0 / np.sqrt(X.multiply(X).sum(axis=1))))
    score = X @ rng.normal(size=n)
    y = np.where(score > np.median(score), 1, -1)
    return X, np.where(rng.random(m) < noise, -y, y)


def problem(X, y, C):
    penalty = np.full(len(y), C)
    signs = y.astype(np.int8)
    R = Quadratic(None, X.shape[1])
    return Problem(CSROperator(X), signs, penalty, HybridTruncated(), R, C, True)


@needs_compiled
@pytest.mark.parametrize("C", [4.0, 16.0])
def test_it_ends_no_higher_than_rounds_from_the_convex_solution(C):
    p = problem(*documents(0.1), C)
    assert wide.suits(p)
    options = Newton(starts=("convex",))
    way = wide.WideRun(p, options, np.random.default_rng(0)).run(None)
    other = Run(p, options, np.random.default_rng(0)).run(None)
    assert way.converged
    assert way.objective <= 1.003 * other.objective


@needs_compiled
def test_what_falls_behind_the_constant_ends_there():
    X, y = documents(0.4)
    model = HTSVC(C=1.0).fit(X, y)
    certificate = model.certificate_[0]
    assert model.start_ == ["constant"]
    assert model.objective_[0] == pytest.approx(certificate.trivial_objective, rel=1e-12)
    assert certificate.certified
    assert not np.any(model.coef_)


@needs_compiled
def test_a_margin_that_separates_is_found():
    rng = np.random.default_rng(3)
    X = sp.random(
        3500, 8000, 0.01, format="csr", random_state=3, data_rvs=lambda k: rng.lognormal(0, 2.5, k)
    )
    y = X @ rng.normal(size=8000) > 0.0
    model = HTSVC().fit(X, y)
    assert model.certificate_[0].certified
    assert len(model.ignored_) == 0
    assert model.score(X, y) == 1.0
