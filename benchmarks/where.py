"""The table of docs/developers/where-the-time-goes.md, from the stored results of the part speed.

python -m benchmarks --only speed     # measure, on a quiet machine
python -m benchmarks.where            # write what was measured into the page
"""

from __future__ import annotations

import sys
from pathlib import Path

from benchmarks import report, stale
from benchmarks.bars import Row
from benchmarks.report import markdown_table, number, percent
from benchmarks.stored import ROOT
from htsvm import __version__

RESULTS = ROOT / "benchmarks" / "results"
PAGE = ROOT / "docs" / "developers" / "where-the-time-goes.md"
BEGIN, END = "<!-- table: benchmarks/results/speed.csv -->", "<!-- end of table -->"
SHARES = {
    "share_passes": "products",
    "share_newton_systems": "systems",
    "share_line_searches": "searches",
    "share_solver_other": "rest of the solver",
    "share_outside_solver": "outside",
}


def table(rows: list[Row]) -> str:
    """Return passes and shares of every set and C."""
    cells = []
    for row in rows:
        cell = {"set": str(row["set"]), "m x n": f"{row['m']:,} x {row['n']:,}"}
        cell |= {"C": f"{row['C']:g}", "passes": number(row.get("passes"))}
        cell["time in passes"] = number(row.get("htsvc_seconds_in_passes"))
        cell |= {f"% {title}": percent(row.get(name)) for name, title in SHARES.items()}
        cells.append(cell)
    return markdown_table(cells)


def rendered(text: str, folder: Path = RESULTS) -> str:
    """Return the page with the table of the stored results, and whether these are stale."""
    run = report.recall(folder)["speed"]
    why = stale.reason(run, __version__, "speed")
    lines = [f"Measured {run['date']}, commit {run['commit']}, version {run['htsvm']}."]
    lines += [report.stale_line(why)] if why else []
    lines.append(table(report.read_csv(folder / "speed.csv")))
    before, rest = text.split(BEGIN)
    return f"{before}{BEGIN}\n\n" + "\n\n".join(lines) + f"\n\n{END}{rest.split(END)[1]}"


def main() -> int:
    report.write(PAGE, rendered(PAGE.read_text(encoding="utf-8")))
    print(f"written: {PAGE.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
