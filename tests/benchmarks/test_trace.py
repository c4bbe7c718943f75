from __future__ import annotations

from benchmarks.trace import BY_HAND, fits, traced

import htsvm


def test_counts_are_those_of_our_functions():
    run = fits()["dense"]
    with traced() as trace:
        run()
    assert {code.co_filename for code in trace.path} <= trace.files
    assert any(file.endswith("certificate.py") or "optimality" in file for file in trace.files)
    assert all(htsvm.__name__ in file for file in trace.files)
    assert "fit" in {code.co_name for code in trace.path}
    assert trace.depth == 0
    assert 0 < len(trace.path) <= trace.deepest < len(trace.codes)


def test_every_kind_of_data_is_there():
    assert set(fits()) == set(BY_HAND)
