"""What else is worth knowing about a table: duplicates, outliers, odd columns, rare classes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from unicodedata import normalize

import numpy as np
import scipy.sparse as sp
from scipy.sparse.csgraph import connected_components
from scipy.spatial import cKDTree

from htsvm._typing import Array
from htsvm.audit.kernel_scores import squares

# An outlier is further from the others than the upper quartile by this many quartile ranges.
FAR = 3.0
# A class is rare if it has less than this share of an even split.
RARE = 0.1
# Identifiers have all values different, on at least this many rows.
LEAST_ROWS = 20
# More columns of a kind than this are counted instead of named one by one.
MOST_NAMED = 5
# Copies: how close at most, against the distance of which neighbour, seen in how many directions,
# of how many columns at least.
CLOSE, NEAR, DIRECTIONS, FEWEST_COLUMNS = 0.05, 8, 6, 3
# Rows up to which near copies are looked for, beyond equal ones.
MOST_NEAR = 50_000
# Columns whose values are looked at to tell copies from chance.
LOOKED_AT = 50
# The share of rows in which a column that repeats the labels does so, and the standard deviations
# by which scores must be better than chance.
REPEATED, SURE = 0.999, 2.0
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
        "nothing", "label", "copies", "missing", "constant", "identifier", "rare class" or "note".
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
    for view in views_of(X):
        if sp.issparse(view) and not view.has_canonical_format:
            view = view.copy()
            view.sum_duplicates()
        keys.append(row_keys(view))
    whole = keys[0]
    for key in keys[1:]:  # An odd factor keeps different pairs different, but for one in 2^64.
        whole = whole * np.uint64(0x9E3779B97F4A7C15) + key
    group = np.unique(whole, return_inverse=True)[1].ravel()
    top, low = np.full(group.max() + 1, -1), np.full(group.max() + 1, codes.max())
    np.maximum.at(top, group, codes)
    np.minimum.at(low, group, codes)
    mixed = top > low
    return np.where(mixed, np.cumsum(mixed) - 1, -1)[group]


def copies_of(X: Any, groups: Array | None, seed: int) -> tuple[Array | None, list[Finding]]:
    """Return groups of exact and near copies of rows, those given or those found; None for none.

    A copy is a nearest neighbour (in a few random directions) at a twentieth of the distance of the
    eighth one. Equal rows are copies where so many equal values cannot be chance.
    """
    if groups is not None or X is None or (n := views_of(X)[0].shape[0]) < LEAST_ROWS:
        return groups, []
    views = views_of(X)
    rng = np.random.default_rng(seed)
    mixed = (X @ rng.normal(size=(X.shape[1], DIRECTIONS)) / np.sqrt(X.shape[1]) for X in views)
    seen = np.hstack(list(mixed))
    width = sum(view.shape[1] for view in views)
    if width < FEWEST_COLUMNS:
        return None, []
    # A nearest neighbour is that close to none of n rows by chance.
    close = min(CLOSE, 0.5 * (10.0 * NEAR * n) ** (-1.0 / width))
    rows = np.arange(n)
    if n <= MOST_NEAR:
        near = cKDTree(seen).query(seen, k=min(NEAR + 1, n), workers=-1)[1]
        other, far = np.where(near[:, 0] == rows, near[:, 1], near[:, 0]), near[:, -1]
    else:  # Equal rows are side by side in any direction.
        order, other, far = np.argsort(seen[:, 0]), np.empty(n, int), np.empty(n, int)
        other[order], far[order] = np.roll(order, 1), np.roll(order, NEAR)
    apart, usual = (sum(_apart(view, rows, to) for view in views) for to in (other, far))
    copied = (apart <= close**2 * usual) & (other != rows)
    equal = np.flatnonzero(copied & (apart <= 1e-24 * (usual + 1e-300)))
    copied[equal] = sum(_surprise(view, equal, rng) for view in views) > 2.0 * np.log(10.0 * n)
    pairs = np.flatnonzero(copied)
    if not len(pairs):
        return None, []
    links = sp.coo_matrix((np.ones(len(pairs)), (pairs, other[pairs])), shape=(n, n))
    found = connected_components(links, directed=False)[1]
    many = int((np.bincount(found)[found] > 1).sum())
    text = f"{many:,} rows are exact or near copies of others: they were judged without each other."
    return np.asarray(found), [Finding("copies", "X", text)]


def views_of(X: Any) -> list[Any]:
    """Return the views of X."""
    return list(X.values()) if isinstance(X, Mapping) else [X]


def _apart(X: Any, rows: Array, other: Array) -> Array:
    """Return squared distances between pairs of rows, in blocks."""
    found = np.empty(len(rows))
    for low in range(0, len(rows), 10_000):
        part = slice(low, low + 10_000)
        gap = X[rows[part]] - X[other[part]]
        found[part] = squares(gap)
    return found


def _surprise(X: Any, rows: Array, rng: np.random.Generator) -> Array:
    """Return minus the logarithm of the chance of the values of rows; equal rows count once."""
    from htsvm.multiview.clusters import row_keys

    first = np.unique(row_keys(X[rows]), return_index=True)[1] if len(rows) else rows
    base = np.concatenate([np.setdiff1d(np.arange(X.shape[0]), rows), rows[first]])
    if sp.issparse(X):
        shares = np.maximum(np.bincount(X[base].indices, minlength=X.shape[1]), 1) / len(base)
        filled = X[rows].astype(float)
        filled.data = -np.log(shares[filled.indices])
        return np.asarray(filled.sum(axis=1)).ravel()
    total = np.zeros(len(rows))
    for j in rng.choice(X.shape[1], min(X.shape[1], LOOKED_AT), replace=False) if len(rows) else ():
        known, counts = np.unique(X[base, j], return_counts=True)
        total -= np.log(counts[np.searchsorted(known, X[rows, j])] / len(base))
    return total


def told_by(name: str, values: Array, labels: Array) -> tuple[list[Finding], bool]:
    """Return what is said of a column that tells the labels, and whether it is a copy of them.

    It tells them if each of a few values goes with one class; it is a copy if these values are the
    labels themselves, or numbers of classes.
    """
    classes, codes = np.unique(labels, return_inverse=True)
    k = len(classes)
    if len(values) < LEAST_ROWS or len(np.unique(values[:1000])) > 2 * k:
        return [], False
    known, place = np.unique(values, return_inverse=True)
    if len(known) > 2 * k:
        return [], False
    counts = np.zeros((len(known), k))
    np.add.at(counts, (place.ravel(), codes.ravel()), 1.0)
    own = counts.argmax(axis=1)
    if counts.max(axis=1).sum() < REPEATED * len(values) or len(set(own)) < k:
        return [], False
    written = [re.sub(r"[.]0$", "", str(value)).strip().casefold() for value in known]
    same = written == [str(classes[c]).strip().casefold() for c in own]
    numbers = [{str(c + start) for c in range(k)} for start in (0, 1)] + [{"-1", "1"}]
    if same or set(written) in numbers:
        text = f"{name!r} repeats the labels and was left out: by it no label looks wrong."
        return [Finding("label", name, text)], True
    text = f"{name!r} tells the label in every row. If it was made from the labels, leave it out."
    return [Finding("label", name, text)], False


def without_labels(X: Any, names: list[str], labels: Array) -> tuple[Any, list[str], list[Finding]]:
    """Return a matrix and its names without copies of the labels, and what is said of them.

    Of sparse matrices, that columns are filled for all samples of a class and for no other.
    """
    told: list[Finding] = []
    left = np.zeros(len(names), dtype=bool)
    if not sp.issparse(X):
        for j, column in enumerate(X.T):
            said, left[j] = told_by(names[j], column, labels)
            told += said
    else:
        codes = np.unique(labels, return_inverse=True)[1].ravel()
        sizes, filled = np.bincount(codes), X != 0
        members = sp.csr_matrix((np.ones(len(codes)), (codes, np.arange(len(codes)))))
        counts = (members @ filled).tocoo()
        own = (counts.data == sizes[counts.row]) & (
            counts.data == np.asarray(filled.sum(axis=0)).ravel()[counts.col]
        )
        if len(set(counts.row[own])) == len(sizes) and len(codes) >= LEAST_ROWS:
            text = "Some words or columns tell the label in every row. If they were made from the "
            told = [Finding("label", names[counts.col[own][0]], f"{text}labels, leave them out.")]
    if left.all():
        raise ValueError("X has no column but such that repeat the labels.")
    kept = np.flatnonzero(~left)
    return (X[:, kept] if left.any() else X), [names[j] for j in kept], told


def learnable(scores: Array, codes: Array, weights: Array) -> bool:
    """Return whether out-of-sample scores know the labels better than labels in another order.

    The sum of the scores of the given labels is compared with its mean and variance over all
    permutations of the labels (Hoeffding's, in closed form).
    """
    scores, codes = scores[weights > 0.0], codes[weights > 0.0]
    n, counts = len(codes), np.bincount(codes, minlength=scores.shape[1])
    across = scores @ (counts / n)
    spread = scores - across[:, None] - (scores.mean(axis=0) - across.mean())
    deviation = np.sqrt((spread**2).sum(axis=0) @ counts / max(n - 1, 1))
    gain = float((scores[np.arange(n), codes] - across).sum())
    return gain > SURE * max(float(deviation), 1e-12)


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
            text = f"{share:.1%} of the values of {name!r} are missing."
            found.append(Finding("missing", name, text))
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
    found = []
    for label, count in zip(classes[few], counts[few], strict=True):
        text = f"Class {label} has {count} of {len(codes)} samples: what is said of it is unsure."
        found.append(Finding("rare class", str(label), text))
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
