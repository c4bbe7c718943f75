"""Linear algebra over the rows of the data: the operator seam and the kernels beneath it."""

from htsvm.linalg.operators import CSROperator, DenseOperator, Operator, as_operator
from htsvm.linalg.quadratic import Quadratic

__all__ = ["CSROperator", "DenseOperator", "Operator", "Quadratic", "as_operator"]
