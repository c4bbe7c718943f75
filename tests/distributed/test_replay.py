"""Questions are pure: what is lost is made again from the state and the messages."""

import pickle

import numpy as np
import pytest

from htsvm import HTSVC
from htsvm.distributed.binary_block import BinaryBlock
from htsvm.distributed.block import Block
from htsvm.distributed.protocol import Call, Data, Message, block_of
from htsvm.losses import HybridTruncated
from htsvm.problems.build import BinaryTask
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
