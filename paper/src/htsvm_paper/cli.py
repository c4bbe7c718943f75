"""The command line: ``htsvm-paper reproduce``, ``report`` and ``demo``."""

import shlex
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from html import escape
from math import isnan
from pathlib import Path
from typing import Annotated

import typer
from rich import progress as bars
from rich.console import Console
from rich.table import Table

from htsvm_paper.experiments.blocks import Block, Words, said
from htsvm_paper.experiments.blocks import Table as BlockTable
from htsvm_paper.experiments.catalogue import EXPERIMENTS, select
from htsvm_paper.experiments.environment import environment
from htsvm_paper.experiments.estimate import Estimate
from htsvm_paper.experiments.isolation import DONE, ELSEWHERE, LEFT, SKIPPED, Outcome
from htsvm_paper.experiments.publish import write_report
from htsvm_paper.experiments.render import number
from htsvm_paper.experiments.runner import Selection, compute, plan
from htsvm_paper.experiments.store import Store
from htsvm_paper.experiments.tasks import PROFILES, QUICK, Profile, Task
from htsvm_paper.files import written_whole

# Also the name that a run and a report agree on when none is given.
STORE = Path("htsvm-results.sqlite")
# The exit code of a command that Ctrl-C ended.
INTERRUPTED = 130
PROGRESS = (
    bars.TextColumn("{task.description}", markup=False), bars.BarColumn(),
    bars.MofNCompleteColumn(), bars.TimeElapsedColumn(), bars.TextColumn("left"),
    bars.TimeRemainingColumn(),
)  # fmt: skip

Output = Annotated[
    Path, typer.Option("--output", "-o", help="The page; a report has .md and .csv beside it.")
]
Names = Annotated[
    list[str] | None, typer.Argument(help="Experiments; all by default. --list shows them.")
]
StoreOption = Annotated[Path, typer.Option("--store", help="The file with the results.")]
ProfileOption = Annotated[
    str, typer.Option(help="How much: quick (minutes), hours (fewer repetitions) or full.")
]
QuickOption = Annotated[bool, typer.Option("--quick", help="The same as --profile quick.")]
SeedOption = Annotated[int, typer.Option(min=0, help="Drives folds, noise, draws and methods.")]
Listing = Annotated[bool, typer.Option("--list", help="List the experiments.")]
Jobs = Annotated[int, typer.Option("--jobs", "-j", min=1, help="Cells at a time.")]
Methods = Annotated[str | None, typer.Option(help="Only these methods, separated by commas.")]
Sets = Annotated[str | None, typer.Option(help="Only these data sets; wildcards, as stl10:*.")]
Limit = Annotated[float, typer.Option(min=1.0, help="Seconds for a cell; then it is marked.")]
Minutes = Annotated[
    float | None, typer.Option(min=0.0, help="After so long no further cell is begun.")
]
Retry = Annotated[bool, typer.Option("--retry", help="Compute marked cells again.")]

app = typer.Typer(
    help="The experiments of the paper behind htsvm.",
    no_args_is_help=True, add_completion=False, pretty_exceptions_show_locals=False,
)  # fmt: skip


def main() -> None:
    """Run the command line."""
    app(prog_name="htsvm-paper")


@contextmanager
def _refusals(interrupted: str = "the same command continues") -> Iterator[None]:
    """Turn refused input into one line; `interrupted` says what Ctrl-C leaves behind."""
    try:
        yield
    except (ValueError, OSError) as error:
        typer.echo(f"htsvm-paper: {error}", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.echo(f"htsvm-paper: interrupted; {interrupted}.", err=True)
        raise typer.Exit(INTERRUPTED) from None


@app.command()
def reproduce(
    experiments: Names = None, listing: Listing = False, profile: ProfileOption = "full",
    quick: QuickOption = False, jobs: Jobs = 2, methods: Methods = None, datasets: Sets = None,
    time_limit: Limit = 1800.0, minutes: Minutes = None, retry: Retry = False,
    store: StoreOption = STORE, seed: SeedOption = 0,
) -> None:  # fmt: skip
    """Compute the paper's tables and figures; stop and continue at any time."""
    if listing:
        _list()
        return
    with _refusals():
        wanted = Profile(QUICK if quick else profile, seed)
        only = Selection(_split(methods, "--methods"), _split(datasets, "--datasets"))
        # Names such as stl10:airplane:bird are not emoji.
        console = Console(emoji=False, markup=False, highlight=False)
        skipped: dict[str, None] = {}
        with Store(store) as opened:
            todo, there = plan(
                select(experiments or []), wanted, opened,
                selection=only, time_limit=time_limit, retry=retry,
            )  # fmt: skip
            console.print(f"{len(todo)} cells to compute, {there} there already, in {store}.")
            if todo:
                needed = Estimate.of(opened.cells(), opened.runs()).in_words(todo, jobs)
                console.print(f"That takes {needed}, {jobs} at a time, judged by stored times.")
            with _progress(console, len(todo), skipped) as show:
                counts = compute(
                    todo, opened, jobs=jobs, time_limit=time_limit, minutes=minutes, progress=show
                )
        _tell_end(console, counts, list(skipped), store, wanted)


def _split(names: str | None, option: str) -> list[str] | None:
    if names is None:
        return None
    found = [name.strip() for name in names.split(",") if name.strip()]
    if not found:
        raise ValueError(f"{option} names nothing, got {names!r}; leave it out for all.")
    return found


def _list() -> None:
    table = Table("experiment", "shows", "what", *PROFILES, box=None)
    table.columns[0].no_wrap = True
    estimate = Estimate.of()
    for experiment in EXPERIMENTS.values():
        tasks = [experiment.tasks(Profile(name)) for name in PROFILES]
        about = [f"{len(t)} cells, {estimate.in_words(t)}" if t else "-" for t in tasks]
        table.add_row(experiment.name, experiment.shows, experiment.title, *about)
    console = Console()
    console.print(table)
    console.print("Times are those of one core; --jobs N needs an N-th of them.")


@contextmanager
def _progress(
    console: Console, total: int, skipped: dict[str, None]
) -> Iterator[Callable[[Task, Outcome], None]]:
    """Yield what is called after each cell: a bar, or lines where the output is no terminal."""
    done, began = 0, time.monotonic()
    with bars.Progress(*PROGRESS, console=console) as progress:
        bar = progress.add_task("starting", total=total)

        def show(task: Task, outcome: Outcome) -> None:
            nonlocal done
            done += 1
            progress.update(bar, advance=1, description=f"{task.experiment} {task.dataset}")
            # A line for each twentieth of the work.
            if not console.is_terminal and done * 20 // total > (done - 1) * 20 // total:
                minutes = (time.monotonic() - began) / 60.0
                console.print(
                    f"{done} of {total} cells, {minutes:.1f} min so far, about "
                    f"{minutes * (total - done) / done:.1f} min left ({task.experiment} "
                    f"{task.dataset})"
                )
            if outcome.status == SKIPPED:
                skipped[outcome.reason] = None
            elif outcome.status not in (DONE, ELSEWHERE, LEFT):
                progress.console.print(f"{task}: {outcome.status}, {outcome.reason}")

        yield show


def _tell_end(
    console: Console, counts: dict[str, int], skipped: list[str], store: Path, profile: Profile
) -> None:
    """Print how the cells ended and what comes next; exit with 1 where all were skipped."""
    for reason in skipped:
        console.print(f"skipped: {reason}", soft_wrap=True)
    ended = ", ".join(f"{count} {status}" for status, count in sorted(counts.items()))
    if set(counts) == {SKIPPED}:
        files = any("is not here" in reason or "HTSVM_DATA" in reason for reason in skipped)
        advice = "Put the files where the lines above say, or try --quick from a checkout."
        advice = advice if files else "Install what the lines above name."
        console.print(f"{ended}: nothing was computed. {advice}", soft_wrap=True)
        raise typer.Exit(1)
    if counts.get(ELSEWHERE):
        console.print("Cells elsewhere are computed by another run on the same store.")
    options = f" --store {shlex.quote(str(store))} --profile {profile.name}"
    options += f" --seed {profile.seed}" if profile.seed else ""
    console.print(f"{ended or 'Nothing to do'}. Next: htsvm-paper report{options}", soft_wrap=True)


@app.command()
def report(
    experiments: Names = None, store: StoreOption = STORE,
    output: Output = Path("htsvm-report.html"), profile: ProfileOption = "full",
    quick: QuickOption = False, seed: SeedOption = 0,
) -> None:  # fmt: skip
    """Write the results beside the paper's numbers: HTML, Markdown and CSV.

    A store ending in .csv or .csv.gz is a table of results that an earlier report wrote.
    """
    with _refusals():
        wanted = Profile(QUICK if quick else profile, seed)
        written = write_report(select(experiments or []), store, output, wanted)
        typer.echo(f"Report: {output} (and {', '.join(path.name for path in written)})")


@app.command()
def demo(
    output: Output = Path("htsvm-demo.html"), quick: QuickOption = False, seed: SeedOption = 0
) -> None:
    """Compare HTSVCCV with its rivals while training labels are flipped."""
    from htsvm_paper.experiments import demo as shown
    from htsvm_paper.experiments.report import Section, as_html

    console, profile = Console(), Profile(QUICK if quick else "full", seed)
    with _refusals("no page was written"), written_whole(output) as page:
        with bars.Progress(*PROGRESS, console=console, transient=True) as progress:
            bar = progress.add_task("fitting", total=len(shown.tasks(profile)))
            results = shown.compute(profile, lambda: progress.advance(bar))
        found = shown.findings(results)
        blocks: list[Block] = [
            *shown.sections(results, profile), shown.ignored_table(results),
            *shown.pictures(seed),
        ]  # fmt: skip
        section = Section(shown.EXPERIMENT, blocks, list(results.cells.values()))
        opening = "".join(f"<p>{escape(line)}</p>" for line in found)
        page.write(as_html([section], {0: environment()}, profile, opening=opening,
                           title="Linear classifiers when labels are wrong",
                           about="HTSVC stops listening to samples far on the wrong side; HTSVCCV "
                           "chooses how soon. Test labels are always right."))  # fmt: skip
        for block in (said(*found), *blocks):
            _print(console, block)
    console.print(f"Page: {output}", soft_wrap=True, highlight=False)


def _print(console: Console, block: Block) -> None:
    """Print words and tables on the terminal; pictures are in the page."""
    if isinstance(block, Words):
        console.print("\n".join(block.lines), highlight=False)
    elif isinstance(block, BlockTable):
        title = f"\n{block.title.split(':')[0]}"
        table = Table(block.corner, *block.columns, title=title, title_justify="left", box=None,
                      padding=(0, 1), pad_edge=False)  # fmt: skip
        for label, entries in block.rows:
            texts = (e.mark if isnan(e.value) else number(e.value, block.decimals) for e in entries)
            table.add_row(label, *texts)
        console.print(table)
