"""``htsvm audit`` and ``htsvm audit apply``."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from htsvm.cli import INTERRUPTED

# The exit code where nothing predicts the labels.
NOTHING_LEARNED = 3


class _AuditGroup(TyperGroup):
    """``htsvm audit data.csv`` is ``htsvm audit run data.csv``."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Take a first word that is no command for the table."""
        if args and args[0] not in self.commands:
            args = ["run", *args]
        return super().resolve_command(ctx, args)


def add_commands(app: Any) -> None:
    """Add the group ``audit`` to a Typer application."""
    group = typer.Typer(
        cls=_AuditGroup, help="Find wrong labels in a table, and review them on a page.",
        no_args_is_help=True,
        context_settings={"ignore_unknown_options": True, "allow_extra_args": True},
    )  # fmt: skip
    app.add_typer(group, name="audit")

    @group.command(context_settings={"ignore_unknown_options": False})
    def run(
        table: Annotated[str, typer.Argument(help="CSV, Parquet, Feather, data.db::table.")],
        label: Annotated[str, typer.Option(help="The column with the labels.")],
        id: Annotated[str | None, typer.Option(help="A column that names the rows.")] = None,
        text: Annotated[list[str] | None, typer.Option(help="Texts; may be given again.")] = None,
        image: Annotated[str | None, typer.Option(help="Files, relative to the table.")] = None,
        output: Annotated[
            Path, typer.Option("--output", "-o", help="The page; beside it a CSV of that name.")
        ] = Path("audit.html"),
        whole: Annotated[bool, typer.Option("--all", help="Show all rows on the page.")] = False,
        force: Annotated[bool, typer.Option("--force", help="Replace existing files.")] = False,
    ) -> None:
        """Audit a table; the word run may be left out: htsvm audit data.csv --label species."""
        with _refusals():
            _run(table, label, id, text or [], image, output, whole, force)

    @group.command()
    def apply(
        table: Annotated[str, typer.Argument(help="The table that was audited.")],
        corrections: Annotated[Path, typer.Argument(help="What the page exported.")],
        output: Annotated[Path, typer.Option("--output", "-o", help="The corrected table.")],
        force: Annotated[bool, typer.Option("--force", help="Replace an existing file.")] = False,
    ) -> None:
        """Write the table with the labels of a review; a next audit trusts those."""
        with _refusals():
            from htsvm.audit.corrections import apply_corrections

            done = apply_corrections(table, corrections, output, force)
            said = f"{done['changed']} labels changed, {done['kept']} confirmed"
            typer.echo(f"{said}, {done['unsure']} left as unsure: {output}")


@contextmanager
def _refusals() -> Iterator[None]:
    """Turn refused input into one line."""
    try:
        yield
    except (ValueError, OSError) as error:
        typer.echo(f"htsvm: {error}", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.echo("htsvm: interrupted; nothing was written.", err=True)
        raise typer.Exit(INTERRUPTED) from None


def _run(
    path: str, label: str, id: str | None, text: list[str], image: str | None, output: Path,
    whole: bool, force: bool,
) -> None:  # fmt: skip
    from rich.console import Console

    from htsvm.audit.audit import audit_labels
    from htsvm.audit.corrections import safe_cell
    from htsvm.audit.page import payload, render, row_name
    from htsvm.audit.reading import write_all
    from htsvm.audit.table import read_table

    issues_path = _checked_output(path, output, force)
    with Console(stderr=True).status("reading the table") as status:
        table = read_table(path, label, id=id, text=text, image=image, progress=status.update)
        audit = audit_labels(
            table.X, table.y, trusted=table.trusted, given=table.given, progress=status.update
        )
        rows = audit.suspects(whole)
        status.update("writing the page")
        page = render(payload(audit, table, rows))
        frame = audit.issues()
        frame.insert(0, "row", table.places[frame.index] + 1)
        frame.insert(1, "id", [row_name(table, row) for row in frame.index])
        for column in ("id", "given_label", "predicted_label"):
            frame[column] = frame[column].astype(str).map(safe_cell)
    issues = frame.to_csv(index=False, lineterminator="\n")
    write_all({output: page.encode(), issues_path: issues.encode()})
    for finding in (*audit.findings, *table.findings):
        typer.echo(f"  {finding.text}")
    typer.echo(f"{audit.summary} {len(frame)} are named in {issues_path}.")
    typer.echo(f"Review them: {output}")
    if not audit.learnable:
        raise typer.Exit(NOTHING_LEARNED)


def _checked_output(path: str, output: Path, force: bool) -> Path:
    """Return where the list of suspects goes, beside the page, if both may be written."""
    from htsvm.audit.reading import TableError, check_target

    if output.suffix.lower() not in (".html", ".htm"):
        raise TableError(f"-o {output}: the page is HTML; give a name that ends in .html.")
    issues_path = output.with_suffix(".csv")
    source = Path(path if Path(path).exists() else path.partition("::")[0])
    for target in (output, issues_path):
        check_target(target, [source], force)
    return issues_path
