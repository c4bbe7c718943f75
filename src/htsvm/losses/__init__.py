"""Losses: functions of the margin violation, with what solvers need to know of them."""

from htsvm._moved import moved
from htsvm.losses.base import ConvexLoss, Loss, register, registered, require
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
    "register",
    "registered",
    "require",
]

__getattr__ = moved(
    __name__,
    dict.fromkeys(
        ["BoundedLinex", "Pinball", "SmoothLoss", "Wave", "ZeroOne"], "htsvm_paper.losses"
    ),
)
