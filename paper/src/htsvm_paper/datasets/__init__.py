"""The data sets of the paper: readers, checksums, a registry, and how the paper prepares them."""

from htsvm_paper.datasets._files import DataFileError
from htsvm_paper.datasets._readers import narrow
from htsvm_paper.datasets.dataset import DataContentError, Dataset, Entry
from htsvm_paper.datasets.preparation import Preparation, range_scaler
from htsvm_paper.datasets.registry import describe, load, names

__all__ = [
    "DataContentError",
    "DataFileError",
    "Dataset",
    "Entry",
    "Preparation",
    "describe",
    "load",
    "names",
    "narrow",
    "range_scaler",
]
