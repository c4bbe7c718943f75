"""Why a label is doubted: values that speak against it, and samples that are hardly in doubt."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import scipy.sparse as sp
from sklearn.neighbors import NearestNeighbors

from htsvm._typing import Array
from htsvm.audit.scoring import take

if TYPE_CHECKING:
    from htsvm.audit.result import LabelAudit
    from htsvm.audit.table import Table

# Reasons that are shown for a sample.
SHOWN = 4
# Confirmed samples per class that are searched.
MOST = 5000


def class_means(X: Any, audit: LabelAudit) -> Array:
    """Return the means of the classes over trusted samples, of shape (n_classes, n_features)."""
    k = len(audit.classes)
    places = (audit.codes, np.arange(len(audit)))
    members = sp.csr_matrix((audit.trust, places), shape=(k, len(audit)))
    total = np.maximum(np.asarray(members.sum(axis=1)).ravel(), 1e-12)
    means = members @ X
    dense = means.toarray() if sp.issparse(means) else means
    return np.asarray(dense / total[:, None])


def reasons_of(audit: LabelAudit, table: Table, rows: Array) -> list[list[list[str]]]:
    """Return per sample of `rows` the columns that put it nearer to the suggested class.

    A line is a name, the value here, and typical values of the given and of the suggested class.
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
        best = best[away[best] > 0.0]
        values = ((words[places[j]], f"{given[j]:.3f}", f"{better[j]:.3f}") for j in best)
        found.append([[word, "in the text", *typical] for word, *typical in values])
    return found


def nearest_confirmed(audit: LabelAudit, rows: Array, k: int) -> dict[int, dict[str, Array]]:
    """Return the k nearest confirmed samples of given and suggested class, for each of `rows`."""
    if k < 1:
        raise ValueError(f"k must be at least 1, got {k!r}.")
    X = _side_by_side(audit.samples)
    found: dict[int, dict[str, Array]] = {int(row): {} for row in rows}
    for part, wanted in (("given", audit.codes), ("suggested", audit.suggested)):
        for code in np.unique(wanted[rows]):
            asking = rows[wanted[rows] == code]
            pool = _confirmed(audit, int(code))
            # One more, because a sample may be in the pool itself.
            index = NearestNeighbors(n_neighbors=min(k + 1, len(pool))).fit(take(X, pool))
            near = pool[index.kneighbors(take(X, asking), return_distance=False)]
            for row, line in zip(asking, near, strict=True):
                found[int(row)][part] = line[line != row][:k]
    return found


def _confirmed(audit: LabelAudit, code: int) -> Array:
    """Return the more trusted half of the samples of a class that are suggested to stay there.

    All of them where there is none; the most trusted first.
    """
    own = np.flatnonzero(audit.codes == code)
    sure = own[audit.suggested[own] == code]
    sure = sure[audit.trust[sure] >= np.median(audit.trust[sure])] if len(sure) else sure
    pool = sure if len(sure) else own
    return np.asarray(pool[np.argsort(-audit.trust[pool], kind="stable")][:MOST])


def _side_by_side(X: Any) -> Any:
    """Return several views as one matrix, each with the same mean square."""
    if not isinstance(X, Mapping):
        return X
    scaled = []
    for view in X.values():
        square = view.multiply(view).sum() if sp.issparse(view) else np.sum(np.square(view))
        scaled.append(view * float(np.sqrt(view.shape[0] / max(square, 1e-300))))
    return sp.hstack(scaled, format="csr") if any(map(sp.issparse, scaled)) else np.hstack(scaled)
