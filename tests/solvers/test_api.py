"""A solver from outside the package: declared, registered, fitted with, certified."""

from dataclasses import dataclass
from types import SimpleNamespace
from typing import ClassVar

import numpy as np
import pytest

from htsvm import HTSVC
from htsvm.extend import (
    ADMM,
    History,
    LeastSquares,
    LinearSystem,
    Newton,
    Solver,
    SolverResult,
    register_solver,
)
from htsvm.solvers import solver_names
from htsvm.solvers.api import _BY_NAME, configured, named
from htsvm.solvers.certified import solve_certified


@dataclass(frozen=True)
class Toy(Solver):
    """One weighted hinge problem after the other, each by another solver."""

    requires: ClassVar[tuple[str, ...]] = ("profile",)

    tol: float = 1e-3
    max_iter: int = 50
    callback: object = None

    def solve(self, problem, *, start=None):
        self.check_loss(problem.loss)
        history = History(self.callback)
        # At zero a truncated loss is flat: begin on the way from one class mean to the other.
        means, _ = problem.operator.signed_tdot(problem.y, problem.penalty / problem.n_samples)
        w, b, psi = (means, 0.0, None) if start is None else start
        inner, before = Newton(tol=0.1 * self.tol), np.inf
        for _ in range(self.max_iter):
            convex, objective = problem.majorised(w, b)
            history.add(objective=objective, residual=np.nan)
            if before - objective <= 1e-9 * objective:
                break
            found = inner.solve(convex, start=None if psi is None else (w, b, psi))
            w, b, psi, before = found.coef, found.intercept, found.multipliers, objective
        objective = problem.objective(w, problem.violations(w, b))
        return SolverResult(
            w, b, psi, objective, converged=True, residual=0.0, n_iter=len(history),
            history=history.columns,
        )  # fmt: skip


@pytest.fixture
def toy():
    register_solver("toy", Toy)
    yield "toy"
    del _BY_NAME["toy"]


def data(k=2, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(150, 4))
    y = (X @ rng.normal(size=(4, k))).argmax(axis=1)
    y[::12] = (y[::12] + 1) % k
    return X, y


def test_a_toy_solver_fits_and_is_certified(toy):
    X, y = data()
    model = HTSVC(solver=toy).fit(X, y)
    assert model.certificate_[0].certified
    assert model.objective_[0] <= 1.05 * HTSVC().fit(X, y).objective_[0]
    assert model.n_iter_ == len(model.history_["objective"]) > 1
    assert HTSVC(solver=Toy()).fit(X, y).objective_[0] == model.objective_[0]


def test_it_gets_the_options_of_the_estimator_that_it_has(toy):
    solver = configured(toy, {}, tol=1e-5, max_iter=7, random_state=3)
    assert solver == Toy(tol=1e-5, max_iter=7)
    with pytest.raises(ValueError, match="n_restarts=2 needs solver='newton'; 'toy' has no n_rest"):
        configured(toy, {"n_restarts": 2})


def test_several_classes_go_one_by_one_where_a_solver_knows_only_two(toy):
    X, y = data(k=3)
    assert len(HTSVC(solver=toy).fit(X, y).certificate_) == 3
    with pytest.raises(ValueError, match="multi_class='joint' needs solver='newton'"):
        HTSVC(solver=toy, multi_class="joint").fit(X, y)
    problem = SimpleNamespace(n_scores=3)
    with pytest.raises(TypeError, match="Toy solves problems of two classes only"):
        solve_certified(problem, Toy())


def test_a_loss_that_lacks_something_is_refused(toy):
    with pytest.raises(TypeError, match=r"Toy needs a loss with 'profile'.*HybridTruncated"):
        Toy().check_loss(LeastSquares())


def test_names():
    assert solver_names() == ["admm", "newton"]
    assert named("admm") == ADMM()
    assert named(LinearSystem(tol=0.1)) == LinearSystem(tol=0.1)
    X, y = data()
    with pytest.raises(ValueError, match=r"one of \['admm', 'newton'\], got 'simplex'"):
        HTSVC(solver="simplex").fit(X, y)


def test_what_solvers_declare():
    assert Newton.several_classes
    assert Newton.on_dask
    assert not ADMM.several_classes
    assert not ADMM.on_dask


def test_an_incomplete_solver_cannot_be_made():
    class Nothing(Solver):
        pass

    with pytest.raises(TypeError, match="abstract"):
        Nothing()
