from __future__ import annotations

import os
import re
import shlex
import signal
import subprocess
import sys
import time
from functools import partial

import pytest
from paper.tests.experiments.test_demo import Checker
from typer.testing import CliRunner

from htsvm_paper.cli import app
from htsvm_paper.experiments.catalogue import EXPERIMENTS
from htsvm_paper.experiments.estimate import Estimate, work
from htsvm_paper.experiments.isolation import DONE, SKIPPED, SLOW, Outcome
from htsvm_paper.experiments.runner import Selection, compute, plan
from htsvm_paper.experiments.store import Cell, Store
from htsvm_paper.experiments.tasks import Grid, Profile, Row, Task

QUICK = Profile("quick")
SYNTHETIC = [EXPERIMENTS["synthetic"]]


@pytest.fixture
def invoke(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    return lambda *arguments: CliRunner().invoke(app, list(arguments))


@pytest.fixture(scope="module")
def stored(tmp_path_factory):
    """Return the store of a quick run of two experiments that need no files."""
    path = tmp_path_factory.mktemp("run") / "x.sqlite"
    with Store(path) as store:
        todo, there = plan(SYNTHETIC, QUICK, store, selection=Selection(["ht", "hinge", "ls"]))
        assert there == 0
        compute(todo, store, jobs=2)
    return path


def test_list(invoke):
    result = invoke("reproduce", "--list")
    assert result.exit_code == 0
    for name in EXPERIMENTS:
        assert name in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["singel-view"], "Unknown experiment 'singel-view'; did you mean single-view"),
        (["--methods", "hinges"], "Unknown method 'hinges'; did you mean hinge"),
        (["single-view", "--datasets", "australan"], "uses a data set 'australan'; did"),
        (["--store", "nowhere/x.sqlite"], "does not exist"),
        (["--store", "."], "cannot be read and written"),
        (["--datasets", " ,"], "--datasets names nothing, got ' ,'"),
        (["--methods", ""], "--methods names nothing"),
    ],
)
def test_bad_input_is_named_without_a_traceback(arguments, message, invoke):
    result = invoke("reproduce", "--quick", *arguments)
    assert result.exit_code == 1
    assert message in " ".join(result.output.split())
    assert "Traceback" not in result.output


def test_report_without_results(invoke, tmp_path):
    assert "There is no htsvm-results.sqlite" in invoke("report").output
    Store(tmp_path / "empty.sqlite").close()
    result = invoke("report", "--store", "empty.sqlite")
    assert result.exit_code == 1
    assert "no results of the profile full" in result.output


def test_finished_work_is_not_repeated_but_missing_methods_are_looked_for(stored):
    with Store(stored) as store:
        cells = store.cells()
        assert {c.status for c in cells if c.task.method in ("ht", "hinge")} == {DONE}
        todo, there = plan(SYNTHETIC, QUICK, store, selection=Selection(["ht", "hinge"]))
        assert (todo, there) == ([], 8)
        skipped = [c.task for c in cells if c.status == SKIPPED]
        again, _ = plan(SYNTHETIC, QUICK, store, selection=Selection(["ht", "hinge", "ls"]))
        assert again == skipped


def test_marked_cells_are_computed_again_only_on_request_or_with_more_time(tmp_path):
    with Store(tmp_path / "x.sqlite") as store:
        tasks = plan(SYNTHETIC, QUICK, store, selection=Selection(["ht"]))[0]
        run = store.new_run({})
        for task, status in zip(tasks, ("failed", SLOW, DONE, DONE), strict=True):
            store.add(task, Outcome(status, "x"), run=run, time_limit=5.0)

        def todo(**options):
            return plan(SYNTHETIC, QUICK, store, selection=Selection(["ht"]), **options)[0]

        assert todo(time_limit=5.0) == []
        assert todo(time_limit=6.0) == [tasks[1]]
        assert todo(time_limit=5.0, retry=True) == tasks[:2]


def test_a_slow_cell_is_marked_and_the_rest_goes_on(tmp_path):
    with Store(tmp_path / "x.sqlite") as store:
        tasks = plan(SYNTHETIC, QUICK, store, selection=Selection(["ht"]))[0][:2]
        counts = compute(tasks, store, time_limit=0.01)
        assert sum(counts.values()) == 2
        assert set(counts) <= {SLOW, DONE}


def test_why_cells_were_skipped_is_said(invoke, tmp_path, monkeypatch, only_named_folders):
    monkeypatch.setenv("HTSVM_DATA", str(tmp_path / "gone"))
    result = invoke(
        "reproduce", "single-view", "--quick", "--methods", "ls", "--datasets", "a1a"
    )  # fmt: skip
    assert result.exit_code == 1
    assert result.output.count("gone is not a folder") == 1
    last = result.output.strip().splitlines()[-1]
    assert last.startswith("2 skipped: nothing was computed. Put the files")


def test_the_next_command_works_as_printed(invoke):
    done = invoke(
        "reproduce", "synthetic", "--quick", "--seed", "3", "--methods", "ls",
        "--store", "my results.sqlite",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    command = re.search(r"Next: htsvm-paper (.+)", done.output).group(1)
    assert command == "report --store 'my results.sqlite' --profile quick --seed 3"
    done = invoke(*shlex.split(command))
    assert done.exit_code == 0, done.output


def test_work_of_a_cell_counts_its_fits():
    grid = Grid((1.0, 2.0, 4.0), inner_folds=5)

    def task(protocol, **options):
        setting = grid.setting("ht", protocol)
        return Task("single-view", protocol, "a1a", "none", "ht", setting=setting, **options)

    assert work(task("paper")) == 3.0
    assert work(task("nested")) == 3 * 4 + 1
    known = [(("single-view", "paper", "ht", "a1a"), 2.0), (("x", "paper", "ht", "a1a"), 50.0)]
    estimate = Estimate(known)
    assert estimate.seconds(task("paper")) == 6.0
    # Nothing of this protocol is known, so the method's mean time on these data is taken.
    assert estimate.seconds(task("nested")) == 13 * 26.0
    assert estimate.in_words([task("paper")]) == "less than a minute"
    assert estimate.in_words([task("paper", fold=k) for k in range(100)]) == "about 10 min"
    assert estimate.in_words([task("paper", fold=k) for k in range(100)], jobs=2) == "about 5 min"


def test_times_of_two_machines_do_not_mix():
    """Rows that another processor computed say nothing, nor do shipped times of that method."""
    tasks = [Task("stl10", "paper", f"stl10:{k}", "none", "ht") for k in range(3)]
    rows = (Row({}, {}),)
    cells = [Cell(t, DONE, "", rows, s, 1.0, 1.0, None, run)
             for t, s, run in ((tasks[0], 90.0, 1), (tasks[1], 3.0, 2))]  # fmt: skip
    estimate = Estimate.of(cells, {1: {"CPU": "slow"}, 2: {"CPU": "quick"}})
    assert [estimate.seconds(task) for task in tasks] == [3.0, 3.0, 3.0]


def test_how_long_it_takes_is_said_beforehand(invoke):
    result = invoke("reproduce", "single-view", "--profile", "full", "--minutes", "0")
    assert result.exit_code == 0, result.output
    assert re.search(r"That takes about [\d.]+ (min|h), 2 at a time", result.output)
    assert "left" in result.output
    result = invoke("reproduce", "--profile", "ful")
    assert "Unknown profile 'ful'; did you mean full?" in result.output


def test_two_runs_on_one_store_compute_every_cell_once(tmp_path):
    path = tmp_path / "x.sqlite"
    command = [sys.executable, "-m", "htsvm_paper", "reproduce", "synthetic", "--quick",
               "--methods", "ht,ls", "--jobs", "1", "--store", str(path)]  # fmt: skip
    runs = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(2)]
    texts = [run.communicate(timeout=300)[0] for run in runs]
    assert [run.returncode for run in runs] == [0, 0], texts
    computed = [sum(map(int, re.findall(r"(\d+) done", text))) for text in texts]
    with Store(path) as store:
        cells = store.cells()
    assert len(cells) == sum(computed) == 8
    assert all(cell.status == DONE for cell in cells)


def test_an_interrupt_of_all_processes_leaves_no_traceback(tmp_path):
    """What Ctrl-C does in a terminal, while the first processes start."""
    command = [sys.executable, "-m", "htsvm_paper", "reproduce", "synthetic", "--quick",
               "--methods", "ht", "--store", str(tmp_path / "x.sqlite")]  # fmt: skip
    # Tests that were started in the background of a shell ignore interrupts, and so would it.
    heed = partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    run = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        preexec_fn=heed,
    )  # fmt: skip
    line = run.stdout.readline()
    assert "cells to compute" in line
    time.sleep(0.3)
    os.killpg(run.pid, signal.SIGINT)
    _, errors = run.communicate(timeout=60)
    assert run.returncode == 130
    assert "Traceback" not in errors
    assert "interrupted; the same command continues" in errors


@pytest.fixture(scope="module")
def page(stored, tmp_path_factory):
    folder = tmp_path_factory.mktemp("report")
    result = CliRunner().invoke(
        app, ["report", "--quick", "--store", str(stored), "-o", str(folder / "report.html")]
    )
    assert result.exit_code == 0, result.output
    return folder / "report.html"


def test_report_is_one_self_contained_page(page):
    text = page.read_text(encoding="utf-8")
    checker = Checker()
    checker.feed(text)
    assert checker.open == checker.loads == []
    assert len(checker.ids) == len(set(checker.ids))
    for part in ("Two Gaussians", "best grid point by test score", "chosen by cross-validation",
                 "process minutes"):  # fmt: skip
        assert part in text
    markdown = page.with_suffix(".md").read_text(encoding="utf-8")
    assert "| Hinge-SVM |" in markdown
    assert "(paper 97.96" not in markdown, "a quick run has other sizes than the paper"
    assert page.with_suffix(".csv").read_text(encoding="utf-8").count("\n") > 10


def test_a_report_from_the_published_table_is_the_same(page, invoke, tmp_path):
    table = tmp_path / "again.csv"
    table.write_bytes(page.with_suffix(".csv").read_bytes())
    done = invoke("report", "--quick", "--store", str(table), "-o", str(tmp_path / "b.html"))
    assert done.exit_code == 0, done.output
    for end in (".md", ".html"):
        again = (tmp_path / "b.html").with_suffix(end).read_text(encoding="utf-8")
        assert again == page.with_suffix(end).read_text(encoding="utf-8")
    assert (tmp_path / "b-tables.csv").read_bytes() == (
        page.with_name("report-tables.csv").read_bytes()
    )


def test_a_table_of_something_else_is_refused(invoke, tmp_path):
    (tmp_path / "songs.csv").write_text("title,year\nx,1999\n")
    result = invoke("report", "--store", "songs.csv")
    assert result.exit_code == 1
    assert "songs.csv is not a table of results" in result.output


def test_the_report_names_what_was_never_run(page):
    text = page.with_suffix(".md").read_text(encoding="utf-8")
    assert re.search(r"[\d,]+ of [\d,]+ cells of this profile were never run, by name", text)
    assert "Two Gaussians, 5,000 to 30,000 samples: Pin-SVM, protocol paper" in text
    assert "Nothing of it has been computed in this run" in text
