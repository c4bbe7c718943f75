"""Other support vector machines, to compare with and to use: for one view, and for several."""

from htsvm.baselines.multiview.mv_asy_bx import MvASYBX
from htsvm.baselines.multiview.mv_lssvc_2c import MvLSSVC2C
from htsvm.baselines.multiview.mv_sl01 import MvSL01SVM
from htsvm.baselines.multiview.mv_svm_2c import MvSVM2C
from htsvm.baselines.multiview.svm_2k import SVM2K
from htsvm.baselines.multiview.wave_mvsvm import WaveMvSVM
from htsvm.baselines.single.hinge import HingeSVC
from htsvm.baselines.single.least_squares import LeastSquaresSVC
from htsvm.baselines.single.pinball import PinballSVC
from htsvm.baselines.single.ramp import RampSVC
from htsvm.baselines.single.zero_one import ZeroOneSVC

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
