"""Multi-view estimators on Dask collections whose blocks hold all views."""

from __future__ import annotations

import copy
from typing import Any

import numpy as np
from dask import array, delayed

from htsvm._typing import Array
from htsvm.distributed.blocks import tree
from htsvm.distributed.data import Data, Task
from htsvm.distributed.estimate import (
    check_newton,
    joined,
    problems_of,
    remember_columns,
    status_of,
)
from htsvm.distributed.inputs import Dataset, lazy_rows, open_dataset
from htsvm.distributed.structure import BlockStructure, find_structure
from htsvm.linalg.spaces import RowSpace
from htsvm.multiview.parameters import per_view
from htsvm.multiview.views import resolve_views, split_views
from htsvm.multiview.warn import warn_constant, warn_dropped, warn_moving
from htsvm.optimality import SampleStatus
from htsvm.svm.solving import AnyProblem, is_multiclass
from htsvm.svm.validation import check_classes, seed_of
from htsvm.svm.warn import warn_shares, warn_unconverged

# The tasks of each view, their solutions, and which views count in each of them.
Common = tuple[list[list[Task]], list[list[Any]], Array]


def fit(estimator: Any, X: Any, y: Any, sample_weight: Any) -> None:
    """Fit a `MultiViewHTSVC` on Dask collections."""
    solver = check_newton(estimator)
    if estimator.memory is not None:
        raise ValueError(
            f"memory={estimator.memory!r} does not work on Dask collections: what it would keep "
            "is found by the data, which is elsewhere. Use memory=None."
        )
    if estimator.kernel != "linear":
        raise ValueError(
            f"kernel={estimator.kernel!r} does not work on Dask collections; use kernel='linear' "
            "on features that approximate it."
        )
    remember_columns(estimator, X)
    resolved = resolve_views(estimator.views, X._meta if hasattr(X, "columns") else X)
    estimator.view_names_ = [view.name for view in resolved]
    estimator.view_columns_ = [view.columns for view in resolved]
    estimator._names_in_views = None
    strength = per_view("structure", estimator.structure, estimator.view_names_, zero=True)
    dataset = open_dataset(X, y, sample_weight, estimator.view_columns_)
    problems: list[list[AnyProblem]] = []
    try:
        check_classes(type(estimator).__name__, dataset.classes, dataset.mass)
        joint = is_multiclass(estimator.multi_class, len(dataset.classes), solver)
        estimator.n_features_in_ = int(X.shape[1])
        structure = _structure(estimator, dataset, strength)
        problems = _problems(estimator, dataset, joint)
        covariances = None if structure is None else structure.covariances
        outcomes = estimator._solved(problems, strength, covariances)
        estimator.classes_ = dataset.classes
        estimator.n_clusters_ = None if structure is None else structure.n_clusters
        estimator.cluster_labels_ = None if structure is None else structure.labels(dataset.sources)
        estimator._store_fit(outcomes, [RowSpace(None) for _ in resolved])
        estimator._store_certificates(outcomes)
        shares = _store_samples(estimator, outcomes, problems, dataset)
        counting = [pair for one in outcomes for pair in one.point.counting]
        warn_unconverged(type(estimator).__name__, counting, estimator.max_iter)
        warn_moving(outcomes, estimator.tol, estimator.max_rounds)
        warn_dropped(outcomes, estimator.view_names_)
        warn_constant(outcomes, estimator.view_names_, estimator._cap_name)
        warn_shares(estimator, counting[: len(outcomes)], shares)
    finally:
        for of_views in problems:
            for problem in of_views:
                problem.release()
        dataset.close()


def _structure(estimator: Any, dataset: Dataset, strength: Array) -> BlockStructure | None:
    targets = np.flatnonzero(strength > 0.0).tolist()
    if not targets:
        return None
    seed = seed_of(estimator.random_state)
    return find_structure(dataset.sources, len(dataset.classes), targets, seed)


def _problems(estimator: Any, dataset: Dataset, joint: bool) -> list[list[AnyProblem]]:
    """Return, for each problem of the fit, the problems of the views."""
    penalties = per_view("C", estimator.C, estimator.view_names_)
    per_source = [
        problems_of(
            dataset, estimator.class_weight, C=float(C), loss=loss,
            fit_intercept=bool(estimator.fit_intercept), joint=joint, view=v,
        )
        for v, (C, loss) in enumerate(zip(penalties, estimator._losses(), strict=True))
    ]  # fmt: skip
    return [list(of_views) for of_views in zip(*per_source, strict=True)]


# ----------------------------------------------------------------------------- after the fit


def _store_samples(
    estimator: Any, outcomes: list[Any], problems: list[list[Any]], dataset: Dataset
) -> Array:
    """Store what became of each sample, as Dask arrays; return the share of each class ignored."""
    sources = dataset.sources
    tasks = [[of_views[v].blocks.task for of_views in problems] for v in range(len(sources))]
    points = [
        [(p.coef, p.intercept, p.multipliers) for p in (o.point.views[v].result for o in outcomes)]
        for v in range(len(sources))
    ]
    used = np.array([one.weights > 0.0 for one in outcomes])
    common = delayed((tasks, points, used), traverse=False)
    raw = [list(views) for views in zip(*(source.raw for source in sources), strict=True)]
    blocks = [delayed(status_of_views, pure=True)(views, common) for views in raw]
    lost = [
        delayed(ignored_by_all, pure=True)(status, views[0], common)
        for status, views in zip(blocks, raw, strict=True)
    ]
    sizes = [int(size) for size in np.diff(sources[0].offsets)]
    status = joined(blocks, [(size, len(sources), len(outcomes)) for size in sizes])
    estimator.sample_status_ = status if len(outcomes) > 1 else status[:, :, 0]
    estimator.ignored_ = array.flatnonzero(joined(lost, [(size,) for size in sizes]))
    held = zip(*(source.data for source in sources), strict=True)
    counts = [
        delayed(count_ignored, pure=False)(list(views), common, len(dataset.classes))
        for views in held
    ]
    total, gone = sources[0].cluster.compute(tree(counts, sum))[0]
    share: Array = gone / np.maximum(total, 1)
    return share


def status_of_views(views: list[Data], common: Common) -> Array:
    """Return the status of the samples of a block, by view and by problem."""
    tasks, points, _ = common
    return np.stack(
        [
            status_of(data, (of_view, found))
            for data, of_view, found in zip(views, tasks, points, strict=True)
        ],
        axis=1,
    )


def ignored_by_all(status: Array, data: Data, common: Common) -> Array:
    """Return which samples all views that count ignore, in the problem of their own class."""
    used = common[2]
    own = data.codes if len(used) > 1 else np.zeros(len(data.codes), dtype=np.intp)
    ignored = status[np.arange(len(own)), :, own] == SampleStatus.IGNORED
    everyone: Array = np.all(ignored | ~used[own], axis=1)
    return everyone


def count_ignored(views: list[Data], common: Common, n_classes: int) -> Array:
    """Return the number of samples of positive weight per class, and how many are ignored."""
    data = views[0]
    kept = slice(None) if data.weights is None else data.weights > 0.0
    lost = ignored_by_all(status_of_views(views, common), data, common)[kept]
    codes = data.codes[kept]
    return np.array(
        [np.bincount(some, minlength=n_classes) for some in (codes, codes[lost])], dtype=np.int64
    )


# ------------------------------------------------------------------------------- predictions


def view_scores(estimator: Any, X: Any, *, weighted: bool) -> Any:
    """Return what each view contributes to the decision, as a Dask array."""
    remember_columns(estimator, X, reset=False)
    rows = lazy_rows(X, estimator)
    model = copy.copy(estimator)
    for name in ("sample_status_", "ignored_", "cluster_labels_"):
        vars(model).pop(name, None)
    shape = (len(estimator.view_names_), len(estimator.intercept_))
    scores = rows.map_blocks(
        _view_scores, model, weighted, dtype=np.float64,
        new_axis=2, chunks=(rows.chunks[0], (shape[0],), (shape[1],)),
        meta=np.zeros((0, 0, 0), dtype=np.float64),
    )  # fmt: skip
    return scores[:, :, 0] if shape[1] == 1 else scores


def _view_scores(X: Any, model: Any, weighted: bool) -> Array:
    scores: Array = model._view_scores(split_views(X, model.view_columns_), weighted=weighted)
    return scores
