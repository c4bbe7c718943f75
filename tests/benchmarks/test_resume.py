from __future__ import annotations

from types import SimpleNamespace

import pytest
from benchmarks.__main__ import PARTS, main
from benchmarks.resume import Kept

from benchmarks import resume


def test_a_broken_run_goes_on_where_it_broke(tmp_path, monkeypatch):
    calls = []

    def measure():
        calls.append(1)
        return [{"set": "a", "accuracy": 97.5}]

    def breaks():
        raise KeyboardInterrupt

    first = Kept("run", tmp_path)
    rows = first.get("a", measure)
    with pytest.raises(KeyboardInterrupt):
        first.get("b", breaks)
    second = Kept("run", tmp_path)
    assert second.get("a", measure) == rows
    assert len(calls) == 1
    monkeypatch.setattr(resume, "_fingerprint", lambda: "other sources")
    Kept("run", tmp_path).get("a", measure)
    assert len(calls) == 2


def test_rows_are_kept_until_the_page_is_written(tmp_path, monkeypatch):
    def run(plan):
        kept = Kept("run", tmp_path)
        rows = kept.get("a", lambda: [{"set": "a"}])
        kept.done()
        return rows

    def fails(rows):
        raise RuntimeError("no page")

    part = SimpleNamespace(run=run, bars=lambda rows: [], tables=fails)
    monkeypatch.setitem(PARTS, "path", part)
    options = ["--only", "path", "--quick", "--out", str(tmp_path / "out")]
    assert main(options) == 1
    assert main(options) == 1
    assert [one.name for one in tmp_path.iterdir()] == [".run.jsonl"]
    part.tables = lambda rows: "a table"
    monkeypatch.setattr("benchmarks.__main__.write_summary", lambda folder: None)
    assert main(options) == 0
    assert [one.name for one in tmp_path.iterdir()] == ["out"]
