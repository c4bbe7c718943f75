"""The data sets of the paper: readers, checksums, a registry, and how the paper prepares them."""

from htsvm_paper.datasets.catalogue import describe, load, names
from htsvm_paper.datasets.dataset import DataContentError, Dataset, Description
from htsvm_paper.datasets.files import DataFileError
from htsvm_paper.datasets.preparation import Preparation, range_scaler
from htsvm_paper.datasets.readers import narrow
from htsvm_paper.principal import PrincipalViews, make_views

__all__ = [
    "DataContentError", "DataFileError", "Dataset", "Description", "Preparation", "PrincipalViews",
    "describe", "load", "make_views", "names", "narrow", "range_scaler",
]  # fmt: skip
