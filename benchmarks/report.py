"""Tables, and files that are either complete or not there."""

from __future__ import annotations

import csv
import io
import json
import math
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.bars import Bar, Row


def number(value: Any, digits: int = 3) -> str:
    """Return a number with so many significant digits; "" for a gap."""
    if not isinstance(value, (int, float)) or math.isnan(value):
        return ""
    if value and abs(value) < 10.0 ** (digits - 7):
        return f"{value:.{digits - 1}e}"
    decimals = digits - 1 - math.floor(math.log10(abs(value))) if value else 0
    return f"{value:.{min(max(decimals, 0), 6)}f}" if abs(value) < 1e7 else f"{value:.{digits}g}"


def percent(value: Any, decimals: int = 0) -> str:
    """Return a share in percent; "" for a gap."""
    if not isinstance(value, (int, float)) or math.isnan(value):
        return ""
    return f"{100.0 * value:.{decimals}f}"


def markdown_table(rows: list[dict[str, str]]) -> str:
    """Render rows of cells; columns that look like numbers are set flush right."""
    if not rows:
        return "(nothing)"
    names = list(rows[0])
    lines = [
        "| " + " | ".join(names) + " |",
        "|" + "|".join(_rule([row[name] for row in rows]) for name in names) + "|",
    ]
    lines += ["| " + " | ".join(_escape(row[name]) for name in names) + " |" for row in rows]
    return "\n".join(lines)


def _rule(cells: list[str]) -> str:
    return "---:" if any(cells) and all(_numeric(cell) for cell in cells) else "---"


def _numeric(cell: str) -> bool:
    try:
        float(cell.rstrip("*!").replace(",", "") or 0)
    except ValueError:
        return False
    return True


def _escape(cell: str) -> str:
    return cell.replace("|", "\\|")


def table(rows: list[Row], columns: dict[str, str | Callable[[Row], str]]) -> str:
    """Render rows; under a title stands the number of that name, or what a function says."""
    return markdown_table(
        [
            {
                title: number(row.get(what)) if isinstance(what, str) else what(row)
                for title, what in columns.items()
            }
            for row in rows
        ]
    )


def bars_table(bars: list[Bar]) -> str:
    """Render promises beside their figures."""
    return markdown_table(
        [{"promise": b.promise, "measured": b.figure, "verdict": b.verdict} for b in bars]
    )


def part_page(name: str, bars: list[Bar], tables: str, machine: dict[str, str]) -> str:
    """Return the page of one part: promises, tables, machine."""
    described = markdown_table([{"machine": k, "": v} for k, v in machine.items()])
    return f"# Benchmark: {name}\n\n{bars_table(bars)}\n\n{tables}\n\n{described}\n"


STALE = "**STALE**"


def stale_line(why: str) -> str:
    """Return the line that tells of results of another library than today's."""
    return f"{STALE}: {why}; to be measured again."


def mark_stale(path: Path, why: str) -> None:
    """Put that line under the title of a page, or take it away if `why` is ""."""
    title, _, rest = path.read_text(encoding="utf-8").partition("\n\n")
    if rest.startswith(STALE):
        rest = rest.partition("\n\n")[2]
    parts = [title, stale_line(why), rest] if why else [title, rest]
    write(path, "\n\n".join(parts))


# ------------------------------------------------------------------------------------ files


def write(path: Path, text: str) -> None:
    """Write a file by way of a temporary one, so that nobody ever sees half of it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        temporary.write_text(text, encoding="utf-8")
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def csv_text(rows: list[Row]) -> str:
    """Return rows as CSV, with all columns that any row has."""
    names = list(dict.fromkeys(name for row in rows for name in row))
    buffer = io.StringIO()
    writer = csv.DictWriter(buffer, names, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return buffer.getvalue()


def read_csv(path: Path) -> list[Row]:
    """Return the rows of a CSV file, with numbers, truth values and gaps as such."""
    with path.open(encoding="utf-8", newline="") as lines:
        return [{k: _value(v) for k, v in row.items()} for row in csv.DictReader(lines)]


def _value(text: str) -> Any:
    if text in ("True", "False"):
        return text == "True"
    if text == "":
        return None
    for kind in (int, float):
        try:
            return kind(text)
        except ValueError:
            continue
    return text


def remember(folder: Path, part: str, machine: dict[str, str]) -> None:
    """Note when and from which commit the results of a part are."""
    path = folder / "runs.json"
    runs = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    runs[part] = machine
    write(path, json.dumps(runs, indent=2) + "\n")


def recall(folder: Path) -> dict[str, dict[str, str]]:
    """Return what `remember` noted."""
    path = folder / "runs.json"
    if not path.exists():
        return {}
    runs: dict[str, dict[str, str]] = json.loads(path.read_text(encoding="utf-8"))
    return runs
