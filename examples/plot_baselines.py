"""
Six losses side by side
=======================

`htsvm.baselines` has the support vector machines that `HTSVC` is compared with, as classifiers of
the same kind. Two clouds, and a few labels that are far off.
"""

import matplotlib.pyplot as plt
import numpy as np

from htsvm import HTSVC
from htsvm.baselines import HingeSVC, LeastSquaresSVC, RampSVC
from htsvm.plotting import plot_boundary
from htsvm_paper.baselines import PinballSVC, ZeroOneSVC

rng = np.random.default_rng(0)
X = np.vstack([rng.normal((-1.2, 0), 0.6, (60, 2)), rng.normal((1.2, 0), 0.6, (60, 2))])
y = np.repeat([-1, 1], 60)
X = np.vstack([X, rng.normal((2.4, 2.6), 0.3, (14, 2))])  # far on the right, and called -1
y = np.append(y, np.full(14, -1))

# %%
# The convex losses (above) turn their boundary towards the outliers. The bounded ones (below) do
# not. The share is that of the two clouds.
_, axes = plt.subplots(2, 3, figsize=(7.2, 4.9), sharex=True, sharey=True, layout="constrained")
models = (HingeSVC(), PinballSVC(), LeastSquaresSVC(), HTSVC(), RampSVC(ceiling=1.0), ZeroOneSVC())
for axis, model in zip(axes.ravel(), models, strict=True):
    plot_boundary(model.fit(X, y), X, y, axis)
    accuracy = model.score(X[:120], y[:120])
    axis.set_title(f"{type(model).__name__}, {accuracy:.0%}", fontsize=11)
    axis.set(xlabel="", ylabel="")
    axis.legend().remove()
plt.show()
