"""
Two moons
=========

A curved boundary needs a kernel, or a feature map before a linear model. `HTSVC` works on
whatever stands before it in a pipeline; `KernelHTSVC` has the kernel itself.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.kernel_approximation import Nystroem
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC

from htsvm import HTSVC, KernelHTSVC

X, y = make_moons(400, noise=0.15, random_state=0)
# Three labels in ten are wrong, on both sides.
rng = np.random.default_rng(0)
wrong = rng.random(400) < 0.3
given = np.where(wrong, 1 - y, y)


def features():
    return Nystroem(gamma=3.0, n_components=80, random_state=0)


models = {
    "SVC, RBF kernel": SVC(gamma=3.0),
    "Nystroem, HTSVC": make_pipeline(features(), HTSVC(C=1.0)),
    "KernelHTSVC": KernelHTSVC(gamma=3.0),
}

# %%
# Background: what the model says. Points: the labels as given. Crosses: what `HTSVC` ignored. Wrong
# labels on both sides all but cancel, and no model is hurt much; but `SVC` keeps each of them as a
# support vector.
grid = np.stack(np.meshgrid(np.linspace(-1.6, 2.6, 150), np.linspace(-1.1, 1.6, 120)), axis=-1)
_, axes = plt.subplots(1, 3, figsize=(11, 3.4), sharey=True)
for axis, (name, model) in zip(axes, models.items(), strict=True):
    model.fit(X, given)
    level = model.decision_function(grid.reshape(-1, 2)).reshape(grid.shape[:2])
    axis.contourf(grid[..., 0], grid[..., 1], level > 0, alpha=0.2, cmap="coolwarm", levels=1)
    axis.scatter(*X.T, c=given, s=9, cmap="coolwarm")
    if name.endswith("HTSVC"):
        fitted = model if name == "KernelHTSVC" else model[-1]
        axis.scatter(*X[fitted.ignored_].T, marker="x", c="black", s=22, lw=0.8)
    support = getattr(model, "support_", ())
    kept = f", {len(support)} support vectors" if len(support) else ""
    axis.set_title(f"{name}\n{model.score(X, y):.1%} of the right labels{kept}", fontsize=10)
    axis.set(xticks=[], yticks=[])
plt.show()
