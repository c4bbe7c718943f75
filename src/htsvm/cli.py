"""The command line: ``htsvm demo``, ``reproduce``, ``report`` and ``versions``.

Typer and rich come with the extras "demo" and "experiments" and are imported only when a command
runs, so that the package itself does not need them.
"""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any

NEEDED = ("typer", "rich", "matplotlib")
# The exit code of a command that Ctrl-C ended.
INTERRUPTED = 130


def main() -> None:
    """Run the command line, or say what to install for it."""
    if sys.argv[1:] in (["versions"], ["--version"]):
        _versions(sys.argv[1])
        return
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        sys.exit(
            f"htsvm: the command line needs {', '.join(missing)}. Install with:\n"
            '  pip install "htsvm[demo]"'
        )
    try:
        build_app()(prog_name="htsvm")
    except KeyboardInterrupt:
        sys.exit(INTERRUPTED)


def _versions(how: str) -> None:
    """Print the version, or all versions; needs no extra."""
    from htsvm import __version__, show_versions

    if how == "--version":
        print(f"htsvm {__version__}")
    else:
        show_versions()


def build_app() -> Any:
    """Return the Typer application with all commands."""
    import typer

    app = typer.Typer(
        help="Support vector machines for data whose labels cannot all be trusted.",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_show_locals=False,
    )

    def show_version(wanted: bool) -> None:
        if wanted:
            _versions("--version")
            raise typer.Exit

    @app.callback()
    def options(
        version: Annotated[
            bool,
            typer.Option(
                "--version", callback=show_version, is_eager=True, help="Print the version."
            ),
        ] = False,
    ) -> None:
        """Support vector machines for data whose labels cannot all be trusted."""

    @app.command()
    def demo(
        output: Annotated[
            Path, typer.Option("--output", "-o", help="Where to write the HTML report.")
        ] = Path("htsvm-demo.html"),
        quick: Annotated[
            bool, typer.Option("--quick", help="Fewer settings, in a few seconds.")
        ] = False,
        seed: Annotated[int, typer.Option(min=0, help="Drives splits, noise and solvers.")] = 0,
    ) -> None:
        """Compare HTSVC with its rivals while training labels are flipped."""
        try:
            _demo(output, quick=quick, seed=seed)
        except OSError as error:
            typer.echo(
                f"htsvm: cannot write the report to {output}: {error.strerror or error}", err=True
            )
            raise typer.Exit(1) from None
        except KeyboardInterrupt:
            typer.echo("htsvm: interrupted; no report was written.", err=True)
            raise typer.Exit(INTERRUPTED) from None

    _add_experiments(app)
    _add_audit(app)

    @app.command()
    def versions() -> None:
        """Show the versions of everything involved, for bug reports."""
        _versions("versions")

    return app


def _add_experiments(app: Any) -> None:
    """Add the commands of the experiments, which need an extra of their own."""
    from htsvm_paper.experiments.commands import add_commands

    add_commands(app)


def _add_audit(app: Any) -> None:
    """Add the commands that find wrong labels in a table."""
    from htsvm.audit.commands import add_commands

    add_commands(app)


def _demo(output: Path, *, quick: bool, seed: int) -> None:
    """Run the experiment with a progress bar, print its tables and write the report."""
    from dataclasses import replace

    from rich.console import Console
    from rich.progress import Progress

    from htsvm_paper.experiments.demo.data import available
    from htsvm_paper.experiments.demo.experiment import FULL, QUICK, run, tasks
    from htsvm_paper.experiments.demo.report import write_report
    from htsvm_paper.experiments.demo.summary import (
        complaints_in_words,
        gain_in_words,
        means_in_words,
        panels,
        wins_in_words,
    )
    from htsvm_paper.experiments.demo.table import terminal_table
    from htsvm.files import written_whole

    console = Console()
    base = QUICK if quick else replace(FULL, datasets=available())
    settings = replace(base, seed=seed)
    with written_whole(output) as file:
        with Progress(console=console, transient=True) as progress:
            bar = progress.add_task("Fitting", total=len(tasks(settings)) + 1)
            results = run(settings, lambda: progress.advance(bar))
            progress.update(bar, description="Drawing")
            write_report(results, file)
        shown = panels(results)
        console.print(gain_in_words(shown), style="bold")
        console.print()
        for panel in shown:
            console.print(terminal_table(panel))
        console.print(wins_in_words(shown))
        console.print(means_in_words(shown))
        console.print(complaints_in_words(results))
        console.print(
            f"C (and the cap) chosen by {settings.folds}-fold cross-validation on the noisy "
            f"training data for every method; {results.seconds:.0f} s in all."
        )
    console.print(f"Report: {output}", soft_wrap=True, highlight=False)
