"""The table of the README: accuracy with wrong labels beside scikit-learn's classifiers.

    python -m benchmarks.readme            # compute it, store it, and write it into README.md
    python -m benchmarks.readme --render   # only write the stored figures into README.md
    python -m benchmarks.readme --picture  # draw its picture

Everybody chooses hyper-parameters by cross-validation on the labels as given; right labels are used
for the test alone. Sets and noises were fixed before the first run.
"""

from __future__ import annotations

import argparse
import csv
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from htsvm import HTSVC, HTSVCCV
from htsvm.datasets import flip_labels, load_noisy_digits
from htsvm_paper.datasets import load

ROOT = Path(__file__).parents[1]
STORED = ROOT / "benchmarks" / "results" / "readme.csv"
PICTURE = ROOT / "docs" / "_static" / "wrong_labels.png"
BEGIN, END = "<!-- table: benchmarks/results/readme.csv -->", "<!-- end of table -->"
DRAWS, RATE = 5, 0.3
SETS = ("breast-cancer", "australian", "a1a", "wine-red")
NOISES = {"symmetric": "either class", "one-sided": "one class"}
METHODS = ("HTSVCCV", "LinearSVC", "LogisticRegression", "SVC")


def models(seed: int) -> dict[str, Any]:
    """Return the methods: ours without arguments, the others with a grid search over C."""
    folds = StratifiedKFold(5, shuffle=True, random_state=seed)
    wide = {"C": np.logspace(-4, 2, 7)}
    return {
        "HTSVCCV": HTSVCCV(random_state=seed),
        "LinearSVC": GridSearchCV(LinearSVC(random_state=seed), wide, cv=folds),
        "LogisticRegression": GridSearchCV(LogisticRegression(max_iter=1000), wide, cv=folds),
        "SVC": GridSearchCV(SVC(), {"C": np.logspace(-2, 2, 5)}, cv=folds),
    }


def problems(seed: int) -> Iterator[tuple[str, Any, Any, Any, Any]]:
    """Yield the name of a row, training data with wrong labels, and test data with right ones."""
    for name in SETS:
        data = load(name)
        X, X_test, y, y_test = (
            (data.X[:1000], data.X_test[:5000], data.y[:1000], data.y_test[:5000])
            if data.X_test is not None
            else train_test_split(data.X, data.y, test_size=0.4, random_state=seed, stratify=data.y)
        )
        if isinstance(X, np.ndarray):
            scaler = StandardScaler().fit(X)
            X, X_test = scaler.transform(X), scaler.transform(X_test)
        for kind, words in NOISES.items():
            rate = RATE
            if kind == "symmetric":
                given, _ = flip_labels(y, rate, kind="symmetric", random_state=seed)
            else:
                flips = np.random.default_rng(seed).random(len(y)) < rate
                given = np.where(flips & (y == -1), 1, y)
            yield f"{name}, 30 % of {words}", X, given, X_test, y_test


def compute() -> None:
    """Fit everything and store the accuracies."""
    rows = []
    for seed in range(DRAWS):
        for name, X, y, X_test, y_test in problems(seed):
            for method, model in models(seed).items():
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    accuracy = 100.0 * model.fit(X, y).score(X_test, y_test)
                rows.append({"set": name, "draw": seed, "method": method, "accuracy": accuracy})
                print(f"{name:45} draw {seed} {method:20} {accuracy:.1f}", flush=True)
    with STORED.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, ["set", "draw", "method", "accuracy"], lineterminator="\n")
        writer.writeheader()
        writer.writerows({**row, "accuracy": f"{row['accuracy']:.4f}"} for row in rows)


def table() -> str:
    """Return the stored figures as a Markdown table; the best of a row is bold."""
    with STORED.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    lines = [f"| training labels wrong | {' | '.join(METHODS)} |", "|---" + "|---:" * 4 + "|"]
    means: list[list[float]] = []
    for name in dict.fromkeys(row["set"] for row in rows):
        found = [
            float(
                np.mean(
                    [float(r["accuracy"]) for r in rows if (r["set"], r["method"]) == (name, m)]
                )
            )
            for m in METHODS
        ]
        means.append(found)
        lines.append(_line(name, found))
    lines.append(_line("mean", np.mean(means, axis=0).tolist()))
    return "\n".join(lines)


def _line(name: str, values: list[float]) -> str:
    shown = [f"{value:.1f}" for value in values]
    best = max(shown, key=float)
    return f"| {name} | {' | '.join(f'**{s}**' if s == best else s for s in shown)} |"


def written_into(text: str) -> str:
    """Return the README with the table of the stored figures."""
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{table()}\n{END}{after}"


def picture() -> None:
    """Draw the sixteen training images whose labels are trusted least."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    digits = load_noisy_digits()
    model = HTSVC(C=0.01).fit(digits.data, digits.target)
    worst = np.argsort(-model.margin_violation(digits.data, digits.target))[:16]
    guesses = model.predict(digits.data)
    figure, axes = plt.subplots(2, 8, figsize=(9, 2.9), layout="constrained")
    for axis, i in zip(axes.ravel(), worst, strict=True):
        axis.imshow(digits.images[i], cmap="gray_r")
        colour = "#b3261e" if digits.wrong[i] else "#555555"
        axis.set_title(f"“{digits.target[i]}” → {guesses[i]}", fontsize=11, color=colour)
        axis.axis("off")
    figure.savefig(PICTURE, dpi=110, facecolor="white")


def main() -> None:
    """Compute and write, or only write."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--render", action="store_true", help="use the stored figures")
    parser.add_argument("--picture", action="store_true", help="draw the picture")
    options = parser.parse_args()
    if options.picture:
        picture()
        return
    if not options.render:
        compute()
    readme = ROOT / "README.md"
    readme.write_text(written_into(readme.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
