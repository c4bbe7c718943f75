"""Which labels are wrong: the violations of one fit beside cleanlab.

``python -m benchmarks.label_issues [picture.png]`` draws the curves of the stored results.
"""

from __future__ import annotations

import sys
import time
import warnings
from collections.abc import Callable
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    average_precision_score,
    precision_recall_curve,
    roc_auc_score,
    roc_curve,
)
from sklearn.model_selection import cross_val_predict

from benchmarks.bars import Bar, Row, at_most
from benchmarks.multiclass_data import NOISES, Noisy, cifar, digits, handwritten
from benchmarks.plan import Plan
from benchmarks.report import markdown_table, number, read_csv
from benchmarks.sets import MissingData
from htsvm import HTSVC, HTSVCCV

# What is chosen from, on how many rows at most, and how roughly those problems are solved.
CHOICES, PENALTIES, CAPS = ("joint", "ovr"), (0.1, 1.0), (np.inf, 2.0, 1.0)
FOLDS, PART, TUNING_TOL = 3, 2000, 1e-2
CLEANLAB_FOLDS = 5
JOINT, OVR, CHOSEN = "HTSVC()", 'HTSVC(multi_class="ovr")', "HTSVC, chosen"
CLEANLAB = "cleanlab, 5-fold logistic regression"
# Where cleanlab is not installed: the same probabilities, and the same score made of them.
CONFIDENCE = "5-fold logistic regression, its confidence in the label"
# Where curves are stored: shares of right labels for ROC, of wrong ones for precision.
PLACES = np.linspace(0.0, 1.0, 51)
# How much of cleanlab's time a fit may take.
SHARE = 0.3
DRAWN = ("digits, 40 % to the next class", "handwritten, 40 % to the next class",
         "CIFAR-10N, worse")  # fmt: skip


def run(plan: Plan) -> list[Row]:
    """Score the labels of all sets by all methods."""
    rows: list[Row] = []
    noises = NOISES[1:2] if plan.quick else NOISES[1:]
    loads: list[Callable[[], Noisy]] = [partial(digits, *noise) for noise in noises]
    if not plan.quick:
        loads += [partial(handwritten, *noise) for noise in noises]
        loads.append(partial(cifar, "worse"))
    for load in loads:
        try:
            data = load()
        except MissingData as reason:
            plan.say(f"skipped, {reason}")
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            rows += _compare(plan, data)
    return rows


def _compare(plan: Plan, data: Noisy) -> list[Row]:
    rows = []
    for method, scored in (
        (JOINT, partial(_fitted, HTSVC())),
        (OVR, partial(_fitted, HTSVC(multi_class="ovr"))),
        (CHOSEN, _chosen),
        (CLEANLAB, _cleanlab) if find_spec("cleanlab") else (CONFIDENCE, _confidence),
    ):
        began = time.process_time()
        score, named, more = scored(data)
        seconds = time.process_time() - began
        rows.append(_row(data, method, score, named, seconds) | more)
        plan.say(
            f"{data.name}, {data.noise}, {method}: ROC area {rows[-1]['roc']:.4f}, average "
            f"precision {rows[-1]['precision']:.4f}, {seconds:.2f} s"
        )
    return rows


# -------------------------------------------------------------------------------- methods


def _fitted(model: Any, data: Noisy) -> tuple[np.ndarray, np.ndarray, Row]:
    """Return the violations of a fit, the samples it ignored, and what else there is to say."""
    model.fit(data.X, data.y)
    more = {"C": model.C, "cap": model.cap, "multi_class": model.multi_class}
    return model.margin_violation(data.X, data.y), model.ignored_, more


def _chosen(data: Noisy) -> tuple[np.ndarray, np.ndarray, Row]:
    """Choose by accuracy on the labels as given, on a part of the rows; fit all of them."""
    began = time.process_time()
    rows = np.arange(len(data.y))
    if len(rows) > PART:
        rows = np.sort(np.random.default_rng(0).choice(rows, size=PART, replace=False))
    searches = [
        HTSVCCV(
            Cs=list(PENALTIES), caps=list(CAPS), cv=FOLDS, multi_class=choice, tol=TUNING_TOL
        ).fit(data.X[rows], data.y[rows])
        for choice in CHOICES
    ]
    best = max(searches, key=lambda search: search.scores_.mean(axis=0).max())
    seconds = time.process_time() - began
    model = HTSVC(C=best.C_, cap=best.cap_, multi_class=best.multi_class)
    score, ignored, more = _fitted(model, data)
    return score, ignored, {**more, "choice_seconds": seconds}


def _cleanlab(data: Noisy) -> tuple[np.ndarray, np.ndarray, Row]:
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    shares = _probabilities(data)
    found = np.flatnonzero(find_label_issues(data.y, shares, n_jobs=1))
    return -get_label_quality_scores(data.y, shares), found, {}


def _confidence(data: Noisy) -> tuple[np.ndarray, np.ndarray, Row]:
    """Return how little a label is believed; samples that are taken for another class."""
    shares = _probabilities(data)
    codes = np.unique(data.y, return_inverse=True)[1]
    return -shares[np.arange(len(codes)), codes], np.flatnonzero(shares.argmax(1) != codes), {}


def _probabilities(data: Noisy) -> np.ndarray:
    model = LogisticRegression(max_iter=300)
    return cross_val_predict(model, data.X, data.y, cv=CLEANLAB_FOLDS, method="predict_proba")


def _row(
    data: Noisy, method: str, score: np.ndarray, named: np.ndarray, seconds: float
) -> Row:  # fmt: skip
    """Return how well a score tells wrong labels from right ones, and its curves."""
    wrong = data.y != data.y_true
    false, true, _ = roc_curve(wrong, score)
    precision, recall, _ = precision_recall_curve(wrong, score)
    return {
        "set": f"{data.name}, {data.noise}",
        "method": method,
        "wrong": int(wrong.sum()),
        "samples": len(wrong),
        "roc": float(roc_auc_score(wrong, score)),
        "precision": float(average_precision_score(wrong, score)),
        "seconds": seconds,
        "named": len(named),
        "named_wrong": int(wrong[named].sum()),
        "roc_curve": _stored(np.interp(PLACES, false, true)),
        "precision_curve": _stored(np.interp(PLACES, recall[::-1], precision[::-1])),
    }


def _stored(values: np.ndarray) -> str:
    return " ".join(f"{value:.4f}" for value in values)


# --------------------------------------------------------------------------------- report


def bars(rows: list[Row]) -> list[Bar]:
    """Compare with cleanlab: at least its area, at most a share of its time."""
    by_name = {(row["set"], row["method"]): row for row in rows}
    rival = CLEANLAB if any(row["method"] == CLEANLAB for row in rows) else CONFIDENCE
    called = "cleanlab" if rival == CLEANLAB else "5-fold logistic regression"
    found = []
    for method, note in ((JOINT, ""), (CHOSEN, ", its choice included")):
        pairs = [
            (name, row, by_name[name, rival])
            for (name, who), row in by_name.items()
            if who == method and (name, rival) in by_name
        ]
        short = [{"set": name, "short": c["roc"] - r["roc"]} for name, r, c in pairs]
        times = [{"set": name, "ratio": r["seconds"] / c["seconds"]} for name, r, c in pairs]
        found += [
            at_most(f"{method}: ROC area below that of {called} by at most 0", short, "short", 0.0),
            at_most(f"{method}{note}: time / {called} <= {SHARE}", times, "ratio", SHARE),
        ]
    return found


def tables(rows: list[Row]) -> str:
    """Render as Markdown."""
    cells = [
        {
            "labels": row["set"],
            "method": row["method"],
            "ROC area": number(row["roc"], 4),
            "average precision": number(row["precision"], 4),
            "CPU s": number(row["seconds"]),
            "of it for the choice": number(row.get("choice_seconds")),
            "named": str(row["named"]),
            "of them wrong (%)": number(100.0 * row["named_wrong"] / max(row["named"], 1)),
            "chosen": _choice(row),
        }
        for row in rows
    ]
    return (
        "How well a score tells wrong labels from right ones. Ours is `margin_violation` of one "
        "fit to all rows and the labels as given, with the defaults (C = 1, cap = 1), or with "
        f"multi_class ({', '.join(CHOICES)}), C ({', '.join(f'{C:g}' for C in PENALTIES)}) and cap "
        f"({', '.join(f'{cap:g}' for cap in CAPS)}) chosen by {FOLDS}-fold cross-validation on "
        f"those labels, on at most {PART} of the rows. cleanlab's is its label quality, from "
        f"out-of-sample probabilities of LogisticRegression in {CLEANLAB_FOLDS} folds; where it "
        'is not installed, the probability of the label, which is that quality. "Named" '
        "are the samples that the fit ignored, that find_label_issues found, or that are taken for "
        "another class. Seconds are of "
        "CPU time, all of it.\n\n"
        f"{markdown_table(cells)}"
    )


def _choice(row: Row) -> str:
    if row["method"] != CHOSEN:
        return ""
    return f"{row['multi_class']}, C = {row['C']:g}, cap = {row['cap']:g}"


def draw(rows: list[Row], picture: Path) -> None:
    """Draw ROC and precision-recall curves of some of the sets."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    names = [name for name in DRAWN if any(row["set"] == name for row in rows)]
    figure, axes = plt.subplots(
        2, len(names), figsize=(4.3 * len(names), 8.0), layout="constrained", squeeze=False
    )
    for column, name in zip(axes.T, names, strict=True):
        for row in (row for row in rows if row["set"] == name):
            theirs = row["method"] in (CLEANLAB, CONFIDENCE)
            style = {"ls": "--", "color": "black"} if theirs else {}
            for ax, curve, area in zip(
                column, ("roc_curve", "precision_curve"), ("roc", "precision"), strict=True
            ):
                values = [float(value) for value in str(row[curve]).split()]
                ax.plot(PLACES, values, label=f"{row['method']}: {row[area]:.3f}", **style)
        column[0].set(title=name, xlabel="right labels named", ylabel="wrong labels named")
        column[1].set(xlabel="recall of wrong labels", ylabel="precision", ylim=(0.0, 1.02))
        for ax, title in zip(column, ("ROC area", "average precision"), strict=True):
            ax.legend(title=title, loc="lower right" if ax is column[0] else "lower left",
                      fontsize=7.5, frameon=False)  # fmt: skip
            ax.grid(alpha=0.3)
    figure.savefig(picture, dpi=110)


if __name__ == "__main__":
    stored = Path(__file__).parent / "results" / "label-issues.csv"
    draw(read_csv(stored), Path(sys.argv[1] if len(sys.argv) > 1 else "label_issues.png"))
