"""From what users pass as X to an operator."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from htsvm.linalg.csr import CSROperator
from htsvm.linalg.dense import DenseOperator
from htsvm.linalg.operators import Operator


def as_operator(X: Any) -> Operator:
    """Wrap a dense array or a sparse matrix; operators pass through."""
    if isinstance(X, Operator):
        return X
    if sp.issparse(X):
        return CSROperator(sp.csr_matrix(X))
    return DenseOperator(np.asarray(X))
