"""What the benchmark of the audit compares: `audit_labels`, one fit of HTSVC, and cleanlab."""

from __future__ import annotations

import contextlib
import io
import time
from collections.abc import Callable
from typing import Any

import numpy as np
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import average_precision_score, roc_auc_score
from sklearn.model_selection import cross_val_predict

from benchmarks.audit_data import dense
from benchmarks.bars import Row
from benchmarks.sets import Dataset
from htsvm import HTSVC
from htsvm.audit import audit_labels
from htsvm.audit.plot import reliability

FOLDS = 5
REVIEWED = 0.05
# Trees per class and fold, fewer where held-out likelihood stops rising.
TREES = 50
OURS, FOLDED, INSIDE = "audit_labels", "audit_labels(model=HTSVC)", "one fit of HTSVC, in-sample"
LOGISTIC, BOOSTED = "cleanlab, logistic regression", "cleanlab, gradient boosting"
DATALAB = "Datalab, logistic regression"
RIVALS = (LOGISTIC, DATALAB, BOOSTED)
METHODS = (OURS, FOLDED, INSIDE, *RIVALS)
# A score per label (larger: more likely wrong), the estimated share of wrong ones, what cleans
# the data, and more columns.
Verdict = tuple[np.ndarray, float | None, Callable[[], tuple[Any, np.ndarray]], Row]


def compared(name: str, data: Dataset) -> list[Row]:
    """Return the rows of the audit, of cleanlab and of Datalab with logistic regression.

    The probabilities are computed once; their time counts for both.
    """
    ours = measured(name, data, OURS, lambda: _ours(None, data))
    began = time.process_time()
    shares = _shares(LogisticRegression(max_iter=300), data)
    spent = time.process_time() - began
    return [
        ours,
        measured(name, data, LOGISTIC, lambda: _cleanlab(shares, data), spent),
        measured(name, data, DATALAB, lambda: _datalab(shares, data), spent),
    ]


def boosted(name: str, data: Dataset) -> list[Row]:
    """Return the row of cleanlab with gradient boosting."""
    model = HistGradientBoostingClassifier(max_iter=TREES, early_stopping=True, random_state=0)
    return [measured(name, data, BOOSTED, lambda: _cleanlab(_shares(model, data), data))]


def other_scores(name: str, data: Dataset) -> list[Row]:
    """Return the rows of HTSVC, out of sample and in-sample."""
    folded = HTSVC(C=0.1, cap=2.0, tol=1e-2)
    return [
        measured(name, data, FOLDED, lambda: _ours(folded, data)),
        measured(name, data, INSIDE, lambda: _inside(data)),
    ]


def _ours(model: Any, data: Dataset) -> Verdict:
    audit = audit_labels(data.X, data.y, model=model)
    said, seen = reliability(audit.trust, data.y == data.y_true)
    more = {
        "calibration": float(np.abs(said - seen).mean()),
        "said": " ".join(f"{value:.3f}" for value in said),
        "seen": " ".join(f"{value:.3f}" for value in seen),
    }
    return (
        1.0 - audit.trust,
        audit.share_wrong,
        lambda: (data.X, audit.corrected_labels("replace")),
        more,
    )


def _inside(data: Dataset) -> Verdict:
    model = HTSVC(C=0.1, cap=2.0).fit(data.X, data.y)
    violation = model.margin_violation(data.X, data.y)
    return violation, None, lambda: (data.X, model.predict(data.X)), {}


def _shares(model: Any, data: Dataset) -> np.ndarray:
    """Return out-of-sample probabilities."""
    X = dense(data.X) if isinstance(model, HistGradientBoostingClassifier) else data.X
    return np.asarray(cross_val_predict(model, X, data.y, cv=FOLDS, method="predict_proba"))


def _cleanlab(shares: np.ndarray, data: Dataset) -> Verdict:
    from cleanlab.count import num_label_issues
    from cleanlab.filter import find_label_issues
    from cleanlab.rank import get_label_quality_scores

    issues = find_label_issues(data.y, shares, n_jobs=1)
    kept = np.flatnonzero(~issues)
    score = -get_label_quality_scores(data.y, shares)
    estimate = num_label_issues(data.y, shares) / len(data.y)
    return score, float(estimate), lambda: (data.X[kept], data.y[kept]), {}


def _datalab(shares: np.ndarray, data: Dataset) -> Verdict:
    from cleanlab import Datalab

    lab = Datalab({"label": data.y}, label_name="label", verbosity=0)
    with contextlib.redirect_stdout(io.StringIO()):
        lab.find_issues(pred_probs=shares, issue_types={"label": {}})
    found = lab.get_issues("label")
    issues = found["is_label_issue"].to_numpy()
    kept = np.flatnonzero(~issues)
    score = -found["label_score"].to_numpy()
    return score, float(issues.mean()), lambda: (data.X[kept], data.y[kept]), {}


def measured(
    name: str, data: Dataset, method: str, judge: Callable[[], Verdict], spent: float = 0.0
) -> Row:
    """Return what a method finds; `spent` are CPU seconds that count for it besides."""
    wrong = data.y != data.y_true
    began = time.process_time()
    score, estimate, cleaned, more = judge()
    seconds = time.process_time() - began + spent
    first = np.argsort(-score, kind="stable")[: round(REVIEWED * len(wrong))]
    return {
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


def _accuracy(data: Dataset, X: Any, y: np.ndarray) -> float:
    """Return the accuracy on clean test labels of logistic regression on cleaned data."""
    if len(np.unique(y)) < 2:
        return float(np.mean(data.y_test == y[0])) if len(y) else 0.0
    model = LogisticRegression(max_iter=300).fit(X, y)
    return float(model.score(data.X_test, data.y_test))
