"""Which labels are wrong: `audit_labels` beside cleanlab.

``python -m benchmarks.audit [picture.png]`` draws the reliability of trust from the stored results.
"""

from __future__ import annotations

import hashlib
import sys
import warnings
from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.audit_data import MOST_ROWS, is_design, settings
from benchmarks.audit_methods import (
    FOLDS,
    LOGISTIC,
    METHODS,
    OURS,
    REVIEWED,
    RIVALS,
    TREES,
    boosted,
    compared,
    other_scores,
)
from benchmarks.audit_page import frames_per_second
from benchmarks.bars import Bar, Row
from benchmarks.plan import Plan
from benchmarks.report import markdown_table, number, read_csv
from benchmarks.sets import Dataset, MissingData
from benchmarks.stale import LIBRARY, Kept, digest, sources_of

DRAWS = 3
BEHIND = 0.005
FRAMES = 30.0
# Panels beside each other in the picture of reliability.
COLUMNS = 3
PAGE = "the page, 100,000 rows"
Measure = Callable[[str, Dataset], list[Row]]


def run(plan: Plan) -> list[Row]:
    """Audit all settings by all methods; a broken run goes on where it broke.

    Gradient boosting, which takes longest and does not depend on the library, is kept for later
    runs as well.
    """
    try:
        rivals = f"cleanlab {version('cleanlab')}, scikit-learn {version('scikit-learn')}"
    except ImportError:
        plan.say("cleanlab is not installed: nothing to compare with")
        return []
    most = plan.rows or MOST_ROWS
    rivals += f", {_benchmark()}"
    kept: dict[Measure, Kept] = {
        compared: Kept(f"audit-{most}", sources=f"{digest(LIBRARY / 'audit')}, {rivals}"),
        other_scores: Kept(f"audit-other-{most}", sources=f"{sources_of('audit')}, {rivals}"),
        boosted: Kept(f"audit-boosted-{most}", sources=rivals),
    }
    rows: list[Row] = []
    for name, draw, load in settings(plan.quick, 1 if plan.quick else DRAWS, most):
        try:
            for measure, stored in kept.items():
                if measure is other_scores and draw:
                    continue
                # Called at once, before the names move on.
                rows += stored.get(f"{name}, {draw}", lambda: _cell(plan, name, load, measure))  # noqa: B023
        except MissingData as reason:
            plan.say(f"{name}: skipped, {reason}")
    frames = frames_per_second(plan)
    if frames is not None:
        rows.append({"set": PAGE, "method": PAGE, "frames": frames})
    kept[compared].done()
    kept[other_scores].done()
    return rows


def _benchmark() -> str:
    """Return a digest of what makes the sets and measures them."""
    result = hashlib.sha256()
    for name in ("audit_data", "audit_methods"):
        result.update((Path(__file__).parent / f"{name}.py").read_bytes())
    return result.hexdigest()[:12]


def _cell(plan: Plan, name: str, load: Callable[[], Dataset], measure: Measure) -> list[Row]:
    # One thread while loading too: idle threads that still spin would count for who comes first.
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        data = load()
        if np.bincount(data.y).min() < FOLDS:
            plan.say(f"{name}: skipped, a class has fewer samples than folds")
            return []
        found = measure(name, data)
    for row in found:
        plan.say(
            f"{name}, {row['method']}: ROC area {row['roc']:.4f}, average precision "
            f"{row['precision']:.4f}, {row['seconds']:.2f} s"
        )
    return found


# --------------------------------------------------------------------------------- report


def _pairs(rows: list[Row]) -> list[tuple[Row, list[Row]]]:
    """Return our rows, each with those of cleanlab in the same setting; means over the draws."""
    by_setting: dict[str, dict[str, list[Row]]] = {}
    for row in rows:
        if row["method"] in (OURS, *RIVALS):
            by_setting.setdefault(row["set"], {}).setdefault(row["method"], []).append(row)
    found = []
    for methods in by_setting.values():
        means = {method: _over_draws(draws) for method, draws in methods.items()}
        rivals = [means[method] for method in RIVALS if method in means]
        if OURS in means and rivals:
            found.append((means[OURS], rivals))
    return found


def _over_draws(draws: list[Row]) -> Row:
    columns = ("roc", "precision", "left", "accuracy", "seconds")
    means = {column: float(np.mean([row[column] for row in draws])) for column in columns}
    error = float(np.mean([abs(row["estimate"] - row["wrong"]) for row in draws]))
    return {"set": draws[0]["set"], "method": draws[0]["method"], "error": error, **means}


def _mean_bar(
    promise: str, own: list[Row], ours: list[float], theirs: list[float], *, more: bool = True
) -> Bar:  # fmt: skip
    """Compare means over all settings, and say those over the verdict's sets."""
    if not ours:
        return Bar(promise, "", None)
    a, b = float(np.mean(ours)), float(np.mean(theirs))
    text = f"{a:.4f} against {b:.4f} ({len(ours)} settings)"
    judged = [place for place, row in enumerate(own) if _part(row) == "verdict"]
    if judged:
        means = [float(np.mean([part[place] for place in judged])) for part in (ours, theirs)]
        text += f"; verdict sets alone {means[0]:.4f} against {means[1]:.4f}"
    return Bar(promise, text, a >= b if more else a <= b)


def bars(rows: list[Row]) -> list[Bar]:
    """Compare with cleanlab."""
    pairs = _pairs(rows)
    found = []
    for column, name in (("roc", "ROC area"), ("precision", "average precision")):
        best = [max(rival[column] for rival in rivals) for _, rivals in pairs]
        own = [row[column] for row, _ in pairs]
        promise = f"{name}: mean at least that of cleanlab's best"
        found.append(_mean_bar(promise, [row for row, _ in pairs], own, best))
        short = [(b - a, row["set"]) for a, b, (row, _) in zip(own, best, pairs, strict=True)]
        behind = sum(value > BEHIND for value, _ in short)
        worst = max(short, default=(0.0, ""))
        found.append(
            Bar(
                f"{name}: nowhere behind cleanlab's best by more than {BEHIND}",
                f"{behind} of {len(short)} behind, most by {worst[0]:.3f} ({worst[1]})",
                behind == 0 if short else None,
            )
        )
    plain = [
        (row, rival) for row, rivals in pairs for rival in rivals if rival["method"] == LOGISTIC
    ]
    errors = [[r["error"] for r in pair] for pair in plain]
    found.append(
        _mean_bar(
            "share of wrong labels: mean absolute error at most half of cleanlab's",
            [row for row, _ in plain], [a for a, _ in errors], [b / 2.0 for _, b in errors],
            more=False,
        )
    )  # fmt: skip
    ratios = [row["seconds"] / rival["seconds"] for row, rival in plain]
    over = sum(ratio > 0.5 for ratio in ratios)
    found.append(
        Bar(
            "time: at most half of cleanlab's with logistic regression",
            f"median {np.median(ratios):.2f}, {over} of {len(ratios)} above" if ratios else "",
            over == 0 if ratios else None,
        )
    )
    for column, name, more in (
        ("accuracy", "accuracy after correction: at least cleanlab's in the mean", True),
        ("left", f"wrong labels left after {REVIEWED:.0%} reviewed: at most as many", False),
    ):  # fmt: skip
        own, theirs = [r[column] for r, _ in plain], [o[column] for _, o in plain]
        found.append(_mean_bar(name, [r for r, _ in plain], own, theirs, more=more))
    frames = [row["frames"] for row in rows if row["method"] == PAGE]
    found.append(
        Bar(
            f"the page scrolls 100,000 rows at {FRAMES:g} frames per second or better",
            f"{frames[0]:.0f}" if frames else "",
            frames[0] >= FRAMES if frames else None,
        )
    )
    return found


def tables(rows: list[Row]) -> str:
    """Render as Markdown: means over settings, by method and by kind of noise; then all rows."""
    judged = [row for row in rows if row["method"] != PAGE]
    return (
        "Every method sees the same rows, features and labels: of large sets a sample of "
        f"{MOST_ROWS:,} rows, of the UCI sets {DRAWS} draws of split and noise, whose means are "
        "compared. The constants of the audit are the same for all sets; they were settled on the "
        "design sets, the others are the verdict. Gradient boosting: "
        f"HistGradientBoostingClassifier with early stopping and at most {TREES} iterations. "
        f"cleanlab has out-of-sample probabilities from {FOLDS} folds. After correction: logistic "
        "regression on our corrected labels, or on what cleanlab leaves, tested on clean labels. "
        f"Left: the share of wrong labels that are still there when the first {REVIEWED:.0%} of "
        "all labels have been put right. Calibration: mean distance between trust and the share of "
        "right labels in ten groups. Seconds are of CPU time with one thread; the folds of "
        "logistic regression are computed once and count for both methods that use them.\n\n"
        f"{markdown_table(_means(judged))}\n\n{markdown_table([_cells(row) for row in judged])}"
    )


def _means(rows: list[Row]) -> list[dict[str, str]]:
    kinds = list(dict.fromkeys(row["set"].split(", ", 1)[1] for row in rows))
    found = []
    for kind in ("all", "design", "verdict", *kinds):
        for method in METHODS:
            own = [r for r in rows if r["method"] == method and kind in ("all", _part(r), _kind(r))]
            if own:
                columns = ("roc", "precision", "left", "accuracy", "calibration", "seconds")
                means = {c: _mean([r.get(c) for r in own]) for c in columns}
                errors = [abs(r["estimate"] - r["wrong"]) for r in own if _is(r.get("estimate"))]
                found.append(_cells({"set": kind, "method": method, **means}, _mean(errors)))
    return found


def _kind(row: Row) -> str:
    return str(row["set"].split(", ", 1)[1])


def _part(row: Row) -> str:
    return "design" if is_design(str(row["set"])) else "verdict"


def _is(value: Any) -> bool:
    return isinstance(value, (int, float)) and not np.isnan(value)


def _mean(values: list[Any]) -> float | None:
    known = [value for value in values if _is(value)]
    return float(np.mean(known)) if known else None


def _cells(row: Row, error: float | None = None) -> dict[str, str]:
    if error is None and _is(row.get("estimate")):
        error = abs(row["estimate"] - row["wrong"])
    return {
        "labels": str(row["set"]),
        "method": str(row["method"]),
        "ROC area": number(row["roc"], 4),
        "average precision": number(row["precision"], 4),
        "error of the share": number(error),
        "after correction": number(row["accuracy"], 4),
        "left": number(row["left"]),
        "calibration": number(row.get("calibration")),
        "CPU s": number(row["seconds"]),
    }


def draw(rows: list[Row], picture: Path) -> None:
    """Draw the share of right labels against trust, a line per setting, by kind of noise."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    own = [row for row in rows if row["method"] == OURS]
    kinds = list(dict.fromkeys(map(_kind, own)))
    n_rows = -(-len(kinds) // COLUMNS)
    figure, axes = plt.subplots(
        n_rows, COLUMNS, figsize=(3.2 * COLUMNS, 3.2 * n_rows), layout="constrained", squeeze=False
    )
    for ax in axes.ravel()[len(kinds) :]:
        ax.axis("off")
    for ax, kind in zip(axes.ravel(), kinds, strict=False):
        for row in (row for row in own if _kind(row) == kind):
            said, seen = (
                [float(value) for value in str(row[column]).split()] for column in ("said", "seen")
            )
            ax.plot(said, seen, color="#0072b2", alpha=0.4)
        ax.plot([0, 1], [0, 1], ls=":", color="black")
        ax.set(title=kind, xlabel="trust", ylabel="share of right labels")
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    stored = Path(__file__).parent / "results" / "audit.csv"
    draw(read_csv(stored), Path(sys.argv[1] if len(sys.argv) > 1 else "audit_reliability.png"))
