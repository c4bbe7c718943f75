"""
Probabilities from wrong labels
===============================

`HTLogisticRegressionCV` averages logistic models of three kinds: plain ones, ones whose loss is
truncated as that of `HTSVC`, and ones that see labels through an estimated flip matrix. Here is
what the two truncated losses look like, what 40 % of wrong labels do to a plain model, what is
averaged, and what the probabilities mean.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibrationDisplay
from sklearn.datasets import make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV

from htsvm import HTLogisticRegressionCV
from htsvm.datasets import flip_labels
from htsvm.losses import HybridTruncated
from htsvm.losses.cross_entropy import TruncatedEntropy
from htsvm.plotting import plot_average

# %%
# The paper's loss and the truncated cross-entropy, over the score of the label, and their slopes:
# the pull of a sample on the model. A cap of 1 is the decision boundary in both.
score = np.linspace(-4.0, 3.0, 701)
entropy = np.log1p(np.exp(-score))
_, axes = plt.subplots(1, 2, figsize=(10, 3.8))
for cap in (1.0, 2.0, np.inf):
    hinge = HybridTruncated(cap=cap).value(1.0 - score)
    logistic, _ = TruncatedEntropy.of_classes(cap, 2.0 / 3.0, 2).value_slope(entropy)
    for values, style, name in ((hinge, "-", "hinge"), (logistic, "--", "cross-entropy")):
        label = f"{name}, cap {cap:g}"
        axes[0].plot(score, values, style, label=label)
        axes[1].plot(score, -np.gradient(values, score), style, label=label)
axes[0].set(ylim=(0.0, 4.0), xlabel="score of the label", ylabel="loss")
axes[1].set(xlabel="score of the label", ylabel="pull on the model")
axes[1].legend(frameon=False, fontsize=8)
plt.show()

# %%
# Two in five labels of class 0 are wrong. The plain model moves; the average hardly does.
X, y = make_classification(
    4000, 12, n_informative=6, class_sep=1.2, flip_y=0.0, weights=[0.6], random_state=1
)
X, X_test, y, y_test = X[:1000], X[1000:], y[:1000], y[1000:]
noisy, _ = flip_labels(y, 0.4, classes=[0], random_state=0)
plain = GridSearchCV(LogisticRegression(), {"C": np.logspace(-3, 3, 7)}).fit(X, noisy)
robust = HTLogisticRegressionCV().fit(X, noisy)
for name, model in (("LogisticRegression", plain), ("the average", robust)):
    print(f"{name}: {model.score(X_test, y_test):.1%} of the right labels")

# %%
# What was averaged: all models above the dashed line, by the size of their dots.
plot_average(robust)
plt.show()
print("estimated flips (rows: true class):")
print(robust.noise_matrix_.round(2))

# %%
# Probabilities are those of labels as noisy as the given ones. With ``noise="class-conditional"``
# they are those of the true classes, if labels were flipped whatever the row.
true = HTLogisticRegressionCV(noise="class-conditional").fit(X, noisy)
_, axis = plt.subplots(figsize=(5.5, 4.6))
for name, model in {
    "LogisticRegression": plain,
    "HTLogisticRegressionCV": robust,
    'the same, noise="class-conditional"': true,
}.items():
    CalibrationDisplay.from_estimator(model, X_test, y_test, n_bins=8, name=name, ax=axis)
axis.set(xlabel="probability of class 1", ylabel="share of class 1 (right labels)")
plt.show()
