"""Multi-view fits of data that is not in this process, by way of its backend."""

from __future__ import annotations

import copy
from functools import partial
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.linalg.spaces import RowSpace
from htsvm.multiview.parameters import per_view
from htsvm.multiview.views import resolve_views, split_views
from htsvm.multiview.warn import warn_views
from htsvm.problems import AnyProblem
from htsvm.svm.elsewhere import check_columns, newton_of
from htsvm.svm.validation import check_classes, is_multiclass
from htsvm.svm.warn import warn_shares


def fit(backend: Any, estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit a `MultiViewHTSVC`."""
    solver = newton_of(estimator, backend)
    if estimator.memory is not None:
        raise ValueError(
            f"memory={estimator.memory!r} does not work on {backend.NAME}: what it would keep "
            "is found by the data, which is elsewhere. Use memory=None."
        )
    if estimator.kernel != "linear":
        raise ValueError(
            f"kernel={estimator.kernel!r} does not work on {backend.NAME}; use kernel='linear' "
            "on features that approximate it."
        )
    check_columns(estimator, backend, X, reset=True)
    resolved = resolve_views(estimator.views, backend.frame_of(X))
    estimator.view_names_ = [view.name for view in resolved]
    estimator.view_columns_ = [view.columns for view in resolved]
    estimator._names_in_views = None
    strength = per_view("structure", estimator.structure, estimator.view_names_, zero=True)
    if np.any(strength > 0.0):
        raise ValueError(
            f"structure={estimator.structure!r} does not work on {backend.NAME}: clusters of their "
            "rows are not formed. Use structure=0, or pass X.compute() if it fits into memory."
        )
    dataset = backend.open_dataset(X, y, sample_weight, estimator.view_columns_)
    problems: list[list[AnyProblem]] = []
    try:
        check_classes(type(estimator).__name__, dataset.classes, dataset.mass)
        multiclass = is_multiclass(estimator.multi_class, len(dataset.classes), solver)
        estimator.n_features_in_ = int(X.shape[1])
        problems = _problems(estimator, dataset, multiclass)
        outcomes = estimator._solved(problems, strength, None)
        estimator.classes_ = dataset.classes
        estimator.n_clusters_ = estimator.cluster_labels_ = None
        estimator._store_fit(outcomes, [RowSpace(None) for _ in resolved])
        estimator._store_certificates(outcomes)
        shares = _store_samples(backend, estimator, outcomes, problems, dataset)
        warn_views(estimator, outcomes)
        warn_shares(estimator, shares)
    finally:
        for of_views in problems:
            for problem in of_views:
                problem.release()
        dataset.close()


def _problems(estimator: Any, dataset: Any, multiclass: bool) -> list[list[AnyProblem]]:
    """Return, for each problem of the fit, the problems of the views."""
    penalties = per_view("C", estimator.C, estimator.view_names_)
    per_source = [
        dataset.problems(
            estimator.class_weight, C=float(C), loss=loss,
            fit_intercept=bool(estimator.fit_intercept), multiclass=multiclass, view=v,
        )
        for v, (C, loss) in enumerate(zip(penalties, estimator._losses(), strict=True))
    ]  # fmt: skip
    return [list(of_views) for of_views in zip(*per_source, strict=True)]


def _store_samples(
    backend: Any, estimator: Any, outcomes: list[Any], problems: list[list[Any]], dataset: Any
) -> Array:
    """Store what became of each sample; return the share of each class that is ignored."""
    views = range(len(problems[0]))
    solved = backend.Solved(
        [[of_views[v] for of_views in problems] for v in views],
        [[one.point.views[v].result for one in outcomes] for v in views],
        np.array([one.weights > 0.0 for one in outcomes]),
    )
    status, estimator.ignored_ = dataset.statuses(solved)
    estimator.sample_status_ = status if len(outcomes) > 1 else status[:, :, 0]
    shares: Array = dataset.ignored_shares(solved)
    return shares


def view_scores(backend: Any, estimator: Any, X: Any, *, weighted: bool) -> Any:
    """Return what each view contributes to the decision, as the backend returns rows."""
    check_columns(estimator, backend, X, reset=False)
    model = copy.copy(estimator)
    for name in ("sample_status_", "ignored_", "cluster_labels_"):
        vars(model).pop(name, None)
    shape = (len(estimator.view_names_), len(estimator.intercept_))
    scores = backend.map_rows(X, partial(_scores, model, weighted), shape, estimator)
    return scores[:, :, 0] if shape[1] == 1 else scores


def _scores(model: Any, weighted: bool, X: Any) -> Array:
    scores: Array = model._view_scores(split_views(X, model.view_columns_), weighted=weighted)
    return scores
