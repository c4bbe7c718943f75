"""The comparison methods of the paper that are not in `htsvm.baselines`."""

from htsvm_paper.baselines.mv_asy_bx import MvASYBX
from htsvm_paper.baselines.mv_lssvc_2c import MvLSSVC2C
from htsvm_paper.baselines.mv_sl01 import MvSL01SVM
from htsvm_paper.baselines.mv_svm_2c import MvSVM2C
from htsvm_paper.baselines.pinball import PinballSVC
from htsvm_paper.baselines.svm_2k import SVM2K
from htsvm_paper.baselines.wave_mvsvm import WaveMvSVM
from htsvm_paper.baselines.zero_one import ZeroOneSVC

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
