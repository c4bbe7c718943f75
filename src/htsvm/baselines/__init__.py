"""Other support vector machines, to compare with and to use: one file each.

The first five see one view, the others several (see `htsvm.multiview`).
"""

from htsvm.baselines.hinge import HingeSVC
from htsvm.baselines.least_squares import LeastSquaresSVC
from htsvm.baselines.mv_asy_bx import MvASYBX
from htsvm.baselines.mv_lssvc_2c import MvLSSVC2C
from htsvm.baselines.mv_sl01 import MvSL01SVM
from htsvm.baselines.mv_svm_2c import MvSVM2C
from htsvm.baselines.pinball import PinballSVC
from htsvm.baselines.ramp import RampSVC
from htsvm.baselines.svm_2k import SVM2K
from htsvm.baselines.wave_mvsvm import WaveMvSVM
from htsvm.baselines.zero_one import ZeroOneSVC

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
