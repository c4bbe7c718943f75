from __future__ import annotations

import json

from benchmarks.where import BEGIN, END, PAGE, rendered, table


def test_the_table_replaces_the_old_one(tmp_path):
    (tmp_path / "runs.json").write_text(
        json.dumps({"speed": {"date": "today", "commit": "abc", "htsvm": "0.0.1"}})
    )
    (tmp_path / "speed.csv").write_text(
        "set,m,n,C,passes,htsvc_seconds_in_passes,share_passes\ntoy,1000,5,0.5,12.5,90,0.25\n"
    )
    page = f"before\n\n{BEGIN}\n| old |\n{END}\n\nafter\n"
    text = rendered(page, tmp_path)
    assert "old" not in text
    assert "| toy | 1,000 x 5 | 0.5 | 12.5 | 90.0 | 25 |" in text
    assert "STALE" in text
    assert text.endswith("after\n")
    assert rendered(text, tmp_path) == text


def test_gaps_are_left_empty():
    row = {"set": "toy", "m": 10, "n": 2, "C": 1.0, "htsvc_seconds_in_passes": None}
    assert "| toy | 10 x 2 | 1 |  |  |  |" in table([row])


def test_the_page_has_its_place():
    text = PAGE.read_text(encoding="utf-8")
    assert text.count(BEGIN) == text.count(END) == 1
