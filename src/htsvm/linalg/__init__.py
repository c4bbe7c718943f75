"""Linear algebra over the rows of the data: the operator seam and the kernels beneath it."""

from htsvm.linalg.csr import CSROperator
from htsvm.linalg.dense import DenseOperator, as_operator
from htsvm.linalg.operators import Extent, Operator
from htsvm.linalg.quadratic import Quadratic

__all__ = ["CSROperator", "DenseOperator", "Extent", "Operator", "Quadratic", "as_operator"]
