"""Other support vector machines, to compare with and to use: for one view, and for several."""

from htsvm_paper.baselines.mv_asy_bx import MvASYBX
from htsvm_paper.baselines.mv_lssvc_2c import MvLSSVC2C
from htsvm_paper.baselines.mv_sl01 import MvSL01SVM
from htsvm_paper.baselines.mv_svm_2c import MvSVM2C
from htsvm_paper.baselines.svm_2k import SVM2K
from htsvm_paper.baselines.wave_mvsvm import WaveMvSVM
from htsvm.baselines.single.hinge import HingeSVC
from htsvm.baselines.single.least_squares import LeastSquaresSVC
from htsvm_paper.baselines.pinball import PinballSVC
from htsvm.baselines.single.ramp import RampSVC
from htsvm_paper.baselines.zero_one import ZeroOneSVC

__all__ = [
    "SVM2K",
    "HingeSVC",
    "LeastSquaresSVC",
    "MvASYBX",
    "MvLSSVC2C",
    "MvSL01SVM",
    "MvSVM2C",
    "PinballSVC",
    "RampSVC",
    "WaveMvSVM",
    "ZeroOneSVC",
]
