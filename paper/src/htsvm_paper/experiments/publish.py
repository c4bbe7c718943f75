"""Writes everything in the repository that follows from a store of results, by one command.

``python -m htsvm_paper.experiments.publish htsvm-results.sqlite`` in a checkout: the report, the tables
of results, the times that estimates are made from, and the page of the claims. A table of results
(``results/results.csv.gz``) may stand in the place of a store.

``python -m htsvm_paper.experiments.publish --restore htsvm-results.sqlite`` makes a store of the
published results, from which ``htsvm reproduce --profile hours`` goes on.
"""

from __future__ import annotations

import gzip
import sys
from pathlib import Path

from htsvm.files import written_whole
from htsvm_paper.experiments import paper_pages
from htsvm_paper.experiments.commands import stored, write_report
from htsvm_paper.experiments.estimate import write_times
from htsvm_paper.experiments.isolation import Outcome
from htsvm_paper.experiments.store import Store
from htsvm_paper.experiments.tasks import Profile

# Where the report puts its tables, and where they are kept.
TABLES = {"report.csv": "results.csv.gz", "report-tables.csv": "tables.csv.gz"}


def publish(source: Path, root: Path) -> None:
    """Write what follows from `source` into the checkout at `root`."""
    docs, results = root / "docs", root / "results"
    write_report([], source, docs / "report.html", Profile(paper_pages.PROFILE))
    for name, kept in TABLES.items():
        # No time inside: the same results give the same file.
        (results / kept).write_bytes(gzip.compress((docs / name).read_bytes(), mtime=0))
        (docs / name).unlink()
    paper_pages.main(docs / "paper", results / "results.csv.gz")
    cells, runs = stored(source)
    with written_whole(root / "src" / "htsvm" / "experiments" / "times.csv") as file:
        write_times(cells, runs, file)


def restore(root: Path, path: Path) -> None:
    """Make a store at `path` that holds the published results of the checkout at `root`."""
    if path.exists():
        raise ValueError(f"{path} exists; name a file that does not.")
    cells, runs = stored(root / "results" / "results.csv.gz")
    with Store(path) as store:
        numbers = {old: store.new_run(environment) for old, environment in runs.items()}
        for cell in cells:
            outcome = Outcome(
                cell.status, cell.reason, list(cell.rows), cell.seconds, cell.peak_mb, cell.base_mb
            )
            store.add(cell.task, outcome, run=numbers[cell.run], time_limit=cell.time_limit)


if __name__ == "__main__":
    if sys.argv[1] == "--restore":
        restore(Path.cwd(), Path(sys.argv[2]))
    else:
        publish(Path(sys.argv[1]), Path.cwd())
