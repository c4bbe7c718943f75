"""Warnings of this package, and how they find the line of the user's code that they are about."""

from __future__ import annotations

import os
import sys
import warnings
from pathlib import Path
from types import FrameType

import joblib
import sklearn

# Code between the call of a user and a warning.
OURS = tuple(
    f"{Path(str(file)).parent}{os.sep}" for file in (__file__, sklearn.__file__, joblib.__file__)
)


class IgnoredClassWarning(UserWarning):
    """A fit ignores more than half of the samples of a class as outliers."""


class SlowFitWarning(UserWarning):
    """A fit took much longer than it would on scaled columns."""


class DroppedViewWarning(UserWarning):
    """A multi-view fit gives some view the weight zero."""


# Warnings about the data that a search gives for the model that it keeps, not for every trial.
ONCE_PER_SEARCH = (IgnoredClassWarning, DroppedViewWarning)


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line that is not part of this package, scikit-learn or joblib."""
    frame, level = sys._getframe(1), 2
    # An estimator of another package, which ours has called, is no more the user's code.
    ahead, steps = frame, 0
    while ahead.f_back is not None and _package(ahead) == _package(frame):
        ahead, steps = ahead.f_back, steps + 1
    if ahead.f_code.co_filename.startswith(OURS):
        frame, level = ahead, level + steps
    passed = set()
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OURS):
        passed.add(frame.f_code.co_name)
        frame, level = frame.f_back, level + 1
    # `GridSearchCV` and others like it try parameters by this function and fit the best directly.
    trial = "_fit_and_score" in passed and "cross_validate" not in passed
    if not (trial and issubclass(category, ONCE_PER_SEARCH)):
        warnings.warn(message, category, stacklevel=level)


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]
