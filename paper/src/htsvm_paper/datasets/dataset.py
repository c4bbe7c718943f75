"""What a data set is, and what is known of it before it is read."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm_paper.datasets._contents import content_digest, known_digests
from htsvm_paper.datasets._files import DataFile, fetch


class DataContentError(ValueError):
    """A file was read, but holds something else than the set it should be."""


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples as published: not scaled, missing values as NaN.

    Attributes
    ----------
    name : str
        What the registry calls it.
    X : {ndarray, csr_matrix} of shape (n_samples, n_features)
        Features; several views stand side by side.
    y : ndarray of shape (n_samples,)
        +1 and -1 for two classes, else the published class numbers.
    X_test, y_test : optional
        The predefined test part.
    view_widths : tuple of int
        The number of columns of each view; empty where there is one view.
    class_names : Mapping
        What the labels mean.
    other_labels : Mapping of str to ndarray
        Further label vectors for the rows of X, for instance those of human annotators.
    source : str
        The files it was read from, and how they were found.
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
        """Return the rows of two classes, with labels +1 and -1.

        Parameters
        ----------
        positive, negative : int or str
            Two classes, by label or by name.
        """
        first, second = self._label(positive), self._label(negative)
        if first == second:
            raise ValueError(f"positive and negative are the same class {positive!r}.")
        rows = np.flatnonzero((self.y == first) | (self.y == second))
        X_test = y_test = None
        if self.y_test is not None:
            test = np.flatnonzero((self.y_test == first) | (self.y_test == second))
            X_test, y_test = self.X_test[test], np.where(self.y_test[test] == first, 1, -1)
        return Dataset(
            name=f"{self.name}: {positive} vs {negative}",
            X=self.X[rows],
            y=np.where(self.y[rows] == first, 1, -1),
            X_test=X_test,
            y_test=y_test,
            view_widths=self.view_widths,
            class_names={1: str(positive), -1: str(negative)},
            source=self.source,
        )

    def _label(self, wanted: Any) -> int:
        for label, name in self.class_names.items():
            if wanted in (label, name):
                return label
        known = ", ".join(f"{label} ({name})" for label, name in self.class_names.items())
        raise ValueError(f"{self.name} has no class {wanted!r}; it has {known}.")


Reader = Callable[..., Dataset]


@dataclass(frozen=True)
class Entry:
    """What the registry knows about a set; checked whenever it is loaded.

    Attributes
    ----------
    name : str
        Its name.
    kind : {"single-view", "two-view", "multi-view", "image", "large"}
        What it serves for. "two-view" sets are one table, whose principal components are the
        second view.
    files : tuple of DataFile
        What it is read from.
    read : callable
        Makes the data set from the paths of the files.
    rows, test_rows : int
        Samples, and those of the predefined test part (0 for none).
    features : int
        Columns, all views together.
    balance : Mapping of label to count
        Rows per class.
    about : str
        Where it comes from, what the classes are, and what was done to it.
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
        expected = known_digests().get(self.name)
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
        labels, counts = np.unique(data.y, return_counts=True)
        found = {
            "rows": data.X.shape[0],
            "features": data.X.shape[1],
            "test rows": 0 if data.X_test is None else data.X_test.shape[0],
            "class balance": dict(zip(labels.tolist(), counts.tolist(), strict=True)),
        }
        expected = {
            "rows": self.rows,
            "features": self.features,
            "test rows": self.test_rows,
            "class balance": dict(self.balance),
        }
        wrong = [name for name in found if found[name] != expected[name]]
        if wrong:
            details = "; ".join(f"{n}: {found[n]}, expected {expected[n]}" for n in wrong)
            files = ", ".join(file.path for file in self.files)
            raise DataContentError(f"{self.name} ({files}) has the wrong content: {details}.")
