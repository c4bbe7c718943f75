"""Robust and sparse support vector machines for data whose labels cannot all be trusted."""

import importlib
from typing import TYPE_CHECKING, Any

from htsvm._show_versions import show_versions
from htsvm._version import __version__
from htsvm.exceptions import IgnoredClassWarning
from htsvm.optimality import SampleStatus, certify
from htsvm.svm import HTSVC, ht_path

if TYPE_CHECKING:
    from htsvm import baselines
    from htsvm.audit import AuditedClassifier, audit_labels
    from htsvm.logistic.cv import HTLogisticRegressionCV
    from htsvm.logistic.regression import HTLogisticRegression
    from htsvm.multiview import MultiViewHTSVC
    from htsvm.svm.cv import HTSVCCV
    from htsvm.svm.kernel import KernelHTSVC
    from htsvm.svm.kernel_cv import KernelHTSVCCV

__all__ = [
    "HTSVC",
    "HTSVCCV",
    "AuditedClassifier",
    "HTLogisticRegression",
    "HTLogisticRegressionCV",
    "IgnoredClassWarning",
    "KernelHTSVC",
    "KernelHTSVCCV",
    "MultiViewHTSVC",
    "SampleStatus",
    "__version__",
    "audit_labels",
    "baselines",
    "certify",
    "ht_path",
    "show_versions",
]

# These pull in much of scikit-learn; `import htsvm` does not wait for it.
_LATER = {
    "AuditedClassifier": "audit",
    "HTLogisticRegression": "logistic.regression",
    "HTLogisticRegressionCV": "logistic.cv",
    "HTSVCCV": "svm.cv",
    "KernelHTSVC": "svm.kernel",
    "KernelHTSVCCV": "svm.kernel_cv",
    "MultiViewHTSVC": "multiview",
    "audit_labels": "audit",
}


def __getattr__(name: str) -> Any:
    if name == "baselines":
        return importlib.import_module("htsvm.baselines")
    if name not in _LATER:
        raise AttributeError(f"module 'htsvm' has no attribute {name!r}")
    return getattr(importlib.import_module(f"htsvm.{_LATER[name]}"), name)
