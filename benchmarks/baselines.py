"""The baselines beside HTSVC and beside what a user would take instead."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from benchmarks.bars import Bar, Row, at_most, every
from benchmarks.plan import Plan
from benchmarks.report import markdown_table, number, percent
from benchmarks.rivals import (
    BASELINES,
    HINGE,
    HINGE_SVC,
    LEAST_SQUARES,
    LIBSVM,
    OURS,
    PINBALL,
    RAMP,
    RIDGE,
    ZERO_ONE,
    Rival,
)
from benchmarks.sets import Dataset
from benchmarks.speed import columns_of, fit_rival, head, time_cell, warm_up
from benchmarks.timing import interleaved

# The paper's large sparse sets, and some that are generated here. Larger ones would take the nine
# classifiers half an hour.
SETS = ("a1a", "a9a", "w8a", "gaussians-1e4", "gaussians-1e5", "dense-small")
# LIBSVM's time grows with the square of the number of samples.
MOST_FOR_LIBSVM = 12_000

ALL = (OURS, *BASELINES, HINGE, RIDGE, LIBSVM)
# Each promise: who, over whom, at most.
RATIOS: tuple[tuple[Rival, Rival, float], ...] = (
    (HINGE_SVC, HINGE, 1.0),
    (LEAST_SQUARES, RIDGE, 2.0),
    (PINBALL, HINGE_SVC, 5.0),
    (RAMP, HINGE_SVC, 5.0),
    (ZERO_ONE, OURS, 5.0),
)
CONVEX = (HINGE_SVC, LEAST_SQUARES, PINBALL)


def run(plan: Plan) -> list[Row]:
    """Time the baselines and their rivals, in one process."""
    warm_up(ALL)
    rows = []
    for data in replace(plan, sources=[s for s in plan.sources if _wanted(s.name)]).datasets():
        if data.n_samples > MOST_FOR_LIBSVM:
            plan.say(f"{data.name}: {LIBSVM.label} left out, it would take too long")
        for C in plan.penalties:
            row = _measure(data, C, plan.repeats)
            rows.append(row)
            plan.say(_progress(row))
    return rows


def _wanted(name: str) -> bool:
    return name in SETS


def _measure(data: Dataset, C: float, repeats: int) -> Row:
    rivals = [r for r in ALL if r is not LIBSVM or data.n_samples <= MOST_FOR_LIBSVM]
    works = {rival.key: partial(fit_rival, rival.make, C, data) for rival in rivals}
    timings = interleaved(works, repeats)
    m, n = data.X.shape
    row: Row = {"set": data.name, "m": m, "n": n, "C": C, "repeats": repeats}
    for rival in rivals:
        row.update(columns_of(rival.key, timings[rival.key], data))
    for who, whom, _ in RATIOS:
        row[_ratio(who, whom)] = timings[who.key].median / timings[whom.key].median
    for rival in BASELINES:
        row.update(_own_columns(rival.key, timings[rival.key].result))
    ours, theirs = (_hinge_objective(timings[r.key].result, data, C) for r in (HINGE_SVC, HINGE))
    row["hinge_objective_of_linearsvc"] = theirs
    row["hinge_objective_share"] = ours / theirs
    row["certified"] = all(row[f"{rival.key}_certified"] for rival in BASELINES)
    return row


def _ratio(who: Rival, whom: Rival) -> str:
    return f"{who.key}_over_{whom.key}"


def _own_columns(key: str, fitted: Any) -> Row:
    certificate = fitted.certificate_[0]
    return {
        f"{key}_certified": bool(certificate.certified),
        f"{key}_objective": certificate.objective,
        f"{key}_trivial_objective": certificate.trivial_objective,
        f"{key}_convex_objective": certificate.convex_objective,
        f"{key}_gap": certificate.relative_duality_gap,
        f"{key}_support": certificate.n_support,
        f"{key}_passes": fitted.n_passes_,
    }


def _hinge_objective(fitted: Any, data: Dataset, C: float) -> float:
    """Return the hinge objective by its formula, with a free intercept for either classifier."""
    q = 1.0 - data.y * (data.X @ fitted.coef_[0] + float(np.ravel(fitted.intercept_)[0]))
    return 0.5 * float(np.sum(fitted.coef_**2)) + C * float(np.maximum(q, 0.0).sum())


def _progress(row: Row) -> str:
    ratios = "  ".join(f"{who.label}/{whom.label} {number(row[_ratio(who, whom)])}"
                       for who, whom, _ in RATIOS)  # fmt: skip
    verdict = "certified" if row["certified"] else "NOT certified"
    return f"{row['set']}, C = {row['C']:g}: {ratios}  ({verdict})"


# ----------------------------------------------------------------------------------- report


def bars(rows: list[Row]) -> list[Bar]:
    """Compare with what was promised."""
    timed = [
        at_most(f"fit time of {who.label} over {whom.label} <= {limit:g}",
                rows, _ratio(who, whom), limit)
        for who, whom, limit in RATIOS
    ]  # fmt: skip
    return [
        timed[0],
        at_most(
            f"objective of {HINGE_SVC.label} over {HINGE.label}'s <= 1",
            rows,
            "hinge_objective_share",
            1.0,
            digits=7,
        ),
        *timed[1:],
        every("every fit certified", rows, "certified"),
        *(_never_above(rows, rival) for rival in (RAMP, ZERO_ONE)),
    ]


def _never_above(rows: list[Row], rival: Rival) -> Bar:
    """Compare with the lower of the convex start and the constant classifier."""
    share, key = "objective_share", rival.key
    compared = [
        {**row, share: row[f"{key}_objective"]
         / min(row[f"{key}_convex_objective"], row[f"{key}_trivial_objective"])}
        for row in rows
    ]  # fmt: skip
    promise = f"objective of {rival.label} never above convex start and constant (share <= 1)"
    return at_most(promise, compared, share, 1.0, digits=5)


def tables(rows: list[Row]) -> str:
    """Render as Markdown."""
    return "\n\n".join(
        [
            "## Seconds\n\nMedians of interleaved repeats. `*`: so slow that it got fewer repeats; "
            "`!`: gave a ConvergenceWarning (stopped at its iteration limit).",
            markdown_table([_time_cells(row) for row in rows]),
            "## Ratios of fit times",
            markdown_table([_ratio_cells(row) for row in rows]),
            "## Relative duality gaps and objectives\n\n*LinearSVC's*: the hinge objective at the "
            'solution of LinearSVC(loss="hinge"), which penalises the intercept, over HingeSVC\'s.',
            markdown_table([_objective_cells(row) for row in rows]),
            "## Support vectors",
            markdown_table([_support_cells(row) for row in rows]),
            "## Test accuracy (%)",
            markdown_table([_accuracy_cells(row) for row in rows]),
        ]
    )


def _time_cells(row: Row) -> dict[str, str]:
    cells = head(row)
    for rival in ALL:
        known = row.get(f"{rival.key}_seconds") is not None
        cells[rival.label] = time_cell(row, rival.key) if known else ""
    return cells


def _ratio_cells(row: Row) -> dict[str, str]:
    named = {f"{a.label} / {b.label}": number(row[_ratio(a, b)]) for a, b, _ in RATIOS}
    return {**head(row), **named}


def _objective_cells(row: Row) -> dict[str, str]:
    cells = head(row)
    for rival in CONVEX:
        cells[f"{rival.label} gap"] = f"{row[f'{rival.key}_gap']:.1e}"
    cells["LinearSVC's"] = number(1.0 / row["hinge_objective_share"], 7)
    for rival in (RAMP, ZERO_ONE):
        cells[rival.label] = number(row[f"{rival.key}_objective"], 6)
        cells[f"{rival.label}: convex start"] = number(row[f"{rival.key}_convex_objective"], 6)
    return cells


def _support_cells(row: Row) -> dict[str, str]:
    return {**head(row), **{r.label: str(row[f"{r.key}_support"]) for r in BASELINES}}


def _accuracy_cells(row: Row) -> dict[str, str]:
    return {**head(row), **{r.label: percent(row.get(f"{r.key}_accuracy"), 2) for r in ALL}}
