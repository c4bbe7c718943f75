"""What else is worth knowing about a table: duplicates, outliers, odd columns, rare classes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import normalize

import numpy as np
import scipy.sparse as sp

from htsvm._typing import Array

# An outlier is further from the others than the upper quartile by this many quartile ranges.
FAR = 3.0
# A class is rare if it has less than this share of an even split.
RARE = 0.1
# Columns counted as one kind of identifier have all values different, on at least this many rows.
LEAST_ROWS = 20
# More columns of a kind than this are counted instead of named one by one.
MOST_NAMED = 5
MANY_COLUMNS = {
    "missing": "have missing values",
    "constant": "have the same value in every row",
    "identifier": "look like identifiers",
}


@dataclass(frozen=True)
class Finding:
    """Something to know about the data that is not a wrong label.

    Attributes
    ----------
    kind : str
        "missing", "constant", "identifier", "rare class" or "note".
    where : str
        The column or class.
    text : str
        A sentence.
    """

    kind: str
    where: str
    text: str


def duplicates(X: Any, codes: Array) -> Array:
    """Return a group number for rows that are equal but have different labels, else -1."""
    from htsvm.multiview.clusters import row_keys

    keys = []
    for view in X.values() if isinstance(X, Mapping) else [X]:
        if sp.issparse(view) and not view.has_canonical_format:
            view = view.copy()
            view.sum_duplicates()
        keys.append(row_keys(view))
    _, group = np.unique(np.column_stack(keys), axis=0, return_inverse=True)
    group = group.ravel()
    top = np.full(group.max() + 1, -1)
    low = np.full(group.max() + 1, np.iinfo(int).max)
    np.maximum.at(top, group, codes)
    np.minimum.at(low, group, codes)
    mixed = np.flatnonzero(top > low)
    number = np.full(group.max() + 1, -1)
    number[mixed] = np.arange(len(mixed))
    return np.asarray(number[group])


def outliers(isolation: Array | None, n: int) -> Array:
    """Return which of n samples lie far from all others, by squared distances to near samples."""
    if isolation is None:
        return np.zeros(n, dtype=bool)
    logs = np.log(np.maximum(isolation, 1e-12))
    low, high = np.quantile(logs, [0.25, 0.75])
    # A spread of less than a factor of 1.3 is no scale to judge by.
    return np.asarray(logs > high + FAR * max(high - low, 0.25))


def column_findings(X: Any, names: Sequence[str]) -> list[Finding]:
    """Name columns with missing values (NaN), with one value only, or that number the rows."""
    found = []
    for j, name in enumerate(names):
        column = np.asarray(X[:, j], dtype=float)
        seen = column[~np.isnan(column)]
        if len(seen) < len(column):
            share = 1.0 - len(seen) / len(column)
            found.append(
                Finding("missing", name, f"{share:.1%} of the values of {name!r} are missing.")
            )
        if len(seen) == 0 or seen.min() == seen.max():
            found.append(Finding("constant", name, f"{name!r} has the same value in every row."))
        elif numbers_rows(column):
            text = f"{name!r} looks like a number of the row: all values are different integers."
            found.append(Finding("identifier", name, text))
    return gathered(found)


def gathered(found: list[Finding]) -> list[Finding]:
    """Return findings of which those of one kind are one, if there are many."""
    kept = [finding for finding in found if finding.kind not in MANY_COLUMNS]
    for kind, text in MANY_COLUMNS.items():
        own = [finding for finding in found if finding.kind == kind]
        if len(own) > MOST_NAMED:
            names = ", ".join(repr(finding.where) for finding in own[:3])
            own = [Finding(kind, own[0].where, f"{len(own)} columns {text}: {names} and others.")]
        kept += own
    return kept


def numbers_rows(column: Array) -> bool:
    """Return whether a column counts rows: different integers, sorted or nearly without gaps."""
    if len(column) < LEAST_ROWS or not np.all(np.isfinite(column)):
        return False
    start = column[:LEAST_ROWS]  # Decides for most columns.
    if np.any(start != np.round(start)) or np.any(column != np.round(column)):
        return False
    steps = np.diff(np.sort(column))
    if steps.min() <= 0.0:
        return False
    in_order = np.all(np.diff(column) > 0) or np.all(np.diff(column) < 0)
    return bool(in_order or np.mean(steps == 1.0) > 0.9)


def class_findings(classes: Array, codes: Array) -> list[Finding]:
    """Name classes that have few samples, and those that hardly differ in writing."""
    counts = np.bincount(codes, minlength=len(classes))
    few = counts < RARE * len(codes) / len(classes)
    found = [
        Finding(
            "rare class", str(label),
            f"Class {label!s} has {count} of {len(codes)} samples: what is said of it is unsure.",
        )
        for label, count in zip(classes[few], counts[few], strict=True)
    ]  # fmt: skip
    alike: dict[str, list[str]] = {}
    for label in map(str, classes):
        written = re.sub("[\u200b-\u200d\u2060\ufeff'\"]", "", normalize("NFKC", label).casefold())
        written = re.sub(r"(\d)[.]0+$", r"\1", " ".join(written.split()))
        alike.setdefault(written, []).append(repr(label))
    found += [
        Finding("note", names[0], f"Classes {' and '.join(names)} count as different classes.")
        for names in alike.values()
        if len(names) > 1
    ]
    return found
