"""State that is lost at any moment is made again from the log, and the answer is the same."""

import pickle

import numpy as np
import pytest

from htsvm import HTSVC
from htsvm.distributed import slots
from htsvm.distributed.data import Data
from htsvm.losses import HybridTruncated
from htsvm.problems.build import BinaryTask
from tests.distributed.data import assert_same_fit, forgetful, noisy

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")


def lazy(X, y):
    return da.from_array(X, chunks=(200, -1)), da.from_array(y, chunks=200)


@pytest.mark.parametrize(
    "options", [{}, {"n_restarts": 2, "C": 4.0}, {"cap": np.inf}, {"tol": 1e-6}], ids=str
)
def test_any_block_may_forget_at_any_time(monkeypatch, options):
    X, y = noisy(1_000, 6, seed=31)
    forgotten = forgetful(monkeypatch, 0.15)
    with dask.config.set(scheduler="synchronous"):
        blocks = HTSVC(**options).fit(*lazy(X, y))
    assert {"differentiate", "set_out", "end_round"} <= forgotten
    assert_same_fit(blocks, HTSVC(**options).fit(X, y))


def test_files_may_vanish(monkeypatch):
    X, y = noisy(1_000, 6, seed=32)
    rng = np.random.default_rng(0)
    load = slots._load
    monkeypatch.setattr(
        slots, "_load", lambda path, version: None if rng.random() < 0.1 else load(path, version)
    )
    with dask.config.set({"scheduler": "synchronous", "htsvm.stream": True}):
        blocks = HTSVC().fit(*lazy(X, y))
    assert_same_fit(blocks, HTSVC().fit(X, y))


def test_a_moved_slot_does_not_answer_with_old_state():
    X, y = noisy(50, 3)
    task = BinaryTask(1, np.ones(2), np.ones(2), 1.0, HybridTruncated(), True)
    slot = slots.Slot(Data(X, y.astype(np.int32), None, 0), task, 7)
    slot.answer(slots.Call("weigh", (None,), 0, 1, "sum"))
    question = slots.Call("loss_total", (), 1, 1, "sum")
    assert slot.answer(question).missing == ()
    moved = pickle.loads(pickle.dumps(slot))
    assert moved.answer(question).missing == (7,)
    # A call that was made already, and whose answer was lost, is not made a second time.
    assert slot.answer(slots.Call("weigh", (None,), 0, 1, "sum", [])).missing == ()
    assert slot.answer(slots.Call("weigh", (None,), 3, 4, "sum")).missing == (7,)
