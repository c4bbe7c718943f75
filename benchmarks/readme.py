"""What README.md shows of the stored figures.

    python -m benchmarks.readme            # write the table of the front door into README.md
    python -m benchmarks.readme --picture  # draw its picture

The figures are those of `python -m benchmarks.front_door`.
"""

from __future__ import annotations

import argparse
import csv
from pathlib import Path

import numpy as np

from htsvm import HTSVC
from htsvm.datasets import load_noisy_digits

ROOT = Path(__file__).parents[1]
STORED = ROOT / "benchmarks" / "results" / "front-door.csv"
PICTURE = ROOT / "docs" / "_static" / "wrong_labels.png"
BEGIN, END = "<!-- table: benchmarks/results/front-door.csv -->", "<!-- end of table -->"
METHODS = {
    "HTLogisticRegressionCV": "HTLogistic&shy;RegressionCV",
    "LogisticRegression": "Logistic&shy;Regression",
    "LinearSVC": "LinearSVC",
    "LinearSVC, hinge": "the same, loss=hinge",
    "logistic, tuned threshold": "logistic, tuned threshold",
    "CleanLearning": "cleanlab's CleanLearning",
}
GROUPS = {"fresh": "two classes", "several": "several classes"}


def table() -> str:
    """Return mean accuracies by kind of wrong labels as a Markdown table; the best are bold."""
    with STORED.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["accuracy"]]
    lines = [f"| training labels wrong | {' | '.join(METHODS.values())} |"]
    lines.append("|---" + "|---:" * len(METHODS) + "|")
    for group, words in GROUPS.items():
        for noise in dict.fromkeys(row["noise"] for row in rows if row["group"] == group):
            cells: dict[tuple[str, str], dict[str, float]] = {}
            for row in rows:
                if (row["group"], row["noise"]) == (group, noise):
                    cell = cells.setdefault((row["set"], row["draw"]), {})
                    cell[row["method"]] = float(row["accuracy"])
            # Methods that this group does not have; settings that all the others have done.
            known = [one for one in METHODS if any(one in cell for cell in cells.values())]
            done = [cell for cell in cells.values() if all(one in cell for one in known)]
            means = {one: f"{np.mean([cell[one] for cell in done]):.1f}" for one in known}
            best = max(means.values(), key=float)
            shown = [
                f"**{means[one]}**" if means.get(one) == best else means.get(one, "–")
                for one in METHODS
            ]
            lines.append(f"| {words}, {noise} | {' | '.join(shown)} |")
    return "\n".join(lines)


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
    """Write the table, or draw the picture."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", action="store_true", help="draw the picture")
    if parser.parse_args().picture:
        picture()
        return
    readme = ROOT / "README.md"
    readme.write_text(written_into(readme.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
