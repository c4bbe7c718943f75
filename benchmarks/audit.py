"""Which labels are wrong: `audit_labels` beside cleanlab.

``python -m benchmarks.audit [picture.png]`` draws the reliability of trust from the stored results.
"""

from __future__ import annotations

import contextlib
import io
import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import cross_val_predict

from benchmarks.audit_data import MOST_ROWS, dense, is_design, settings
from benchmarks.audit_page import frames_per_second
from benchmarks.bars import Bar, Row
from benchmarks.multiclass_data import Noisy
from benchmarks.plan import Plan
from benchmarks.report import markdown_table, number, read_csv
from benchmarks.resume import Kept
from benchmarks.sets import MissingData
from htsvm import HTSVC
from htsvm.audit import audit_labels
from htsvm.audit.plot import reliability

FOLDS = 5
DRAWS = 1
# Gradient boosting takes minutes with more classes, or with more columns, than these.
BOOSTED_CLASSES, BOOSTED_COLUMNS = 3, 200
REVIEWED = 0.05
BEHIND = 0.005
FRAMES = 30.0
OURS, FOLDED, INSIDE = "audit_labels", "audit_labels(model=HTSVC)", "one fit of HTSVC, in-sample"
LOGISTIC, BOOSTED = "cleanlab, logistic regression", "cleanlab, gradient boosting"
DATALAB = "Datalab, logistic regression"
RIVALS = (LOGISTIC, DATALAB, BOOSTED)
PAGE = "the page, 100,000 rows"
Verdict = tuple[np.ndarray, float | None, Callable[[], tuple[Any, np.ndarray]], Row]


def run(plan: Plan) -> list[Row]:
    """Audit all settings by all methods; a broken run goes on where it broke."""
    most = plan.rows or MOST_ROWS
    kept = Kept(f"audit-{'quick-' * plan.quick}{most}")
    rows: list[Row] = []
    for name, draw, load in settings(plan.quick, DRAWS, most):
        try:
            rows += kept.get(f"{name}, {draw}", lambda: _setting(plan, name, load))  # noqa: B023
        except MissingData as reason:
            plan.say(f"{name}: skipped, {reason}")
    frames = frames_per_second(plan)
    if frames is not None:
        rows.append({"set": PAGE, "method": PAGE, "frames": frames})
    kept.done()
    return rows


def _setting(plan: Plan, name: str, load: Callable[[], Noisy]) -> list[Row]:
    data = load()
    if np.bincount(data.y).min() < FOLDS:
        plan.say(f"{name}: skipped, a class has fewer samples than folds")
        return []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [_row(plan, name, data, method, judge) for method, judge in METHODS.items()]
    return [row for row in found if row]


# -------------------------------------------------------------------------------- methods


def _ours(model: Any, data: Noisy) -> Verdict:
    audit = audit_labels(data.X, data.y, model=model)
    said, seen = reliability(audit.trust, data.y == data.y_true)
    more = {
        "calibration": float(np.abs(said - seen).mean()),
        "said": " ".join(f"{value:.3f}" for value in said),
        "seen": " ".join(f"{value:.3f}" for value in seen),
    }
    return 1.0 - audit.trust, audit.share_wrong, lambda: (data.X, audit.corrected_labels()), more


def _inside(data: Noisy) -> Verdict:
    model = HTSVC(C=0.1, cap=2.0).fit(data.X, data.y)
    violation = model.margin_violation(data.X, data.y)
    return violation, None, lambda: (data.X, model.predict(data.X)), {}


def _cleanlab(model: Any, data: Noisy) -> Verdict:
    from cleanlab.count import num_label_issues
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    X = dense(data.X) if isinstance(model, HistGradientBoostingClassifier) else data.X
    shares = cross_val_predict(model, X, data.y, cv=FOLDS, method="predict_proba")
    issues = find_label_issues(data.y, shares, n_jobs=1)
    kept = np.flatnonzero(~issues)
    score = -get_label_quality_scores(data.y, shares)
    estimate = num_label_issues(data.y, shares) / len(data.y)
    return score, float(estimate), lambda: (data.X[kept], data.y[kept]), {}


def _datalab(model: Any, data: Noisy) -> Verdict:
    from cleanlab import Datalab

    shares = cross_val_predict(model, data.X, data.y, cv=FOLDS, method="predict_proba")
    lab = Datalab({"label": data.y}, label_name="label", verbosity=0)
    with contextlib.redirect_stdout(io.StringIO()):
        lab.find_issues(pred_probs=shares, issue_types={"label": {}})
    found = lab.get_issues("label")
    issues = found["is_label_issue"].to_numpy()
    kept = np.flatnonzero(~issues)
    score = -found["label_score"].to_numpy()
    return score, float(issues.mean()), lambda: (data.X[kept], data.y[kept]), {}


METHODS: dict[str, Callable[[Noisy], Verdict]] = {
    OURS: partial(_ours, None),
    FOLDED: partial(_ours, HTSVC(C=0.1, cap=2.0, tol=1e-2)),
    INSIDE: _inside,
    LOGISTIC: partial(_cleanlab, LogisticRegression(max_iter=300)),
    DATALAB: partial(_datalab, LogisticRegression(max_iter=300)),
    BOOSTED: partial(_cleanlab, HistGradientBoostingClassifier(random_state=0)),
}


def _row(
    plan: Plan, name: str, data: Noisy, method: str, judge: Callable[[Noisy], Verdict]
) -> Row:  # fmt: skip
    too_long = data.y.max() >= BOOSTED_CLASSES or data.X.shape[1] > BOOSTED_COLUMNS
    if method == BOOSTED and too_long:
        return {}
    wrong = data.y != data.y_true
    began = time.process_time()
    try:
        score, estimate, cleaned, more = judge(data)
    except ImportError:
        plan.say("cleanlab is not installed: left out")
        return {}
    seconds = time.process_time() - began
    first = np.argsort(-score, kind="stable")[: round(REVIEWED * len(wrong))]
    row = {
        "set": name,
        "method": method,
        "samples": len(wrong),
        "wrong": float(wrong.mean()),
        "estimate": estimate,
        "roc": float(roc_auc_score(wrong, score)),
        "precision": float(average_precision_score(wrong, score)),
        "left": 1.0 - float(wrong[first].sum() / wrong.sum()),
        "accuracy": _accuracy(data, *cleaned()),
        "seconds": seconds,
        **more,
    }
    plan.say(
        f"{name}, {method}: ROC area {row['roc']:.4f}, average precision {row['precision']:.4f}, "
        f"{seconds:.2f} s"
    )
    return row


def _accuracy(data: Noisy, X: Any, y: np.ndarray) -> float:
    """Return the accuracy on clean test labels of logistic regression on cleaned data."""
    if len(np.unique(y)) < 2:
        return float(np.mean(data.y_test == y[0])) if len(y) else 0.0
    model = LogisticRegression(max_iter=300).fit(X, y)
    return float(model.score(data.X_test, data.y_test))


# --------------------------------------------------------------------------------- report


def _pairs(rows: list[Row]) -> list[tuple[Row, list[Row]]]:
    """Return our rows, each with those of cleanlab in the same setting."""
    found: list[tuple[Row, list[Row]]] = []
    for place, row in enumerate(rows):
        if row["method"] != OURS:
            continue
        rivals = []
        for other in rows[place + 1 :]:
            if other["method"] == OURS or other["set"] != row["set"]:
                break
            rivals += [other] * (other["method"] in RIVALS)
        if rivals:
            found.append((row, rivals))
    return found


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
    errors = [[abs(r["estimate"] - r["wrong"]) for r in pair] for pair in plain]
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
        "Every method sees the same rows, features and labels, of large sets a sample of the rows. "
        "The constants of the audit are the same for all sets; they were settled on the design "
        "sets, the others are the verdict. Gradient boosting runs on sets of up to "
        f"{BOOSTED_CLASSES} classes and {BOOSTED_COLUMNS} columns. "
        f"cleanlab has out-of-sample probabilities from {FOLDS} folds. After correction: logistic "
        "regression on our corrected labels, or on what cleanlab leaves, tested on clean labels. "
        f"Left: the share of wrong labels that are still there when the first {REVIEWED:.0%} of "
        "all labels have been put right. Calibration: mean distance between trust and the share of "
        "right labels in ten groups. Seconds are of CPU time.\n\n"
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
    figure, axes = plt.subplots(
        1, len(kinds), figsize=(3.2 * len(kinds), 3.4), layout="constrained", squeeze=False
    )
    for ax, kind in zip(axes[0], kinds, strict=True):
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
