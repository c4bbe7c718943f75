"""Accuracy on the paper's ten UCI sets as two views, at a few settings, beside its table."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import LinearSVC

from benchmarks.bars import Bar, Row
from benchmarks.multiview_sets import UCI_SETS
from benchmarks.plan import Plan
from benchmarks.report import markdown_table, percent
from benchmarks.sets import MissingData
from htsvm import HTSVC
from htsvm.multiview import MultiViewHTSVC
from htsvm_paper.datasets import make_views

# The printed accuracies of MvL_ht-SVM, in percent.
PAPER = {
    "Balance": 96.52, "Bankruptcy": 100.0, "BUPA": 74.20, "German": 74.50, "Haberman": 74.19,
    "Heart": 85.93, "Hepatitis": 98.06, "Iris": 100.0, "Vote": 96.09, "Wine": 100.0,
}  # fmt: skip
SEEDS = (0, 1, 2)
QUICK_SETS = 2


def settings(n: int) -> dict[str, Any]:
    """Return the classifiers, for two views of which the first has n columns."""
    views = [slice(0, n), slice(n, None)]
    return {
        "C = 1": MultiViewHTSVC(views=views),
        "C = 1, structure 1/16": MultiViewHTSVC(views=views, structure=2.0**-4),
        "C = 1, structure 1": MultiViewHTSVC(views=views, structure=1.0),
        "C = 16, structure 1": MultiViewHTSVC(16.0, views=views, structure=1.0),
        "C = 1, cap 2": MultiViewHTSVC(views=views, cap=2.0),
        "C = 1, uniform": MultiViewHTSVC(views=views, view_weights="uniform"),
        "HTSVC, all columns": HTSVC(),
        "LinearSVC, all columns": LinearSVC(random_state=0),
    }


def run(plan: Plan) -> list[Row]:
    """Cross-validate every setting on every set."""
    rows = []
    for one in UCI_SETS[:QUICK_SETS] if plan.quick else UCI_SETS:
        try:
            X, y = one.load()
        except MissingData as reason:
            plan.say(f"{one.name}: skipped, {reason}")
            continue
        row: Row = {"set": one.name, "m": len(y), "n1": X.shape[1], "paper": PAPER[one.name] / 100}
        for name, classifier in settings(X.shape[1]).items():
            row[name] = _accuracy(classifier, X, y, SEEDS[:1] if plan.quick else SEEDS)
        row["n2"] = _preprocessed().fit(X)[-1].pca_.n_components_
        rows.append(row)
        plan.say(f"{one.name}: {', '.join(percent(row[s], 1) for s in settings(1))}")
    return rows


def _preprocessed(*last: Any) -> Any:
    """Return the steps before the classifier, all of them fitted on training folds only."""
    return make_pipeline(
        SimpleImputer(strategy="median"), MinMaxScaler((-1, 1)), make_views(), *last
    )


def _accuracy(classifier: Any, X: np.ndarray, y: np.ndarray, seeds: tuple[int, ...]) -> float:
    scores = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for seed in seeds:
            folds = StratifiedKFold(5, shuffle=True, random_state=seed)
            scores.extend(cross_val_score(_preprocessed(classifier), X, y, cv=folds))
    return float(np.mean(scores))


# ----------------------------------------------------------------------------------- report


def bars(rows: list[Row]) -> list[Bar]:
    """Return nothing: no accuracy was promised."""
    return []


def tables(rows: list[Row]) -> str:
    """Render as Markdown."""
    names = list(settings(1))
    cells = [
        {
            "set": row["set"],
            "samples": str(row["m"]),
            "columns": f"{row['n1']} + {row['n2']}",
            **{name: percent(row[name], 1) for name in names},
            "paper": percent(row["paper"], 1),
        }
        for row in rows
    ]
    means = {name: percent(float(np.mean([row[name] for row in rows])), 1) for name in names}
    paper = percent(float(np.mean([row["paper"] for row in rows])), 1)
    cells.append({"set": "mean", "samples": "", "columns": "", **means, "paper": paper})
    return (
        f"## Accuracy in percent, mean of {len(SEEDS)} times 5-fold cross-validation\n\n"
        "Fixed settings, none chosen by test data. Imputation (median), scaling to [-1, 1] and "
        "principal components (95 % of the variance) are fitted on the training folds. The paper's "
        "figures come from a grid of C, eta, alpha and more; how it chose among them it does not "
        "say.\n\n"
        f"{markdown_table(cells)}"
    )
