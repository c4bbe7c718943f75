"""The command line: ``htsvm audit`` and ``htsvm versions``.

Typer and rich come with the extra "audit" and are imported only when a command runs, so that the
package itself does not need them.
"""

import sys
from importlib.util import find_spec
from typing import Annotated, Any

NEEDED = ("typer", "rich", "pandas")
INSTALL = (
    'Install with, in the folder of htsvm:\n  pip install ".[audit]"\nor from its wheel:\n'
    '  pip install "htsvm[audit] @ file:///path/of/the/wheel.whl"'
)
# The exit code of a command that Ctrl-C ended.
INTERRUPTED = 130


def main() -> None:
    """Run the command line, or say what to install for it."""
    if sys.argv[1:] in (["versions"], ["--version"]):
        _versions(sys.argv[1])
        return
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        sys.exit(f"htsvm: the command line needs {', '.join(missing)}. {INSTALL}")
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

    from htsvm.audit.commands import add_commands

    app = typer.Typer(
        help="Support vector machines for data whose labels cannot all be trusted.",
        no_args_is_help=True, add_completion=False, pretty_exceptions_show_locals=False,
    )  # fmt: skip

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

    add_commands(app)

    @app.command()
    def versions() -> None:
        """Show the versions of everything involved, for bug reports."""
        _versions("versions")

    return app
