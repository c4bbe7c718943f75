"""What a data set is, and what is known of it before it is read."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from htsvm_paper._typing import Array
from htsvm_paper.datasets.files import DataFile, checksums, fetch


class DataContentError(ValueError):
    """A file was read, but holds something else than the set it should be."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples as published: not scaled, missing values as NaN.

    Several views stand side by side in `X`, and `view_widths` counts their columns. Labels are +1
    and -1 for two classes, else the published class numbers; `class_names` says what they mean.
    `X_test` and `y_test` are a predefined test part. `other_labels` are further label vectors for
    the rows of `X`, for instance those of human annotators. `source` says which files it was read
    from, and how they were found.
    """

    name: str
    X: Any
    y: Array
    X_test: Any = None
    y_test: Array | None = None
    view_widths: tuple[int, ...] = ()
    class_names: Mapping[int, str] = field(default_factory=dict)
    other_labels: Mapping[str, Array] = field(default_factory=dict)
    source: str = ""

    def pair(self, positive: Any, negative: Any) -> Dataset:
        """Return the rows of two classes, by label or by name, with labels +1 and -1."""
        first, second = self._label(positive), self._label(negative)
        if first == second:
            raise ValueError(f"positive and negative are the same class {positive!r}.")
        rows = np.flatnonzero((self.y == first) | (self.y == second))
        X_test = y_test = None
        if self.y_test is not None:
            test = np.flatnonzero((self.y_test == first) | (self.y_test == second))
            X_test, y_test = self.X_test[test], np.where(self.y_test[test] == first, 1, -1)
        return Dataset(
            f"{self.name}: {positive} vs {negative}", self.X[rows],
            np.where(self.y[rows] == first, 1, -1), X_test, y_test, self.view_widths,
            class_names={1: str(positive), -1: str(negative)}, source=self.source,
        )  # fmt: skip

    def _label(self, wanted: Any) -> int:
        for label, name in self.class_names.items():
            if wanted in (label, name):
                return label
        known = ", ".join(f"{label} ({name})" for label, name in self.class_names.items())
        raise ValueError(f"{self.name} has no class {wanted!r}; it has {known}.")


Reader = Callable[..., Dataset]


@dataclass(frozen=True)
class Description:
    """What the registry knows about a set; checked whenever it is loaded.

    `kind` is what it serves for: "two-view" sets are one table, whose principal components are the
    second view; others are "single-view", "multi-view", "image" or "large". `features` counts the
    columns of all views, `balance` the rows per label, `test_rows` those of a predefined test part.
    `about` says where it comes from, what the classes are, and what was done to it.
    """

    name: str
    kind: str
    files: tuple[DataFile, ...]
    read: Reader
    rows: int
    features: int
    balance: Mapping[int, int]
    about: str
    test_rows: int = 0

    def load(self) -> Dataset:
        """Find, check and read the files."""
        found = [fetch(file) for file in self.files]
        data = self.read(self.name, *(copy.path for copy in found))
        self._check(data)
        if not all(copy.checked for copy in found):
            self._check_rows(data)
        return replace(data, source="; ".join(f"{copy.path} ({copy.origin})" for copy in found))

    def _check_rows(self, data: Dataset) -> None:
        """Compare the rows with those known, where a file has no checksum of its own."""
        expected = checksums("contents.txt").get(self.name)
        digest = content_digest((data.X, data.y), (data.X_test, data.y_test))
        if digest != expected:
            raise DataContentError(
                f"{self.name} has rows other than those known: their checksum is {digest}, "
                f"expected {expected}. It was not used; move the file away, or get it from "
                "another place."
            )

    def paths(self) -> list[Path]:
        """Return the checked local paths of the files."""
        return [fetch(file).path for file in self.files]

    def _check(self, data: Dataset) -> None:
        """Compare sizes and class balance with those known."""
        labels, counts = np.unique(data.y, return_counts=True)
        pairs = {
            "rows": (data.X.shape[0], self.rows),
            "features": (data.X.shape[1], self.features),
            "test rows": (0 if data.X_test is None else data.X_test.shape[0], self.test_rows),
            "class balance": (
                dict(zip(labels.tolist(), counts.tolist(), strict=True)), dict(self.balance)
            ),
        }  # fmt: skip
        wrong = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
        if wrong:
            details = "; ".join(f"{n}: {a}, expected {b}" for n, (a, b) in wrong.items())
            files = ", ".join(file.path for file in self.files)
            raise DataContentError(f"{self.name} ({files}) has the wrong content: {details}.")


def content_digest(*parts: tuple[Any, Array | None]) -> str:
    """Return the checksum of pairs of features and labels, the same for any order of rows.

    It serves for files that come in another form than ours: neither the order of their rows nor
    their format plays a part. A part without labels is left out.
    """
    whole = hashlib.sha256()
    for X, y in parts:
        if y is not None:
            whole.update(b"".join(sorted(_rows(X, np.asarray(y, dtype=np.float64)))))
            whole.update(b"|")
    return whole.hexdigest()


def _rows(X: Any, y: Array) -> list[bytes]:
    labels = [value.tobytes() for value in y]
    if sp.issparse(X):
        X = sp.csr_matrix(X, dtype=np.float64, copy=True)
        X.eliminate_zeros()
        X.sort_indices()
        ends = zip(X.indptr[:-1], X.indptr[1:], strict=True)
        contents = [X.indices[a:b].astype(np.int64).tobytes() + X.data[a:b].tobytes()
                    for a, b in ends]  # fmt: skip
    else:
        # Adding zero makes -0.0 the same as 0.0.
        contents = [row.tobytes() for row in np.asarray(X, dtype=np.float64) + 0.0]
    return [
        hashlib.blake2b(label + content, digest_size=16).digest()
        for label, content in zip(labels, contents, strict=True)
    ]
