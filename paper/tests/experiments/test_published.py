"""The report can be made again from the published results, to the last digit."""

from __future__ import annotations

import csv
import gzip
import io
import re
from html import escape
from pathlib import Path

import numpy as np
import pytest

from htsvm_paper.experiments.blocks import Table
from htsvm_paper.experiments.catalogue import EXPERIMENTS, select
from htsvm_paper.experiments.paper_pages import claims
from htsvm_paper.experiments.publish import publish, restore, write_report
from htsvm_paper.experiments.report import collect, tables_as_csv
from htsvm_paper.experiments.results import read_csv
from htsvm_paper.experiments.store import Store
from htsvm_paper.experiments.tasks import Profile

ROOT = Path(__file__).parents[3]
# The profile of the report in the repository.
PROFILE = Profile("hours")


@pytest.fixture(scope="module")
def published():
    path = ROOT / "paper" / "results" / "results.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as file:
        return read_csv(file)


def tables(cells, experiments):
    file = io.StringIO(newline="")
    tables_as_csv(collect(cells, experiments, PROFILE), file)
    return list(csv.reader(file.getvalue().splitlines()))


def test_tables_follow_from_the_published_results(published):
    cells, _ = published
    head, *lines = tables(cells, [EXPERIMENTS["data"], EXPERIMENTS["ablation"]])
    with gzip.open(
        ROOT / "paper" / "results" / "tables.csv.gz", "rt", encoding="utf-8", newline=""
    ) as file:
        expected_head, *expected = list(csv.reader(file))
    assert head == expected_head
    assert lines == [line for line in expected if line[0] in ("data", "ablation")]
    assert len(lines) > 20


def test_the_guide_on_kernels_shows_the_published_figures(published):
    cells, _ = published
    (section,) = collect(cells, [EXPERIMENTS["two-view-rbf"]], PROFILE)
    tables = {(block.protocol, block.metric): block for block in section.blocks
              if isinstance(block, Table) and block.metric}  # fmt: skip
    text = (ROOT / "docs" / "guide" / "kernels.md").read_text(encoding="utf-8")
    number = r" ([-+.\d–]+) \|"
    shown = re.findall(rf"^\| ([^|]+) \|{4 * number}$", text, re.M)
    assert len(shown) >= 6

    def mean(label, protocol, metric, form):
        table = tables[protocol, metric]
        column = [entries[table.columns.index(label)].value for _, entries in table.rows]
        return "–" if np.isnan(column).any() else format(float(np.mean(column)), form)

    for label, *figures in shown:
        assert figures == [
            mean(label, "paper", "accuracy", ".2f"), mean(label, "nested", "accuracy", ".2f"),
            mean(label, "nested", "nsv", ".0f"), mean(label, "nested", "change", "+.2f"),
        ]  # fmt: skip


def test_a_store_of_the_published_results_holds_them_all(published, tmp_path):
    cells, _ = published
    path = tmp_path / "x.sqlite"
    restore(ROOT, path)
    with Store(path, read_only=True) as store:
        again = store.cells()
    assert [(c.task, c.rows, c.seconds) for c in again] == [
        (c.task, c.rows, c.seconds) for c in cells
    ]
    with pytest.raises(ValueError, match="exists"):
        restore(ROOT, path)


def test_every_published_cell_belongs_to_a_profile(published):
    cells, _ = published
    known = {task for e in EXPERIMENTS.values() for name in ("hours", "full")
             for task in e.tasks(Profile(name))}  # fmt: skip
    assert cells
    assert all(cell.task in known for cell in cells)


@pytest.mark.slow
def test_publishing_the_published_results_changes_nothing(tmp_path):
    """Tables, claims and times are what one command makes of them."""
    kept = ("paper/results/results.csv.gz", "paper/results/tables.csv.gz", "docs/paper/claims.md",
            "docs/paper/errata.md")  # fmt: skip
    for folder in ("paper/results", "docs/paper"):
        (tmp_path / folder).mkdir(parents=True)
    publish(ROOT / "paper" / "results" / "results.csv.gz", tmp_path)
    for name in kept:
        assert (tmp_path / name).read_bytes() == (ROOT / name).read_bytes(), name


@pytest.mark.slow
def test_the_report_is_built_from_the_published_results(tmp_path):
    """With every table, figure and claim; the sentences that open it are computed."""
    page = tmp_path / "report.html"
    write_report(select(), ROOT / "paper" / "results" / "results.csv.gz", page, PROFILE)
    text = page.read_text(encoding="utf-8")
    assert all(f"<section id='{name}'>" in text for name in EXPERIMENTS)
    assert (text.count("<svg"), text.count("<details class='table'")) == (32, 131)
    assert all(escape(claim.claim) in text for claim in claims())
    opening = re.findall(r"<ol class='opening'>(.*?)</ol>", text)[0].split("</li>")[:-1]
    assert len(opening) == len(set(opening)) == 8
    assert "nan" not in "".join(opening)
