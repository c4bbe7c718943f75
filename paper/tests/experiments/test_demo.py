from __future__ import annotations

import re
from html.parser import HTMLParser

import numpy as np
import pytest
from typer.testing import CliRunner

from htsvm_paper.cli import app
from htsvm_paper.experiments import demo
from htsvm_paper.experiments.methods import get
from htsvm_paper.experiments.results import Results
from htsvm_paper.experiments.tasks import Profile

QUICK = Profile("quick")


@pytest.fixture(scope="module")
def results():
    return demo.compute(QUICK, lambda: None)


@pytest.mark.parametrize("name", [demo.BREAST_CANCER, demo.GAUSSIANS])
def test_splits_are_standardised_and_repeatable(name):
    split = demo.clean_split(name, seed=3)
    np.testing.assert_allclose(split.X.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(split.X.std(axis=0), 1.0)
    np.testing.assert_array_equal(split.X, demo.clean_split(name, seed=3).X)
    assert not np.array_equal(split.X, demo.clean_split(name, seed=4).X)
    assert set(split.y) == {0, 1}


@pytest.mark.parametrize("noise", [demo.SYMMETRIC, demo.ONE_SIDED])
def test_noise_flips_the_asked_share_of_training_labels(noise):
    clean = demo.clean_split(demo.BREAST_CANCER, seed=0)
    noisy, flipped = demo.with_noise(clean, noise, 0.3, seed=1)
    among = clean.y == 1 if noise == demo.ONE_SIDED else np.ones(len(clean.y), dtype=bool)
    assert np.count_nonzero(flipped) == round(0.3 * np.count_nonzero(among))
    assert not flipped[~among].any()
    np.testing.assert_array_equal(noisy.y != clean.y, flipped)
    np.testing.assert_array_equal(noisy.y_test, clean.y_test)


def test_digits_are_moved_to_the_next_one():
    clean = demo.clean_split(demo.DIGITS, seed=0)
    noisy, moved = demo.with_noise(clean, demo.ONE_SIDED, 0.3, seed=1)
    assert moved.sum() == round(0.3 * len(clean.y))
    np.testing.assert_array_equal(noisy.y[moved], (clean.y[moved] + 1) % 10)
    np.testing.assert_array_equal(noisy.y[~moved], clean.y[~moved])


def test_a_cell_without_its_file_is_skipped(monkeypatch, tmp_path, only_named_folders):
    monkeypatch.setenv("HTSVM_OFFLINE", "1")
    monkeypatch.delenv("HTSVM_DATA", raising=False)
    task = next(t for t in demo.tasks(Profile()) if t.dataset == demo.INCOME)
    with pytest.raises(demo.Unavailable, match="a9a"):
        list(demo.run(task))


def test_every_method_is_fitted_and_only_ours_ignores(results):
    cells = results.cells
    assert len(cells) == 2 * len(demo.METHODS)
    for task, cell in cells.items():
        (row,) = cell.rows
        assert 0.5 < row.metrics["accuracy"] <= 1.0
        assert row.metrics["nsv"] > 0
        assert np.isnan(row.metrics["clean_ignored"]) == (task.method != demo.OURS)
        if task.method != demo.OURS:
            assert row.params["C"] in demo.QUICK.penalties


def test_mostly_wrong_labels_are_ignored(results):
    (_, (wrong, right)) = demo.ignored_table(results).rows[-1]
    # A search that chooses no cap ignores nothing.
    assert wrong.value >= right.value
    assert right.value < 15.0


def test_the_findings_are_those_of_the_cells(results):
    first, means, _ = demo.findings(results)
    noisy = {
        get(task.method).label: 100 * cell.rows[0].metrics["accuracy"]
        for task, cell in results.cells.items() if task.noise != "none"
    }  # fmt: skip
    assert all(f"{label} {value:.1f}%" in means for label, value in noisy.items())
    rivals = [value for label, value in noisy.items() if label != "HTSVCCV"]
    assert ("points more" in first) == (noisy["HTSVCCV"] >= max(rivals))


def test_a_set_without_results_is_left_out_of_the_page(results):
    shown = demo.sections(results, Profile())
    assert len(shown) == 1 + 2, "breast cancer alone, under both kinds of noise"
    assert len(demo.sections(Results([], demo.tasks(Profile())), Profile())) == 1 + 8


class Checker(HTMLParser):
    """Collects ids and everything that a page would load."""

    VOID = ("meta", "br", "link", "img", "path", "use")

    def __init__(self):
        super().__init__()
        self.ids, self.loads, self.open = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)
        self.ids += [value for name, value in attrs if name == "id"]
        links = [value for name, value in attrs if name in ("src", "href", "xlink:href")]
        self.loads += [link for link in links if not link.startswith(("#", "data:"))]

    def handle_endtag(self, tag):
        if tag not in self.VOID:
            assert self.open.pop() == tag


def test_the_command_prints_its_tables_and_writes_one_whole_page(tmp_path):
    path = tmp_path / "out.html"
    done = CliRunner().invoke(app, ["demo", "--quick", "--output", str(path), "--seed", "1"])
    assert done.exit_code == 0, done.output
    for text in ("HTSVCCV", "LinearSVC", "What HTSVCCV ignored", f"Page: {path}"):
        assert text in done.output
    text = path.read_text(encoding="utf-8")
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    assert checker.loads == []
    assert len(checker.ids) == len(set(checker.ids))
    assert not re.search(r"url\((?!#)", text)
    assert text.count("<svg") == 2 + 1 + 1
    assert "P-stationary" in text
    assert "#123456" not in text
    assert list(tmp_path.iterdir()) == [path]


def test_the_command_names_an_unwritable_path_before_it_works(tmp_path):
    path = tmp_path / "nowhere" / "out.html"
    done = CliRunner().invoke(app, ["demo", "--output", str(path)])
    assert done.exit_code == 1
    assert "does not exist" in done.output
    assert "Traceback" not in done.output
