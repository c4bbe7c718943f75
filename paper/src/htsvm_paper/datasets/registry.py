"""All data sets by name."""

from __future__ import annotations

from difflib import get_close_matches

from htsvm_paper.datasets import _libsvm_sets, _uci_sets, _view_sets
from htsvm_paper.datasets.dataset import Dataset, Entry

ENTRIES = {
    entry.name: entry for entry in (*_uci_sets.ENTRIES, *_libsvm_sets.ENTRIES, *_view_sets.ENTRIES)
}


# Pairs of classes that have a file of their own, smaller than that of all classes.
SMALL_PAIRS = {"stl10:airplane:bird": "stl10-pair"}


def names(kind: str | None = None) -> list[str]:
    """Return the names of all data sets, or of those of one kind.

    Parameters
    ----------
    kind : {"single-view", "two-view", "image", "multi-view", "large"}, optional
        "single-view" and "two-view" are the paper's tables, "image" STL-10 and CIFAR-10N.
    """
    kinds = sorted({entry.kind for entry in ENTRIES.values()})
    if kind is not None and kind not in kinds:
        raise ValueError(f"kind must be one of {', '.join(kinds)}, got {kind!r}.")
    return [name for name, entry in ENTRIES.items() if kind in (None, entry.kind)]


def describe(name: str) -> Entry:
    """Return what is known about a data set: sizes, class balance, files, and its story.

    Parameters
    ----------
    name : str
        The name. For a pair of classes, as ``"stl10:bird:cat"``, it is the set they are from.
    """
    name = SMALL_PAIRS.get(str(name), str(name).split(":")[0])
    if name not in ENTRIES:
        near = get_close_matches(name.lower(), ENTRIES, n=3, cutoff=0.4)
        hint = f"did you mean {', '.join(near)}?" if near else f"there are {', '.join(ENTRIES)}."
        raise ValueError(f"Unknown data set {name!r}; {hint}")
    return ENTRIES[name]


def load(name: str) -> Dataset:
    """Return a data set of the registry.

    Its files are looked for in the folder ``data/`` of the checkout, in the folder $HTSVM_DATA,
    then in the cache ($HTSVM_CACHE, or the usual place), and are downloaded where they are
    published. Checksums, sizes and class balance are verified; the attribute `source` says where
    the files were. A host that cannot be reached is not tried again, and with HTSVM_OFFLINE=1
    none is.

    Parameters
    ----------
    name : str
        The name; `names` lists them, `describe` says what they are. With two of its classes, as
        ``"stl10:airplane:bird"``, these rows alone, with labels +1 and -1.

    Returns
    -------
    Dataset
        Values as published, not scaled. `Preparation` scales, on training data.

    Raises
    ------
    ValueError
        For a name that is not known.
    DataFileError
        If a file is missing or has the wrong checksum; the message says what to put where.
    """
    data, pair = describe(name).load(), name.split(":")[1:]
    if pair and len(pair) != 2:
        raise ValueError(f"{name!r} should name two classes, as in 'stl10:airplane:bird'.")
    return data.pair(*pair) if pair else data
