"""Makes this folder from the original files: ``python data/make.py FOLDER``.

FOLDER has the layout of the registry (``uci/iris.data``, ``libsvm/a9a.bz2`` and so on). Everything
is lossless: text is compressed, decimal fractions are stored as whole numbers, and the image sets
are reduced to some of their rows. The table in README.md and the registry's checksums are
checked against the result by the tests.
"""

from __future__ import annotations

import bz2
import shutil
import sys
from pathlib import Path

import numpy as np
import scipy.io

HERE = Path(__file__).parent
STL10_PAIR = (1, 2)  # airplane, bird
CIFAR_TRAIN, CIFAR_TEST = 1000, 600
# The set in the package: digits that are easily mistaken, and what they are mistaken for.
MISTAKEN = {3: 5, 5: 8, 8: 3}
MISTAKES, TRAINING_ROWS = 0.3, 400
# Digits after the point of the six views of the handwritten digits, as published.
DECIMALS = (0, 8, 8, 8, 0, 8)


def tables(source: Path) -> None:
    """Compress the tables of UCI."""
    for path in sorted((source / "uci").iterdir()):
        target = HERE / "uci" / f"{path.name}.bz2"
        target.write_bytes(bz2.compress(path.read_bytes(), 9))


def libsvm(source: Path) -> None:
    """Copy the sets of the LIBSVM collection, which are compressed already."""
    for path in sorted((source / "libsvm").iterdir()):
        shutil.copyfile(path, HERE / "libsvm" / path.name)


def stl10(source: Path) -> None:
    """Keep two classes of STL-10."""
    with np.load(source / "images" / "stl10_train4001_hog_lbp.npz") as content:
        rows = np.isin(content["y"], STL10_PAIR)
        parts = {key: content[key][rows] for key in ("hog", "lbp", "y", "train_index")}
        parts["class_names"] = content["class_names"]
    np.savez_compressed(HERE / "images" / "stl10_airplane_bird_hog_lbp.npz", **parts)


def cifar10n(source: Path) -> None:
    """Keep the first rows of CIFAR-10N."""
    name = "cifar10n_train20000_test4000_hog_lbp.npz"
    with np.load(source / "images" / name) as content:
        parts = {
            key: content[key]
            if key == "class_names"
            else content[key][: CIFAR_TEST if key.endswith("test") else CIFAR_TRAIN]
            for key in content.files
        }
    name = f"cifar10n_train{CIFAR_TRAIN}_test{CIFAR_TEST}_hog_lbp.npz"
    np.savez_compressed(HERE / "images" / name, **parts)


def handwritten(source: Path) -> None:
    """Store the six views of the handwritten digits as whole numbers."""
    content = scipy.io.loadmat(source / "multiview" / "Handwritten.mat")
    parts = {"y": content["y"].ravel().astype(np.uint8)}
    for number, (view, digits) in enumerate(zip(content["X"].ravel(), DECIMALS, strict=True)):
        whole = np.rint(view.astype(float) * 10.0**digits).astype(np.int64)
        if not np.array_equal(whole / 10.0**digits, view):
            raise SystemExit(f"view {number} has more than {digits} digits after the point")
        # Columns one after the other, as bytes of equal weight: this is what compresses best.
        parts[f"view{number}"] = whole.astype(np.min_scalar_type(int(whole.max())) if
                                              whole.min() >= 0 else np.int32)  # fmt: skip
        parts[f"digits{number}"] = np.array(digits)
    np.savez_compressed(HERE / "multiview" / "Handwritten.npz", **parts)


def noisy_digits(source: Path) -> None:
    """Make the set in the package: pixels of three digits, 30 % of the training labels wrong."""
    content = scipy.io.loadmat(source / "multiview" / "Handwritten.mat")
    pixels, digit = content["X"].ravel()[4], content["y"].ravel().astype(int) - 1
    rng = np.random.default_rng(1)
    rows = rng.permutation(np.flatnonzero(np.isin(digit, list(MISTAKEN))))
    true = digit[rows]
    given = true.copy()
    wrong = np.flatnonzero(rng.random(TRAINING_ROWS) < MISTAKES)
    given[wrong] = [MISTAKEN[int(label)] for label in true[wrong]]
    np.savez_compressed(
        HERE.parent / "src" / "htsvm" / "datasets" / "noisy_digits.npz",
        pixels=pixels[rows].astype(np.uint8),
        true=true.astype(np.uint8),
        given=given[:TRAINING_ROWS].astype(np.uint8),
    )


def main() -> None:
    """Make all files."""
    source = Path(sys.argv[1])
    for folder in ("uci", "libsvm", "images", "multiview"):
        (HERE / folder).mkdir(exist_ok=True)
    for part in (tables, libsvm, stl10, cifar10n, handwritten, noisy_digits):
        part(source)


if __name__ == "__main__":
    main()
