"""Predicted labels, the short way where there is one."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.svm import SVC
from sklearn.utils.extmath import safe_sparse_dot

from htsvm._typing import Array


def predict(model: Any, X: Any) -> Array:
    """Return the predicted labels, the short way for a linear SVC.

    LIBSVM goes through all support vectors even for a linear kernel; its weights say the same.
    """
    if isinstance(model, SVC) and model.kernel == "linear" and len(model.classes_) == 2:
        values = safe_sparse_dot(X, model.coef_.T, dense_output=True).ravel() + model.intercept_
        labels: Array = model.classes_[(values > 0.0).astype(np.intp)]
        return labels
    return np.asarray(model.predict(X))
