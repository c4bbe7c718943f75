"""Robust and sparse support vector machines for data whose labels cannot all be trusted."""

from typing import TYPE_CHECKING

from htsvm._lazy import lazy
from htsvm._show_versions import show_versions
from htsvm._version import __version__
from htsvm.exceptions import IgnoredClassWarning
from htsvm.optimality import SampleStatus, certify
from htsvm.svm import HTSVC, ht_path

if TYPE_CHECKING:
    from htsvm import baselines
    from htsvm.multiview import MultiViewHTSVC
    from htsvm.svm import HTSVCCV, KernelHTSVC, KernelHTSVCCV

__all__ = [
    "HTSVC",
    "HTSVCCV",
    "IgnoredClassWarning",
    "KernelHTSVC",
    "KernelHTSVCCV",
    "MultiViewHTSVC",
    "SampleStatus",
    "__version__",
    "baselines",
    "certify",
    "ht_path",
    "show_versions",
]

__getattr__ = lazy(
    __name__,
    {
        "HTSVCCV": "htsvm.svm.cv",
        "KernelHTSVC": "htsvm.svm.kernel",
        "KernelHTSVCCV": "htsvm.svm.kernel_cv",
        "MultiViewHTSVC": "htsvm.multiview",
        "baselines": "",
    },
)
