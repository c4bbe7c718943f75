"""Pictures of fits to several views."""

from __future__ import annotations

from typing import Any

import numpy as np

from htsvm._documented import documented
from htsvm._typing import Array
from htsvm.optimality import SampleStatus
from htsvm.plotting._axes import (
    IGNORED_COLOUR,
    OBJECTIVE_COLOUR,
    axes,
    class_colour,
    history_of,
    ink,
)


@documented
def plot_view_weights(estimator: Any, ax: Any = None) -> Any:
    """Draw how much a multi-view classifier trusts each view.

    Parameters
    ----------
    estimator : MultiViewHTSVC
        A fitted estimator: its `view_weights_` are drawn, a bar per view. Where each class was
        fitted against the rest there is a bar per class, divided among the views.
    {ax}

    Returns
    -------
    matplotlib Axes
        The axes drawn on.
    """
    weights = np.asarray(_fitted(estimator, "view_weights_"))
    names = [str(name) for name in estimator.view_names_]
    ax = axes(ax)
    if weights.ndim == 1:
        ax.bar(names, weights, color=[class_colour(v) for v in range(len(names))])
        ax.axhline(1.0 / len(names), color=ink(), lw=0.8, ls=":")
        ax.set(xlabel="view", ylabel="weight", ylim=(0.0, max(1.05 * float(weights.max()), 0.1)))
        return ax
    labels = [str(label) for label in estimator.classes_]
    bottom = np.zeros(len(labels))
    for v, name in enumerate(names):
        ax.bar(labels, weights[:, v], bottom=bottom, color=class_colour(v), label=name)
        bottom += weights[:, v]
    ax.set(xlabel="class (against the rest)", ylabel="weight of the views", ylim=(0.0, 1.0))
    ax.legend(title="view", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


@documented
def plot_objective(estimator: Any, ax: Any = None, *, problem: int = 0) -> Any:
    """Draw the objective of a multi-view fit, round by round.

    Parameters
    ----------
    estimator : MultiViewHTSVC
        A fitted estimator: the objective in its `history_` is drawn.
    {ax}
    problem : int, default=0
        Which binary problem of a multi-class fit.

    Returns
    -------
    matplotlib Axes
        The axes drawn on.
    """
    table = history_of(estimator, problem)
    ax = axes(ax)
    ax.plot(table["iteration"], table["objective"], "o-", ms=4, color=OBJECTIVE_COLOUR)
    ax.set(xlabel="round (classifiers, then view weights)", ylabel="objective")
    ax.xaxis.get_major_locator().set_params(integer=True)
    return ax


@documented
def plot_view_margins(
    estimator: Any, X: Any, y: Any, ax: Any = None, *, views: Any = (0, 1), problem: int = 0
) -> Any:
    """Draw samples in the plane of two views' decision values, with the ignored ones marked.

    Parameters
    ----------
    estimator : MultiViewHTSVC
        A fitted estimator with at least two views.
    X : matrix, or list or dict of views
        Samples. If they are the training data (as many rows as the fit had), samples that one
        of the two views ignores, or both, are marked.
    y : array-like of shape (n_samples,)
        Their labels.
    {ax}
    views : pair of int, default=(0, 1)
        The positions of the two views.
    problem : int, default=0
        The number of a class in a multi-class fit: its score against the rest is drawn, or where
        all classes were fitted as one problem, its lead over the best of the other scores.

    Returns
    -------
    matplotlib Axes
        The axes drawn on.
    """
    names = _fitted(estimator, "view_names_")
    first, second = views
    for view in views:
        if not 0 <= view < len(names):
            raise ValueError(f"views={views!r} must be two positions from 0 to {len(names) - 1}.")
    scores = np.asarray(estimator.view_decision_function(X, weighted=False))
    y, status, classes = np.asarray(y), estimator.sample_status_, list(estimator.classes_)
    positive, rest = classes[-1], f"class {classes[0]}"
    what = "decision value of"
    if scores.ndim == 3:
        positive, rest = classes[problem], "the rest"
        own = scores[:, :, problem]
        if status.ndim == 3:
            scores, status = own, status[:, :, problem]
        else:
            scores = own - np.delete(scores, problem, axis=2).max(axis=2)
            what = f"lead of class {positive} in"
    points = scores[:, [first, second]]
    ax = axes(ax)
    for k, (side, name) in enumerate(((y != positive, rest), (y == positive, f"class {positive}"))):
        ax.scatter(*points[side].T, s=14, lw=0, alpha=0.7, color=class_colour(k), label=name)
    if len(status) == len(points):
        _mark_ignored(ax, points, status[:, [first, second]])
    for line in (ax.axvline, ax.axhline):
        line(0.0, color=ink(), lw=1.2)
        for margin in (-1.0, 1.0):
            line(margin, color=ink(), lw=0.8, ls="dashed", alpha=0.6)
    ax.set(
        xlabel=f"{what} view {names[first]}",
        ylabel=f"{what} view {names[second]}",
    )
    ax.legend(loc="best", frameon=False)
    return ax


def _mark_ignored(ax: Any, points: Array, status: Array) -> None:
    """Mark the samples that one or both of two views ignore."""
    ignored = (status == SampleStatus.IGNORED).sum(axis=1)
    for number, marker, text in ((1, "+", "ignored by one"), (2, "x", "ignored by both")):
        marked = points[ignored == number]
        if len(marked):
            label = f"{text} ({len(marked)})"
            ax.scatter(*marked.T, s=30, marker=marker, lw=1.0, color=IGNORED_COLOUR, label=label)


def _fitted(estimator: Any, attribute: str) -> Any:
    """Return an attribute of a fitted multi-view classifier."""
    value = getattr(estimator, attribute, None)
    if value is None:
        raise ValueError(f"a fitted classifier with {attribute} is needed, got {estimator!r}.")
    return value
