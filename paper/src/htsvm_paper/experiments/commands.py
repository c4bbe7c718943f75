"""``htsvm reproduce`` and ``htsvm report``."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer

from htsvm.refusals import check_extra, refusals

# Also the name that a run and a report agree on when none is given.
STORE = Path("htsvm-results.sqlite")
NEEDED = ("pandas", "scikit_posthocs", "threadpoolctl")

Names = Annotated[
    list[str] | None, typer.Argument(help="Experiments; all by default. --list shows them.")
]
StoreOption = Annotated[Path, typer.Option("--store", help="The file with the results.")]
ProfileOption = Annotated[
    str, typer.Option(help="How much: quick (minutes), hours (fewer repetitions) or full.")
]
QuickOption = Annotated[bool, typer.Option("--quick", help="The same as --profile quick.")]
SeedOption = Annotated[int, typer.Option(min=0, help="Drives folds, noise, draws and methods.")]


def add_commands(app: Any) -> None:
    """Add the two commands to a Typer application."""

    @app.command()  # type: ignore[untyped-decorator]
    def reproduce(
        experiments: Names = None,
        listing: Annotated[bool, typer.Option("--list", help="List the experiments.")] = False,
        profile: ProfileOption = "full",
        quick: QuickOption = False,
        jobs: Annotated[int, typer.Option("--jobs", "-j", min=1, help="Cells at a time.")] = 2,
        methods: Annotated[
            str | None, typer.Option(help="Only these methods, separated by commas.")
        ] = None,
        datasets: Annotated[
            str | None, typer.Option(help="Only these data sets; wildcards, as stl10:*.")
        ] = None,
        time_limit: Annotated[
            float, typer.Option(min=1.0, help="Seconds for a cell; then it is marked.")
        ] = 1800.0,
        minutes: Annotated[
            float | None, typer.Option(min=0.0, help="After so long no further cell is begun.")
        ] = None,
        retry: Annotated[bool, typer.Option("--retry", help="Compute marked cells again.")] = False,
        store: StoreOption = STORE,
        seed: SeedOption = 0,
    ) -> None:
        """Compute the paper's tables and figures; stop and continue at any time."""
        check_extra("the experiments need", "experiments", NEEDED)
        if listing:
            _list()
            return
        with refusals("the same command continues"):
            _reproduce(
                experiments or [], store, _profile(profile, quick, seed),
                jobs=jobs, time_limit=time_limit, minutes=minutes, retry=retry,
                methods=_split(methods, "--methods"), datasets=_split(datasets, "--datasets"),
            )  # fmt: skip

    @app.command()  # type: ignore[untyped-decorator]
    def report(
        experiments: Names = None,
        store: StoreOption = STORE,
        output: Annotated[
            Path, typer.Option("--output", "-o", help="The page; .md and .csv go beside it.")
        ] = Path("htsvm-report.html"),
        profile: ProfileOption = "full",
        quick: QuickOption = False,
        seed: SeedOption = 0,
    ) -> None:
        """Write the results beside the paper's numbers: HTML, Markdown and CSV.

        A store ending in .csv or .csv.gz is a table of results that an earlier report wrote.
        """
        check_extra("the experiments need", "experiments", NEEDED)
        with refusals("the same command continues"):
            write_report(experiments or [], store, output, _profile(profile, quick, seed))


def _split(names: str | None, option: str) -> list[str] | None:
    if names is None:
        return None
    found = [name.strip() for name in names.split(",") if name.strip()]
    if not found:
        raise ValueError(f"{option} names nothing, got {names!r}; leave it out for all.")
    return found


def _profile(name: str, quick: bool, seed: int) -> Any:
    from htsvm_paper.experiments.tasks import QUICK, Profile

    return Profile(QUICK if quick else name, seed)


def _list() -> None:
    from rich.console import Console
    from rich.table import Table

    from htsvm_paper.experiments.catalogue import EXPERIMENTS
    from htsvm_paper.experiments.estimate import Estimate
    from htsvm_paper.experiments.tasks import PROFILES, Profile

    table = Table("experiment", "shows", "what", *PROFILES, box=None)
    table.columns[0].no_wrap = True
    estimate = Estimate.shipped()
    for experiment in EXPERIMENTS.values():
        tasks = [experiment.tasks(Profile(name)) for name in PROFILES]
        about = [f"{len(t)} cells, {estimate.in_words(t)}" if t else "-" for t in tasks]
        table.add_row(experiment.name, experiment.shows, experiment.title, *about)
    console = Console()
    console.print(table)
    console.print("Times are those of one core; --jobs N needs an N-th of them.")


def _reproduce(
    names: list[str],
    path: Path,
    profile: Any,
    *,
    jobs: int,
    time_limit: float,
    minutes: float | None,
    retry: bool,
    methods: list[str] | None,
    datasets: list[str] | None,
) -> None:
    from rich.console import Console

    from htsvm_paper.experiments.catalogue import select
    from htsvm_paper.experiments.estimate import Estimate
    from htsvm_paper.experiments.isolation import ELSEWHERE, SKIPPED
    from htsvm_paper.experiments.runner import Selection, compute, plan
    from htsvm_paper.experiments.store import Store

    # Names such as stl10:airplane:bird are not emoji.
    console = Console(emoji=False, markup=False, highlight=False)
    chosen = select(names)
    with Store(path) as store:
        todo, there = plan(
            chosen, profile, store,
            selection=Selection(methods, datasets), time_limit=time_limit, retry=retry,
        )  # fmt: skip
        console.print(f"{len(todo)} cells to compute, {there} there already, in {path}.")
        if todo:
            needed = Estimate.of(store.cells(), store.runs()).in_words(todo, jobs)
            console.print(f"That takes {needed}, {jobs} at a time, judged by stored times.")
        skipped: dict[str, None] = {}
        with _progress(console, len(todo), skipped) as show:
            counts = compute(
                todo, store, jobs=jobs, time_limit=time_limit, minutes=minutes, progress=show
            )
    for reason in skipped:
        console.print(f"skipped: {reason}", soft_wrap=True)
    ended = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    if todo and set(counts) == {SKIPPED}:
        console.print(f"{ended}: nothing was computed. {_advice(list(skipped))}", soft_wrap=True)
        raise typer.Exit(1)
    if counts.get(ELSEWHERE):
        console.print("Cells elsewhere are computed by another run on the same store.")
    options = f" --store {shlex.quote(str(path))} --profile {profile.name}"
    options += f" --seed {profile.seed}" if profile.seed else ""
    console.print(f"{ended or 'Nothing to do'}. Next: htsvm report{options}", soft_wrap=True)


@contextmanager
def _progress(console: Any, total: int, skipped: dict[str, None]) -> Iterator[Any]:
    """Yield what is called after each cell: a bar, or lines where the output is no terminal."""
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeElapsedColumn,
        TimeRemainingColumn,
    )

    from htsvm_paper.experiments.isolation import DONE, ELSEWHERE, LEFT, SKIPPED

    columns = (
        TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(),
        TimeElapsedColumn(), TextColumn("left"), TimeRemainingColumn(),
    )  # fmt: skip
    log = _Log(total, console.print)
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("starting", total=total)

        def show(task: Any, outcome: Any) -> None:
            progress.update(bar, advance=1, description=f"{task.experiment} {task.dataset}")
            if not console.is_terminal:
                log.advance(task)
            if outcome.status == SKIPPED:
                skipped[outcome.reason] = None
            elif outcome.status not in (DONE, ELSEWHERE, LEFT):
                progress.console.print(f"{task}: {outcome.status}, {outcome.reason}")

        yield show


def _advice(reasons: list[str]) -> str:
    """Return what to do where every cell was skipped."""
    if any("is not here" in reason or "HTSVM_DATA" in reason for reason in reasons):
        return "Put the files where the lines above say, or try --quick from a checkout."
    return 'Install what is missing: pip install "htsvm[experiments]"'


class _Log:
    """Lines instead of a bar, for output that goes to a file: one per twentieth of the work."""

    def __init__(self, total: int, write: Any) -> None:
        self.total = total
        self.write = write
        self.done = 0
        self.began = time.monotonic()

    def advance(self, task: Any) -> None:
        """Count a cell, and write a line now and then."""
        self.done += 1
        if self.done * 20 // self.total > (self.done - 1) * 20 // self.total:
            minutes = (time.monotonic() - self.began) / 60.0
            left = minutes * (self.total - self.done) / self.done
            self.write(
                f"{self.done} of {self.total} cells, {minutes:.1f} min so far, about "
                f"{left:.1f} min left ({task.experiment} {task.dataset})"
            )


def write_report(names: list[str], path: Path, output: Path, profile: Any) -> None:
    """Write the report of a store, its Markdown and its tables."""
    from htsvm.files import written_whole
    from htsvm_paper.experiments.catalogue import select
    from htsvm_paper.experiments.published import write_csv
    from htsvm_paper.experiments.report import as_html, as_markdown, collect, tables_as_csv

    if not path.is_file():
        raise ValueError(f"There is no {path}; run htsvm reproduce first, or name it with --store.")
    cells, runs = stored(path)
    sections = collect(cells, select(names), profile)
    if not any(section.cells for section in sections):
        raise ValueError(f"{path} has no results of the profile {profile.name} to report.")
    with written_whole(output) as page:
        page.write(as_html(sections, runs, profile))
        with written_whole(output.with_suffix(".md")) as text:
            text.write(as_markdown(sections, runs, profile))
        with written_whole(output.with_suffix(".csv")) as lines:
            # Experiments may share cells.
            shown = {cell.task: cell for section in sections for cell in section.cells}
            write_csv(shown.values(), runs, lines)
        with written_whole(output.with_name(f"{output.stem}-tables.csv")) as lines:
            tables_as_csv(sections, lines)
    beside = ", ".join(
        (output.with_suffix(".md").name, output.with_suffix(".csv").name,
         f"{output.stem}-tables.csv")
    )  # fmt: skip
    typer.echo(f"Report: {output} (and {beside})")


def stored(path: Path) -> tuple[list[Any], dict[int, dict[str, str]]]:
    """Return cells and environments of a store, or of a published table of results."""
    from htsvm_paper.experiments.published import read_csv
    from htsvm_paper.experiments.store import Store

    if not path.name.endswith((".csv", ".csv.gz")):
        with Store(path, read_only=True) as store:
            return store.cells(), store.runs()
    import gzip

    opener = gzip.open if path.suffix == ".gz" else open
    with opener(path, "rt", encoding="utf-8", newline="") as file:
        try:
            return read_csv(file)
        except (KeyError, TypeError, gzip.BadGzipFile) as error:
            raise ValueError(f"{path} is not a table of results: {error}.") from error
