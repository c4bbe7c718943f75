"""From what users pass as X to an operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from htsvm.linalg.csr import CSROperator
from htsvm.linalg.dense import DenseOperator
from htsvm.linalg.operators import Operator


def as_operator(X: Any) -> Operator:
    """Wrap a dense array or a sparse matrix, of floats or made so; operators pass through."""
    if isinstance(X, Operator):
        return X
    X = X if sp.issparse(X) else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X must have two dimensions, got shape {X.shape}.")
    if X.dtype not in (np.float32, np.float64):
        X = X.astype(np.float64)
    return CSROperator(sp.csr_matrix(X)) if sp.issparse(X) else DenseOperator(X)
