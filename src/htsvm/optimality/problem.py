"""The certificate of a point of a problem, whatever its kind and wherever its rows are."""

from __future__ import annotations

from functools import singledispatch
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.optimality.binary import BinaryCertificate, certify
from htsvm.optimality.certificate import PointCertificate
from htsvm.optimality.multiclass import MulticlassCertificate, certify_multiclass
from htsvm.problems import AnyProblem, MulticlassProblem, Problem


@singledispatch
def certify_problem(
    problem: Any, coef: Array, intercept: Any, multipliers: Any, tol: float
) -> PointCertificate:
    """Certify a point of `problem`; other kinds of problems register what does it for them."""
    raise TypeError(f"no certificate is known for problems of the type {type(problem).__name__}.")


@certify_problem.register
def _binary(
    problem: Problem, coef: Array, intercept: float, multipliers: Array, tol: float
) -> BinaryCertificate:
    point = (coef, intercept, multipliers)
    return certify(problem.operator, problem.y, *point, tol=tol, **_stated(problem))


@certify_problem.register
def _multiclass(
    problem: MulticlassProblem, coef: Array, intercept: Array, multipliers: Array, tol: float
) -> MulticlassCertificate:
    point = (coef, intercept, multipliers)
    return certify_multiclass(problem.operator, problem.labels, *point, tol=tol, **_stated(problem))


def _stated(problem: AnyProblem) -> dict[str, Any]:
    uniform = bool(np.all(problem.penalty == problem.C))
    return {
        "loss": problem.loss, "C": problem.C,
        "sample_weight": None if uniform else problem.penalty / problem.C,
        "regularizer": problem.regularizer, "fit_intercept": problem.fit_intercept,
    }  # fmt: skip
