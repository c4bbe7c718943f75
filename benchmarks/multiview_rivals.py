"""Test accuracy of all multi-view methods on the paper's ten UCI sets."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold

from benchmarks.bars import Bar, Row
from benchmarks.multiview_accuracy import _preprocessed
from benchmarks.multiview_sets import UCI_SETS, loaded
from benchmarks.plan import Plan
from benchmarks.report import markdown_table, percent
from htsvm_paper.experiments.methods import get

PENALTIES = [2.0**-2, 1.0, 2.0**2]
COUPLINGS = [2.0**-4, 2.0**-2]
STRUCTURES = [0.0, 2.0**-4]
FOLDS, INNER_FOLDS = 5, 3
# By name in the registry of the experiments: what is fixed, and what is chosen by
# cross-validation within the training folds.
GRIDS: dict[str, tuple[dict[str, Any], dict[str, list[float]]]] = {
    "svm-2k": ({}, {"C": PENALTIES, "D": COUPLINGS}),
    "mvsvm-2c": ({}, {"C": PENALTIES, "D": COUPLINGS}),
    "mvlssvc-2c": ({}, {"C": PENALTIES, "structure": STRUCTURES}),
    "wave-mvsvm": ({"n_restarts": 0}, {"C": PENALTIES, "D": COUPLINGS}),
    "mvasy-bx": ({"n_restarts": 0}, {"C": PENALTIES, "a": [-1.0, 1.0]}),
    "mvsl01": ({}, {"C": PENALTIES, "structure": STRUCTURES}),
    "mvht": ({}, {"C": PENALTIES, "structure": STRUCTURES}),
}
METHODS: dict[str, tuple[Any, dict[str, list[float]]]] = {
    get(name).label: (get(name).resolve()(**options), grid)
    for name, (options, grid) in GRIDS.items()
}


def run(plan: Plan) -> list[Row]:
    """Cross-validate every method on every set."""
    rows = []
    for one, X, y in loaded(UCI_SETS, plan):
        row: Row = {"set": one.name, "m": len(y), "n": X.shape[1]}
        for name, (model, grid) in METHODS.items():
            scores = _scores(model, grid, X, y)
            row[name], row[f"{name} deviation"] = float(np.mean(scores)), float(np.std(scores))
        rows.append(row)
        plan.say(f"{one.name}: " + ", ".join(f"{m} {percent(row[m], 1)}" for m in METHODS))
    return rows


def _scores(model: Any, grid: dict[str, list[float]], X: np.ndarray, y: np.ndarray) -> list[float]:
    """Return the accuracies on the test folds, each with parameters chosen on the others."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=0)
    return [_score(model, grid, X, y, train, test) for train, test in folds.split(X, y)]


def _score(
    model: Any, grid: dict[str, list[float]], X: np.ndarray, y: np.ndarray, train: Any, test: Any
) -> float:
    n = X.shape[1]
    steps = _preprocessed(model.set_params(views=[slice(0, n), slice(n, None)]))
    name = steps.steps[-1][0]
    inner = StratifiedKFold(INNER_FOLDS, shuffle=True, random_state=1)
    search = GridSearchCV(
        steps, {f"{name}__{key}": values for key, values in grid.items()}, cv=inner
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search.fit(X[train], y[train])
    return float(search.score(X[test], y[test]))


# ----------------------------------------------------------------------------------- report


def bars(rows: list[Row]) -> list[Bar]:
    """Return nothing: no accuracy was promised."""
    return []


def tables(rows: list[Row]) -> str:
    """Render as Markdown."""
    cells = [
        {
            "set": row["set"],
            "samples": str(row["m"]),
            **{
                name: f"{percent(row[name], 1)} ± {percent(row[f'{name} deviation'], 1)}"
                for name in METHODS
            },
        }
        for row in rows
    ]
    means = {name: percent(float(np.mean([row[name] for row in rows])), 1) for name in METHODS}
    cells.append({"set": "mean", "samples": "", **means})
    ranks = np.mean([_ranks([row[name] for name in METHODS]) for row in rows], axis=0)
    cells.append({
        "set": "mean rank", "samples": "",
        **{name: f"{rank:.2f}" for name, rank in zip(METHODS, ranks, strict=True)},
    })  # fmt: skip
    return (
        f"## Test accuracy in percent, {FOLDS}-fold cross-validation, with its deviation\n\n"
        "The same folds for every method. Imputation (median), scaling to [-1, 1], principal "
        f"components (95 % of the variance) and parameters ({INNER_FOLDS}-fold cross-validation) "
        "come from the training folds alone. Grids: C in 2^-2, 1, 2^2, with D in 2^-4, 2^-2 "
        "(SVM-2K, MvSVM-2C, Wave-MvSVM), a in -1, 1 (MVASY-BX) or structure in 0, 2^-4 (the "
        "others); all else default, the bounded smooth losses without random starts. MvLSSVC-2C, "
        "MVASY-BX and MvSL0/1-SVM are reconstructions. An early look: one split, and "
        f"differences of a percent or two are within its noise.\n\n{markdown_table(cells)}"
    )


def _ranks(values: list[float]) -> np.ndarray:
    """Return 1 for the largest value, and so on; equal values share their mean rank."""
    array = np.array(values)
    return np.array([1 + np.sum(array > v) + 0.5 * (np.sum(array == v) - 1) for v in array])
