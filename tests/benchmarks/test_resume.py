from __future__ import annotations

import pytest
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
    second.done()
    assert not list(tmp_path.iterdir())
