from __future__ import annotations

from benchmarks.stale import digest, noted, reason, sources_of

from benchmarks import report


def written(folder, text):
    folder.mkdir(exist_ok=True)
    (folder / "a.py").write_text(text)
    digest.cache_clear()
    return digest(folder)


def test_prose_does_not_count_and_code_does(tmp_path):
    code = written(tmp_path / "x", '"""Old."""\ndef f(a):\n    """Say."""\n    return a  # why\n')
    assert written(tmp_path / "x", '"""New."""\n\n\ndef f(a):\n    return a\n') == code
    assert written(tmp_path / "x", "def f(a):\n    return -a\n") != code
    (tmp_path / "x" / "b.pyx").write_text("cdef int a  # one\n")
    digest.cache_clear()
    first = digest(tmp_path / "x")
    (tmp_path / "x" / "b.pyx").write_text("cdef int a  # two\n\n")
    digest.cache_clear()
    assert digest(tmp_path / "x") == first


def test_reasons():
    run = {"htsvm": "0.2.0", **noted("speed")}
    assert reason(run, "0.2.0", "speed") == ""
    assert "0.2.0, this is 0.3.0" in reason(run, "0.3.0", "speed")
    changed = {**run, "sources of solvers": "other"}
    assert reason(changed, "0.2.0", "speed") == "changed since: solvers"
    assert "not noted" in reason({"htsvm": "0.2.0"}, "0.2.0", "speed")
    assert "unknown" in reason({}, "0.2.0", "speed")


def test_parts_depend_on_their_packages():
    assert "distributed" in sources_of("distributed")
    assert "distributed" not in sources_of("speed")
    assert {"multiview", "baselines"} <= set(sources_of("multiview-rivals"))


def test_pages_are_marked_once_and_unmarked(tmp_path):
    page = tmp_path / "speed.md"
    page.write_text("# Benchmark: speed\n\n| a |\n\nmore\n")
    report.mark_stale(page, "changed since: svm")
    report.mark_stale(page, "changed since: linalg")
    assert page.read_text().count("STALE") == 1
    assert "linalg" in page.read_text()
    report.mark_stale(page, "")
    assert page.read_text() == "# Benchmark: speed\n\n| a |\n\nmore\n"
