"""Several views of the same samples."""

from htsvm._moved import moved
from htsvm.multiview.base import BaseMultiViewSVC
from htsvm.multiview.column_views import ColumnViews
from htsvm.multiview.cv import MultiViewHTSVCCV
from htsvm.multiview.htsvc import MultiViewHTSVC
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
    "columns_starting_with",
    "stack_views",
    "views_from_column_transformer",
]

__getattr__ = moved(
    __name__, dict.fromkeys(("PrincipalViews", "make_views"), "htsvm_paper.datasets")
)
