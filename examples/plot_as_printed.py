"""
The paper's algorithms, to the letter
=====================================

Algorithm 1 (one view) and Algorithm 2 (several views) as the paper prints them, beside the default
solver. The letter often ends without meeting its own stopping rule; the objective says what the
point is worth.
"""

# %%
# One view
# --------
# ``ADMM(safeguards=())`` is Algorithm 1: start at w = 1/100, working set, prox, w, b, multipliers.
# ξ is a number of the algorithm, not of the model, and yet the result depends on it.
import warnings

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import MinMaxScaler

from htsvm import HTSVC
from htsvm.multiview import MultiViewHTSVC
from htsvm.solvers import ADMM

X, y = load_breast_cancer(return_X_y=True)
X = MinMaxScaler((-1, 1)).fit_transform(X)
warnings.simplefilter("ignore")  # they say that the letter has not converged

fig, ax = plt.subplots()
for xi in (0.25, 1.0, 4.0):
    printed = HTSVC(solver=ADMM(penalty=xi, safeguards=()), max_iter=300).fit(X, y)
    ax.semilogy(printed.history_["residual"], label=f"as printed, ξ = {xi:g}")
    certified = printed.certificate_[0].certified
    print(f"ξ = {xi:<4g} objective {printed.objective_[0]:8.2f}  certified: {certified}")
ours = HTSVC().fit(X, y)
ax.semilogy(ours.history_["residual"], "k", label="default solver")
print(f"default  objective {ours.objective_[0]:8.2f}  certified: {ours.certificate_[0].certified}")
ax.set(xlabel="iteration", ylabel="residual")
ax.legend()

# %%
# Two views
# ---------
# Algorithm 2 solves each view by Algorithm 1, starting anew in every round, and then updates the
# weights of the views.
options = {"views": [10, 20], "structure": 0.25, "weight_smoothness": 1.0}
literal = ADMM(penalty=1.0, safeguards=())
for name, solver in (("as printed", literal), ("default", "newton")):
    model = MultiViewHTSVC(solver=solver, max_iter=200, max_rounds=5, **options).fit(X, y)
    weights = ", ".join(f"{weight:.2f}" for weight in model.view_weights_)
    print(f"{name:<10} accuracy {model.score(X, y):.3f}  view weights {weights}")

plt.show()
