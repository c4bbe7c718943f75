"""
How a fit goes on
=================

The solver compares a few starts by quick searches and finishes the lowest. `history_` has a row for
each start that is better than the last of its name, without a residual, then one per round of the
finish.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_classification

from htsvm import HTSVC
from htsvm.plotting import plot_history

X, y = make_classification(2000, 20, n_informative=8, flip_y=0.2, class_sep=1.5, random_state=0)
model = HTSVC(C=0.1).fit(X, y)
plot_history(model)
plt.show()

# %%
# The method of the paper is there too. It needs many more iterations, and on many problems does
# not arrive.
other = HTSVC(C=0.1, solver="admm", max_iter=300).fit(X, y)
for name, fit in {"newton": model, "admm": other}.items():
    print(f"{name:7} {fit.n_iter_:4} iterations, {fit.n_passes_:6.0f} passes over the data, "
          f"objective {fit.objective_[0]:.4f}")  # fmt: skip

# %%
# How near each came, by passes over the data.
for name, fit in {"newton": model, "admm": other}.items():
    residual = np.maximum(fit.history_["residual"], 1e-16)
    plt.semilogy(np.linspace(0, fit.n_passes_, len(residual)), residual, label=name)
plt.axhline(model.tol, color="gray", ls=":", lw=1, label="tol")
plt.xlabel("passes over the data")
plt.ylabel("residual of the conditions of optimality")
plt.legend(frameon=False)
plt.show()
