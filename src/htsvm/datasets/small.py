"""The data set that comes with the package, and the paper's synthetic one."""

from __future__ import annotations

import math
from importlib import resources
from typing import Any

import numpy as np
from scipy.special import ndtr
from sklearn.utils import Bunch, check_scalar

from htsvm._seeds import generator_of
from htsvm._typing import Array

SHAPE = (16, 15)
GREYS = 6.0
ABOUT = """Handwritten digits with wrong labels

600 images of the handwritten digits 3, 5 and 8 (16 rows of 15 pixels, scaled to [0, 1]): 400 to
train on and 200 to test on. The images are from the set "Multiple Features" of the UCI Machine
Learning Repository (R. Duin, CC BY 4.0, https://doi.org/10.24432/C5HC70). The mistakes are
made: with probability 0.3 a training label was exchanged, 3 for 5, 5 for 8 and 8 for 3. Test
labels are right.
"""

# The centre of class +1 (class -1 has the opposite one), and the variances that both share.
CENTRE = np.array([0.5, -3.0])
VARIANCE = np.array([0.2, 3.0])

# No classifier is right more often than this: half the Mahalanobis distance, sqrt(17) / 2.
BAYES_ACCURACY = float(ndtr(math.sqrt(float(np.sum(CENTRE**2 / VARIANCE)))))


def load_noisy_digits(*, return_X_y: bool = False) -> Any:
    """Return images of three handwritten digits, of which nearly every third label is wrong.

    The set is part of the package: nothing is downloaded.

    Parameters
    ----------
    return_X_y : bool, default=False
        Whether to return the training data alone, as ``(X, y)``.

    Returns
    -------
    Bunch or tuple of ndarray
        With the attributes

        data : ndarray of shape (400, 240)
            Pixels of the training images, row by row, from 0 (white) to 1.
        target : ndarray of shape (400,)
            Their labels as given: 3, 5 or 8, some of them wrong.
        target_true : ndarray of shape (400,)
            What the images show.
        wrong : ndarray of shape (400,)
            Whether a label is wrong.
        data_test, target_test : ndarray of shape (200, 240) and (200,)
            Test images and what they show.
        images : ndarray of shape (400, 16, 15)
            The training images.
        DESCR : str
            Where the set comes from.

    Examples
    --------
    >>> from htsvm import HTSVC
    >>> from htsvm.datasets import load_noisy_digits
    >>> digits = load_noisy_digits()
    >>> int(digits.wrong.sum())
    115
    >>> model = HTSVC(C=0.01).fit(digits.data, digits.target)
    >>> bool(digits.wrong[model.ignored_].mean() > 0.9)
    True
    """
    path = resources.files("htsvm.datasets").joinpath("noisy_digits.npz")
    with path.open("rb") as file, np.load(file) as content:
        pixels = content["pixels"] / GREYS
        true, given = content["true"].astype(int), content["given"].astype(int)
    rows = len(given)
    data: Array = pixels[:rows]
    if return_X_y:
        return data, given
    return Bunch(
        data=data,
        target=given,
        target_true=true[:rows],
        wrong=given != true[:rows],
        data_test=pixels[rows:],
        target_test=true[rows:],
        images=data.reshape(-1, *SHAPE),
        feature_names=[f"pixel_{i}_{j}" for i in range(SHAPE[0]) for j in range(SHAPE[1])],
        DESCR=ABOUT,
    )


def make_two_gaussians(n_per_class: int, *, random_state: Any = None) -> tuple[Array, Array]:
    """Draw samples of two Gaussian classes in the plane.

    Parameters
    ----------
    n_per_class : int
        Samples of each class.
    random_state : int, RandomState, Generator or None, default=None
        Drives the draw. None always takes the same seed; a generator goes on where it was.

    Returns
    -------
    X : ndarray of shape (2 * n_per_class, 2)
        Samples, those of class +1 first.
    y : ndarray of shape (2 * n_per_class,)
        Labels +1 and -1.

    Notes
    -----
    Class +1 has the centre (0.5, -3), class -1 the opposite one; both have the covariance
    diag(0.2, 3). `htsvm.datasets.BAYES_ACCURACY`, 98.0375 %, is the best that is possible.
    """
    check_scalar(n_per_class, "n_per_class", (int, np.integer), min_val=1)
    rng = generator_of(random_state)
    y = np.repeat([1, -1], n_per_class)
    noise = rng.standard_normal((2 * n_per_class, 2)) * np.sqrt(VARIANCE)
    return np.where(y[:, None] == 1, CENTRE, -CENTRE) + noise, y
