"""Find wrong labels among handwritten digits: the sixteen images whose labels are least trusted.

``python examples/digits_wrong_labels.py [picture.png]`` moves every fifth label of scikit-learn's
digits to another class, fits one model to all ten classes, and draws the images with the largest
violation, each with the label it was given and what the model takes it for.
"""

from __future__ import annotations

import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from htsvm import HTSVC


def main(picture: str = "digits_wrong_labels.png") -> float:
    """Draw the picture; return the share of the sixteen labels that are really wrong."""
    digits = load_digits()
    X, truth = digits.data / 16.0, digits.target
    rng = np.random.default_rng(0)
    wrong = rng.choice(len(truth), size=len(truth) // 5, replace=False)
    given = truth.copy()
    given[wrong] = (given[wrong] + rng.integers(1, 10, size=len(wrong))) % 10

    model = HTSVC(C=0.1, cap=2.0).fit(X, given)
    suspects = np.argsort(-model.margin_violation(X, given))[:16]
    guesses = model.predict(X)
    right = np.isin(suspects, wrong)
    print(f"{right.sum()} of the 16 least trusted labels are wrong")
    print(f"{np.isin(wrong, model.ignored_).mean():.0%} of all wrong labels were ignored")

    _, axes = plt.subplots(4, 4, figsize=(6, 7))
    for axis, i in zip(axes.ravel(), suspects, strict=True):
        axis.imshow(digits.images[i], cmap="gray_r")
        axis.set_title(
            f"label {given[i]}, looks like {guesses[i]}",
            fontsize=8,
            color="tab:green" if guesses[i] == truth[i] else "tab:red",
        )
        axis.axis("off")
    plt.tight_layout()
    plt.savefig(picture, dpi=120)
    return float(right.mean())


if __name__ == "__main__":
    main(*sys.argv[1:2])
