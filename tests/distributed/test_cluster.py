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
from tests.distributed.data import assert_as_good, assert_same_fit, noisy, on_workers
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
        # All at once only when blocks are asked: nannies give up on workers that die as they start.
        if row["iteration"] in at and (not everyone or "network_passes" in row):
            alive = list(client.run(os.getpid, on_error="ignore").values())
            for pid in alive if everyone else alive[:1]:
                killed.append(pid)
                with contextlib.suppress(ProcessLookupError):
                    os.kill(pid, signal.SIGKILL)

    return Newton(callback=kill), killed


@pytest.fixture(scope="module")
def undisturbed(data):
    """Fits whose rows stay in blocks, in this process."""
    with dask.config.set(scheduler="synchronous"), on_workers():
        return {cap: HTSVC(cap=cap).fit(*lazy(*data)) for cap in (1.0, np.inf)}


def test_same_fit(client, data, undisturbed):
    X, y = data
    with on_workers():
        model = HTSVC(cap=np.inf).fit(*lazy(X, y))
    assert_same_fit(model, undisturbed[np.inf])
    assert_as_good(model, HTSVC(cap=np.inf).fit(X, y))
    np.testing.assert_array_equal(
        model.predict(lazy(X, y)[0]).compute(), undisturbed[np.inf].predict(X)
    )


def test_few_rows_are_fitted_here(client, data):
    X, y = data
    model, local = HTSVC().fit(*lazy(X, y)), HTSVC().fit(X, y)
    assert_same_fit(model, local)
    assert model.history_["network_passes"][-1] == 1
    np.testing.assert_array_equal(model.ignored_.compute(), local.ignored_)


def test_what_is_sent_does_not_grow_with_the_rows(client):
    sent = []
    for m in (4_000, 16_000):
        with on_workers(1_000, 0):
            history = HTSVC(cap=np.inf).fit(*lazy(*noisy(m, N, seed=1), m // 4)).history_
        passes = np.array(history["network_passes"])
        moved = np.diff(history["network_bytes"])[np.diff(passes) == 1]
        sent.append(np.median(moved))
    assert sent[0] == sent[1]


@pytest.mark.parametrize("cap", [1.0, np.inf])
def test_killed_workers_change_nothing(client, data, undisturbed, cap):
    solver, killed = killing(client, at=(4,))
    client.wait_for_workers(2, timeout=30)
    with on_workers():
        model = HTSVC(solver=solver, cap=cap).fit(*lazy(*data))
    # The search on a sample counts its rounds, and so does the descent on all rows.
    assert len(killed) >= 2
    assert_same_fit(model, undisturbed[cap])


@pytest.mark.slow
def test_three_classes_and_killed_workers(client, data):
    X, _ = data
    y = (3.0 * (X[:, 0] > 0.0) + X[:, 1] > 1.0).astype(int) + (X[:, 2] > 1.0)
    client.wait_for_workers(2, timeout=30)
    solver, killed = killing(client, at=(4,))
    with on_workers():
        model = HTSVC(solver=solver).fit(*lazy(X, y))
        assert killed
        client.wait_for_workers(2, timeout=30)
        alive = HTSVC().fit(*lazy(X, y))
    np.testing.assert_allclose(model.objective_, alive.objective_, rtol=1e-8)
    np.testing.assert_array_equal(model.support_, alive.support_)


def test_views(client, data):
    X, y = data
    options = {"views": [2, 3], "cap": np.inf}
    client.wait_for_workers(1, timeout=30)
    with on_workers():
        model = MultiViewHTSVC(**options).fit(*lazy(X, y, 1_500))
    local = MultiViewHTSVC(**options).fit(X, y)
    np.testing.assert_allclose(model.objective_, local.objective_, rtol=2e-3)
    np.testing.assert_allclose(model.view_weights_, local.view_weights_, rtol=1e-2)


@pytest.mark.slow
def test_all_workers_killed_and_started_again(client, data, undisturbed):
    """Nannies start new workers; the data is made anew."""
    client.wait_for_workers(1, timeout=30)
    solver, killed = killing(client, at=(3,), everyone=True)
    with on_workers():
        model = HTSVC(solver=solver, cap=np.inf).fit(*lazy(*data))
    assert killed
    assert_same_fit(model, undisturbed[np.inf])


@pytest.mark.slow
@pytest.mark.parametrize("driver", [0, None])
def test_workers_killed_at_random_moments(data, driver):
    """The same answer or a clear error each time, and a refit in the same client works.

    A worker dies as soon as it has company, ten times where rows that decide are gathered and ten
    times where they are not.
    """
    X, y = data
    with dask.config.set(scheduler="synchronous"), on_workers(2_000, driver):
        local = HTSVC(cap=np.inf).fit(*lazy(X, y))
    cluster = OwnCluster(workers=2)
    rng, done, killed, same = random.Random(driver or 1), threading.Event(), [], 0
    try:
        with distributed.Client(cluster.address, timeout=120) as client, on_workers(2_000, driver):

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


def test_a_limit_that_is_over_on_both_sides_at_once(client, data, undisturbed, monkeypatch):
    """`distributed` then has neither a result nor an error; it was taken for a fault of the fit."""
    client.wait_for_workers(1, timeout=30)
    sync, missed = client.sync, []

    def now_and_then(func, *args, **options):
        if "callback_timeout" in options and not missed:
            missed.append(func)
            raise UnboundLocalError("result")
        return sync(func, *args, **options)

    monkeypatch.setattr(client, "sync", now_and_then)
    with on_workers():
        model = HTSVC(cap=np.inf).fit(*lazy(*data))
    assert missed
    assert_same_fit(model, undisturbed[np.inf])


def test_an_interrupted_fit_leaves_nothing_running(client, data):
    X, y = data

    def stop(row):
        if row["iteration"] == 3:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt), on_workers():
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
            on_workers(),
            pytest.raises(WorkersLostError, match="no worker for 1 seconds"),
        ):
            HTSVC(solver=Newton(callback=lose)).fit(*lazy(*data))
    finally:
        own.close()
        cluster.close()
