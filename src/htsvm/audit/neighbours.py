"""Reasons: the nearest samples whose labels are beyond doubt."""

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

# Confirmed samples per class that are searched.
MOST = 5000


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
            near = _search(X, asking, pool, k)
            for row, chosen in zip(asking, near, strict=True):
                found[int(row)][part] = chosen
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


def _search(X: Any, asking: Array, pool: Array, k: int) -> list[Array]:
    size = min(k + 1, len(pool))  # One more, because a sample may be in the pool itself.
    index = NearestNeighbors(n_neighbors=size).fit(take(X, pool))
    near = pool[index.kneighbors(take(X, asking), return_distance=False)]
    return [line[line != row][:k] for row, line in zip(asking, near, strict=True)]


def _side_by_side(X: Any) -> Any:
    """Return several views as one matrix, each with the same mean square."""
    if not isinstance(X, Mapping):
        return X
    scaled = []
    for view in X.values():
        square = view.multiply(view).sum() if sp.issparse(view) else np.sum(np.square(view))
        scaled.append(view * float(np.sqrt(view.shape[0] / max(square, 1e-300))))
    return sp.hstack(scaled, format="csr") if any(map(sp.issparse, scaled)) else np.hstack(scaled)
