"""One fit of each multi-view method on pairs of image classes, described by HOG and LBP."""

from __future__ import annotations

from benchmarks.bars import Bar, Row, every
from benchmarks.multiview_baselines import SOLVERS, measured, seconds_of, solver_table
from benchmarks.multiview_sets import IMAGE_SETS
from benchmarks.plan import Plan
from benchmarks.report import markdown_table


def run(plan: Plan) -> list[Row]:
    """Time every method once: a fit takes seconds. OSQP does not get far in that time."""
    return [] if plan.quick else measured(IMAGE_SETS, plan, 1, {"Clarabel": SOLVERS["Clarabel"]})


def bars(rows: list[Row]) -> list[Bar]:
    """Ask for convergence; no times were promised."""
    return [every("every fit converged", rows, "converged")]


def tables(rows: list[Row]) -> str:
    """Render as Markdown."""
    return (
        "## Seconds per fit\n\nDefault settings (structure = 1 where there is one; clustering is "
        f"part of the time), each fit once.\n\n{markdown_table(seconds_of(rows))}\n\n"
        f"{solver_table(rows)}"
    )
