"""From a store of results to the report, and to all in the repository that follows from it.

``python -m htsvm_paper.experiments.publish htsvm-results.sqlite`` in a checkout writes the tables
of results, the times that estimates are made from, and the pages of the claims and the errata. A
table of results (``paper/results/results.csv.gz``) may stand in the place of a store.

``python -m htsvm_paper.experiments.publish --restore htsvm-results.sqlite`` makes a store of the
published results, from which ``htsvm-paper reproduce --profile hours`` goes on.
"""

import gzip
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from htsvm_paper.experiments.catalogue import EXPERIMENTS, select
from htsvm_paper.experiments.estimate import write_times
from htsvm_paper.experiments.isolation import Outcome
from htsvm_paper.experiments.paper_pages import PAGES, PROFILE
from htsvm_paper.experiments.report import as_html, as_markdown, collect, tables_as_csv
from htsvm_paper.experiments.results import read_csv, write_csv
from htsvm_paper.experiments.store import Cell, Store
from htsvm_paper.experiments.tasks import Experiment, Profile
from htsvm_paper.files import written_whole

RESULTS = Path("paper") / "results"
# Where a report puts its tables, and where they are kept.
TABLES = {"report.csv": "results.csv.gz", "report-tables.csv": "tables.csv.gz"}


def stored(path: Path) -> tuple[list[Cell], dict[int, dict[str, str]]]:
    """Return cells and environments of a store, or of a published table of results."""
    if not path.is_file():
        raise ValueError(
            f"There is no {path}; run htsvm-paper reproduce first, or name it with --store."
        )
    if not path.name.endswith((".csv", ".csv.gz")):
        with Store(path, read_only=True) as store:
            return store.cells(), store.runs()
    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", newline="") as file:
        try:
            return read_csv(file)
        except (KeyError, TypeError, gzip.BadGzipFile) as error:
            raise ValueError(f"{path} is not a table of results: {error}.") from error


def write_report(
    experiments: Sequence[Experiment], path: Path, output: Path, profile: Profile
) -> list[Path]:
    """Write the report of a store; return what else was written: its Markdown and its tables."""
    cells, runs = stored(path)
    sections = collect(cells, list(experiments), profile)
    if not any(section.cells for section in sections):
        raise ValueError(f"{path} has no results of the profile {profile.name} to report.")
    beside = [output.with_suffix(".md"), output.with_suffix(".csv"),
              output.with_name(f"{output.stem}-tables.csv")]  # fmt: skip
    with written_whole(output) as page:
        page.write(as_html(sections, runs, profile))
        with written_whole(beside[0]) as text:
            text.write(as_markdown(sections, runs, profile))
        with written_whole(beside[1]) as lines:
            # Experiments may share cells.
            shown = {cell.task: cell for section in sections for cell in section.cells}
            write_csv(shown.values(), runs, lines)
        with written_whole(beside[2]) as lines:
            tables_as_csv(sections, lines)
    return beside


def publish(source: Path, root: Path) -> None:
    """Write what follows from `source` into the checkout at `root`."""
    cells, runs = stored(source)
    with TemporaryDirectory() as folder:
        write_report(select(), source, Path(folder) / "report.html", Profile(PROFILE))
        for name, kept in TABLES.items():
            # No time inside: the same results give the same file.
            packed = gzip.compress((Path(folder) / name).read_bytes(), mtime=0)
            (root / RESULTS / kept).write_bytes(packed)
    write_pages(cells, root / "docs" / "paper")
    with written_whole(Path(__file__).with_name("times.csv")) as file:
        write_times(cells, runs, file)


def write_pages(cells: Sequence[Cell], folder: Path) -> None:
    """Write the pages of the claims and the errata, with how many cells a verdict rests on."""
    there = {cell.task for cell in cells}
    wanted = {name: set(e.tasks(Profile(PROFILE))) for name, e in EXPERIMENTS.items()}
    computed = {name: (len(tasks & there), len(tasks)) for name, tasks in wanted.items()}
    for name, page in PAGES.items():
        (folder / name).write_text(page(computed), encoding="utf-8")


def restore(root: Path, path: Path) -> None:
    """Make a store at `path` that holds the published results of the checkout at `root`."""
    if path.exists():
        raise ValueError(f"{path} exists; name a file that does not.")
    cells, runs = stored(root / RESULTS / "results.csv.gz")
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
