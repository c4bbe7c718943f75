from __future__ import annotations

import io
import sqlite3

import pytest

from htsvm.experiments.isolation import DONE, FAILED, Outcome
from htsvm.experiments.store import Store, StoreError, write_csv
from htsvm.experiments.tasks import Row, Task

TASK = Task("single-view", "paper", "a1a", "none", "ht")
OUTCOME = Outcome(DONE, "", [Row({"C": 1.0}, {"accuracy": 0.5})], 1.5, 200.0, 140.0)


@pytest.fixture
def store(tmp_path):
    with Store(tmp_path / "x.sqlite") as store:
        yield store


def test_round_trip(store):
    run = store.new_run({"htsvm": "1", "commit": "abc"})
    store.add(TASK, OUTCOME, run=run, time_limit=10.0)
    (cell,) = store.cells()
    assert cell.task == TASK
    assert list(cell.rows) == OUTCOME.rows
    assert (cell.seconds, cell.peak_mb, cell.base_mb, cell.time_limit) == (1.5, 200.0, 140.0, 10.0)
    assert store.runs()[cell.run] == {"htsvm": "1", "commit": "abc"}
    assert store.cells("synthetic") == []
    assert store.cells(quick=True) == []


def test_a_cell_replaces_the_earlier_one_with_its_fits(store):
    run = store.new_run({})
    store.add(TASK, Outcome(FAILED, "why"), run=run, time_limit=None)
    store.add(TASK, OUTCOME, run=run, time_limit=None)
    (cell,) = store.cells()
    assert cell.status == DONE
    assert len(cell.rows) == 1


def test_unknown_memory_is_nan(store):
    store.add(TASK, Outcome(DONE), run=store.new_run({}), time_limit=None)
    (cell,) = store.cells()
    assert cell.peak_mb != cell.peak_mb


def test_results_of_another_version_are_refused_with_the_reason(tmp_path):
    path = tmp_path / "x.sqlite"
    Store(path, version="0.0.9").close()
    with pytest.raises(StoreError, match=r"results of htsvm 0\.0\.9 .* not mixed: .* --store"):
        Store(path)


def test_what_is_no_store_is_refused(tmp_path):
    text = tmp_path / "x.txt"
    text.write_text("not a database, and long enough to be read as one" * 20)
    with pytest.raises(StoreError, match="is not a store of results"):
        Store(text)
    other = tmp_path / "other.sqlite"
    with sqlite3.connect(other) as connection:
        connection.execute("CREATE TABLE songs (title TEXT)")
    with pytest.raises(StoreError, match="a database of something else"):
        Store(other)
    with pytest.raises(StoreError, match="does not exist"):
        Store(tmp_path / "nowhere" / "x.sqlite")


def test_csv_keeps_every_fit_with_its_environment(store):
    run = store.new_run({"htsvm": "1", "commit": "abc", "numpy": "2"})
    store.add(TASK, OUTCOME, run=run, time_limit=None)
    store.add(
        Task("stl10", "nested", "stl10:bird:cat", "none", "mvht"), Outcome(FAILED, "a, b"),
        run=run, time_limit=None,
    )  # fmt: skip
    file = io.StringIO()
    write_csv(store.cells(), store.runs(), file)
    head, first, second = file.getvalue().splitlines()
    assert head.startswith("experiment,protocol,dataset,noise,method,fold,quick,seed,status")
    assert '"{""C"":1.0}"' in first
    assert ",abc," in first
    assert '"a, b"' in second
