"""What happens when the scheduler goes away, or throws everything away, during a fit."""

import contextlib

import numpy as np
import pytest

from htsvm import HTSVC
from htsvm.distributed import WorkersLostError
from htsvm.solvers import Newton
from tests.distributed.data import assert_as_good, assert_same_fit, noisy, on_workers
from tests.distributed.processes import OwnCluster

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

pytestmark = pytest.mark.slow


@pytest.fixture
def cluster():
    cluster = OwnCluster()
    yield cluster
    cluster.stop()


@pytest.fixture(scope="module")
def data():
    return noisy(3_000, 5, seed=21)


def lazy(X, y):
    return da.from_array(X, chunks=(1_000, -1)), da.from_array(y, chunks=1_000)


def at_iteration(number, action):
    done = []

    def callback(row):
        if row["iteration"] == number and not done:
            done.append(number)
            action()

    return Newton(callback=callback)


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_scheduler_that_dies_is_a_clear_error(cluster, data):
    X, y = data
    with distributed.Client(cluster.address, timeout=60) as client:
        client.wait_for_workers(1, timeout=60)
        solver = at_iteration(3, cluster.scheduler.kill)
        with pytest.raises(WorkersLostError, match="scheduler was lost"), on_workers():
            HTSVC(cap=np.inf, solver=solver).fit(*lazy(X, y))
    # Started again at the same address, it serves the next fit.
    cluster.stop()
    cluster.start()
    with distributed.Client(cluster.address, timeout=60) as client:
        client.wait_for_workers(1, timeout=60)
        with on_workers():
            model = HTSVC(cap=np.inf).fit(*lazy(X, y))
        assert_as_good(model, HTSVC(cap=np.inf).fit(X, y))


def test_a_scheduler_that_is_restarted_forgets_nothing_or_says_so(cluster, data):
    """`Client.restart` throws away all data and all workers; the client goes on."""
    X, y = data
    with dask.config.set(scheduler="synchronous"), on_workers():
        local = HTSVC(cap=np.inf).fit(*lazy(X, y))
    with distributed.Client(cluster.address, timeout=60) as client, on_workers():
        client.wait_for_workers(1, timeout=60)

        def restart():
            client.restart(timeout=60, wait_for_workers=False)
            cluster.replace(cluster.workers[0])

        with contextlib.suppress(WorkersLostError):
            solver = at_iteration(3, restart)
            assert_same_fit(HTSVC(cap=np.inf, solver=solver).fit(*lazy(X, y)), local)
        client.wait_for_workers(1, timeout=60)
        assert_same_fit(HTSVC(cap=np.inf).fit(*lazy(X, y)), local)
