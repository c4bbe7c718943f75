"""All data sets by name, as `sets.toml` describes them."""

import tomllib
from importlib import resources
from typing import Any

from htsvm_paper._names import hint
from htsvm_paper.datasets.dataset import Dataset, Description
from htsvm_paper.datasets.files import data_file
from htsvm_paper.datasets.readers import READERS

# Pairs of classes that have a file of their own, smaller than that of all classes.
SMALL_PAIRS = {"stl10:airplane:bird": "stl10-pair"}
OWN = ("kind", "files", "reader", "rows", "test_rows", "features", "first", "balance", "about")


def _description(name: str, known: dict[str, Any], homes: dict[str, str]) -> Description:
    """Return an entry of the table; what is not of its own belongs to its reader."""
    files = []
    for file in known["files"]:
        home, _, place = file.get("url", "").partition("/")
        url = f"{homes[home]}/{place}" if home else None
        files.append(data_file(file["path"], url, canonical=file.get("canonical", False)))
    counts, first = known["balance"], known.get("first")
    labels = (1, -1) if first is None else range(first, first + len(counts))
    options = {key: value for key, value in known.items() if key not in OWN}
    if known["reader"] == "libsvm":  # Its files do not say how many columns there are.
        options["features"] = known["features"]
    return Description(
        name=name, kind=known["kind"], files=tuple(files),
        read=READERS[known["reader"]](**options), rows=known["rows"], features=known["features"],
        balance=dict(zip(labels, counts, strict=True)), about=known["about"],
        test_rows=known.get("test_rows", 0),
    )  # fmt: skip


def _descriptions() -> dict[str, Description]:
    text = resources.files("htsvm_paper.datasets").joinpath("sets.toml").read_text("utf-8")
    table = tomllib.loads(text)
    return {name: _description(name, e, table["homes"]) for name, e in table["sets"].items()}


SETS = _descriptions()


def names(kind: str | None = None) -> list[str]:
    """Return the names of all data sets, or of those of one kind.

    Kinds are "single-view" and "two-view", the paper's tables; "image", STL-10 and CIFAR-10N;
    "multi-view" and "large".
    """
    kinds = sorted({known.kind for known in SETS.values()})
    if kind is not None and kind not in kinds:
        raise ValueError(f"kind must be one of {', '.join(kinds)}, got {kind!r}.")
    return [name for name, known in SETS.items() if kind in (None, known.kind)]


def describe(name: str) -> Description:
    """Return what is known about a data set: sizes, class balance, files, and its story.

    For a pair of classes, as ``"stl10:bird:cat"``, it is the set they are from.
    """
    name = SMALL_PAIRS.get(str(name), str(name).split(":")[0])
    if name not in SETS:
        raise ValueError(f"Unknown data set {name!r}; {hint(name.lower(), SETS)}")
    return SETS[name]


def load(name: str) -> Dataset:
    """Return a data set of the registry.

    Its files are looked for in the folder ``data/`` of the checkout, in the folder $HTSVM_DATA,
    then in the cache ($HTSVM_CACHE, or the usual place), and are downloaded where they are
    published. Checksums, sizes and class balance are verified; the attribute `source` says where
    the files were. A host that cannot be reached is not tried again, and with HTSVM_OFFLINE=1
    none is.

    `names` lists the names. With two classes of a set, as ``"stl10:airplane:bird"``, it is these
    rows alone, with labels +1 and -1. Values are as published, not scaled: `Preparation` scales, on
    training data. Raises a `DataFileError` if a file is missing or has the wrong checksum; the
    message says what to put where.
    """
    data, pair = describe(name).load(), name.split(":")[1:]
    if pair and len(pair) != 2:
        raise ValueError(f"{name!r} should name two classes, as in 'stl10:airplane:bird'.")
    return data.pair(*pair) if pair else data
