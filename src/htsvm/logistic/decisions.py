"""Probabilities of a linear model: the softmax of its scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from htsvm._documented import documented
from htsvm._typing import Array
from htsvm.logistic.noise import probabilities
from htsvm.svm.base import BaseSVC


class SoftmaxClassifier(BaseSVC):
    """A linear classifier that has probabilities."""

    @documented
    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the classes.

        Parameters
        ----------
        {X}

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column per class, in the order of ``classes_``.
        """
        scores = np.asarray(self.decision_function(X))
        return probabilities(getattr(self, "slope_", 1.0) * scores.reshape(len(scores), -1))

    @documented
    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithms of the probabilities.

        Parameters
        ----------
        {X}

        Returns
        -------
        ndarray of shape (n_samples, n_classes)
            A column per class, in the order of ``classes_``.
        """
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))
