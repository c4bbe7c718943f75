"""Several views of the same samples."""

from typing import TYPE_CHECKING, Any

from htsvm._lazy import lazy
from htsvm._moved import moved
from htsvm.multiview.base import BaseMultiViewSVC
from htsvm.multiview.column_views import ColumnViews
from htsvm.multiview.htsvc import MultiViewHTSVC
from htsvm.multiview.views import (
    columns_starting_with,
    stack_views,
    views_from_column_transformer,
)

if TYPE_CHECKING:
    from htsvm.multiview.cv import MultiViewHTSVCCV

__all__ = [
    "BaseMultiViewSVC",
    "ColumnViews",
    "MultiViewHTSVC",
    "MultiViewHTSVCCV",
    "columns_starting_with",
    "stack_views",
    "views_from_column_transformer",
]

# Cross-validation pulls in much of scikit-learn; `import htsvm.multiview` need not wait for it.
_later = lazy(__name__, {"MultiViewHTSVCCV": "htsvm.multiview.cv"})
_gone = moved(__name__, dict.fromkeys(("PrincipalViews", "make_views"), "htsvm_paper.datasets"))


def __getattr__(name: str) -> Any:
    return _later(name) if name in __all__ else _gone(name)
