"""Other linear support vector machines, to compare with and to use: one file each."""

from htsvm.baselines.hinge import HingeSVC
from htsvm.baselines.least_squares import LeastSquaresSVC
from htsvm.baselines.mv_asy_bx import MvASYBX
from htsvm.baselines.mv_svm_2c import MvSVM2C
from htsvm.baselines.pinball import PinballSVC
from htsvm.baselines.ramp import RampSVC
from htsvm.baselines.svm_2k import SVM2K
from htsvm.baselines.wave_mvsvm import WaveMvSVM
from htsvm.baselines.zero_one import ZeroOneSVC

__all__ = ["HingeSVC", "LeastSquaresSVC", "MvASYBX", "MvSVM2C", "PinballSVC", "RampSVC", "SVM2K", "WaveMvSVM", "ZeroOneSVC"]
