"""
More and more wrong labels
==========================

Accuracy on right labels while a growing share of the training labels is flipped. Random flips
cancel out in part, and everybody copes with some; flips in one direction do not. The truncated
loss holds on for longer, in both. In the end everybody fails: with more than half of a class
called by the other name, no method can know better.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import LinearSVC

from htsvm import HTSVC, IgnoredClassWarning
from htsvm_paper.datasets import load

# Where nearly half of the labels are wrong, a fit may give up a class and says so; here that is
# part of the picture.
warnings.simplefilter("ignore", IgnoredClassWarning)

data = load("handwritten")  # six views; the third one has 64 columns
start = sum(data.view_widths[:2])
rows = np.isin(data.y, (4, 9))  # the digits 3 and 8
X = MinMaxScaler((-1, 1)).fit_transform(data.X[rows, start : start + 64])
y = np.where(data.y[rows] == 4, 1, -1)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, stratify=y, random_state=0)

# %%
# C is chosen on the noisy labels, for each method and each share anew. Three draws of the noise.
models = {
    "HTSVC": HTSVC(),
    "LinearSVC": LinearSVC(),
    "LogisticRegression": LogisticRegression(),
}
rates = np.array([0.0, 0.1, 0.2, 0.3, 0.4])
grid = {"C": [0.03, 0.1, 0.3]}


def noisy(rate, one_sided, seed):
    """Flip labels; if one-sided, only those of the class +1, and twice as many of them."""
    flips = np.random.default_rng(seed).random(len(y)) < (rate * 2 if one_sided else rate)
    return np.where(flips & ((y == 1) | (not one_sided)), -y, y)


_, axes = plt.subplots(1, 2, figsize=(9, 3.8), sharey=True)
for axis, one_sided in zip(axes, (False, True), strict=True):
    for name, model in models.items():
        scores = [
            [
                GridSearchCV(model, grid, cv=3)
                .fit(X, noisy(rate, one_sided, seed))
                .score(X_test, y_test)
                for seed in range(3)
            ]
            for rate in (rates if not one_sided else rates[:-1])
        ]
        mean, deviation = np.mean(scores, axis=1), np.std(scores, axis=1)
        shares = rates[: len(mean)]
        axis.plot(shares, mean, "o-", label=name)
        axis.fill_between(shares, mean - deviation, mean + deviation, alpha=0.15)
    axis.set(
        title="one class only" if one_sided else "both classes", xlabel="share of wrong labels"
    )
    axis.xaxis.set_major_formatter("{x:.0%}")
    axis.yaxis.set_major_formatter("{x:.0%}")
axes[0].set_ylabel("accuracy on right labels")
axes[0].legend(frameon=False)
plt.show()
