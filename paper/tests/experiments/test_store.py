from __future__ import annotations

import io
import sqlite3
import subprocess
import sys

import pytest

from htsvm_paper.experiments.isolation import DONE, FAILED, Outcome
from htsvm_paper.experiments.results import read_csv, write_csv
from htsvm_paper.experiments.store import Store, StoreError
from htsvm_paper.experiments.tasks import Row, Task

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


def test_a_cell_replaces_the_earlier_one_with_its_fits(store):
    run = store.new_run({})
    store.add(TASK, Outcome(FAILED, "why"), run=run, time_limit=None)
    store.add(TASK, OUTCOME, run=run, time_limit=None)
    (cell,) = store.cells()
    assert cell.status == DONE
    assert len(cell.rows) == 1


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


def test_what_is_published_is_read_back_without_loss(store):
    run = store.new_run({"htsvm": "1", "commit": "abc"})
    third = Row({"C": float("inf")}, {"accuracy": 1 / 3, "nsv": float("nan"), "seconds": 1e-05})
    store.add(TASK, Outcome(DONE, "", [third], 1.23456, 200.0, 140.0), run=run, time_limit=7.5)
    other = Task("stl10", "nested", "stl10:bird:cat", "none", "mvht", 3, 1, '{"grid":{"C":[1]}}')
    store.add(other, Outcome(FAILED, 'a, "b"\n'), run=run, time_limit=None)
    file = io.StringIO(newline="")
    write_csv(store.cells(), store.runs(), file)
    file.seek(0)
    cells, runs = read_csv(file)
    assert [repr(cell) for cell in cells] == [repr(cell) for cell in store.cells()]
    assert runs[run]["commit"] == "abc"


# ------------------------------------------------------------------------------ hostile places


def damaged(path, at=None):
    """Overwrite a page of a closed store that has several; all but the first few by default."""
    with Store(path) as store:
        run = store.new_run({})
        for fold in range(200):
            task = Task("single-view", "paper", "a1a", "none", "ht", fold)
            store.add(task, OUTCOME, run=run, time_limit=None)
    content = bytearray(path.read_bytes())
    start = 8 * 4096 if at is None else int(len(content) * at) // 4096 * 4096
    end = len(content) if at is None else start + 4096
    content[start:end] = b"\xff" * (end - start)
    path.write_bytes(content)


def test_damaged_pages_are_said_so_or_play_no_part(tmp_path):
    path = tmp_path / "x.sqlite"

    def found():
        try:
            with Store(path) as store:
                store.runs()
                count = len(store.cells())
                store.add(TASK, OUTCOME, run=1, time_limit=None)
        except StoreError as error:
            return "refused" if "x.sqlite" in str(error) else str(error)
        return count

    outcomes = []
    for at in (0.1, 0.3, 0.5, 0.6, 0.7, 0.8, 0.9, 0.97):
        path.unlink(missing_ok=True)
        damaged(path, at)
        outcomes.append(found())
    assert set(outcomes) <= {"refused", 200}
    assert outcomes.count("refused") >= 3


def test_a_full_disk_loses_nothing(tmp_path):
    path = tmp_path / "x.sqlite"
    with Store(path) as store:
        run = store.new_run({})
        store.add(TASK, OUTCOME, run=run, time_limit=None)
        store._connection.execute("PRAGMA max_page_count = 15")
        rows = [Row({"C": 1.0}, {"accuracy": i / 7}) for i in range(3000)]
        second = Task("single-view", "paper", "a1a", "none", "ht", 1)
        with pytest.raises(StoreError, match=r"full.*Make room"):
            store.add(second, Outcome(DONE, "", rows), run=run, time_limit=None)
        assert [cell.task for cell in store.cells()] == [TASK]
        store._connection.execute("PRAGMA max_page_count = 100000")
        store.add(second, Outcome(DONE, "", rows), run=run, time_limit=None)
        assert [len(cell.rows) for cell in store.cells()] == [1, 3000]


def test_a_read_only_store_can_be_read(tmp_path):
    folder = tmp_path / "sealed"
    folder.mkdir()
    path = folder / "x.sqlite"
    with Store(path) as store:
        store.add(TASK, OUTCOME, run=store.new_run({}), time_limit=None)
    before = path.read_bytes()
    path.chmod(0o444)
    folder.chmod(0o555)
    try:
        with Store(path, read_only=True) as store:
            assert [cell.task for cell in store.cells()] == [TASK]
            with pytest.raises(StoreError, match="readonly"):
                store.add(TASK, OUTCOME, run=1, time_limit=None)
    finally:
        folder.chmod(0o755)
    assert path.read_bytes() == before


def test_reading_makes_no_store(tmp_path):
    with pytest.raises(StoreError, match="cannot be read"):
        Store(tmp_path / "x.sqlite", read_only=True)
    assert list(tmp_path.iterdir()) == []


# -------------------------------------------------------------------------------------- claims


def test_two_runs_never_have_the_same_cell(tmp_path):
    path = tmp_path / "x.sqlite"
    with Store(path) as one, Store(path) as other:
        first, second = one.new_run({}), other.new_run({})
        assert one.claim(TASK, first)
        assert one.claim(TASK, first), "a run may ask again"
        assert not other.claim(TASK, second)
        one.add(TASK, OUTCOME, run=first, time_limit=None)
        assert not other.claim(TASK, second), "it is finished"
        one.end_run(first)
        assert not other.claim(TASK, second)


def test_what_another_run_is_marking_is_left_to_it(tmp_path):
    path = tmp_path / "x.sqlite"
    with Store(path) as one, Store(path) as other:
        first, second = one.new_run({}), other.new_run({})
        assert one.claim(TASK, first)
        one.add(TASK, Outcome(FAILED, "why"), run=first, time_limit=None)
        assert not other.claim(TASK, second)
        one.end_run(first)
        assert other.claim(TASK, second), "with --retry"


def test_cells_of_a_run_that_ended_are_free(tmp_path):
    path = tmp_path / "x.sqlite"
    one = Store(path)
    assert one.claim(TASK, one.new_run({}))
    one.close()
    with Store(path) as other:
        assert other.claim(TASK, other.new_run({}))
    assert [p.name for p in tmp_path.iterdir()] == ["x.sqlite"]


def test_cells_of_a_killed_run_are_free_at_once(tmp_path):
    """Its lock went with its process; no clock is asked."""
    path = tmp_path / "x.sqlite"
    program = (
        "import sys, time; from pathlib import Path\n"
        "from htsvm_paper.experiments.store import Store\n"
        "from htsvm_paper.experiments.tasks import Task\n"
        f"store = Store(Path({str(path)!r}))\n"
        "task = Task('single-view', 'paper', 'a1a', 'none', 'ht')\n"
        "assert store.claim(task, store.new_run({})); print('claimed', flush=True)\n"
        "time.sleep(60)\n"
    )
    run = subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True)
    assert run.stdout.readline() == "claimed\n"
    with Store(path) as store:
        number = store.new_run({})
        assert not store.claim(TASK, number)
        run.kill()
        run.wait()
        assert store.claim(TASK, number)


def test_a_new_run_clears_away_what_killed_ones_have_left(tmp_path):
    path = tmp_path / "x.sqlite"
    left, other = tmp_path / "x.sqlite-run7.lock", tmp_path / "y.sqlite-run7.lock"
    for file in (left, other):
        file.touch()
    with Store(path) as one, Store(path) as two:
        alive = one.new_run({})
        assert not left.exists()
        assert other.exists(), "that of another store"
        assert one.claim(TASK, alive)
        assert not two.claim(TASK, two.new_run({})), "a living run keeps its lock"
