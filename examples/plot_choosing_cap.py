"""
What C and cap do together
==========================

`C` weighs mistakes against a wide margin, `cap` says how far on the wrong side a sample is given
up. They depend on each other: a large `C` lets the model bend until even wrong labels fit, and
then there is nothing left to ignore.
"""

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.model_selection import cross_val_score

from htsvm import HTSVC, IgnoredClassWarning
from htsvm.datasets import load_noisy_digits

# A small C gives up a whole class and says so; here that is part of the picture.
warnings.simplefilter("ignore", IgnoredClassWarning)

digits = load_noisy_digits()
Cs, caps = np.logspace(-3, 0, 7), (1.0, 2.0, np.inf)
two = digits.target_true != 5  # two of the three digits will do
X, y = digits.data[two], np.where(digits.target[two] == 3, 3, 8)
test = digits.target_test != 5
X_test, y_test = digits.data_test[test], digits.target_test[test]

# %%
# Left: accuracy on the right labels of the test images, which in real life one does not have.
# Right: cross-validation on the labels as given, which is all one has. Its curves are lower,
# because the labels it is scored on are partly wrong, but their tops are in the same place.
_, axes = plt.subplots(1, 2, figsize=(9.5, 3.8))
for cap in caps:
    models = [HTSVC(C=C, cap=cap) for C in Cs]
    seen = [cross_val_score(m, X, y, cv=3).mean() for m in models]
    for model in models:
        model.fit(X, y)
    true = [model.score(X_test, y_test) for model in models]
    for axis, scores in zip(axes, (true, seen), strict=True):
        axis.semilogx(Cs, scores, "o-", label=f"cap {cap:g}")
for axis, title in zip(
    axes, ("test, right labels", "cross-validation, labels as given"), strict=True
):
    axis.set(xlabel="C", title=title)
    axis.yaxis.set_major_formatter("{x:.0%}")
axes[0].legend(frameon=False)
plt.show()

# %%
# The share of ignored samples says the same in another way.
for cap in caps[:-1]:
    shares = [len(HTSVC(C=C, cap=cap).fit(X, y).ignored_) / len(y) for C in Cs]
    plt.semilogx(Cs, shares, "o-", label=f"cap {cap:g}")
plt.axhline(np.mean(y != digits.target_true[two]), color="gray", ls=":", label="wrong labels")
plt.xlabel("C")
plt.ylabel("share of ignored samples")
plt.gca().yaxis.set_major_formatter("{x:.0%}")
plt.legend(frameon=False)
plt.show()
