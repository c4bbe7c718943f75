from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

from htsvm_paper.experiments.isolation import DONE, FAILED, SKIPPED, SLOW, Stopped, run_isolated
from htsvm_paper.experiments.methods import Unavailable


def counts(n):
    yield from range(n)


def fails(_):
    yield 1
    raise ValueError("no such luck")


def dies(_):
    yield 1
    os.kill(os.getpid(), signal.SIGKILL)


def sleeps(_):
    yield 1
    time.sleep(600)


def is_missing(_):
    raise Unavailable("not here")
    yield


def waits(seconds):
    time.sleep(seconds)
    yield seconds


def eats(megabytes):
    block = np.ones(megabytes * 2**17)
    yield float(block.sum())


def test_rows_come_back():
    outcome = run_isolated(counts, 3)
    assert (outcome.status, outcome.rows) == (DONE, [0, 1, 2])
    assert outcome.seconds > 0.0


def test_waiting_is_no_cost():
    """Seconds are those of the processor: other work on a machine does not lengthen them."""
    assert 0.0 < run_isolated(waits, 3.0).seconds < 3.0


def test_an_error_becomes_a_mark():
    outcome = run_isolated(fails, None)
    assert (outcome.status, outcome.rows) == (FAILED, [1])
    assert "ValueError: no such luck (fails, line" in outcome.reason


def test_a_killed_process_becomes_a_mark():
    outcome = run_isolated(dies, None)
    assert outcome.status == FAILED
    assert "its process died (exit code" in outcome.reason


def test_a_missing_method_is_skipped():
    outcome = run_isolated(is_missing, None)
    assert (outcome.status, outcome.reason) == (SKIPPED, "not here")


def test_too_slow():
    run_isolated(counts, 1)  # So that only the process itself has to start within the limit.
    outcome = run_isolated(sleeps, None, time_limit=5.0)
    assert (outcome.status, outcome.reason) == (SLOW, "more than 5 s")
    assert outcome.rows == [1]


def test_stopping_kills_the_process():
    stop = threading.Event()
    threading.Timer(0.5, stop.set).start()
    with pytest.raises(Stopped):
        run_isolated(sleeps, None, stop=stop)


def test_peak_memory_is_that_of_the_cell():
    pytest.importorskip("resource")
    large = run_isolated(eats, 300)
    small = run_isolated(eats, 1)
    assert 280 < large.peak_mb - large.base_mb < 340
    # Processes do not inherit the peak of an earlier one.
    assert small.peak_mb - small.base_mb < 30


BEATING = """
import sys, time
from pathlib import Path
from htsvm_paper.experiments.isolation import run_isolated
from paper.tests.experiments.test_isolation import beat
run_isolated(beat, sys.argv[1])
"""


def beat(path):
    for number in range(600):
        Path(path).write_text(str(number))
        time.sleep(0.1)
    yield number


def test_the_process_of_a_cell_ends_when_the_run_is_killed(tmp_path):
    heart = tmp_path / "heart"
    root = Path(__file__).parents[3]
    run = subprocess.Popen([sys.executable, "-c", BEATING, str(heart)], cwd=root)
    try:
        deadline = time.monotonic() + 60
        while not heart.exists() and time.monotonic() < deadline:
            time.sleep(0.05)
        assert heart.exists()
    finally:
        run.kill()
        run.wait()
    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        before = heart.read_text()
        time.sleep(1.0)
        if heart.read_text() == before:
            return
    raise AssertionError("the process of the cell goes on")
