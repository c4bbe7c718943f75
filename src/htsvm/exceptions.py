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


class DroppedViewWarning(UserWarning):
    """A multi-view fit gives some view the weight zero."""


def warn_user(message: str, category: type[Warning]) -> None:
    """Warn at the innermost line that is not part of this package, scikit-learn or joblib."""
    frame, level = sys._getframe(1), 2
    # An estimator of another package, which ours has called, is no more the user's code.
    ahead, steps = frame, 0
    while ahead.f_back is not None and _package(ahead) == _package(frame):
        ahead, steps = ahead.f_back, steps + 1
    if ahead.f_code.co_filename.startswith(OURS):
        frame, level = ahead, level + steps
    while frame.f_back is not None and frame.f_code.co_filename.startswith(OURS):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, category, stacklevel=level)


def _package(frame: FrameType) -> str:
    return str(frame.f_globals.get("__name__")).partition(".")[0]
