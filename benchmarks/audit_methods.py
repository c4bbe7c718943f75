"""What the benchmark of the audit compares: `audit_labels` and cleanlab on single models."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import cross_val_predict
from sklearn.neighbors import KNeighborsClassifier

from benchmarks.bars import Row
from benchmarks.sets import Dataset
from htsvm import AuditedClassifier
from htsvm.audit import LabelAudit, audit_labels

FOLDS, REVIEWS = 5, 5
BEST, FAST = "audit_labels", 'audit_labels, quality="fast"'
LOGISTIC = "cleanlab, logistic regression"
RIVALS = {
    LOGISTIC: LogisticRegression(max_iter=300),
    "cleanlab, random forest": RandomForestClassifier(50, random_state=0),
    "cleanlab, 20 neighbours": KNeighborsClassifier(20),
}
METHODS = (BEST, FAST, *RIVALS)


def compared(name: str, data: Dataset) -> list[Row]:
    """Return the rows of the audits and of cleanlab in one setting."""
    rows = []
    for method, quality in ((BEST, "best"), (FAST, "fast")):
        found: list[LabelAudit] = []

        def audited(quality: str = quality, found: list[LabelAudit] = found) -> np.ndarray:
            found.append(audit_labels(data.X, data.y, quality=quality))
            return found[0].trust

        row = measured(name, data, method, audited)
        rows.append(row | reviewed(found[0], data))
    for method, model in RIVALS.items():
        rows.append(measured(name, data, method, lambda model=model: _cleanlab(model, data)))
    return rows


def accuracies(name: str, data: Dataset) -> list[Row]:
    """Return the accuracy on clean labels of classifiers that mistrust theirs."""
    from cleanlab.classification import CleanLearning

    rows = []
    for model in (LogisticRegression(max_iter=300), RandomForestClassifier(50, random_state=0)):
        for method, fitted in (
            ("plain", model),
            ("AuditedClassifier", AuditedClassifier(model)),
            ("CleanLearning", CleanLearning(model)),
        ):
            score = float(np.mean(fitted.fit(data.X, data.y).predict(data.X_test) == data.y_test))
            title = f"{method}, {type(model).__name__}"
            rows.append({"set": name, "method": title, "accuracy": score})
    return rows


def _cleanlab(model: Any, data: Dataset) -> np.ndarray:
    from cleanlab.rank import get_label_quality_scores

    shares = cross_val_predict(model, data.X, data.y, cv=FOLDS, method="predict_proba")
    return np.asarray(get_label_quality_scores(data.y, shares))


def measured(name: str, data: Dataset, method: str, trust: Callable[[], np.ndarray]) -> Row:
    """Return how well an order finds the wrong labels."""
    wrong = data.y != data.y_true
    began = time.process_time()
    score = -trust()
    row: Row = {"set": name, "draw": data.draw, "method": method, "samples": len(wrong)}
    row |= {"wrong": float(wrong.mean()), "seconds": time.process_time() - began}
    order = np.argsort(score, kind="stable")[::-1]
    for part in (5, 10):
        first = order[: round(part / 100 * len(wrong))]
        row[f"left {part}"] = 1.0 - float(wrong[first].sum() / wrong.sum())
    roc, precision = roc_auc_score(wrong, score), average_precision_score(wrong, score)
    return row | {"roc": float(roc), "precision": float(precision)}


def reviewed(audit: LabelAudit, data: Dataset) -> Row:
    """Return what fifty reviewed rows make of an audit: means over some draws, and the worst."""
    right = data.y == data.y_true
    gaps, held, errors, gains = [], [], [], []
    for seed in range(REVIEWS):
        rows = _draw(audit, seed)
        after = audit.update(rows, data.y_true[rows])
        free = np.setdiff1d(np.arange(len(right)), rows)
        groups = np.minimum((10 * after.trust[free]).astype(int), 9)
        off = np.bincount(groups, weights=after.trust[free] - right[free])
        gaps.append(np.abs(off).sum() / len(free))
        share = after.share_wrong
        held.append(share.low <= 1.0 - right.mean() <= share.high)
        errors.append(abs(share.value - (1.0 - right.mean())))
        mended = after.corrected_labels("replace")
        gains.append(100.0 * (np.mean((mended == data.y_true)[free]) - right[free].mean()))
    return {
        "upper holds": bool(audit.share_wrong.high >= 1.0 - right.mean()),
        "calibration": float(np.mean(gaps)), "held": float(np.mean(held)),
        "error": float(np.mean(errors)), "gain": float(np.mean(gains)), "worst": float(min(gains)),
    }  # fmt: skip


def _draw(audit: LabelAudit, seed: int) -> np.ndarray:
    """Return rows to review of another draw."""
    from dataclasses import replace

    return replace(audit, seed=1000 + seed).rows_to_review()
