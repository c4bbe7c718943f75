"""Losses: functions of the margin violation, with what solvers need to know of them."""

from htsvm.losses.base import Loss, require
from htsvm.losses.hinge import Hinge
from htsvm.losses.hybrid_truncated import HybridTruncated
from htsvm.losses.least_squares import LeastSquares
from htsvm.losses.pinball import Pinball
from htsvm.losses.ramp import Ramp
from htsvm.losses.zero_one import ZeroOne

ALL: tuple[type[Loss], ...] = (HybridTruncated, Hinge, Pinball, LeastSquares, Ramp, ZeroOne)

__all__ = [
    "ALL",
    "Hinge",
    "HybridTruncated",
    "LeastSquares",
    "Loss",
    "Pinball",
    "Ramp",
    "ZeroOne",
    "require",
]
