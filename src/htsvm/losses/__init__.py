"""Losses: functions of the margin violation, with what solvers need to know of them."""

from htsvm.losses.base import Loss, require
from htsvm.losses.hinge import Hinge
from htsvm.losses.hybrid_truncated import HybridTruncated

ALL: tuple[type[Loss], ...] = (HybridTruncated, Hinge)

__all__ = ["ALL", "Hinge", "HybridTruncated", "Loss", "require"]
