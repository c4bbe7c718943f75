"""Single-view estimators."""

from typing import TYPE_CHECKING

from htsvm._lazy import lazy
from htsvm.svm.htsvc import HTSVC
from htsvm.svm.path import HTPath, ht_path

if TYPE_CHECKING:
    from htsvm.svm.cv import HTSVCCV
    from htsvm.svm.kernel import KernelHTSVC
    from htsvm.svm.kernel_cv import KernelHTSVCCV

__all__ = ["HTSVC", "HTSVCCV", "HTPath", "KernelHTSVC", "KernelHTSVCCV", "ht_path"]

# These pull in much of scikit-learn; `import htsvm` should not wait for it.
__getattr__ = lazy(
    __name__,
    {
        "HTSVCCV": "htsvm.svm.cv",
        "KernelHTSVC": "htsvm.svm.kernel",
        "KernelHTSVCCV": "htsvm.svm.kernel_cv",
    },
)
