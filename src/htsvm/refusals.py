"""How commands refuse: one line instead of a traceback, and an exit code."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.util import find_spec

import typer

from htsvm.cli import INTERRUPTED


@contextmanager
def refusals(interrupted: str) -> Iterator[None]:
    """Turn refused input into one line; `interrupted` says what Ctrl-C leaves behind."""
    try:
        yield
    except (ValueError, OSError) as error:
        typer.echo(f"htsvm: {error}", err=True)
        raise typer.Exit(1) from None
    except KeyboardInterrupt:
        typer.echo(f"htsvm: interrupted; {interrupted}.", err=True)
        raise typer.Exit(INTERRUPTED) from None


def check_extra(what: str, extra: str, needed: Sequence[str]) -> None:
    """End the command if packages of an extra are missing, and say how to install them."""
    missing = [name for name in needed if find_spec(name) is None]
    if missing:
        typer.echo(
            f'htsvm: {what} {", ".join(missing)}. Install with:\n  pip install "htsvm[{extra}]"',
            err=True,
        )
        raise typer.Exit(1)
