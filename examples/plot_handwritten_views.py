"""
Six views of handwritten digits
===============================

The UCI multiple features describe each digit six times over: 216 profile correlations, 76 Fourier
coefficients, 64 Karhunen-Loeve coefficients, 6 morphological features, 240 pixel averages and 47
Zernike moments. `MultiViewHTSVC` fits one classifier per view and learns how much weight each
gets. Here four digits, a third of whose training labels is wrong.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from htsvm import HTSVC, MultiViewHTSVC
from htsvm.plotting import plot_objective, plot_view_weights
from htsvm_paper.datasets import load

data = load("handwritten")
names = ("profiles", "fourier", "karhunen", "morphology", "pixels", "zernike")
rows = np.flatnonzero(np.isin(data.y, (2, 4, 6, 8)))
train, test = train_test_split(rows, test_size=0.5, random_state=0, stratify=data.y[rows])
edges = np.cumsum((0, *data.view_widths))
views, views_test = {}, {}
for name, first, last in zip(names, edges, edges[1:], strict=False):
    scaler = StandardScaler().fit(data.X[train, first:last])
    views[name] = scaler.transform(data.X[train, first:last])
    views_test[name] = scaler.transform(data.X[test, first:last])

rng = np.random.default_rng(0)
given = data.y[train].copy()
wrong = rng.random(len(given)) < 1 / 3
given[wrong] = (given[wrong] + 2 * rng.integers(1, 4, size=wrong.sum()) - 2) % 8 + 2
given[given % 2 == 1] -= 1
truth = data.y[test]

# %%
# Each view alone, all together with learned weights, and all columns side by side in one model
# without views.
settings = {"C": 0.02, "cap": 2.0}
model = MultiViewHTSVC(**settings).fit(views, given)
scores = {
    name: HTSVC(**settings).fit(views[name], given).score(views_test[name], truth) for name in names
}
scores["six views"] = model.score(views_test, truth)
stacked = HTSVC(**settings).fit(np.hstack(list(views.values())), given)
scores["side by side"] = stacked.score(np.hstack(list(views_test.values())), truth)

_, axes = plt.subplots(1, 2, figsize=(10, 4))
axes[0].barh(list(scores), list(scores.values()), color=["tab:gray"] * 6 + ["tab:blue"] * 2)
axes[0].set(xlabel="accuracy on right labels", xlim=(0.4, 1.0))
axes[0].xaxis.set_major_formatter("{x:.0%}")
plot_view_weights(model, axes[1])
axes[1].tick_params(axis="x", rotation=25)
plt.show()

# %%
# The weights follow the width of the margins, not the accuracy: compare them with the bars on
# the left before reading anything into them. The objective falls from round to round.
plot_objective(model)
plt.show()
