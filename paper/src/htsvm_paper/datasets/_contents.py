"""Checksums of what a set holds, for files that come in another form than ours.

Rows are taken one by one, so that neither their order nor the format of a file plays a part.
"""

from __future__ import annotations

import hashlib
from functools import cache
from importlib import resources
from typing import Any

import numpy as np
import scipy.sparse as sp

from htsvm._typing import Array


def content_digest(*parts: tuple[Any, Array | None]) -> str:
    """Return the checksum of pairs of features and labels, the same for any order of rows.

    Parameters
    ----------
    *parts : (X, y)
        For instance the training and the test part; a part without labels is left out.
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


@cache
def known_digests() -> dict[str, str]:
    """Return the checksums of contents by name of the set."""
    text = resources.files("htsvm_paper.datasets").joinpath("contents.txt").read_text("utf-8")
    lines = (line.split() for line in text.splitlines() if line.strip())
    return {name: digest for digest, name in lines}
