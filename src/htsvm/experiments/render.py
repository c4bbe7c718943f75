"""Blocks as HTML and as Markdown."""

from __future__ import annotations

import math
from html import escape

from htsvm.experiments.blocks import Block, Entry, Picture, Table, Words, best_places

MINUS = "−"


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
        if len(block.lines) == 1:
            return f"<p>{escape(block.lines[0])}</p>"
        return "<ul>" + "".join(f"<li>{escape(line)}</li>" for line in block.lines) + "</ul>"
    return _html_table(block)


def _html_table(table: Table) -> str:
    head = "".join(f"<th scope='col'>{escape(label)}</th>" for label in table.columns)
    body = "".join(
        _html_row(label, entries, table.better, table.decimals) for label, entries in table.rows
    )
    foot = "".join(
        _html_row(label, entries, better, 2 if "rank" in label else table.decimals)
        for label, entries, better in table.summary
    )
    note = f"<p class='caption'>{escape(table.note)}</p>" if table.note else ""
    return (
        f"<h3>{escape(table.title)}</h3><div class='scroll'><table><thead><tr>"
        f"<th scope='col'>{escape(table.corner)}</th>{head}</tr></thead><tbody>{body}</tbody>"
        f"<tfoot>{foot}</tfoot></table></div>{note}"
    )


def _html_row(label: str, entries: list[Entry], better: str, decimals: int) -> str:
    best = best_places(entries, better, decimals)
    places = "".join(_html_entry(e, i in best, decimals) for i, e in enumerate(entries))
    return f"<tr><th scope='row'>{escape(label)}</th>{places}</tr>"


def _html_entry(entry: Entry, best: bool, decimals: int) -> str:
    there = not math.isnan(entry.paper)
    if math.isnan(entry.value):
        mark = escape(entry.mark or "—")
        short = escape(entry.mark.split(":")[0] or "—")
        paper = f"<i>paper {number(entry.paper, decimals)}</i>" if there else ""
        return f"<td class='mark' title='{mark}'>{short}{paper}</td>"
    spread = ""
    if not math.isnan(entry.spread) and entry.spread > 0.0:
        spread = f"<small>±{number(entry.spread, decimals)}</small>"
    paper = ""
    if there:
        difference = signed(entry.difference, decimals)
        paper = f"<i>paper {number(entry.paper, decimals)} ({difference})</i>"
    kind = " class='best'" if best else ""
    return f"<td{kind}>{number(entry.value, decimals)}{spread}{paper}</td>"


# -------------------------------------------------------------------------------- Markdown


def markdown(block: Block) -> str:
    """Return a block as Markdown; a figure as its caption, for the drawing is in the page."""
    if isinstance(block, Picture):
        return f"*Figure (in the HTML report): {block.caption}*"
    if isinstance(block, Words):
        if len(block.lines) == 1:
            return block.lines[0]
        return "\n".join(f"- {line}" for line in block.lines)
    rows = [
        ["**" + table_label + "**" if bold else table_label, *places]
        for table_label, places, bold in _markdown_rows(block)
    ]
    head = [block.corner, *block.columns]
    lines = [head, ["---"] * len(head), *rows]
    text = "\n".join("| " + " | ".join(line) + " |" for line in lines)
    note = f"\n\n{block.note}" if block.note else ""
    return f"**{block.title}**\n\n{text}{note}"


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
        text = entry.mark.split(":")[0] or "—"
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
