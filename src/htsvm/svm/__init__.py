"""Single-view estimators; cross-validation and kernels are in modules of their own."""

from htsvm.svm.htsvc import HTSVC
from htsvm.svm.path import HTPath, ht_path

__all__ = ["HTSVC", "HTPath", "ht_path"]
