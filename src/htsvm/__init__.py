"""Robust and sparse support vector machines for data whose labels cannot all be trusted."""

from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    # Loaded when first asked for, so that `import htsvm` stays quick.
    if name == "HTSVCCV":
        from htsvm.svm import HTSVCCV, KernelHTSVC, KernelHTSVCCV

        return HTSVCCV
    if name == "KernelHTSVC":
        from htsvm.svm import KernelHTSVC

        return KernelHTSVC
    if name == "KernelHTSVCCV":
        from htsvm.svm.kernel_cv import KernelHTSVCCV

        return KernelHTSVCCV
    if name == "baselines":
        from importlib import import_module

        return import_module("htsvm.baselines")
    if name == "MultiViewHTSVC":
        from htsvm.multiview import MultiViewHTSVC

        return MultiViewHTSVC
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
