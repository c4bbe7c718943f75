"""Several views of the same samples."""

from typing import Any

from htsvm.multiview.base import BaseMultiViewSVC
from htsvm.multiview.column_views import ColumnViews
from htsvm.multiview.htsvc import MultiViewHTSVC
from htsvm.multiview.principal import PrincipalViews, make_views
from htsvm.multiview.views import (
    columns_starting_with,
    stack_views,
    views_from_column_transformer,
)

__all__ = [
    "BaseMultiViewSVC",
    "ColumnViews",
    "MultiViewHTSVC",
    "MultiViewHTSVCCV",
    "PrincipalViews",
    "columns_starting_with",
    "make_views",
    "stack_views",
    "views_from_column_transformer",
]


def __getattr__(name: str) -> Any:
    # Cross-validation pulls in much of scikit-learn; `import htsvm.multiview` need not wait for it.
    if name == "MultiViewHTSVCCV":
        from htsvm.multiview.cv import MultiViewHTSVCCV

        return MultiViewHTSVCCV
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
