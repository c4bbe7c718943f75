"""The comparison methods of the paper that are not in `htsvm.baselines`.

Examples
--------
>>> from sklearn.datasets import make_classification
>>> from htsvm_paper.baselines import SVM2K
>>> X, y = make_classification(n_samples=200, random_state=0)
>>> clf = SVM2K(views=[slice(0, 10), slice(10, 20)]).fit(X, y)
>>> clf.certificate_[0].certified
True
"""

from htsvm_paper.baselines.coupled import SVM2K, MvSVM2C
from htsvm_paper.baselines.single import PinballSVC, ZeroOneSVC
from htsvm_paper.baselines.smooth import MvASYBX, WaveMvSVM
from htsvm_paper.baselines.structured import MvLSSVC2C, MvSL01SVM

__all__ = [
    "SVM2K", "MvASYBX", "MvLSSVC2C", "MvSL01SVM", "MvSVM2C", "PinballSVC", "WaveMvSVM",
    "ZeroOneSVC",
]  # fmt: skip
