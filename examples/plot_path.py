"""
All fits along a path of C
==========================

`ht_path` fits a whole grid of C, each fit started from its neighbour: little more work than a
single one.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.preprocessing import StandardScaler

from htsvm import ht_path
from htsvm.datasets import flip_labels
from htsvm_paper.datasets import load

data = load("breast-cancer")
X = StandardScaler().fit_transform(data.X)
y, flipped = flip_labels(data.y, 0.2, random_state=0)
path = ht_path(X, y, Cs=np.logspace(-3, 1, 17))

# %%
# Weights of the features, and how many samples support and how many were ignored, by C.
_, axes = plt.subplots(1, 2, figsize=(9.5, 3.8))
axes[0].semilogx(path.Cs, path.coef[:, 0])
axes[0].set(xlabel="C", ylabel="weights of the nine features")
axes[1].semilogx(path.Cs, path.n_support[:, 0], "o-", label="support vectors")
axes[1].semilogx(path.Cs, path.n_iter[:, 0], "s--", label="iterations")
axes[1].set(xlabel="C", yscale="log", ylabel="number")
axes[1].legend(frameon=False)
plt.show()

# %%
# Every point of the path has its certificate.
print(sum(problem[0].certified for problem in path.certificates), "of", len(path.Cs), "certified")
