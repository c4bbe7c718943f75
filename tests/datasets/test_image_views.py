from __future__ import annotations

import io
import zipfile

import numpy as np
import pytest

from htsvm.datasets import ImageViews


@pytest.mark.slow
def test_image_views_give_the_stored_columns(data_dir):
    sio = pytest.importorskip("skimage.io", reason="needs scikit-image")
    with np.load(data_dir / "images" / "stl10_train4001_hog_lbp.npz") as content:
        columns = np.hstack([content["hog"], content["lbp"]])
        places = {int(index): row for row, index in enumerate(content["train_index"])}
    with zipfile.ZipFile(data_dir / "images" / "stl10_train_subset400_png.zip") as archive:
        names = [name for name in archive.namelist() if name.endswith(".png")][::67]
        images = np.stack([sio.imread(io.BytesIO(archive.read(name))) for name in names])
    views = ImageViews().fit(images)
    assert views.view_widths_ == (900, 944)
    stored = columns[[places[int(name.rsplit("/")[-1][:-4])] for name in names]]
    np.testing.assert_allclose(views.transform(images), stored, atol=1e-6)


def test_image_views_of_small_images():
    rng = np.random.default_rng(0)
    grey = rng.integers(0, 256, size=(2, 32, 32), dtype=np.uint8)
    views = ImageViews(hog_cell=8, lbp_cell=16)
    columns = views.fit_transform(grey)
    assert views.view_widths_ == (324, 236)
    assert columns.shape == (2, 560)
    np.testing.assert_array_equal(columns[:, 324:].reshape(2, 4, 59).sum(axis=2), 256)


@pytest.mark.parametrize(
    ("options", "shape", "message"),
    [
        ({}, (2, 40), "X must hold images"),
        ({}, (2, 96, 96, 4), "X must hold images"),
        ({}, (2, 20, 20), "hog_cell must be at most 10"),
        ({"hog_cell": 8}, (2, 40, 40), "lbp_cell=24 does not divide .* one of 2, 4, 5, 8, 10, 20"),
        ({}, (0, 96, 96), "holds no images"),
        ({"orientations": 0}, (2, 96, 96), "'orientations' parameter .* must be an int"),
    ],
)
def test_bad_images(options, shape, message):
    with pytest.raises(ValueError, match=message):
        ImageViews(**options).fit(np.zeros(shape))


def test_columns_of_image_views_have_names():
    images = np.random.default_rng(0).random((2, 32, 32))
    frame = ImageViews(hog_cell=8, lbp_cell=16).set_output(transform="pandas").fit_transform(images)
    assert list(frame.columns[[0, 323, 324, 559]]) == ["hog0", "hog323", "lbp0", "lbp235"]


def test_images_of_another_size_are_refused():
    views = ImageViews(hog_cell=8, lbp_cell=16).fit(np.zeros((1, 32, 32)))
    with pytest.raises(ValueError, match="but fit saw"):
        views.transform(np.zeros((1, 64, 64)))
