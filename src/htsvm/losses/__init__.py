"""Losses: functions of the margin violation, with what solvers need to know of them."""

from htsvm.losses.base import ConvexLoss, Loss, SmoothLoss, register, registered, require
from htsvm.losses.bounded_linex import BoundedLinex
from htsvm.losses.hinge import Hinge
from htsvm.losses.hybrid_truncated import HybridTruncated
from htsvm.losses.least_squares import LeastSquares
from htsvm.losses.pinball import Pinball
from htsvm.losses.ramp import Ramp
from htsvm.losses.wave import Wave
from htsvm.losses.zero_one import ZeroOne

__all__ = [
    "BoundedLinex",
    "ConvexLoss",
    "Hinge",
    "HybridTruncated",
    "LeastSquares",
    "Loss",
    "Pinball",
    "Ramp",
    "SmoothLoss",
    "Wave",
    "ZeroOne",
    "register",
    "registered",
    "require",
]
