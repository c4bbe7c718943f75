"""Synthetic data, label noise, a small noisy set, and views of images.

Examples
--------
>>> from htsvm.datasets import flip_labels, make_two_gaussians
>>> X, y = make_two_gaussians(100, random_state=0)
>>> noisy, flipped = flip_labels(y, 0.1, random_state=0)
>>> int(flipped.sum()), int((noisy != y).sum())
(20, 20)
"""

from htsvm._moved import moved
from htsvm.datasets.image_views import ImageViews
from htsvm.datasets.noise import flip_labels
from htsvm.datasets.small import BAYES_ACCURACY, load_noisy_digits, make_two_gaussians

__all__ = [
    "BAYES_ACCURACY",
    "ImageViews",
    "flip_labels",
    "load_noisy_digits",
    "make_two_gaussians",
]

MOVED = ("load", "names", "describe", "Dataset", "Preparation", "range_scaler", "narrow",
         "DataFileError", "DataContentError")  # fmt: skip
PLACES = dict.fromkeys(MOVED, "htsvm_paper.datasets")
__getattr__ = moved(__name__, PLACES | {"Entry": "htsvm_paper.datasets.Description"})
