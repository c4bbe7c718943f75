"""Data sets of the paper and others, synthetic data, label noise, and views of images.

Examples
--------
>>> from htsvm.datasets import flip_labels, make_two_gaussians
>>> X, y = make_two_gaussians(100, random_state=0)
>>> noisy, flipped = flip_labels(y, 0.1, random_state=0)
>>> int(flipped.sum()), int((noisy != y).sum())
(20, 20)
"""

from htsvm.datasets._files import DataFileError
from htsvm.datasets._readers import narrow
from htsvm.datasets.dataset import DataContentError, Dataset, Entry
from htsvm.datasets.image_views import ImageViews
from htsvm.datasets.noise import flip_labels
from htsvm.datasets.preparation import Preparation, range_scaler
from htsvm.datasets.registry import describe, load, names
from htsvm.datasets.small import load_noisy_digits
from htsvm.datasets.synthetic import BAYES_ACCURACY, make_two_gaussians

__all__ = [
    "BAYES_ACCURACY",
    "DataContentError",
    "DataFileError",
    "Dataset",
    "Entry",
    "ImageViews",
    "Preparation",
    "describe",
    "flip_labels",
    "load",
    "load_noisy_digits",
    "make_two_gaussians",
    "names",
    "narrow",
    "range_scaler",
]
