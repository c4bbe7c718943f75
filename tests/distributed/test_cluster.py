"""Fits on a real cluster of processes, and what happens when parts of it die."""

import contextlib
import gc
import os
import random
import signal
import threading
import time

import numpy as np
import pytest

from htsvm import HTSVC, MultiViewHTSVC
from htsvm.distributed import WorkersLostError
from htsvm.solvers import Newton
from tests.distributed.data import assert_same_fit, noisy
from tests.distributed.processes import OwnCluster

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")
distributed = pytest.importorskip("distributed")

M, N = 3_000, 5


def start(workers):
    cluster = distributed.LocalCluster(
        n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=None
    )
    return cluster, distributed.Client(cluster)


@pytest.fixture(scope="module")
def client():
    cluster, client = start(2)
    yield client
    client.close()
    cluster.close()


@pytest.fixture(scope="module")
def data():
    return noisy(M, N, seed=21)


def lazy(X, y, chunk=1_000):
    # Three blocks.
    return da.from_array(X, chunks=(chunk, -1)), da.from_array(y, chunks=chunk)


def killing(client, *, at, everyone=False):
    """Return a callback that kills worker processes in the middle of a fit, and whom it killed."""
    killed = []

    def kill(row):
        if row["iteration"] in at:
            alive = list(client.run(os.getpid).values())
            for pid in alive if everyone else alive[:1]:
                killed.append(pid)
                os.kill(pid, signal.SIGKILL)

    return Newton(callback=kill), killed


def test_same_fit(client, data, monkeypatch):
    X, y = data
    monkeypatch.setattr("htsvm.distributed.rows.ROUND_GATHERED", 0)
    model, local = HTSVC(cap=np.inf).fit(*lazy(X, y)), HTSVC(cap=np.inf).fit(X, y)
    assert_same_fit(model, local)
    passes, sent = model.history_["network_passes"][-1], model.history_["network_bytes"][-1]
    # What is sent grows with n x n and the number of blocks, not with the number of rows.
    assert sent / passes < 3 * (20 * (N + 1) ** 2 + 2_000)
    np.testing.assert_array_equal(model.predict(lazy(X, y)[0]).compute(), local.predict(X))


def test_killed_workers_change_nothing(client, data):
    X, y = data
    solver, killed = killing(client, at=(2, 6))
    model = HTSVC(solver=solver).fit(*lazy(X, y))
    # Each descent of a fit counts its rounds anew.
    assert len(killed) >= 2
    assert_same_fit(model, HTSVC().fit(X, y))


@pytest.mark.slow
def test_three_classes_and_killed_workers(client, data):
    X, _ = data
    y = (3.0 * (X[:, 0] > 0.0) + X[:, 1] > 1.0).astype(int) + (X[:, 2] > 1.0)
    client.wait_for_workers(2, timeout=30)
    solver, killed = killing(client, at=(4,))
    model = HTSVC(solver=solver).fit(*lazy(X, y))
    assert len(killed) == 1
    client.wait_for_workers(2, timeout=30)
    # In memory several classes take shorter ways to the same minimum.
    alive, local = HTSVC().fit(*lazy(X, y)), HTSVC().fit(X, y)
    np.testing.assert_allclose(model.objective_, alive.objective_, rtol=1e-8)
    np.testing.assert_array_equal(model.support_, alive.support_)
    np.testing.assert_allclose(model.objective_, local.objective_, rtol=1e-3)


def test_views(client, data):
    X, y = data
    options = {"views": [2, 3], "cap": np.inf}
    client.wait_for_workers(1, timeout=30)
    model = MultiViewHTSVC(**options).fit(*lazy(X, y, 1_500))
    local = MultiViewHTSVC(**options).fit(X, y)
    np.testing.assert_allclose(model.objective_, local.objective_, rtol=1e-8)
    np.testing.assert_allclose(model.view_weights_, local.view_weights_, rtol=1e-8)


@pytest.mark.slow
def test_all_workers_killed_and_started_again(client, data):
    """Nannies start new workers; the data and all state are made anew."""
    X, y = data
    client.wait_for_workers(1, timeout=30)
    solver, killed = killing(client, at=(3,), everyone=True)
    model = HTSVC(solver=solver, cap=np.inf).fit(*lazy(X, y))
    assert killed
    assert_same_fit(model, HTSVC(cap=np.inf).fit(X, y))


@pytest.mark.slow
@pytest.mark.parametrize("gathered", [0, 4_000_000])
def test_workers_killed_at_random_moments(data, monkeypatch, gathered):
    """The same answer or a clear error each time, and a refit in the same client works.

    A worker dies as soon as it has company, ten times while rounds run on the workers and ten
    times while they run here.
    """
    X, y = data
    monkeypatch.setattr("htsvm.distributed.rows.ROUND_GATHERED", gathered)
    local = HTSVC(cap=np.inf).fit(X, y)
    cluster = OwnCluster(workers=2)
    rng, done, killed, same = random.Random(gathered), threading.Event(), [], 0
    try:
        with distributed.Client(cluster.address, timeout=120) as client:

            def kill():
                while len(killed) < 10 and not done.wait(rng.uniform(0.1, 1.5)):
                    pids = set(client.run(os.getpid, on_error="ignore").values())
                    alive = [worker for worker in cluster.workers if worker.pid in pids]
                    if len(alive) == 2:
                        killed.append(rng.choice(alive))
                        cluster.replace(killed[-1])

            killer = threading.Thread(target=kill)
            client.wait_for_workers(2, timeout=120)
            killer.start()
            try:
                while killer.is_alive():
                    with contextlib.suppress(WorkersLostError):
                        assert_same_fit(HTSVC(cap=np.inf).fit(*lazy(X, y)), local)
                        same += 1
            finally:
                done.set()
                killer.join()
            assert len(killed) == 10
            assert same > 0
            assert_same_fit(HTSVC(cap=np.inf).fit(*lazy(X, y)), local)
    finally:
        cluster.stop()


def test_a_limit_that_is_over_on_both_sides_at_once(client, data, monkeypatch):
    """`distributed` then has neither a result nor an error; it was taken for a fault of the fit."""
    X, y = data
    client.wait_for_workers(1, timeout=30)
    sync, missed = client.sync, []

    def now_and_then(func, *args, **options):
        if "callback_timeout" in options and not missed:
            missed.append(func)
            raise UnboundLocalError("result")
        return sync(func, *args, **options)

    monkeypatch.setattr(client, "sync", now_and_then)
    model = HTSVC(cap=np.inf).fit(*lazy(X, y))
    assert missed
    assert_same_fit(model, HTSVC(cap=np.inf).fit(X, y))


def test_a_long_fit_is_made_again(client, data):
    """A state is made again from the data and all messages that led to it."""
    X, y = data
    client.wait_for_workers(1, timeout=30)
    solver, killed = killing(client, at=(5,), everyone=True)
    model = HTSVC(solver=solver, cap=np.inf, tol=1e-6).fit(*lazy(X, y))
    assert killed
    assert_same_fit(model, HTSVC(cap=np.inf, tol=1e-6).fit(X, y))


def test_an_interrupted_fit_leaves_nothing_running(client, data):
    X, y = data

    def stop(row):
        if row["iteration"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        HTSVC(solver=Newton(callback=stop)).fit(*lazy(X, y))
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline:
        gc.collect()
        held = [key for keys in client.has_what().values() for key in keys]
        busy = [key for keys in client.processing().values() for key in keys]
        if not held and not busy:
            break
        time.sleep(0.1)
    assert (held, busy) == ([], [])


@pytest.fixture
def _interrupts():
    """Interrupt as at a terminal: a run in the background ignores the signal."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("_interrupts")
def test_interrupted_while_waiting(client, data):
    X, y = data
    slow = lazy(X, y)[0].map_blocks(_slowly, dtype=float)
    timer = threading.Timer(1.0, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        HTSVC().fit(slow, lazy(X, y)[1])
    timer.join()
    deadline = time.monotonic() + 60
    while any(client.processing().values()) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(client.processing().values())


def _slowly(block):
    if len(block):
        time.sleep(2.0)
    return block


def test_a_fault_names_its_block(client, data):
    X, y = data
    X = X.copy()
    X[1_321, 3] = np.inf
    with pytest.raises(ValueError, match=r"Block 1 of 3 \(rows 1000 to 1999\): X holds NaN"):
        HTSVC().fit(*lazy(X, y))


def test_streaming_is_not_for_clusters(client, data):
    with dask.config.set({"htsvm.stream": True}), pytest.raises(ValueError, match="cluster holds"):
        HTSVC().fit(*lazy(*data))


def test_no_worker_left_is_an_error(data):
    """On a cluster of its own: nobody starts its workers again."""
    cluster, own = start(1)
    try:

        def lose(row):
            if row["iteration"] == 2:
                cluster.scale(0)

        with (
            dask.config.set({"htsvm.worker-timeout": 1.0}),
            pytest.raises(WorkersLostError, match="no worker for 1 seconds"),
        ):
            HTSVC(solver=Newton(callback=lose)).fit(*lazy(*data))
    finally:
        own.close()
        cluster.close()
