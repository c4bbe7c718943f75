"""Which labels are wrong: `audit_labels` beside cleanlab, and what a review of fifty rows tells."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from importlib.metadata import version
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.audit_data import MOST_ROWS, PEOPLE, VERDICT, is_design, settings
from benchmarks.audit_methods import BEST, FAST, LOGISTIC, METHODS, RIVALS, accuracies, compared
from benchmarks.audit_page import frames_per_second
from benchmarks.bars import Bar, Row
from benchmarks.plan import Plan
from benchmarks.report import markdown_table, number
from benchmarks.sets import Dataset, MissingData
from benchmarks.stale import LIBRARY, Kept, digest

DRAWS = 3
FRAMES = 30.0
PAGE = "the page, 100,000 rows"


def run(plan: Plan) -> list[Row]:
    """Audit all settings by all methods; a broken run goes on where it broke."""
    try:
        rivals = f"{digest(LIBRARY / 'audit')}, cleanlab {version('cleanlab')}"
    except ImportError:
        plan.say("cleanlab is not installed: nothing to compare with")
        return []
    most = plan.rows or MOST_ROWS
    kept = Kept(f"audit-{most}", sources=f"{rivals}, scikit-learn {version('scikit-learn')}")
    rows: list[Row] = []
    for name, draw, load in settings(plan.quick, 1 if plan.quick else DRAWS, most):
        try:
            rows += kept.get(f"{name}, {draw}", lambda: _cell(plan, name, draw, load))  # noqa: B023
        except MissingData as reason:
            plan.say(f"{name}: skipped, {reason}")
    frames = frames_per_second(plan)
    if frames is not None:
        rows.append({"set": PAGE, "method": PAGE, "frames": frames})
    kept.done()
    return rows


def _cell(plan: Plan, name: str, draw: int, load: Callable[[], Dataset]) -> list[Row]:
    # One thread while loading too: idle threads that still spin would count for who comes first.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        data = load()
        found = compared(name, data)
        if draw == 0 and name.split(", ")[0] in VERDICT and name.endswith("20%"):
            found += accuracies(name, data)
    plan.say(
        f"{name}, {draw}: " + ", ".join(f"{r['precision']:.3f}" for r in found[: len(METHODS)])
    )
    return found


# --------------------------------------------------------------------------------- report


def _part(row: Row) -> str:
    name = str(row["set"])
    return "people" if name.startswith("CIFAR") else "design" if is_design(name) else "verdict"


def _by_setting(rows: list[Row], column: str, *parts: str) -> dict[str, dict[str, float]]:
    """Return means over draws, by setting and method."""
    found: dict[str, dict[str, list[float]]] = {}
    for row in rows:
        if row["method"] in METHODS and _part(row) in parts:
            found.setdefault(row["set"], {}).setdefault(row["method"], []).append(row[column])
    return {
        name: {method: float(np.mean(values)) for method, values in methods.items()}
        for name, methods in found.items()
    }


def _order_bars(rows: list[Row]) -> list[Bar]:
    found = []
    for column, title, least in (
        ("precision", "average precision", 0.03),
        ("roc", "ROC area", 0.02),
    ):
        table = _by_setting(rows, column, "verdict", "people")
        if not table:
            continue
        means = {m: float(np.mean([row[m] for row in table.values()])) for m in METHODS}
        rival = max(RIVALS, key=lambda name: means[name])
        found.append(
            Bar(
                f"{title}, verdict sets and people: +{least} on cleanlab's best single model",
                f"{means[BEST]:.4f} (fast {means[FAST]:.4f}) against {means[rival]:.4f} "
                f"({rival}; {len(table)} settings)",
                means[BEST] - means[rival] >= least,
            )
        )
        gaps = {name: row[BEST] - row[rival] for name, row in table.items()}
        lost, worst = sum(gap < -0.02 for gap in gaps.values()), min(gaps, key=gaps.__getitem__)
        found.append(
            Bar(
                f"{title}: lost by more than .02 in at most 10 %, at worst .08",
                f"{lost} of {len(gaps)}, at worst {-gaps[worst]:.3f} ({worst})",
                lost <= 0.1 * len(gaps) and gaps[worst] >= -0.08,
            )
        )
        own = {name: row for name, row in table.items() if name.startswith("CIFAR")}
        ahead = sum(row[BEST] > max(row[m] for m in RIVALS) for row in own.values())
        found.append(
            Bar(
                f"{title}: ahead of all of cleanlab's on human labels, in five of {len(PEOPLE)}",
                f"{ahead} of {len(own)}", ahead >= 5 if own else None,
            )
        )  # fmt: skip
    return found


def _review_bars(rows: list[Row]) -> list[Bar]:
    own = [row for row in rows if row["method"] == BEST]
    judged = [row for row in own if _part(row) == "verdict"]
    people = [row for row in own if _part(row) == "people"]
    found = []
    if judged:
        gap = float(np.mean([row["calibration"] for row in judged]))
        share = float(np.mean([row["error"] for row in judged]))
        held = float(np.mean([row["held"] for row in judged + people]))
        found += [
            Bar("50 reviewed: calibration error at most .06 in the mean of verdict sets",
                f"{gap:.3f}; of the share {share:.3f}", gap <= 0.06),
            Bar("50 reviewed: the range of the share holds in 85 %", f"{held:.0%}", held >= 0.85),
        ]  # fmt: skip
    if people:
        worst = max(row["calibration"] for row in people)
        found.append(
            Bar("50 reviewed: at most .09 on each human task", f"{worst:.3f}", worst <= 0.09)
        )
    for method in (BEST, FAST):
        runs = [row for row in rows if row["method"] == method]
        lost = sum(row["worst"] < -0.2 for row in runs)
        gain = float(np.mean([row["gain"] for row in runs])) if runs else 0.0
        text = f"{lost} of {len(runs)} with five reviews each; {gain:+.2f} points in the mean"
        text += f", at worst {min((row['worst'] for row in runs), default=0.0):+.2f}"
        found.append(Bar(f"replacing never loses .2 points ({method})", text, lost == 0))
    return found


def bars(rows: list[Row]) -> list[Bar]:
    """Compare with cleanlab."""
    found = _order_bars(rows) + _review_bars(rows)
    table = _by_setting(rows, "seconds", "design", "verdict", "people")
    ratios = [row[FAST] / row[LOGISTIC] for row in table.values()]
    found.append(
        Bar(
            "time of quality='fast': at most that of cleanlab with logistic regression",
            f"median {np.median(ratios):.2f}, {sum(r > 1 for r in ratios)} of {len(ratios)} above",
            float(np.median(ratios)) <= 1.0,
        )
    )  # fmt: skip
    scores: dict[str, list[float]] = {}
    for row in rows:
        if row.get("accuracy") is not None:
            scores.setdefault(row["method"].split(", ")[0], []).append(row["accuracy"])
    if scores:
        mean = {name: 100.0 * float(np.mean(values)) for name, values in scores.items()}
        text = ", ".join(f"{name} {value:.2f}" for name, value in mean.items())
        met = mean["AuditedClassifier"] - mean["CleanLearning"] >= 0.5
        found.append(Bar("accuracy of AuditedClassifier: +.5 on CleanLearning", text, met))
    frames = [row["frames"] for row in rows if row["method"] == PAGE]
    text = f"{frames[0]:.0f}" if frames else ""
    promise = f"the page scrolls 100,000 rows at {FRAMES:g} frames per second or better"
    return [*found, Bar(promise, text, frames[0] >= FRAMES if frames else None)]


def tables(rows: list[Row]) -> str:
    """Render as Markdown: means over settings by part and method; then each setting, by draws."""
    lines = []
    for part in dict.fromkeys(_part(row) for row in rows if row["method"] in METHODS):
        lines += [_means(part, m, [r for r in rows if r["method"] == m and _part(r) == part])
                  for m in METHODS]  # fmt: skip
    every = []
    for name in dict.fromkeys(row["set"] for row in rows if row["method"] in METHODS):
        every += [_means(name, m, [r for r in rows if r["method"] == m and r["set"] == name])
                  for m in METHODS]  # fmt: skip
    return (
        "Every method sees the same rows, features and labels. The constants of the audit were "
        "settled on the design sets; verdict sets and the labels of people had no part in it. "
        "cleanlab scores out-of-sample probabilities of five folds. Means over the draws of split "
        "and noise that are in audit.csv. Left: wrong labels that are still there when the first 5 "
        "or 10 % of all labels have been put right. Calibration, share and gain after 50 reviewed "
        "rows, over five reviews. Seconds are of CPU time with one thread.\n\n"
        f"{markdown_table(lines)}\n\n{markdown_table(every)}"
    )


def _means(title: str, method: str, rows: list[Row]) -> dict[str, str]:
    def mean(column: str) -> Any:
        known = [row[column] for row in rows if row.get(column) is not None]
        return float(np.mean(known)) if known else None

    columns = {
        "ROC area": "roc", "average precision": "precision", "left 5 %": "left 5",
        "left 10 %": "left 10", "calibration": "calibration", "error of the share": "error",
        "gain": "gain", "CPU s": "seconds",
    }  # fmt: skip
    return {"labels": title, "method": method} | {
        name: number(mean(column), 4 if column in ("roc", "precision") else 3)
        for name, column in columns.items()
    }
