from __future__ import annotations

import io
import math
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pytest

from htsvm.files import written_whole
from htsvm_paper.experiments.demo import data
from htsvm_paper.experiments.demo.experiment import FULL, QUICK, Record, Results, run, tasks
from htsvm_paper.experiments.demo.methods import METHODS
from htsvm_paper.experiments.demo.report import write_report
from htsvm_paper.experiments.demo.summary import (
    complaints_in_words,
    gain_in_words,
    means_in_words,
    panels,
    wins,
)
from htsvm_paper.experiments.demo.table import html_table, percent, terminal_table

PAIR = (data.BREAST_CANCER, data.GAUSSIANS)
TINY = replace(
    QUICK, datasets=PAIR, rates=(0.0, 0.2), noises=data.NOISES, penalties=(0.125,), repetitions=1
)


@pytest.fixture(scope="module")
def tiny_results():
    calls = []
    results = run(TINY, lambda: calls.append(1))
    assert len(calls) == len(tasks(TINY))
    return results


@pytest.fixture(scope="module")
def tiny_report(tiny_results):
    file = io.StringIO()
    write_report(tiny_results, file)
    return file.getvalue()


@pytest.mark.parametrize("name", PAIR)
def test_splits_are_standardised_and_repeatable(name):
    split = data.load(name, seed=3)
    np.testing.assert_allclose(split.X.mean(axis=0), 0.0, atol=1e-9)
    np.testing.assert_allclose(split.X.std(axis=0), 1.0)
    np.testing.assert_array_equal(split.X, data.load(name, seed=3).X)
    assert not np.array_equal(split.X, data.load(name, seed=4).X)
    assert set(split.y) == {0, 1}


@pytest.mark.parametrize("noise", data.NOISES)
def test_noise_flips_the_asked_share_of_training_labels(noise):
    clean = data.load(data.BREAST_CANCER, seed=0)
    noisy = data.with_noise(clean, noise, 0.3, seed=1)
    among = clean.y == 1 if noise == data.ONE_SIDED else np.ones(len(clean.y), dtype=bool)
    assert np.count_nonzero(noisy.flipped) == round(0.3 * np.count_nonzero(among))
    assert not noisy.flipped[~among].any()
    np.testing.assert_array_equal(noisy.y != clean.y, noisy.flipped)
    np.testing.assert_array_equal(noisy.y_test, clean.y_test)


def test_more_noise_keeps_the_labels_that_less_has_flipped():
    clean = data.load(data.GAUSSIANS, seed=0)
    some = data.with_noise(clean, data.SYMMETRIC, 0.1, seed=1).flipped
    more = data.with_noise(clean, data.SYMMETRIC, 0.2, seed=1).flipped
    assert more[some].all()


def test_digits_are_moved_to_the_next_one():
    clean = data.load(data.DIGITS, seed=0)
    assert set(clean.y) == set(range(10))
    noisy = data.with_noise(clean, data.ONE_SIDED, 0.3, seed=1)
    moved = noisy.flipped
    assert moved.sum() == round(0.3 * len(clean.y))
    np.testing.assert_array_equal(noisy.y[moved], (clean.y[moved] + 1) % 10)
    np.testing.assert_array_equal(noisy.y[~moved], clean.y[~moved])


def test_a_data_set_without_a_file_is_left_out(monkeypatch):
    def missing(name):
        raise data.DataFileError(name)

    monkeypatch.setattr(data, "published", missing)
    assert data.available() == (data.BREAST_CANCER, data.GAUSSIANS, data.DIGITS)


@pytest.mark.filterwarnings("ignore")  # such extreme penalties make some methods complain
@pytest.mark.parametrize("method", METHODS[1:], ids=lambda m: m.name)
def test_every_method_gets_the_penalty(method):
    split = data.with_noise(data.load(data.BREAST_CANCER, 0), data.SYMMETRIC, 0.2, 1)
    norms = [
        np.linalg.norm(method.make(C, len(split.y), 0).fit(split.X, split.y).coef_)
        for C in (1e-3, 1.0)
    ]
    assert norms[0] < 0.5 * norms[1]


def test_tasks_share_the_clean_fits():
    cells = 4 * FULL.repetitions * (1 + 2 * (len(FULL.rates) - 1))
    assert len(tasks(FULL)) == cells * len(METHODS)
    assert len(tasks(TINY)) == 2 * (1 + 2) * len(METHODS)


def test_results_have_a_record_per_method_and_setting(tiny_results):
    assert len(tiny_results.records) == 2 * 2 * 2 * len(METHODS)
    for record in tiny_results.records:
        assert 0.5 < record.accuracy <= 1.0
        assert record.support > 0
        assert math.isnan(record.clean_ignored) == (record.method != "HTSVCCV")
        assert math.isnan(record.flipped_ignored) == (
            record.method != "HTSVCCV" or record.rate == 0.0
        )


def test_mostly_wrong_labels_are_ignored(tiny_results):
    for panel in panels(tiny_results):
        assert panel.flipped_ignored[1] >= panel.clean_ignored[1]
        assert panel.clean_ignored[1] < 0.15


def test_wins_count_ties_for_all_and_the_clean_setting_once(tiny_results):
    shown = panels(tiny_results)
    count, total = wins(shown)
    assert total == 2 * (1 + 2)
    assert sum(count.values()) >= total
    assert set(count) == {method.name for method in METHODS}


def test_a_rival_that_wins_is_said_to_win():
    results = Results(replace(TINY, rates=(0.2,), noises=(data.SYMMETRIC,)))
    for dataset in PAIR:
        for i, method in enumerate(METHODS):
            accuracy = 0.9 + 0.01 * i
            setting = (dataset, data.SYMMETRIC, 0.2, 0, method.name, 1.0)
            results.records.append(Record(*setting, accuracy, 5, 0.1, 0.5, 0.1))
    shown = panels(results)
    count, _ = wins(shown)
    assert count[METHODS[-1].name] == 2
    assert count["HTSVCCV"] == 0
    assert "points less" in gain_in_words(shown)
    assert f"labels: {METHODS[-1].name} 94.0%" in means_in_words(shown)
    assert all(panel.rows[-1].best == (True,) for panel in shown)


def test_warnings_are_told(tiny_results):
    quiet = Results(TINY)
    assert complaints_in_words(quiet) == "No fit with the chosen C gave a warning."
    quiet.complaints["SGD", "ConvergenceWarning"] = 3
    assert "SGD 3 × ConvergenceWarning" in complaints_in_words(quiet)


def test_percent():
    assert percent(0.1234) == "12.3"
    assert percent(float("nan")) == "–"


def test_tables_have_a_row_per_method(tiny_results):
    panel = panels(tiny_results)[0]
    assert terminal_table(panel).row_count == len(METHODS) + 2
    assert html_table(panel).count("<tr>") == 1 + len(METHODS) + 2


class Checker(HTMLParser):
    """Collects ids and everything that a page would load."""

    VOID = ("meta", "br", "link", "img")

    def __init__(self):
        super().__init__()
        self.ids, self.loads, self.open = [], [], []

    def handle_starttag(self, tag, attrs):
        if tag not in self.VOID:
            self.open.append(tag)
        self.look(attrs)

    def handle_startendtag(self, tag, attrs):
        self.look(attrs)

    def look(self, attrs):
        for name, value in attrs:
            if name == "id":
                self.ids.append(value)
            if name in ("src", "href", "xlink:href") and not value.startswith("#"):
                self.loads.append(value)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_report_is_whole_and_needs_nothing_else(tiny_report):
    checker = Checker()
    checker.feed(tiny_report)
    assert checker.open == []
    assert checker.loads == []
    assert len(checker.ids) == len(set(checker.ids))
    assert "@import" not in tiny_report
    assert not re.search(r"url\((?!#)", tiny_report)
    used = set(re.findall(r'(?:xlink:href="|url\()#([^")]+)', tiny_report))
    assert used <= set(checker.ids)


def test_report_holds_what_it_promises(tiny_report):
    assert tiny_report.count("<svg") == 4 + 2 + 2 + 1 + 1
    assert tiny_report.count("<table>") == 4
    assert "$" not in tiny_report
    assert "P-stationary" in tiny_report
    assert "scikit-learn" in tiny_report
    assert "currentColor" in tiny_report
    assert "#123456" not in tiny_report


def test_written_whole(tmp_path):
    path = tmp_path / "report.html"
    with written_whole(path) as file:
        file.write("new")
        assert not path.exists()
    assert path.read_text() == "new"
    assert list(tmp_path.iterdir()) == [path]


def test_written_whole_keeps_the_old_file_on_failure(tmp_path):
    path = tmp_path / "report.html"
    path.write_text("old")

    def interrupted():
        with written_whole(path) as file:
            file.write("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_written_whole_refuses_early(tmp_path):
    with pytest.raises(OSError, match="is not a file"), written_whole(tmp_path):
        pytest.fail("the block must not run")
    missing = tmp_path / "missing" / "report.html"
    with pytest.raises(OSError, match="missing does not exist"), written_whole(missing):
        pytest.fail("the block must not run")
