"""Blocks as HTML and as Markdown."""

from __future__ import annotations

import csv
import io
import math
import re
from collections.abc import Iterator
from html import escape
from urllib.parse import quote

from htsvm_paper.experiments.blocks import Block, Entry, Picture, Table, Words, best_places

MINUS = "−"
# Columns of the paper's methods, which stand out.
OURS = ("L_ht-SVM", "MvL_ht-SVM")
TABLE_HEAD = ("table", "protocol", "row", "column", "value", "spread", "paper", "mark")


def number(value: float, decimals: int) -> str:
    """Return a number with a real minus sign; small times keep two significant digits."""
    text = f"{value:.{decimals}f}"
    if decimals >= 4:
        text = f"{value:.4f}" if abs(value) < 1.0 else f"{value:.2f}"
    return text.replace("-", MINUS)


def signed(value: float, decimals: int) -> str:
    """Return a number with its sign, also if it is positive."""
    text = number(value, decimals)
    return text if text.startswith(MINUS) else f"+{text}"


# ------------------------------------------------------------------------------------ HTML


def html(block: Block) -> str:
    """Return a block as HTML."""
    if isinstance(block, Picture):
        return f"<figure>{block.svg}<figcaption>{escape(block.caption)}</figcaption></figure>"
    if isinstance(block, Words):
        listed = "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in block.lines) + "</ul>"
        if block.title:
            return f"<details><summary>{escape(block.title)}</summary>{listed}</details>"
        return f"<p>{escape(block.lines[0])}</p>" if len(block.lines) == 1 else listed
    return _html_table(block)


def _html_table(table: Table) -> str:
    ours = {i for i, label in enumerate(table.columns) if label in OURS}
    head = "".join(
        f"<th scope='col'{_class('ours' * (i in ours))}>{escape(label)}</th>"
        for i, label in enumerate(table.columns)
    )
    body = "".join(
        _html_row(label, entries, table.better, table.decimals, ours)
        for label, entries in table.rows
    )
    foot = "".join(
        _html_row(label, entries, better, 2 if "rank" in label else table.decimals, ours)
        for label, entries, better in table.summary
    )
    note = f"<p class='caption'>{escape(table.note)}</p>" if table.note else ""
    opened = "" if table.folded else " open"
    return (
        f"<details class='table'{opened}><summary>{escape(table.title)}</summary>"
        f"<div class='scroll'><table><thead><tr>"
        f"<th scope='col'>{escape(table.corner)}</th>{head}</tr></thead><tbody>{body}</tbody>"
        f"<tfoot>{foot}</tfoot></table></div>{note}"
        f"<p class='caption'>{_csv_link(table)}</p></details>"
    )


def _csv_link(table: Table) -> str:
    """Return a link that holds the table as a file, so that the page needs nothing beside it."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(TABLE_HEAD)
    writer.writerows(table_lines(table))
    name = re.sub(r"\W+", "-", table.title.lower()).strip("-")[:60]
    return f"<a download='{name}.csv' href='data:text/csv,{quote(text.getvalue())}'>CSV</a>"


def table_lines(table: Table) -> Iterator[list[str]]:
    """Yield title, protocol, row, column, value, spread, the paper's number, and the mark."""
    for label, entries in table.rows:
        for column, entry in zip(table.columns, entries, strict=True):
            numbers = (entry.value, entry.spread, entry.paper)
            texts = ("" if math.isnan(value) else repr(float(value)) for value in numbers)
            yield [table.title, table.protocol, label, column, *texts, entry.mark]


def _class(name: str) -> str:
    return f" class='{name}'" if name else ""


def _html_row(label: str, entries: list[Entry], better: str, decimals: int, ours: set[int]) -> str:
    best = best_places(entries, better, decimals)
    places = "".join(
        _html_entry(e, " ".join(("best",) * (i in best) + ("ours",) * (i in ours)), decimals)
        for i, e in enumerate(entries)
    )
    return f"<tr><th scope='row'>{escape(label)}</th>{places}</tr>"


def _html_entry(entry: Entry, kind: str, decimals: int) -> str:
    there = not math.isnan(entry.paper)
    if math.isnan(entry.value):
        mark = escape(entry.mark or "—")
        short = escape(entry.mark.split(":")[0] or "—")
        paper = f"<i>paper {number(entry.paper, decimals)}</i>" if there else ""
        return f"<td class='{' '.join(('mark', *kind.split()))}' title='{mark}'>{short}{paper}</td>"
    spread = ""
    if not math.isnan(entry.spread) and entry.spread > 0.0:
        spread = f"<small>±{number(entry.spread, decimals)}</small>"
    paper = ""
    if there:
        difference = signed(entry.difference, decimals)
        paper = f"<i>paper {number(entry.paper, decimals)} ({difference})</i>"
    return f"<td{_class(kind)}>{number(entry.value, decimals)}{spread}{paper}</td>"


# -------------------------------------------------------------------------------- Markdown


def markdown(block: Block) -> str:
    """Return a block as Markdown; a figure as its caption, for the drawing is in the page."""
    if isinstance(block, Picture):
        return f"*Figure (in the HTML report): {as_text(block.caption)}*"
    if isinstance(block, Words):
        if len(block.lines) == 1 and not block.title:
            return as_text(block.lines[0])
        listed = "\n".join(f"- {as_text(line)}" for line in block.lines)
        return f"{as_text(block.title)}:\n\n{listed}" if block.title else listed
    rows = [
        [f"**{as_text(label)}**" if bold else as_text(label), *places]
        for label, places, bold in _markdown_rows(block)
    ]
    head = [as_text(label) for label in (block.corner, *block.columns)]
    lines = [head, ["---"] * len(head), *rows]
    text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    note = f"\n\n{as_text(block.note)}" if block.note else ""
    return f"**{as_text(block.title)}**\n\n{text}{note}"


def as_text(words: str) -> str:
    """Return words that Markdown takes for nothing but words: names may hold anything."""
    plain = re.sub(r"[\r\n]+", " ", words)
    plain = re.sub(r"([\\`*\[\]<>|#$~])", r"\\\1", plain)
    # Inside a word, as in L_ht, an underscore is a letter.
    return re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", plain)


def _markdown_rows(table: Table) -> list[tuple[str, list[str], bool]]:
    rows = [
        (label, _markdown_entries(entries, table.better, table.decimals), False)
        for label, entries in table.rows
    ]
    rows += [
        (
            label,
            _markdown_entries(entries, better, 2 if "rank" in label else table.decimals),
            True,
        )
        for label, entries, better in table.summary
    ]
    return rows


def _markdown_entries(entries: list[Entry], better: str, decimals: int) -> list[str]:
    best = best_places(entries, better, decimals)
    return [_markdown_entry(entry, i in best, decimals) for i, entry in enumerate(entries)]


def _markdown_entry(entry: Entry, best: bool, decimals: int) -> str:
    there = not math.isnan(entry.paper)
    if math.isnan(entry.value):
        text = as_text(entry.mark.split(":")[0]) or "—"
        return f"{text} (paper {number(entry.paper, decimals)})" if there else text
    text = number(entry.value, decimals)
    if not math.isnan(entry.spread) and entry.spread > 0.0:
        text += f"±{number(entry.spread, decimals)}"
    if best:
        text = f"**{text}**"
    if there:
        difference = signed(entry.difference, decimals)
        text += f" (paper {number(entry.paper, decimals)}, {difference})"
    return text
