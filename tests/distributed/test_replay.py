"""Questions are pure: what is lost is made again from the state and the messages."""

import pickle

import numpy as np
import pytest

from htsvm import HTSVC
from htsvm.distributed.binary_block import BinaryBlock
from htsvm.distributed.block import Block
from htsvm.distributed.inputs import open_dataset
from htsvm.distributed.protocol import Call, Data, Message, block_of
from htsvm.losses import HybridTruncated
from htsvm.problems.build import BinaryTask
from htsvm.solvers.newton.rows import LocalRows
from tests.distributed.data import assert_same_fit, forgetful, noisy

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")


def lazy(X, y):
    return da.from_array(X, chunks=(200, -1)), da.from_array(y, chunks=200)


@pytest.mark.parametrize("gathered", [0, 4_000_000])
@pytest.mark.parametrize(
    "options", [{}, {"n_restarts": 2, "C": 4.0}, {"cap": np.inf}, {"tol": 1e-6}], ids=str
)
def test_any_block_may_forget_at_any_time(monkeypatch, options, gathered):
    X, y = noisy(1_200, 6, seed=31)
    local = HTSVC(**options).fit(X, y)
    monkeypatch.setattr("htsvm.distributed.rows.ROUND_GATHERED", gathered)
    forgotten = forgetful(monkeypatch, 0.15)
    with dask.config.set(scheduler="synchronous"):
        blocks = HTSVC(**options).fit(*lazy(X, y))
    assert {"end_round"} | (set() if gathered else {"attempt"}) <= forgotten
    assert_same_fit(blocks, local)


@pytest.mark.parametrize("gathered", [0, 4_000_000])
def test_state_on_disk(monkeypatch, gathered):
    X, y = noisy(1_200, 6, seed=32)
    monkeypatch.setattr("htsvm.distributed.rows.ROUND_GATHERED", gathered)
    with dask.config.set({"scheduler": "synchronous", "htsvm.stream": True}):
        blocks = HTSVC().fit(*lazy(X, y))
    assert_same_fit(blocks, HTSVC().fit(X, y))


@pytest.mark.parametrize("scale", [1e-3, 1.0])
def test_guessed_multipliers_are_those_of_rows_in_memory(scale):
    """Also where margins are hard and the ramp is far above what w explains."""
    X, y = noisy(300, 4, seed=33, flipped=0.0)
    dataset = open_dataset(*lazy(X, y))
    options = {"C": 1e3, "loss": HybridTruncated(), "fit_intercept": True, "multiclass": False}
    problem, rng = dataset.problems(None, **options)[0], np.random.default_rng(0)
    point = scale * np.ones(4), 0.1
    remote, local = problem.rows(problem, rng), LocalRows(problem.take(np.arange(300)), rng)
    for rows in (remote, local):
        rows.start_at(*point, None)
        rows.guess_multipliers(0.2)
    found, psi = remote.multipliers(), local.multipliers()
    np.testing.assert_array_equal(found.rows, np.flatnonzero(psi))
    np.testing.assert_allclose(found.values, psi[found.rows], rtol=1e-12)
    assert (-psi.min() < 100.0) == (scale < 1.0)
    problem.release()
    dataset.close()


def test_a_message_changes_a_copy():
    X, y = noisy(50, 3)
    task = BinaryTask(np.ones(2), 1.0, HybridTruncated(), True, 1, np.ones(2))
    data = Data(X, y.astype(np.int32), None, 0)
    first = block_of(data, task)
    point = np.arange(3.0), 0.5
    message = Message(task, [Call(BinaryBlock.move, point), Call(BinaryBlock.loss_total, ())])
    assert message.changes
    second, loss = message.put_to(first, 0)
    assert np.all(first.it.q == 1.0)
    np.testing.assert_allclose(second.it.q, second.given.violations(*point))
    assert message.put_to(first, 0)[1] == loss
    travelled = pickle.loads(pickle.dumps(second))
    assert travelled.given.operator is None
    travelled.attach(data)
    question = Message(task, [Call(Block.losses_at, ([point],))])
    assert question.put_to(travelled, 0)[1][0] == pytest.approx(loss)
    assert not question.changes
