"""The certificate of a point of a problem, whatever its kind and wherever its rows are."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.optimality.binary import certify
from htsvm.optimality.certificate import Certificate, PointCertificate
from htsvm.optimality.multiclass import certify_multiclass
from htsvm.problems import MulticlassProblem, Problem


@singledispatch
def certify_problem(
    problem: Any, coef: Array, intercept: Any, multipliers: Any, tol: float
) -> Certificate:
    """Certify a point of `problem`; other kinds of problems register what does it for them."""
    raise TypeError(f"no certificate is known for problems of the type {type(problem).__name__}.")


@certify_problem.register(Problem)
@certify_problem.register(MulticlassProblem)
def _with_rows_here(
    problem: Any, coef: Array, intercept: Any, multipliers: Array, tol: float
) -> PointCertificate:
    binary = problem.n_scores == 1
    run: Any = certify if binary else certify_multiclass
    uniform = bool(np.all(problem.penalty == problem.C))
    certificate: PointCertificate = run(
        problem.operator, problem.y if binary else problem.labels, coef, intercept, multipliers,
        C=problem.C, sample_weight=None if uniform else problem.penalty / problem.C,
        loss=problem.loss, regularizer=problem.regularizer, fit_intercept=problem.fit_intercept,
        tol=tol,
    )  # fmt: skip
    return certificate
