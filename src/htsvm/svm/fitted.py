"""The attributes of a fitted model, from the results of its problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.optimality import PointCertificate, SampleStatus
from htsvm.problems import MulticlassProblem, Problem
from htsvm.solvers import SolverResult

AnyFitted = tuple[SolverResult, PointCertificate]


def store_results(model: Any, fitted: Sequence[AnyFitted]) -> None:
    """Store the classifier, its certificates and how it was found."""
    results = [result for result, _ in fitted]
    model.certificate_ = [certificate for _, certificate in fitted]
    model.coef_ = np.vstack([result.coef for result in results])
    model.intercept_ = np.concatenate([np.atleast_1d(result.intercept) for result in results])
    model.objective_ = np.array([certificate.objective for _, certificate in fitted])
    model.start_ = [result.start for result, _ in fitted]
    model.starts_ = [result.starts for result, _ in fitted]
    model.n_iter_ = max(result.n_iter for result in results)
    model.n_passes_ = float(sum(result.passes for result in results))
    model.seconds_ = [result.seconds for result in results]
    model.history_ = joined_history(results)


def store_support(
    model: Any,
    fitted: Sequence[AnyFitted],
    problems: Sequence[Problem | MulticlassProblem],
    codes: Array,
) -> None:
    """Store the support vectors, with their coefficients in each classifier."""
    table = np.vstack(
        [
            p.coefficients(result.multipliers)
            for (result, _), p in zip(fitted, problems, strict=True)
        ]
    )
    model.support_ = np.flatnonzero(np.any(table != 0.0, axis=0))
    model.dual_coef_ = table[:, model.support_]
    model.n_support_ = np.bincount(codes[model.support_], minlength=len(model.classes_))


def store_status(model: Any, codes: Array) -> None:
    """Store what became of each sample, once: not in the certificates as well."""
    statuses = [certificate.sample_status for certificate in model.certificate_]
    model.certificate_ = [replace(c, sample_status=None) for c in model.certificate_]
    table: Array = np.column_stack([s for s in statuses if s is not None])
    model.sample_status_ = table[:, 0] if len(statuses) == 1 else table
    own = table[:, 0] if len(statuses) == 1 else table[np.arange(len(codes)), codes]
    model.ignored_ = np.flatnonzero(own == SampleStatus.IGNORED)


def joined_history(results: Sequence[Any]) -> dict[str, Array]:
    """Return one table for all problems, with a column that tells them apart."""
    if len(results) == 1:
        return {name: np.array(column) for name, column in results[0].history.items()}
    table = {
        name: np.concatenate([np.array(result.history[name]) for result in results])
        for name in results[0].history
    }
    lengths = [len(result.history["iteration"]) for result in results]
    return {"problem": np.repeat(np.arange(len(results)), lengths), **table}


# ------------------------------------------------------------------------------- warm starts


def is_warm(model: Any, classes: Array, columns: int) -> bool:
    """Return whether the last solution, of such a shape and as an array, is to be a start."""
    if not (getattr(model, "warm_start", False) and hasattr(model, "coef_")):
        return False
    model.densify()
    shape = (1 if len(classes) == 2 else len(classes), columns)
    return bool(model.coef_.shape == shape and np.array_equal(model.classes_, classes))


def warm_starts(model: Any, classes: Array, problems: Sequence[Any]) -> list[Any]:
    """Return the starts of the problems: the last solution, or None for cold ones.

    Only a solution of such problems is one. Multipliers go with it if the number of samples is the
    same.
    """
    columns = problems[0].operator.shape[1]
    if not is_warm(model, classes, columns) or len(model.certificate_) != len(problems):
        return [None] * len(problems)
    same_size = len(model.sample_status_) == problems[0].n_samples
    starts, first = [], 0
    for problem in problems:
        own = slice(first, first + problem.n_scores)
        found = None
        if same_size:
            found = problem.multipliers_from(model.support_, model.dual_coef_[own])
        starts.append((*problem.classifier(model.coef_[own], model.intercept_[own]), found))
        first = own.stop
    return starts
