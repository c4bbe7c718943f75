"""
Find wrong labels among digits
==============================

Every fifth label of scikit-learn's digits is moved to another class. One fit to all ten classes,
to the labels as they are, ranks all labels by how little they are to be trusted.
"""

from __future__ import annotations

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import PrecisionRecallDisplay

from htsvm import HTSVC

digits = load_digits()
X, truth = digits.data / 16.0, digits.target
rng = np.random.default_rng(0)
wrong = rng.choice(len(truth), size=len(truth) // 5, replace=False)
given = truth.copy()
given[wrong] = (given[wrong] + rng.integers(1, 10, size=len(wrong))) % 10

# %%
# `margin_violation` is below zero for samples that are safely of their class, and above one
# where another class has the higher score.
model = HTSVC(C=0.1, cap=2.0).fit(X, given)
violation = model.margin_violation(X, given)
suspects = np.argsort(-violation)[:16]
guesses = model.predict(X)
print(f"{np.isin(suspects, wrong).sum()} of the 16 least trusted labels are wrong")
print(f"{np.isin(wrong, model.ignored_).mean():.0%} of all wrong labels were ignored")

_, axes = plt.subplots(2, 8, figsize=(10, 3.4))
for axis, i in zip(axes.ravel(), suspects, strict=True):
    axis.imshow(digits.images[i], cmap="gray_r")
    right = guesses[i] == truth[i]
    axis.set_title(f"{given[i]} → {guesses[i]}", fontsize=9, color="C2" if right else "C3")
    axis.axis("off")
plt.suptitle("label given → what the model takes it for")
plt.show()

# %%
# Going through the list from the top, how many of the looked-at labels are wrong (precision),
# and how many of the wrong ones have been found (recall)?
is_wrong = np.isin(np.arange(len(truth)), wrong)
PrecisionRecallDisplay.from_predictions(is_wrong, violation, name="margin_violation")
plt.show()
