"""Robust and sparse support vector machines for data whose labels cannot all be trusted."""

from htsvm._show_versions import show_versions
from htsvm._version import __version__
from htsvm.exceptions import IgnoredClassWarning
from htsvm.optimality import SampleStatus, certify
from htsvm.svm import HTSVC, HTSVCCV, ht_path

__all__ = [
    "HTSVC",
    "HTSVCCV",
    "IgnoredClassWarning",
    "SampleStatus",
    "__version__",
    "certify",
    "ht_path",
    "show_versions",
]
