"""Fits of data that is not in this process, by way of its backend."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import Parallel, delayed

from htsvm._sklearn import check_feature_names
from htsvm._typing import Array
from htsvm.solvers import Solver, solve_certified
from htsvm.svm.fitted import store_results, warm_starts
from htsvm.svm.validation import check_classes, is_multiclass
from htsvm.svm.warn import warn_shares, warn_unconverged


def newton_of(estimator: Any, backend: Any) -> Solver:
    """Return the solver of an estimator; raise ValueError if it needs the rows in memory."""
    solver: Solver = estimator._solver()
    if not solver.on_dask:
        raise ValueError(
            f"solver={estimator.solver!r} does not work on {backend.NAME}; use solver='newton'."
        )
    return solver


def check_columns(estimator: Any, backend: Any, X: Any, *, reset: bool) -> None:
    """Note the names of the columns of a DataFrame, or compare them with those noted."""
    check_feature_names(estimator, backend.frame_of(X), reset=reset)


def fit(backend: Any, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit a linear classifier."""
    solver = newton_of(estimator, backend)
    check_columns(estimator, backend, X, reset=True)
    dataset = backend.open_dataset(X, y, sample_weight)
    try:
        check_classes(type(estimator).__name__, dataset.classes, dataset.mass)
        multiclass = is_multiclass(estimator.multi_class, len(dataset.classes), solver)
        estimator.n_features_in_ = dataset.n_features
        problems = dataset.problems(
            estimator.class_weight, C=estimator._penalty(), loss=estimator._loss(),
            fit_intercept=bool(estimator.fit_intercept), multiclass=multiclass,
        )  # fmt: skip
        solver = solver.suited_to(problems[0])
        starts = warm_starts(estimator, dataset.classes, problems)
        fitted = Parallel(n_jobs=estimator.n_jobs, prefer="threads")(
            delayed(_solve)(problem, solver, start)
            for problem, start in zip(problems, starts, strict=True)
        )
        estimator.classes_ = dataset.classes
        store_results(estimator, fitted)
        results = [result for result, _ in fitted]
        _store_support(estimator, [result.multipliers for result in results], dataset)
        status, estimator.ignored_ = dataset.statuses(backend.Solved([problems], [results]))
        estimator.sample_status_ = status[:, 0] if len(problems) > 1 else status[:, 0, 0]
        warn_unconverged(type(estimator).__name__, fitted, estimator.max_iter)
        warn_shares(estimator, _ignored_shares(problems))
    finally:
        dataset.close()


def _solve(problem: Any, solver: Solver, start: Any) -> Any:
    """Solve one problem, and leave nothing on the workers, whatever happens."""
    try:
        return solve_certified(problem, solver, start=start)
    finally:
        problem.release()


def _ignored_shares(problems: list[Any]) -> Array:
    """Return the share of each class that is ignored, in the problem of that class."""
    shares = [lost / np.maximum(size, 1) for size, lost in (p.ignored_counts for p in problems)]
    return shares[0] if len(shares) == 1 else np.array([share[1] for share in shares])


def _store_support(estimator: Any, found: list[Any], dataset: Any) -> None:
    rows = np.unique(np.concatenate([multipliers.rows for multipliers in found]))
    tables = []
    for multipliers in found:
        table = multipliers.table()
        dual = np.zeros((len(table), len(rows)))
        dual[:, np.searchsorted(rows, multipliers.rows)] = table
        tables.append(dual)
    estimator.support_, estimator.dual_coef_ = rows, np.vstack(tables)
    estimator.n_support_ = dataset.count_classes(rows)
