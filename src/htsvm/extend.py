"""What other packages may build on; all else but `htsvm` itself may change without notice.

Losses: `Loss`, `ConvexLoss`, `register_loss`; `Hinge`, `HybridTruncated`, `LeastSquares`, `Ramp`.
Problems: `Problem`. Solvers: `Solver`, `SolverResult`, `register_solver`, `History` and `Callback`;
`Newton`, `ADMM`, `LinearSystem`. Certificates: `Certificate`, `certify_result`, and
`register_certificate` for problems of one's own; `stationarity` and `balance`, their units.
Estimators: `BaseLinearSVC` (subclasses say `_loss` and `_solver`), `ConvexSVC` (`_loss` alone),
`StructuredMultiViewSVC` (`_losses` and `_solver`), `BaseMultiViewSVC` (`_fit_checked`), with
`prepare_views`, which returns `Prepared` views, `per_view` parameters, and `Alternation` of
`Classifiers` and view weights. Beside them: `documented` fills in shared entries of docstrings,
`validated_fit` checks parameters against `Interval` and `StrOptions`, `seed_of` and `generator_of`
read a `random_state`, `warn_user` warns at the user's line, `single_threaded_blas` keeps BLAS to
one thread during a fit, `Array` is an ndarray.
"""

from htsvm._documented import documented
from htsvm._seeds import generator_of, seed_of
from htsvm._sklearn import Interval, StrOptions, validated_fit
from htsvm._typing import Array
from htsvm.baselines import ConvexSVC
from htsvm.exceptions import DroppedViewWarning, warn_user
from htsvm.linalg.threads import single_threaded_blas
from htsvm.losses import ConvexLoss, Hinge, HybridTruncated, LeastSquares, Loss, Ramp
from htsvm.losses import register as register_loss
from htsvm.multiview.alternation import Alternation, Classifiers
from htsvm.multiview.base import BaseMultiViewSVC
from htsvm.multiview.parameters import per_view
from htsvm.multiview.preparation import Prepared, prepare_views
from htsvm.multiview.structured import StructuredMultiViewSVC
from htsvm.optimality import Certificate, certify_problem
from htsvm.optimality.residuals import balance, stationarity
from htsvm.solvers import (
    ADMM,
    LinearSystem,
    Newton,
    Problem,
    Solver,
    SolverResult,
    certify_result,
)  # fmt: skip
from htsvm.solvers import register as register_solver
from htsvm.solvers.result import Callback, History
from htsvm.svm.base import BaseLinearSVC

register_certificate = certify_problem.register

__all__ = [
    "ADMM", "Alternation", "Array", "BaseLinearSVC", "BaseMultiViewSVC", "Callback", "Certificate",
    "Classifiers", "ConvexLoss", "ConvexSVC", "DroppedViewWarning", "Hinge", "History",
    "HybridTruncated", "Interval", "LeastSquares", "LinearSystem", "Loss", "Newton", "Prepared",
    "Problem", "Ramp", "Solver", "SolverResult", "StrOptions", "StructuredMultiViewSVC",
    "balance", "certify_result", "documented", "generator_of", "per_view",
    "prepare_views", "register_certificate", "register_loss", "register_solver", "seed_of",
    "single_threaded_blas", "stationarity", "validated_fit", "warn_user",
]  # fmt: skip
