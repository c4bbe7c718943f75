from __future__ import annotations

import math

import pytest
from benchmarks.__main__ import RESULTS, folder_of, parse, run_part, write_summary
from benchmarks.bars import at_most, every
from benchmarks.plan import Plan
from benchmarks.rivals import RIVALS
from benchmarks.sets import Source, gaussians
from benchmarks.timing import Timings, allowed, interleaved

from benchmarks import report, speed


def speed_row(**changes):
    row = {"set": "toy", "m": 30_000, "n": 5, "C": 1.0, "repeats": 5, "certified": True}
    for rival in RIVALS:
        row[f"{rival.key}_seconds"] = 0.5
        row[f"{rival.key}_repeats"] = 5
        row[f"{rival.key}_unconverged"] = 0
        row[f"{rival.key}_accuracy"] = 0.9
        row[f"{rival.key}_error"] = ""
    row |= {"ratio_linearsvc": 0.25, "ratio_linearsvc_hinge": 0.1, "pass_ms": 0.3, "passes": 50.0}
    row |= {"htsvc_seconds_in_passes": 500.0, "objective": 1.0, "residual": 1e-4}
    row |= {"convex_objective": 2.0, "trivial_objective": 3.0, "share_passes": 0.4}
    return {**row, **changes}


def verdicts(bars):
    return {bar.promise: bar.verdict for bar in bars}


def test_speed_bars_met():
    found = verdicts(speed.bars([speed_row()]))
    assert found.pop("fit time over LinearSVC(), below 20,000 samples <= 1.5") == "not measured"
    assert set(found.values()) == {"met"}


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"ratio_linearsvc": 1.1}, "from 20,000 samples up"),
        ({"ratio_linearsvc": 2.1, "m": 100}, "below 20,000"),
        ({"ratio_linearsvc_hinge": 0.31}, "hinge"),
        ({"certified": False}, "certified"),
        ({"passes": 81.0}, "passes"),
        ({"objective": 2.5}, "convex start"),
        ({"objective": 3.5}, "constant"),
    ],
)
def test_speed_bars_not_met(changes, word):
    bars = speed.bars([speed_row(**changes)])
    assert any(bar.met is False and word in bar.promise for bar in bars)


def test_at_most_names_the_worst_and_ignores_gaps():
    rows = [{"set": "a", "x": 1.0}, {"set": "b", "x": 5.0}, {"set": "c", "x": math.nan}]
    bar = at_most("x <= 2", rows, "x", 2.0)
    assert (bar.met, bar.figure) == (False, "5 (b); 1 of 2 above")
    assert at_most("x <= 2", [], "x", 2.0).verdict == "not measured"


def test_every_names_what_failed():
    bar = every("fine", [{"set": "a", "ok": True}, {"set": "b", "C": 1.0, "ok": False}], "ok")
    assert bar.figure == "1 of 2; not: b, C = 1"


def test_bars_are_the_same_from_csv(tmp_path):
    rows = [speed_row(), speed_row(set="other", certified=False)]
    report.write(tmp_path / "speed.csv", report.csv_text(rows))
    assert speed.bars(report.read_csv(tmp_path / "speed.csv")) == speed.bars(rows)


def test_write_leaves_no_temporary_file(tmp_path):
    report.write(tmp_path / "a" / "x.md", "one")
    report.write(tmp_path / "a" / "x.md", "two")
    assert [p.name for p in (tmp_path / "a").iterdir()] == ["x.md"]
    assert (tmp_path / "a" / "x.md").read_text() == "two"


def test_interleaved_order_and_failures():
    calls = []

    def fails():
        raise ValueError("no")

    works = {"a": lambda: calls.append("a"), "b": lambda: calls.append("b"), "c": fails}
    timings = interleaved(works, 2)
    assert calls == ["a", "b", "a", "b"]
    assert len(timings["a"].seconds) == 2
    assert timings["c"].error == "ValueError: no"
    assert math.isnan(Timings().median)


def test_slow_works_get_fewer_repeats():
    assert (allowed([0.1], 5), allowed([11.0], 5), allowed([61.0], 5)) == (5, 2, 1)


def test_only_full_runs_replace_full_results():
    assert folder_of(parse(["--only", "memory"])) == RESULTS
    for narrowed in (["--quick"], ["--sets", "a9a"], ["--repeats", "2"]):
        assert folder_of(parse(narrowed)) == RESULTS / "partial"


def test_a_tiny_run_from_measurement_to_files(tmp_path, capsys):
    plan = Plan([Source("toy", lambda: gaussians(200, 50))], repeats=1, penalties=(1.0,))
    run_part("speed", plan, tmp_path)
    write_summary(tmp_path)
    names = {"speed.csv", "speed.md", "runs.json", "summary.md"}
    assert {p.name for p in tmp_path.iterdir()} == names
    assert "certified at tol = 1e-3 every time | 1 of 1 | met" in capsys.readouterr().out
    page = (tmp_path / "speed.md").read_text()
    assert "CPU" in page
    assert str(RESULTS.parent) not in page
