"""Blocks as HTML and as Markdown."""

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


def table_lines(table: Table) -> Iterator[list[str]]:
    """Yield title, protocol, row, column, value, spread, the paper's number, and the mark."""
    for label, entries in table.rows:
        for column, entry in zip(table.columns, entries, strict=True):
            numbers = (entry.value, entry.spread, entry.paper)
            texts = ("" if math.isnan(value) else repr(float(value)) for value in numbers)
            yield [table.title, table.protocol, label, column, *texts, entry.mark]


def _rows(table: Table) -> Iterator[tuple[str, list[tuple[Entry, bool]], int, bool]]:
    """Yield label, entries and whether each is best, decimals, and whether it is a summary."""
    lines = [(label, entries, table.better, False) for label, entries in table.rows]
    lines += [(label, entries, better, True) for label, entries, better in table.summary]
    for label, entries, better, summary in lines:
        decimals = 2 if summary and "rank" in label else table.decimals
        best = best_places(entries, better, decimals)
        yield label, [(entry, i in best) for i, entry in enumerate(entries)], decimals, summary


def _texts(entry: Entry, decimals: int) -> tuple[str, str, str, str]:
    """Return a number (or why there is none), its spread, the paper's, and the difference."""
    paper = "" if math.isnan(entry.paper) else f"paper {number(entry.paper, decimals)}"
    if math.isnan(entry.value):
        return entry.mark.split(":")[0], "", paper, ""
    spread = f"±{number(entry.spread, decimals)}" if entry.spread > 0.0 else ""
    difference = number(entry.difference, decimals) if paper else ""
    signed = difference if difference.startswith(MINUS) else f"+{difference}"
    return number(entry.value, decimals), spread, paper, signed


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
    ours = [label in OURS for label in table.columns]
    head = "".join(
        f"<th scope='col'{_class('ours' * own)}>{escape(label)}</th>"
        for label, own in zip(table.columns, ours, strict=True)
    )
    parts = {False: "", True: ""}
    for label, entries, decimals, summary in _rows(table):
        places = "".join(
            _html_entry(entry, ("best",) * best + ("ours",) * own, decimals)
            for (entry, best), own in zip(entries, ours, strict=True)
        )
        parts[summary] += f"<tr><th scope='row'>{escape(label)}</th>{places}</tr>"
    note = f"<p class='caption'>{escape(table.note)}</p>" if table.note else ""
    opened = "" if table.folded else " open"
    return (
        f"<details class='table'{opened}><summary>{escape(table.title)}</summary>"
        f"<div class='scroll'><table><thead><tr>"
        f"<th scope='col'>{escape(table.corner)}</th>{head}</tr></thead>"
        f"<tbody>{parts[False]}</tbody><tfoot>{parts[True]}</tfoot></table></div>{note}"
        f"<p class='caption'>{_csv_link(table)}</p></details>"
    )


def _csv_link(table: Table) -> str:
    """Return a link that holds the table as a file, so that the page needs nothing beside it."""
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([TABLE_HEAD, *table_lines(table)])
    name = re.sub(r"\W+", "-", table.title.lower()).strip("-")[:60]
    return f"<a download='{name}.csv' href='data:text/csv,{quote(text.getvalue())}'>CSV</a>"


def _class(name: str) -> str:
    return f" class='{name}'" if name else ""


def _html_entry(entry: Entry, kinds: tuple[str, ...], decimals: int) -> str:
    text, spread, paper, difference = _texts(entry, decimals)
    if math.isnan(entry.value):
        mark, paper = escape(entry.mark or "—"), f"<i>{paper}</i>" if paper else ""
        text = escape(text or "—")
        return f"<td class='{' '.join(('mark', *kinds))}' title='{mark}'>{text}{paper}</td>"
    spread = f"<small>{spread}</small>" if spread else ""
    paper = f"<i>{paper} ({difference})</i>" if paper else ""
    return f"<td{_class(' '.join(kinds))}>{text}{spread}{paper}</td>"


def markdown(block: Block) -> str:
    """Return a block as Markdown; a figure as its caption, for the drawing is in the page."""
    if isinstance(block, Picture):
        return f"*Figure (in the HTML report): {as_text(block.caption)}*"
    if isinstance(block, Words):
        if len(block.lines) == 1 and not block.title:
            return as_text(block.lines[0])
        listed = "\n".join(f"- {as_text(line)}" for line in block.lines)
        return f"{as_text(block.title)}:\n\n{listed}" if block.title else listed
    head = [as_text(label) for label in (block.corner, *block.columns)]
    lines = [head, ["---"] * len(head)]
    for label, entries, decimals, summary in _rows(block):
        first = f"**{as_text(label)}**" if summary else as_text(label)
        lines.append([first, *(_markdown_entry(*entry, decimals) for entry in entries)])
    text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    note = f"\n\n{as_text(block.note)}" if block.note else ""
    return f"**{as_text(block.title)}**\n\n{text}{note}"


def as_text(words: str) -> str:
    """Return words that Markdown takes for nothing but words: names may hold anything."""
    plain = re.sub(r"[\r\n]+", " ", words)
    plain = re.sub(r"([\\`*\[\]<>|#$~])", r"\\\1", plain)
    # Inside a word, as in L_ht, an underscore is a letter.
    return re.sub(r"(?<!\w)_|_(?!\w)", r"\\_", plain)


def _markdown_entry(entry: Entry, best: bool, decimals: int) -> str:
    text, spread, paper, difference = _texts(entry, decimals)
    if math.isnan(entry.value):
        return f"{as_text(text) or '—'} ({paper})" if paper else as_text(text) or "—"
    text = f"**{text}{spread}**" if best else f"{text}{spread}"
    return f"{text} ({paper}, {difference})" if paper else text
