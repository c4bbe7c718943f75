"""
Probabilities
=============

A support vector machine gives scores, not probabilities. `CalibratedClassifierCV` of scikit-learn
turns one into the other. With wrong labels among the data to calibrate on, the probabilities are
those of the *given* label; a few right labels mend that.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.calibration import CalibratedClassifierCV, CalibrationDisplay
from sklearn.datasets import make_classification
from sklearn.frozen import FrozenEstimator
from sklearn.model_selection import train_test_split

from htsvm import HTSVC

X, y = make_classification(6000, 12, n_informative=6, class_sep=0.8, flip_y=0, random_state=1)
X, X_test, y, y_test = train_test_split(X, y, test_size=0.5, random_state=0)
rng = np.random.default_rng(0)
given = np.where(rng.random(len(y)) < 0.25, 1 - y, y)

# %%
# Calibrated on the labels as given, and on 300 labels that somebody has checked.
model = HTSVC(C=0.1).fit(X, given)
noisy = CalibratedClassifierCV(HTSVC(C=0.1), cv=3).fit(X, given)
checked = CalibratedClassifierCV(FrozenEstimator(model)).fit(X[:300], y[:300])
_, axis = plt.subplots(figsize=(5.5, 4.6))
for name, fitted in {"labels as given": noisy, "300 checked labels": checked}.items():
    CalibrationDisplay.from_estimator(fitted, X_test, y_test, n_bins=8, name=name, ax=axis)
axis.set(xlabel="probability of class 1", ylabel="share of class 1 (right labels)")
plt.show()
