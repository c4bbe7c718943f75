"""Losses: functions of the margin violation, with what solvers need to know of them."""

from htsvm.losses.base import ConvexLoss, Loss, SmoothLoss, register, registered, require
from htsvm.losses.hinge import Hinge
from htsvm.losses.hybrid_truncated import HybridTruncated
from htsvm.losses.least_squares import LeastSquares
from htsvm.losses.ramp import Ramp

__all__ = [
    "ConvexLoss",
    "Hinge",
    "HybridTruncated",
    "LeastSquares",
    "Loss",
    "Ramp",
    "SmoothLoss",
    "register",
    "registered",
    "require",
]
