"""Single-view estimators."""

from htsvm.svm.cv import HTSVCCV
from htsvm.svm.htsvc import HTSVC
from htsvm.svm.path import HTPath, ht_path

__all__ = ["HTSVC", "HTSVCCV", "HTPath", "ht_path"]
