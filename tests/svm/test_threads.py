"""The same answer whatever the threads and processes: none hangs, none differs."""

import multiprocessing
import subprocess
import sys
import textwrap
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from joblib import Parallel, delayed
from sklearn.model_selection import GridSearchCV
from threadpoolctl import threadpool_limits

from htsvm import HTSVC
from htsvm.baselines import RampSVC


def data(seed=0, m=400, n=12, classes=2):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, n))
    y = (X @ rng.normal(size=(n, classes)) + rng.normal(size=(m, classes))).argmax(axis=1)
    return X, y


def objective(seed, classes=2):
    return float(HTSVC(C=2.0).fit(*data(seed, classes=classes)).objective_[0])


def test_a_pool_of_threads():
    one_by_one = [objective(seed) for seed in range(8)]
    with ThreadPoolExecutor(4) as pool:
        together = list(pool.map(objective, range(8), timeout=120))
    assert together == one_by_one


@pytest.mark.parametrize("threads", [2, 4])
def test_openmp_threads(threads):
    """Large enough for the compiled kernels to share the rows among threads."""
    X, y = data(1, m=40_000, n=20)
    with threadpool_limits(1):
        one = HTSVC(starts=["convex"]).fit(X, y)
    with threadpool_limits(threads):
        several = HTSVC(starts=["convex"]).fit(X, y)
    assert several.certificate_[0].certified
    np.testing.assert_allclose(several.objective_, one.objective_, rtol=1e-3)
    assert np.mean(several.predict(X) == one.predict(X)) > 0.995


@pytest.mark.parametrize(("m", "n", "classes"), [(9_000, 120, 6), (6_000, 10, 3)])
def test_several_classes_do_not_depend_on_threads(m, n, classes):
    """Not even in the last digit, with products in single precision or without."""
    X, y = data(7, m=m, n=n, classes=classes)
    y[::4] = np.random.default_rng(0).integers(0, classes, size=len(y[::4]))
    fits = []
    for number in (1, 2, 3):
        with threadpool_limits(number):
            fits.append(HTSVC(C=0.1).fit(X, y))
    for model in fits[1:]:
        np.testing.assert_array_equal(model.coef_, fits[0].coef_)
        assert model.objective_ == fits[0].objective_


def test_openmp_threads_of_a_fresh_process():
    """The number of threads as the environment gives it, from the start."""
    script = """
        from tests.svm.test_threads import data
        from htsvm import HTSVC
        X, y = data(1, m=20_000, n=20)
        model = HTSVC(starts=["convex"]).fit(X, y)
        assert model.certificate_[0].certified
        print(repr(float(model.objective_[0])))
    """
    found = []
    for threads in ("1", "3"):
        done = subprocess.run(
            [sys.executable, "-c", textwrap.dedent(script)],
            env={**_environment(), "OMP_NUM_THREADS": threads},
            capture_output=True, text=True, timeout=120, check=True,
        )  # fmt: skip
        found.append(float(done.stdout))
    assert found[0] == pytest.approx(found[1], rel=1e-3)


def _environment():
    import os

    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork")
@pytest.mark.filterwarnings("ignore:This process.*multi-threaded:DeprecationWarning")
def test_fork_after_use():
    """A process that has used its threads is forked; its children fit, and so does it."""
    X, y = data(1, m=20_000, n=20)
    with threadpool_limits(2):
        HTSVC(starts=["convex"]).fit(X, y)
        expected = [objective(seed) for seed in (2, 3)]
        with multiprocessing.get_context("fork").Pool(2) as pool:
            assert pool.map_async(objective, (2, 3)).get(timeout=120) == expected
        assert objective(2) == expected[0]


def test_nested_joblib():
    """Searches of searches: threads in processes, and threads in threads."""
    X, y = data(4, m=150)
    grid = {"C": [0.1, 1.0]}

    def search(n_jobs):
        found = GridSearchCV(RampSVC(), grid, cv=2, n_jobs=n_jobs).fit(X, y)
        return found.cv_results_["mean_test_score"].tolist()

    alone = search(None)
    for backend in ("threading", "loky"):
        both = Parallel(n_jobs=2, backend=backend)(delayed(search)(2) for _ in range(2))
        assert both == [alone, alone]
