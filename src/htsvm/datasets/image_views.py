"""Two views of an image: the directions of its edges, and its fine texture."""

from __future__ import annotations

from math import gcd
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from htsvm._sklearn import Interval, validated_fit
from htsvm._typing import Array

# Eight neighbours at distance one; "nri_uniform" tells 59 patterns apart.
NEIGHBOURS, RADIUS, PATTERNS = 8, 1, 59


class ImageViews(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Histograms of oriented gradients (HOG) and local binary patterns (LBP), side by side.

    Needs scikit-image. The defaults are those of the STL-10 file in the registry (96 x 96 pixels:
    900 + 944 columns); ``ImageViews(hog_cell=8, lbp_cell=16)`` gives the columns of CIFAR-10N.

    Parameters
    ----------
    orientations : int, default=9
        Directions of the HOG.
    hog_cell : int, default=16
        Edge of a HOG cell in pixels; 2 x 2 cells are normalised together (L2-Hys).
    lbp_cell : int, default=24
        Edge of the squares in which the 59 patterns are counted.

    Attributes
    ----------
    image_shape_ : tuple of int
        Height and width of the images.
    view_widths_ : tuple of int
        The columns of HOG and LBP.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        name: [Interval(Integral, 1, None, closed="left")]
        for name in ("orientations", "hog_cell", "lbp_cell")
    }

    def __init__(self, orientations: int = 9, hog_cell: int = 16, lbp_cell: int = 24) -> None:
        self.orientations = orientations
        self.hog_cell = hog_cell
        self.lbp_cell = lbp_cell

    @validated_fit
    def fit(self, X: Any, y: Any = None) -> ImageViews:
        """Take note of the size of the images; nothing else is learned.

        Parameters
        ----------
        X : array-like of shape (n_images, height, width) or (n_images, height, width, 3)
            Grey images, or colour images: whole numbers from 0 to 255, or fractions from 0 to 1.
        y : ignored
            For the sake of pipelines.
        """
        images = _images(X)
        height, width = images.shape[1:3]
        if min(height, width) < 2 * self.hog_cell:
            raise ValueError(
                f"Images of {height} x {width} pixels hold no block of 2 x 2 cells; hog_cell must "
                f"be at most {min(height, width) // 2}, got {self.hog_cell!r}."
            )
        if height % self.lbp_cell or width % self.lbp_cell:
            common = gcd(height, width)
            fitting = [str(edge) for edge in range(2, common + 1) if common % edge == 0]
            raise ValueError(
                f"lbp_cell={self.lbp_cell!r} does not divide images of {height} x {width} pixels; "
                f"choose one of {', '.join(fitting) or '1'}, or crop the images."
            )
        self.image_shape_ = (height, width)
        blocks = (height // self.hog_cell - 1) * (width // self.hog_cell - 1)
        squares = (height // self.lbp_cell) * (width // self.lbp_cell)
        self.view_widths_ = (4 * self.orientations * blocks, PATTERNS * squares)
        return self

    def transform(self, X: Any) -> Array:
        """Return the HOG and LBP columns of each image.

        Parameters
        ----------
        X : array-like of shape (n_images, height, width) or (n_images, height, width, 3)
            Images of the size seen in `fit`.
        """
        check_is_fitted(self)
        images = _images(X)
        if images.shape[1:3] != self.image_shape_:
            raise ValueError(
                f"X has images of {images.shape[1:3]} pixels, but fit saw {self.image_shape_}."
            )
        return np.stack([self._describe(image) for image in images])

    def get_feature_names_out(self, input_features: Any = None) -> Array:
        """Return the names of the columns: hog0, hog1, ..., lbp0, lbp1, ...

        Parameters
        ----------
        input_features : ignored
            Pixels have no names.
        """
        check_is_fitted(self)
        counted = zip(("hog", "lbp"), self.view_widths_, strict=True)
        return np.array([f"{view}{i}" for view, width in counted for i in range(width)], object)

    def _describe(self, image: Array) -> Array:
        from skimage.color import rgb2gray
        from skimage.feature import hog, local_binary_pattern

        grey = rgb2gray(image) if image.ndim == 3 else image
        edges = hog(
            grey,
            orientations=self.orientations,
            pixels_per_cell=(self.hog_cell, self.hog_cell),
            cells_per_block=(2, 2),
            block_norm="L2-Hys",
        )
        # Patterns compare neighbouring values: on whole grey levels rounding plays no part.
        levels = np.round(grey * 255.0).astype(np.uint8)
        patterns: Array = local_binary_pattern(  # type: ignore[no-untyped-call]
            levels, NEIGHBOURS, RADIUS, method="nri_uniform"
        )
        return np.concatenate([edges, self._count(patterns.astype(int))])

    def _count(self, patterns: Array) -> Array:
        """Return how often each pattern occurs in each square."""
        height, width = patterns.shape
        edge = self.lbp_cell
        squares = patterns.reshape(height // edge, edge, width // edge, edge)
        flat = squares.transpose(0, 2, 1, 3).reshape(-1, edge * edge)
        counts = [np.bincount(square, minlength=PATTERNS) for square in flat]
        return np.concatenate(counts)


def _images(X: Any) -> Array:
    """Return the images as fractions from 0 to 1."""
    images = np.asarray(X)
    if images.ndim not in (3, 4) or (images.ndim == 4 and images.shape[3] != 3):
        raise ValueError(
            "X must hold images: (n, height, width) or (n, height, width, 3), "
            f"got the shape {images.shape}."
        )
    if not len(images):
        raise ValueError(f"X holds no images: its shape is {images.shape}.")
    if images.dtype.kind not in "buif":
        raise ValueError(f"X must hold numbers, got the type {images.dtype}.")
    whole = images.dtype.kind in "ui"
    top = 255 if whole else 1
    least, most = images.min(), images.max()
    if not (least >= 0 and most <= top):  # Also where they are NaN.
        raise ValueError(
            f"X has pixels from {least} to {most}; {'whole numbers' if whole else 'fractions'} "
            f"must lie between 0 and {top}."
        )
    return images / 255.0 if whole else images.astype(np.float64, copy=False)
