"""Other linear support vector machines, to compare with and to use: one file each."""

from htsvm.baselines.hinge import HingeSVC
from htsvm.baselines.least_squares import LeastSquaresSVC
from htsvm.baselines.pinball import PinballSVC
from htsvm.baselines.ramp import RampSVC
from htsvm.baselines.zero_one import ZeroOneSVC

__all__ = ["HingeSVC", "LeastSquaresSVC", "PinballSVC", "RampSVC", "ZeroOneSVC"]
