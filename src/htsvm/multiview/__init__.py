"""Several views of the same samples."""

from htsvm.multiview.base import BaseMultiViewSVC
from htsvm.multiview.views import (
    columns_starting_with,
    stack_views,
    views_from_column_transformer,
)

__all__ = [
    "BaseMultiViewSVC",
    "columns_starting_with",
    "stack_views",
    "views_from_column_transformer",
]
