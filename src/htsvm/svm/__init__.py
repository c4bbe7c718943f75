"""Single-view estimators."""

from typing import TYPE_CHECKING, Any

from htsvm.svm.htsvc import HTSVC
from htsvm.svm.path import HTPath, ht_path

if TYPE_CHECKING:
    from htsvm.svm.cv import HTSVCCV
    from htsvm.svm.kernel import KernelHTSVC
    from htsvm.svm.kernel_cv import KernelHTSVCCV

__all__ = ["HTSVC", "HTSVCCV", "HTPath", "KernelHTSVC", "KernelHTSVCCV", "ht_path"]


def __getattr__(name: str) -> Any:
    # These pull in much of scikit-learn; `import htsvm` should not wait for it.
    if name == "HTSVCCV":
        from htsvm.svm.cv import HTSVCCV

        return HTSVCCV
    if name == "KernelHTSVC":
        from htsvm.svm.kernel import KernelHTSVC

        return KernelHTSVC
    if name == "KernelHTSVCCV":
        from htsvm.svm.kernel_cv import KernelHTSVCCV

        return KernelHTSVCCV
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
