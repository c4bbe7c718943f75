"""Fit times beside those of the rivals, and where the time goes."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from benchmarks.bars import Bar, Row, at_most, every
from benchmarks.plan import Plan
from benchmarks.report import number, percent, table
from benchmarks.rivals import DEFAULT, HINGE, OURS, RIVALS, Rival
from benchmarks.sets import Dataset, gaussians
from benchmarks.timing import Timings, interleaved, median_seconds

LARGE = 20_000
# The parts of `seconds_`.
PARTS = ("search", "finish", "certificate")


def run(plan: Plan) -> list[Row]:
    """Time all rivals on all sets, in one process."""
    warm_up()
    rows = []
    for data in plan.datasets():
        pass_seconds = _one_pass(data.X)
        for C in plan.penalties:
            row = _measure(data, C, plan.repeats)
            row["pass_ms"] = 1e3 * pass_seconds
            row["htsvc_seconds_in_passes"] = row["htsvc_seconds"] / pass_seconds
            rows.append(row)
            plan.say(_progress(row))
    return rows


def warm_up(rivals: tuple[Rival, ...] = RIVALS) -> None:
    """Fit everything once on little data: late imports are the business of the startup part."""
    X, y, _, _ = gaussians(200, 0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for rival in rivals:
            rival.make(1.0, len(y)).fit(X, y)


def _one_pass(X: Any) -> float:
    w = np.random.default_rng(0).normal(size=X.shape[1])
    return median_seconds(lambda: X @ w)


def _measure(data: Dataset, C: float, repeats: int) -> Row:
    works = {rival.key: partial(fit_rival, rival.make, C, data) for rival in RIVALS}
    timings = interleaved(works, repeats, never_fewer=(OURS.key,))
    m, n = data.X.shape
    row: Row = {"set": data.name, "m": m, "n": n, "C": C, "repeats": repeats}
    for rival in RIVALS:
        row.update(columns_of(rival.key, timings[rival.key], data))
    ours = timings[OURS.key]
    row["ratio_linearsvc"] = ours.median / timings[DEFAULT.key].median
    row["ratio_linearsvc_hinge"] = ours.median / timings[HINGE.key].median
    row["certified"] = False
    if ours.result is not None:
        row.update(_own_columns(ours))
    return row


def fit_rival(make: Any, C: float, data: Dataset) -> Any:
    return make(C, data.n_samples).fit(data.X, data.y)


def columns_of(key: str, timings: Timings, data: Dataset) -> Row:
    fitted = timings.result
    return {
        f"{key}_seconds": timings.median,
        f"{key}_seconds_min": min(timings.seconds, default=float("nan")),
        f"{key}_seconds_max": max(timings.seconds, default=float("nan")),
        f"{key}_repeats": len(timings.seconds),
        f"{key}_unconverged": timings.unconverged,
        f"{key}_accuracy": None if fitted is None else fitted.score(data.X_test, data.y_test),
        f"{key}_error": timings.error,
    }


def _own_columns(timings: Timings) -> Row:
    """Return what only our estimator knows of its fit (of the last repeat)."""
    fitted = timings.result
    certificate = fitted.certificate_[0]
    parts, wall = fitted.seconds_[0], timings.seconds[-1]
    shares = {f"share_{name}": parts[name] / wall for name in PARTS}
    return {
        "certified": bool(certificate.certified) and not timings.unconverged,
        "residual": certificate.residual,
        "local_minimizer": certificate.local_minimizer,
        "passes": fitted.n_passes_,
        **shares,
        "share_outside": 1.0 - parts["total"] / wall,
        "support": len(fitted.support_),
        "ignored": len(fitted.ignored_),
        "objective": float(fitted.objective_[0]),
        "convex_objective": certificate.convex_objective,
        "trivial_objective": certificate.trivial_objective,
    }


def _progress(row: Row) -> str:
    times = "  ".join(f"{rival.label} {number(row[f'{rival.key}_seconds'])} s" for rival in RIVALS)
    verdict = "certified" if row["certified"] else "NOT certified"
    return f"{row['set']}, C = {row['C']:g}: {times}  ({verdict})"


# ----------------------------------------------------------------------------------- report


def bars(rows: list[Row]) -> list[Bar]:
    """Compare with what was promised."""
    small = [row for row in rows if row["m"] < LARGE]
    large = [row for row in rows if row["m"] >= LARGE]
    ratio = "fit time over LinearSVC()"
    hinge = 'fit time over LinearSVC(loss="hinge")'
    return [
        at_most(f"{ratio}, median <= 0.3", rows, "ratio_linearsvc", 0.3, worst=False),
        at_most(f"{ratio}, below {LARGE:,} samples <= 1.5", small, "ratio_linearsvc", 1.5),
        at_most(f"{ratio}, from {LARGE:,} samples up <= 1", large, "ratio_linearsvc", 1.0),
        at_most(f"{hinge}, median <= 0.15", rows, "ratio_linearsvc_hinge", 0.15, worst=False),
        every("certified at tol = 1e-3 every time", rows, "certified"),
        at_most("passes, median <= 80", rows, "passes", 80.0, worst=False),
        _never_above(rows, "convex_objective", "the convex start"),
        _never_above(rows, "trivial_objective", "the constant classifier"),
    ]


def _never_above(rows: list[Row], column: str, name: str) -> Bar:
    share = "objective_share"
    compared = [{**row, share: row["objective"] / row[column]} for row in rows if row.get(column)]
    return at_most(f"objective never above that of {name} (share <= 1)", compared, share, 1.0)


HEAD: dict[str, Any] = {
    "set": lambda row: row["set"],
    "m x n": lambda row: f"{row['m']:,} x {row['n']:,}",
    "C": lambda row: f"{row['C']:g}",
}


def tables(rows: list[Row]) -> str:
    """Render as Markdown."""
    shares = {f"% {name}": _share(f"share_{name}") for name in (*PARTS, "outside")}
    times = {rival.label: partial(time_cell, key=rival.key) for rival in RIVALS}
    accuracies = {rival.label: _share(f"{rival.key}_accuracy", 2) for rival in RIVALS}
    ratios = {"ours / LinearSVC": "ratio_linearsvc", "ours / hinge": "ratio_linearsvc_hinge"}
    work = {"one pass (ms)": "pass_ms", "passes": "passes",
            "time in passes": "htsvc_seconds_in_passes"}  # fmt: skip
    result: dict[str, Any] = {
        "certified": lambda row: "yes" if row["certified"] else "NO",
        "residual": lambda row: number(row.get("residual"), 2),
        "local minimiser": lambda row: str(row.get("local_minimizer", "")),
        "support vectors": lambda row: f"{row.get('support', '')}",
        "ignored": lambda row: f"{row.get('ignored', '')}",
        "objective": lambda row: number(row.get("objective"), 6),
        "convex start": lambda row: number(row.get("convex_objective"), 6),
        "constant": lambda row: number(row.get("trivial_objective"), 6),
    }
    return "\n\n".join(
        [
            "## Seconds\n\nMedians of interleaved repeats. `*`: so slow that it got fewer repeats; "
            "`!`: gave a ConvergenceWarning (stopped at its iteration limit).",
            table(rows, HEAD | times | ratios),
            "## Work\n\nOne pass is one product `X @ w` (NumPy or SciPy). *Passes*: products "
            "counted by the fit; *time in passes*: fit time over the time of one pass. Shares of "
            "the time of a fit (`seconds_`): the search for starts, the finish, the "
            "certificate, and outside (checks of the input, attributes).",
            table(rows, HEAD | work | shares),
            "## Result of the fit",
            table(rows, HEAD | result),
            "## Test accuracy (%)",
            table(rows, HEAD | accuracies),
        ]
    )


def _share(column: str, decimals: int = 0) -> Callable[[Row], str]:
    return lambda row: percent(row.get(column), decimals)


def time_cell(row: Row, key: str) -> str:
    if row.get(f"{key}_error"):
        return "failed"
    text = number(row[f"{key}_seconds"])
    text += "*" if row[f"{key}_repeats"] < row["repeats"] else ""
    return text + ("!" if row[f"{key}_unconverged"] else "")
