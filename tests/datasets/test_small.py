from __future__ import annotations

import numpy as np
from sklearn.svm import LinearSVC

from htsvm import HTSVC
from htsvm.datasets import load_noisy_digits
from htsvm_paper.datasets import load


def test_shapes_and_shares():
    digits = load_noisy_digits()
    assert digits.data.shape == (400, 240)
    assert digits.data_test.shape == (200, 240)
    assert digits.images.shape == (400, 16, 15)
    assert len(digits.feature_names) == 240
    assert digits.data.min() == 0.0
    assert digits.data.max() == 1.0
    assert set(digits.target) == set(digits.target_test) == {3, 5, 8}
    assert 0.25 < digits.wrong.mean() < 0.35
    np.testing.assert_array_equal(digits.wrong, digits.target != digits.target_true)
    X, y = load_noisy_digits(return_X_y=True)
    np.testing.assert_array_equal(X, digits.data)
    np.testing.assert_array_equal(y, digits.target)


def test_the_images_are_those_of_the_original():
    digits, original = load_noisy_digits(), load("handwritten")
    start = sum(original.view_widths[:4])
    pixels = original.X[:, start : start + 240] / 6.0
    for images, labels in (
        (digits.data, digits.target_true),
        (digits.data_test, digits.target_test),
    ):
        for image, label in zip(images[::50], labels[::50], strict=True):
            row = np.flatnonzero((pixels == image).all(axis=1))
            assert np.all(original.y[row] - 1 == label)
            assert len(row) >= 1


def test_the_mistakes_matter_and_are_found():
    digits = load_noisy_digits()
    robust = HTSVC(C=0.01).fit(digits.data, digits.target)
    plain = LinearSVC(C=0.01).fit(digits.data, digits.target)
    accuracy = robust.score(digits.data_test, digits.target_test)
    assert accuracy > plain.score(digits.data_test, digits.target_test) + 0.03
    assert accuracy > 0.95
    assert digits.wrong[robust.ignored_].mean() > 0.9
