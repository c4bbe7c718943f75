"""The values that speak most against a label."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp

from htsvm._typing import Array

if TYPE_CHECKING:
    from htsvm.audit.result import LabelAudit
    from htsvm.audit.table import Table

# Reasons that are shown for a sample.
SHOWN = 4


def class_means(X: Any, audit: LabelAudit) -> Array:
    """Return the means of the classes over trusted samples, of shape (n_classes, n_features)."""
    k = len(audit.classes)
    members = sp.csr_matrix(
        (audit.trust, (audit.codes, np.arange(len(audit)))), shape=(k, len(audit))
    )
    total = np.maximum(np.asarray(members.sum(axis=1)).ravel(), 1e-12)
    means = members @ X
    dense = means.toarray() if sp.issparse(means) else means
    return np.asarray(dense / total[:, None])


def reasons_of(audit: LabelAudit, table: Table, rows: Array) -> list[list[list[str]]]:
    """Return per sample of `rows` the columns that put it nearer to the suggested class.

    A column is a line of its name, its value here, and the typical values of the given and of the
    suggested class.
    """
    X = np.asarray(table.columns.numbers)
    means = class_means(X, audit)
    given, better = means[audit.codes[rows]], means[audit.suggested[rows]]
    away = (X[rows] - given) ** 2 - (X[rows] - better) ** 2
    best = np.argsort(-away, axis=1, kind="stable")[:, :SHOWN]
    plain = table.columns.plain
    shown = {name: class_means(values[:, None], audit)[:, 0] for name, values in plain.items()}
    found: list[list[list[str]]] = []
    for line, row in enumerate(rows):
        found.append([])
        for j in (int(j) for j in best[line] if away[line, j] > 0.0):
            feature = table.columns.features[j]
            here = str(table.frame[feature.column].iloc[row])
            typical = ["", ""]
            if feature.category is None:
                means = shown[feature.column]
                typical = [f"{means[codes[row]]:.4g}" for codes in (audit.codes, audit.suggested)]
            found[-1].append([str(feature), here, *typical])
    return found


def word_reasons(audit: LabelAudit, table: Table, rows: Array) -> list[list[list[str]]]:
    """Return per text of `rows` the words that are commoner in the suggested class."""
    X, words = sp.csr_matrix(table.columns.text), table.columns.words
    means = class_means(X, audit)
    found = []
    for row in rows:
        start, stop = X.indptr[row : row + 2]
        places = X.indices[start:stop]
        given, better = means[audit.codes[row]][places], means[audit.suggested[row]][places]
        away = X.data[start:stop] * (better - given)
        best = np.argsort(-away, kind="stable")[:SHOWN]
        found.append(
            [
                [words[places[j]], "in the text", f"{given[j]:.3f}", f"{better[j]:.3f}"]
                for j in best
                if away[j] > 0.0
            ]
        )
    return found
