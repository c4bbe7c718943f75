"""Sets of the LIBSVM collection, and larger ones in its format."""

from __future__ import annotations

from htsvm_paper.datasets import _readers as readers
from htsvm_paper.datasets._catalogue import data_file
from htsvm_paper.datasets.dataset import Entry

HOME = "https://www.csie.ntu.edu.tw/~cjlin/libsvmtools/datasets/binary"
UCI = "https://archive.ics.uci.edu/ml/machine-learning-databases"

# name: rows, positive rows, test rows
ADULT = {
    "a1a": (1605, 395, 30956),
    "a2a": (2265, 572, 30296),
    "a4a": (4781, 1188, 27780),
    "a6a": (11220, 2692, 21341),
    "a7a": (16100, 3918, 16461),
    "a8a": (22696, 5506, 9865),
    "a9a": (32561, 7841, 16281),
}
WEB = {
    "w1a": (2477, 72, 47272),
    "w2a": (3470, 107, 46279),
    "w3a": (4912, 143, 44837),
    "w4a": (7366, 216, 42383),
    "w5a": (9888, 281, 39861),
    "w6a": (17188, 525, 32561),
    "w8a": (49749, 1479, 14951),
}
IN_PAPER = ("a1a", "a2a", "a4a", "a6a", "a7a", "a8a", "a9a", "w2a", "w5a", "w6a")

ABOUT_ADULT = (
    "Adult (census income), {features} 0/1 columns, predefined split. +1: more than 50,000 a year."
)
ABOUT_WEB = "Web pages, {features} 0/1 columns of words, predefined split. +1: in the category."


def _pair(name: str, rows: int, positive: int, test_rows: int, features: int, about: str) -> Entry:
    return Entry(
        name=name,
        kind="single-view" if name in IN_PAPER else "large",
        files=tuple(
            data_file(f"libsvm/{part}.bz2", f"{HOME}/{part}") for part in (name, f"{name}.t")
        ),
        read=readers.libsvm(features),
        rows=rows,
        features=features,
        balance={1: positive, -1: rows - positive},
        about=about.format(features=features),
        test_rows=test_rows,
    )


ENTRIES = (
    *(_pair(name, *sizes, 123, ABOUT_ADULT) for name, sizes in ADULT.items()),
    *(_pair(name, *sizes, 300, ABOUT_WEB) for name, sizes in WEB.items()),
    Entry(
        name="mushrooms",
        kind="large",
        files=(data_file("libsvm/mushrooms.bz2", f"{HOME}/mushrooms"),),
        read=readers.libsvm(112, 1.0, {1: "poisonous", -1: "edible"}),
        rows=8124,
        features=112,
        balance={1: 3916, -1: 4208},
        about="LIBSVM's binary coding of the mushrooms; the paper's set is called mushroom.",
    ),
    Entry(
        name="breast-cancer_scale",
        kind="large",
        files=(data_file("libsvm/breast-cancer_scale.bz2", f"{HOME}/breast-cancer_scale"),),
        read=readers.libsvm(10, 4.0, {1: "malignant", -1: "benign"}),
        rows=683,
        features=10,
        balance={1: 239, -1: 444},
        about="LIBSVM's scaled Wisconsin breast cancer. Its first column is the sample id.",
    ),
    Entry(
        name="ijcnn1",
        kind="large",
        files=(
            data_file("large/ijcnn1.bz2", f"{HOME}/ijcnn1.bz2"),
            data_file("large/ijcnn1.t.bz2", f"{HOME}/ijcnn1.t.bz2"),
        ),
        read=readers.libsvm(22),
        rows=49990,
        features=22,
        balance={1: 4853, -1: 45137},
        about="IJCNN 2001 challenge, training and validation part together, predefined test part.",
        test_rows=91701,
    ),
    Entry(
        name="reuters",
        kind="large",
        files=(data_file("large/reuters_lasvm.bz2"), data_file("large/reuters_lasvm.t.bz2")),
        read=readers.libsvm(8315),
        rows=7770,
        features=8315,
        balance={1: 538, -1: 7232},
        about="The Reuters texts of the LaSVM study (not rcv1), predefined split.",
        test_rows=3299,
    ),
    Entry(
        name="skin",
        kind="large",
        files=(data_file("large/Skin_NonSkin.txt.bz2", f"{UCI}/00229/Skin_NonSkin.txt"),),
        read=readers.table(-1, {"1": 1, "2": -1}, separator=None, names={1: "skin", -1: "other"}),
        rows=245057,
        features=3,
        balance={1: 50859, -1: 194198},
        about="Colours of pixels (blue, green, red, 0 to 255). +1: skin.",
    ),
    Entry(
        name="susy",
        kind="large",
        files=(data_file("large/SUSY_sample30000.mat"),),
        read=readers.mat_signs,
        rows=30000,
        features=18,
        balance={1: 13815, -1: 16185},
        about="A sample of 30,000 of the 5,000,000 rows of SUSY; how it was drawn is not known.",
    ),
)
