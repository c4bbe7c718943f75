"""
Curved boundaries
=================

`HTLogisticRegressionCV` is linear. Behind `Nystroem` or `SplineTransformer` in a pipeline its
boundary is as curved as that of a kernel machine, and wrong labels still do it little harm.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import SplineTransformer
from sklearn.svm import SVC

from htsvm import HTLogisticRegressionCV
from htsvm.datasets import flip_labels
from htsvm.plotting import plot_boundary

X, y = make_moons(600, noise=0.25, random_state=0)
X_test, y_test = make_moons(4000, noise=0.25, random_state=1)
models = {
    "Nystroem, average": make_pipeline(
        Nystroem(gamma=1.0, n_components=100, random_state=0), HTLogisticRegressionCV()
    ),
    "splines, average": make_pipeline(SplineTransformer(n_knots=7), HTLogisticRegressionCV()),
    "SVC": GridSearchCV(SVC(gamma=1.0), {"C": np.logspace(-2, 2, 5)}),
    "forest": RandomForestClassifier(random_state=0),
    "boosting": HistGradientBoostingClassifier(random_state=0),
}

# %%
# The table: accuracy (%) on right labels.
shares = (0.0, 0.2, 0.4)
print("wrong labels of class 0   " + "   ".join(f"{share:.0%}" for share in shares))
for name, model in models.items():
    row = []
    for share in shares:
        given = flip_labels(y, share, classes=[0], random_state=0)[0] if share else y
        row.append(f"{model.fit(X, given).score(X_test, y_test):.1%}")
    print(f"{name:24s}", *row)

# %%
# The boundaries with 40 % of wrong labels in one class.
given, _ = flip_labels(y, 0.4, classes=[0], random_state=0)
_, axes = plt.subplots(1, 2, figsize=(10, 4))
for axis, name in zip(axes, ("Nystroem, average", "SVC"), strict=True):
    plot_boundary(models[name].fit(X, given), X, given, ax=axis)
    axis.set_title(name)
plt.show()
