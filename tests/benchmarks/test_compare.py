from __future__ import annotations

import math
import subprocess

import pytest
from benchmarks.compare import CASES, DATA, Case, Compared, compare, installed, main, table
from benchmarks.stored import ROOT

from benchmarks import compare as module


def compared(base, head, **changes):
    return Compared("toy", base, head, 10.0, 10.0, **changes)


@pytest.mark.parametrize(
    ("base", "head", "verdict"),
    [
        ([1.0, 1.0, 9.0], [1.2, 1.2, 1.2], "slower"),
        ([1.0], [1.09], "same"),  # within the ratio
        ([0.01], [0.019], "same"),  # within the seconds
        ([1.2], [1.0], "faster"),
        ([1.0, 1.0, 1.0], [1.0, 1.0, 50.0], "same"),  # one disturbed repeat
    ],
)
def test_both_thresholds_count(base, head, verdict):
    assert compared(base, head).verdict(1.1, 0.01) == verdict


def test_what_one_side_cannot_do():
    assert compared([], [1.0], base_error="no such class").verdict(1.1, 0.01) == "new"
    assert compared([1.0], [], head_error="ValueError").verdict(1.1, 0.01) == "failed"
    assert math.isnan(compared([], [1.0]).ratio)


def test_the_table_tells_of_a_worse_minimum():
    worse = compared([1.0], [0.5])
    worse.head_objective = 10.2
    text = table([compared([1.0], [2.0]), worse], 1.1, 0.01)
    assert "slower" in text
    assert "faster, higher objective" in text
    assert "1.02000" in text


class Answers:
    """A side whose fits take the given seconds, in turn."""

    def __init__(self, seconds):
        self.seconds, self.calls = seconds, 0

    def __call__(self, task):
        self.calls += 1
        return {"seconds": self.seconds[min(self.calls, len(self.seconds)) - 1], "objective": 1.0}


def test_a_slow_case_is_measured_again():
    # The first fit does not count; two disturbed repeats are followed by five quiet ones.
    head = Answers([1.0, 2.0, 2.0, 2.0, 1.0, 1.0, 1.0])
    base = Answers([1.0])
    found = module.measure(CASES[0], ROOT, {"base": base, "head": head}, 3, 1.1, 0.01)
    assert base.calls == head.calls == 7
    assert len(found.head) == 6
    quiet = Answers([1.0])
    module.measure(CASES[0], ROOT, {"base": quiet, "head": Answers([1.0])}, 3, 1.1, 0.01)
    assert quiet.calls == 4


def test_slow_cases_get_three_repeats():
    slow, fast = Answers([60.0]), Answers([0.001])
    module.measure(CASES[0], ROOT, {"base": slow, "head": slow}, 7, 1.1, 0.01)
    module.measure(CASES[0], ROOT, {"base": fast, "head": fast}, 7, 1.1, 0.01)
    assert (slow.calls, fast.calls) == (2 + 2 * 3, 2 + 2 * 7)


def test_cases_have_data_and_one_name_each():
    assert {case.data for case in CASES} == set(DATA)
    assert len({case.name for case in CASES}) == len(CASES)


def test_the_working_tree_against_itself(monkeypatch):
    monkeypatch.setitem(DATA, "a1a", lambda: module.gaussians(200, 1)[:2])
    cases = [Case("toy", "a1a"), Case("odd", "a1a", "NoSuchClass")]
    both = {"base": ROOT / "src", "head": ROOT / "src"}
    toy, odd = compare(both, cases, 2, 1.1, 60.0)
    assert len(toy.base) == len(toy.head) == 2
    assert toy.objectives == 1.0
    assert toy.verdict(1.1, 60.0) == "same"
    assert "NoSuchClass" in odd.head_error


def test_wrong_words_are_refused(capsys, monkeypatch):
    assert main(["HEAD", "--only", "nothing"]) == 2
    assert "a9a" in capsys.readouterr().err
    monkeypatch.setattr(module, "ROOT", ROOT)
    with pytest.raises(SystemExit, match="no-such-commit"), installed("no-such-commit"):
        pass


def test_slower_ends_with_an_error(monkeypatch, capsys, tmp_path):
    class Nowhere:
        def __enter__(self):
            return tmp_path

        def __exit__(self, *reason):
            return None

    monkeypatch.setattr(module, "installed", lambda commit: Nowhere())
    answers = {"slow": [compared([1.0], [2.0])], "same": [compared([1.0], [1.0])]}
    for name, code in (("slow", 1), ("same", 0)):
        monkeypatch.setattr(module, "compare", lambda *_, name=name: answers[name])
        assert main(["HEAD"]) == code
    assert "slower than HEAD or failed: toy" in capsys.readouterr().err


@pytest.mark.slow
def test_a_commit_is_compiled_and_the_worktree_removed():
    if subprocess.run(["git", "rev-parse"], cwd=ROOT, capture_output=True, check=False).returncode:
        pytest.skip("not a checkout")
    with installed("HEAD") as folder:
        assert [*folder.rglob("_rows*.so"), *folder.rglob("_rows*.pyd")]
    assert not folder.exists()
