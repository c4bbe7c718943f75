"""
Wrong labels in five minutes
============================

Nearly every third label of these handwritten digits is wrong: a 3 became a 5, a 5 an 8, an 8 a 3.
An ordinary support vector machine learns the mistakes. `HTSVC` ignores most of them, and says
which.
"""

# %%
# The data come with the package: 400 images to train on, with labels as given, and 200 to test
# on, whose labels are right.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.svm import SVC, LinearSVC

from htsvm import HTSVC, IgnoredClassWarning
from htsvm.datasets import load_noisy_digits

digits = load_noisy_digits()
print(f"{digits.wrong.sum()} of {len(digits.target)} training labels are wrong")

# %%
# Every method gets the labels as they are, and chooses its C by cross-validation on them. Nobody
# sees the right labels before the test.
grid = np.logspace(-3, 0, 4)
models = {
    "HTSVC": HTSVC(),
    "LinearSVC": LinearSVC(),
    "LogisticRegression": LogisticRegression(max_iter=300),
    "SVC, RBF kernel": SVC(),
}
# With the smallest C some classes are given up; the search does not choose these.
warnings.simplefilter("ignore", IgnoredClassWarning)
scores = {}
for name, model in models.items():
    search = GridSearchCV(model, {"C": grid * (10 if name.startswith("SVC") else 1)}, cv=3)
    models[name] = search.fit(digits.data, digits.target).best_estimator_
    scores[name] = models[name].score(digits.data_test, digits.target_test)
    print(f"{name:20} {scores[name]:.1%} with C = {models[name].C:g}")

plt.figure(figsize=(4.6, 3.0), layout="constrained")
plt.barh(list(scores), list(scores.values()), color=["tab:blue", *["tab:gray"] * 3])
plt.xlim(0.8, 1.0)
plt.xticks(np.arange(0.8, 1.01, 0.05))
plt.gca().invert_yaxis()
plt.gca().xaxis.set_major_formatter("{x:.0%}")
plt.xlabel("accuracy on right labels")
plt.show()

# %%
# Which labels did it not believe? `ignored_` lists the samples that had no say in the fit.
model = models["HTSVC"]
ignored = model.ignored_
print(f"{len(ignored)} ignored, {digits.wrong[ignored].mean():.0%} of them wrong")
print(f"{np.isin(np.flatnonzero(digits.wrong), ignored).mean():.0%} of the wrong labels found")

worst = ignored[np.argsort(-model.margin_violation(digits.data, digits.target)[ignored])]
_, axes = plt.subplots(2, 8, figsize=(8, 2.8))
for axis, i in zip(axes.ravel(), worst, strict=False):
    axis.imshow(digits.images[i], cmap="gray_r")
    axis.set_title(f"“{digits.target[i]}”", color="tab:red" if digits.wrong[i] else "tab:gray")
    axis.axis("off")
plt.suptitle("The sixteen labels it trusts least; red: really wrong")
plt.show()

# %%
# How sure can one be of the fit itself? Its certificate was computed apart from the solver.
print(model.certificate_[0])
