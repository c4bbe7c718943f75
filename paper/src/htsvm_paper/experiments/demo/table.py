"""The tables of the demonstration, for the terminal and for the report."""

from __future__ import annotations

import math
from collections.abc import Sequence
from html import escape

from rich.box import SIMPLE
from rich.table import Table
from rich.text import Text

from htsvm_paper.experiments.demo.summary import Panel, Row


def header(panel: Panel) -> list[str]:
    """Return the column names."""
    noisy = panel.rates[-1]
    return [
        "flipped labels",
        *(f"{rate:.0%}" for rate in panel.rates),
        "SV 0%",
        f"SV {noisy:.0%}",
        "seconds",
    ]


def terminal_table(panel: Panel) -> Table:
    """Return the table of one panel for the terminal; the best accuracies are bold."""
    table = Table(
        title=f"{panel.title}: test accuracy (%)",
        title_justify="left",
        title_style="bold",
        box=SIMPLE,
        padding=(0, 1, 0, 0),
        pad_edge=False,
    )
    for i, name in enumerate(header(panel)):
        table.add_column(name, justify="left" if i == 0 else "right", no_wrap=True)
    for row in panel.rows:
        cells = [
            Text(percent(mean), style="bold green" if best else "")
            for mean, best in zip(row.mean, row.best, strict=True)
        ]
        table.add_row(row.method, *cells, *_ends(row))
    table.add_section()
    for name, shares in _ignored(panel):
        table.add_row(name, *(percent(share) for share in shares), "", "", "", style="dim")
    return table


def html_table(panel: Panel) -> str:
    """Return the table of one panel as HTML, with the standard deviations."""
    lines = [f"<table><caption>{escape(panel.title)}: test accuracy (%)</caption>", "<thead><tr>"]
    lines += [f'<th scope="col">{escape(name)}</th>' for name in header(panel)]
    lines.append("</tr></thead><tbody>")
    for row in panel.rows:
        cells = [
            _cell(f"{percent(mean)} <small>± {percent(spread)}</small>", best)
            for mean, spread, best in zip(row.mean, row.spread, row.best, strict=True)
        ]
        lines += _html_row(row.method, cells + [_cell(text) for text in _ends(row)])
    lines.append('</tbody><tbody class="ignored">')
    for name, shares in _ignored(panel):
        lines += _html_row(name, [_cell(percent(share)) for share in shares] + [_cell("")] * 3)
    lines.append("</tbody></table>")
    return "\n".join(lines)


def percent(share: float) -> str:
    """Return a share in percent, or a dash where there is none."""
    return "–" if math.isnan(share) else f"{100.0 * share:.1f}"


def _ends(row: Row) -> list[str]:
    return [f"{row.support[0]:.0f}", f"{row.support[-1]:.0f}", f"{row.seconds:.3f}"]


def _ignored(panel: Panel) -> list[tuple[str, Sequence[float]]]:
    return [
        ("% wrong labels ignored", panel.flipped_ignored),
        ("% right labels ignored", panel.clean_ignored),
    ]


def _cell(text: str, best: bool = False) -> str:
    return f'<td class="best">{text}</td>' if best else f"<td>{text}</td>"


def _html_row(name: str, cells: list[str]) -> list[str]:
    return ["<tr>", f'<th scope="row">{escape(name)}</th>', *cells, "</tr>"]
