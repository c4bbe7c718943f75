"""Cells as a table of text: what is published, and read back without loss."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable
from typing import Any, TextIO

from htsvm_paper.experiments.store import KEY, Cell
from htsvm_paper.experiments.tasks import Row, Task

COSTS = ("cell_seconds", "peak_mb", "base_mb", "time_limit")
CONTEXT = ("htsvm", "commit", "CPU", "python", "numpy", "scipy", "scikit-learn")
HEAD = (*KEY, "run", "status", "reason", *COSTS, "params", "metrics", *CONTEXT)


def write_csv(cells: Iterable[Cell], runs: dict[int, dict[str, str]], file: TextIO) -> None:
    """Write one line per fit, with its cell, cost and environment; scores with all their digits."""
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(HEAD)
    for cell in cells:
        key = [getattr(cell.task, name) for name in KEY]
        limit = "" if cell.time_limit is None else f"{cell.time_limit:g}"
        costs = [*(f"{v:.4g}" for v in (cell.seconds, cell.peak_mb, cell.base_mb)), limit]
        where = [runs.get(cell.run, {}).get(name, "") for name in CONTEXT]
        for row in cell.rows or (None,):
            fit = ["", ""] if row is None else [_compact(row.params), _compact(row.metrics)]
            writer.writerow([*key, cell.run, cell.status, cell.reason, *costs, *fit, *where])


def read_csv(file: TextIO) -> tuple[list[Cell], dict[int, dict[str, str]]]:
    """Return the cells and the environments of a table that `write_csv` wrote."""
    found: dict[Task, Cell] = {}
    runs: dict[int, dict[str, str]] = {}
    for line in csv.DictReader(file):
        key: dict[str, Any] = {name: line[name] for name in KEY}
        task = Task(**{**key, "fold": int(key["fold"]), "seed": int(key["seed"])})
        runs.setdefault(int(line["run"]), {name: line[name] for name in CONTEXT})
        rows = found[task].rows if task in found else ()
        if line["metrics"]:
            rows = (*rows, Row(json.loads(line["params"]), json.loads(line["metrics"])))
        seconds, peak, base, limit = (float(line[name] or math.nan) for name in COSTS)
        found[task] = Cell(
            task, line["status"], line["reason"], rows, seconds, peak, base,
            None if math.isnan(limit) else limit, int(line["run"]),
        )  # fmt: skip
    return list(found.values()), runs


def _compact(values: dict[str, Any]) -> str:
    return json.dumps(values, separators=(",", ":"))
