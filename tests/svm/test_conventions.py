"""What other people's tools expect of a scikit-learn classifier."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV

from htsvm import HTSVC, IgnoredClassWarning
from htsvm.solvers import ADMM, Newton

FORK = """
import os, time, numpy as np
from htsvm import HTSVC
from htsvm.linalg import kernels
rng = np.random.default_rng(0)
X = rng.normal(size=(40000, 10))
y = (X[:, 0] > 0).astype(int)
HTSVC(C=0.01, cap=np.inf, max_iter=3).fit(X, y)
child = os.fork()
if child == 0:
    HTSVC(C=0.01, cap=np.inf, max_iter=3).fit(X, y)
    os._exit(0 if kernels.active.max_threads() == 1 else 3)
print(os.waitpid(child, 0)[1], flush=True)
"""


@pytest.fixture
def data():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 5)), np.arange(80) % 2
    X[:, 0] += 3 * y
    return X, y


def test_sparsify_and_densify(data):
    X, y = data
    model = HTSVC(C=0.1).fit(X, y)
    scores = model.decision_function(X)
    assert sp.issparse(model.sparsify().coef_)
    np.testing.assert_allclose(model.decision_function(X), scores)
    np.testing.assert_allclose(model.decision_function(sp.csr_matrix(X)), scores)
    assert isinstance(model.densify().coef_, np.ndarray)
    np.testing.assert_allclose(model.decision_function(X), scores)
    model = HTSVC(C=0.1, warm_start=True).fit(X, y).sparsify().fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), scores, atol=0.05)


def test_no_threads_at_all_are_refused(data):
    with pytest.raises(ValueError, match=r"'n_jobs' parameter of HTSVC must be .* Got 0 instead"):
        HTSVC(n_jobs=0).fit(*data)
    HTSVC(n_jobs=-1).fit(*data)


@pytest.mark.parametrize("make", [list, lambda y: np.array(y, dtype=object)])
def test_none_among_the_labels_is_refused(data, make):
    X, y = data
    labels = ["a" if label else "b" for label in y]
    labels[7] = None
    with pytest.raises(ValueError, match=r"None among its labels, in 1 of 80 .*first in row 7"):
        HTSVC().fit(X, make(labels))


@pytest.mark.parametrize("solver", [ADMM(penalty=2.0), Newton(max_iter=50)])
def test_a_search_reaches_the_parameters_of_a_solver(data, solver):
    model = HTSVC(C=0.1, solver=solver)
    assert clone(model).solver == solver
    assert model.get_params()["solver__tol"] == solver.tol
    name = "solver__penalty" if isinstance(solver, ADMM) else "solver__random_state"
    search = GridSearchCV(model, {name: [1, 3]}, cv=2).fit(*data)
    assert search.best_params_[name] in (1, 3)
    assert model.solver == solver
    with pytest.raises(ValueError, match="penalty must be positive"):
        ADMM().set_params(penalty=-1.0)
    with pytest.raises(ValueError, match="ADMM has no parameter 'xi'; it has penalty"):
        ADMM().set_params(xi=1.0)


def test_a_warning_says_of_which_point_it_speaks():
    told = []
    for seed, starts in product(range(12), ("auto", ["convex"])):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(60, 3)), rng.integers(0, 2, 60)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = HTSVC(max_iter=1, tol=1e-12, starts=starts).fit(X, y)
        found = [str(w.message) for w in caught if issubclass(w.category, ConvergenceWarning)]
        constant = not np.any(model.coef_)
        for text in found:
            assert model.certificate_[0].certified == constant
            assert float(re.search(r"the residual is (\S+),", text).group(1)) > model.tol
            assert ("what the certificate is about" in text) == constant
            told.append(constant)
        assert found or model.certificate_[0].certified
    assert told


def test_one_problem_per_class_that_loses_a_class_warns():
    X, y = load_iris(return_X_y=True)
    with pytest.warns(IgnoredClassWarning, match=r"'ovr' recognises only \d+% .* class 2"):
        HTSVC(multi_class="ovr").fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        HTSVC().fit(X, y)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
def test_a_forked_child_does_not_hang():
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FORK], env={**os.environ, "OMP_NUM_THREADS": "2"},
        capture_output=True, text=True, check=False, timeout=240,
    )  # fmt: skip
    assert done.stdout.strip() == "0", done.stderr
