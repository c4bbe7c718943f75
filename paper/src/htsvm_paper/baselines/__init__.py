"""The comparison methods of the paper that are not in `htsvm.baselines`."""

from htsvm_paper.baselines.coupled import SVM2K, MvSVM2C
from htsvm_paper.baselines.single import PinballSVC, ZeroOneSVC
from htsvm_paper.baselines.smooth import MvASYBX, WaveMvSVM
from htsvm_paper.baselines.structured import MvLSSVC2C, MvSL01SVM

__all__ = [
    "SVM2K",
    "MvASYBX",
    "MvLSSVC2C",
    "MvSL01SVM",
    "MvSVM2C",
    "PinballSVC",
    "WaveMvSVM",
    "ZeroOneSVC",
]
