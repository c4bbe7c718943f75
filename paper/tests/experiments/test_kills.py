"""A run that is killed at any moment: nothing is lost, nothing computed twice."""

from __future__ import annotations

import random
import sqlite3
import subprocess
import sys
import time
from contextlib import closing

import pytest

from htsvm_paper.experiments.isolation import DONE
from htsvm_paper.experiments.store import Store


def _killed(command, path, moments):
    """Run a command again and again, killed so many seconds after its work begins."""
    kept = []
    for seconds in moments:
        run = subprocess.Popen(
            command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        assert "cells to compute" in run.stdout.readline()
        time.sleep(seconds)
        run.kill()
        run.communicate()
        kept.append(_finished(path))
    return kept


@pytest.mark.parametrize(
    "kills", [3, pytest.param(100, marks=pytest.mark.slow)], ids=["3 kills", "100 kills"]
)
def test_kills_at_random_moments_lose_nothing_and_repeat_nothing(tmp_path, kills):
    path = tmp_path / "x.sqlite"
    methods = "ht,ls,hinge-ours,ramp,zero-one,pin" if kills > 3 else "ht,ls"
    command = [
        sys.executable, "-m", "htsvm_paper", "reproduce", "synthetic", "--quick",
        "--methods", methods, "--jobs", "2", "--store", str(path),
    ]  # fmt: skip
    draw = random.Random(kills)
    moments = [draw.uniform(0.0, 0.2 if kills > 3 else 2.5) for _ in range(kills)]
    # Now and then long enough for a cell or two to be finished.
    moments[::10] = [draw.uniform(1.0, 3.0) for _ in moments[::10]]
    kept = _killed(command, path, moments)
    assert kept == sorted(kept), "a cell that was there has gone"
    last = subprocess.run(command, capture_output=True, text=True, check=False)
    assert last.returncode == 0, last.stderr
    total = 4 * len(methods.split(","))
    assert f"{total - kept[-1]} cells to compute, {kept[-1]} there already" in last.stdout
    with Store(path) as store:
        cells = store.cells()
        assert len(cells) == total
        assert all(cell.status == DONE and cell.rows for cell in cells)
        assert store._connection.execute("SELECT count(*) FROM claims").fetchone() == (0,)
        assert store._connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def _finished(path):
    """Count the finished cells, without a hand in the file."""
    try:
        with closing(sqlite3.connect(f"{path.as_uri()}?mode=ro", uri=True)) as connection:
            return connection.execute("SELECT count(*) FROM cells").fetchone()[0]
    except sqlite3.OperationalError:  # not there yet
        return 0
