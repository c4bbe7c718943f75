"""Sets that have several views by nature: images and the usual multi-view collections."""

from __future__ import annotations

from htsvm_paper.datasets import _readers as readers
from htsvm_paper.datasets._catalogue import data_file
from htsvm_paper.datasets.dataset import Entry

HOME = (
    "https://raw.githubusercontent.com/ChuanbinZhang/Multi-view-datasets/"
    "03ead31e6538322e4e0701c3c28a01595c1a015d"
)
CIFAR_SMALL = (102, 112, 99, 92, 99, 85, 107, 102, 99, 103)


def _mat(name: str, file: str, features: int, counts: tuple[int, ...], about: str) -> Entry:
    return Entry(
        name=name,
        kind="multi-view",
        files=(data_file(f"multiview/{file}", f"{HOME}/{file}", canonical=True),),
        read=readers.mat_views,
        rows=sum(counts),
        features=features,
        balance={label + 1: count for label, count in enumerate(counts)},
        about=about,
    )


ENTRIES = (
    Entry(
        name="stl10",
        kind="image",
        files=(data_file("images/stl10_train4001_hog_lbp.npz"),),
        read=readers.stl10,
        rows=4001,
        features=900 + 944,
        balance=dict(
            zip(
                range(1, 11),
                (402, 387, 393, 402, 397, 406, 412, 403, 404, 395),
                strict=True,
            )
        ),
        about="STL-10, views HOG (900) and LBP counts (944), by `ImageViews()`. PARTIAL: the first "
        "4,001 of the 5,000 labelled training images, 387 to 412 per class, so that the paper's "
        "500 per class cannot be drawn.",
    ),
    Entry(
        name="cifar10n",
        kind="image",
        files=(data_file("images/cifar10n_train20000_test4000_hog_lbp.npz"),),
        read=readers.cifar10n,
        rows=20000,
        features=324 + 236,
        balance=dict(
            enumerate((1989, 1981, 2042, 2011, 2009, 1925, 2038, 2027, 2012, 1966))
        ),
        about="The first 20,000 training and 4,000 test images of CIFAR-10, views HOG (324) and "
        "LBP counts (236). y is clean; other_labels holds the human labels of CIFAR-10N "
        "(CC BY-NC 4.0): aggre, random1 to random3, worse. Test labels are clean.",
        test_rows=4000,
    ),
    Entry(
        name="stl10-pair",
        kind="image",
        files=(data_file("images/stl10_airplane_bird_hog_lbp.npz"),),
        read=readers.stl10,
        rows=789,
        features=900 + 944,
        balance={1: 402, 2: 387},
        about="The airplanes and birds of stl10.",
    ),
    Entry(
        name="cifar10n-small",
        kind="image",
        files=(data_file("images/cifar10n_train1000_test600_hog_lbp.npz"),),
        read=readers.cifar10n,
        rows=1000,
        features=324 + 236,
        balance=dict(enumerate(CIFAR_SMALL)),
        about="The first 1,000 training and 600 test images of cifar10n.",
        test_rows=600,
    ),
    _mat(
        "handwritten", "Handwritten.mat", 216 + 76 + 64 + 6 + 240 + 47, (200,) * 10,
        "Handwritten digits (UCI multiple features): profile correlations, Fourier, Karhunen-"
        "Loeve, morphology, pixel averages, Zernike moments.",
    ),
    _mat(
        "3sources", "3Sources.mat", 3560 + 3631 + 3068, (56, 21, 11, 18, 51, 12),
        "News stories, word counts in the reports of BBC, Guardian and Reuters.",
    ),
    _mat(
        "bbcsport", "BBCSport.mat", 3183 + 3203, (62, 104, 193, 124, 61),
        "BBC sport articles, two segments of the text.",
    ),
    _mat(
        "100leaves", "100Leaves.mat", 64 + 64 + 64, (16,) * 100,
        "Plant leaves of 100 species: shape, margin, texture.",
    ),
    _mat(
        "reuters-1200", "Reuters-1200.mat", 5 * 2000, (200,) * 6,
        "Reuters documents in five languages.",
    ),
    _mat(
        "wikipedia", "Wikipedia.mat", 128 + 10, (172, 360, 340, 333, 267, 236, 237, 185, 285, 451),
        "Wikipedia articles, picture (128, SIFT words) and text (10 topics); the published names "
        "of the two views are probably exchanged.",
    ),
)  # fmt: skip
