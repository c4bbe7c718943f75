"""Losses of the comparison methods."""

from htsvm_paper.losses.bounded_linex import BoundedLinex
from htsvm_paper.losses.pinball import Pinball
from htsvm_paper.losses.wave import Wave
from htsvm_paper.losses.zero_one import ZeroOne

__all__ = ["BoundedLinex", "Pinball", "Wave", "ZeroOne"]
