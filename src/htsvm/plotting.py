"""Pictures of losses, fits and decision boundaries; needs matplotlib."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from htsvm._typing import Array
from htsvm.losses import Hinge, HybridTruncated, LeastSquares, Loss, Pinball, Ramp, ZeroOne
from htsvm.optimality import SampleStatus

__all__ = [
    "plot_boundary",
    "plot_history",
    "plot_losses",
    "plot_objective",
    "plot_view_margins",
    "plot_view_weights",
]

Curve = Loss | Callable[[Array], Array]

# Colours that are told apart by colour-blind readers, and readable on white and on black.
CLASS_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
IGNORED_COLOUR = "#d62728"
OBJECTIVE_COLOUR, RESIDUAL_COLOUR = "#0072b2", "#d55e00"


def plot_losses(losses: Mapping[str, Curve] | Iterable[Loss] | None = None, ax: Any = None) -> Any:
    """Draw losses as functions of the margin violation ``s = 1 - y f(x)``.

    Parameters
    ----------
    losses : mapping of names to losses or functions, or iterable of losses, optional
        What to draw. By default the six losses of the paper's first figure: hinge, pinball, least
        squares, ramp, 0/1 and hybrid truncated.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        The axes drawn on.

    Examples
    --------
    >>> from htsvm.losses import HybridTruncated
    >>> from htsvm.plotting import plot_losses
    >>> ax = plot_losses([HybridTruncated(cap=cap) for cap in (0.5, 1, 2)])
    """
    ax = _axes(ax)
    s = np.linspace(-1.0, 3.0, 801)
    for name, curve in _named(losses).items():
        values = curve.value(s) if isinstance(curve, Loss) else curve(s)
        # Only the truncated losses stand out: they are what the picture is about.
        truncated = isinstance(curve, Loss) and not math.isinf(curve.cap)
        ax.plot(s, values, label=name, lw=2.2 if truncated else 1.4, ls="-" if truncated else "--")
    ax.axvline(0.0, color=_ink(), lw=0.8, alpha=0.4)
    ax.axvline(1.0, color=_ink(), lw=0.8, alpha=0.4, ls=":")
    ax.set(
        xlim=(s[0], s[-1]),
        ylim=(-0.1, 3.2),
        xlabel="margin violation  1 − y f(x)   (beyond 1: on the wrong side)",
        ylabel="loss",
    )
    ax.legend(loc="upper left", frameon=False)
    return ax


def plot_history(estimator: Any, ax: Any = None, *, problem: int = 0) -> Any:
    """Draw the objective and the residual of a fit per iteration, with the stages of the cap.

    Parameters
    ----------
    estimator : HTSVC
        A fitted estimator: its `history_` is drawn.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default. The residual gets an axis of its own on the right.
    problem : int, default=0
        Which binary problem of a multi-class fit.

    Returns
    -------
    matplotlib Axes
        The axes of the objective.
    """
    table = _history_of(estimator, problem)
    ax = _axes(ax)
    right = ax.twinx()
    right.spines["right"].set_visible(True)
    iteration = table["iteration"]
    ax.plot(iteration, table["objective"], "o-", ms=4, color=OBJECTIVE_COLOUR)
    residual = np.maximum(table["residual"], np.finfo(float).tiny)
    right.semilogy(iteration, residual, "s--", ms=4, color=RESIDUAL_COLOUR)
    right.axhline(estimator.tol, color=RESIDUAL_COLOUR, lw=0.9, ls=":")
    right.annotate(
        f"tol {estimator.tol:g}",
        (0.01, estimator.tol),
        xycoords=("axes fraction", "data"),
        color=RESIDUAL_COLOUR,
        fontsize="small",
        va="bottom",
    )
    if "cap" in table:
        _mark_stages(ax, iteration, table["cap"])
    ax.set_xlabel("iteration")
    ax.xaxis.get_major_locator().set_params(integer=True)
    # Each axis has the colour of its curve, which needs no legend that hides part of it.
    ax.set_ylabel("objective (circles)", color=OBJECTIVE_COLOUR)
    right.set_ylabel("residual (squares)", color=RESIDUAL_COLOUR)
    return ax


def plot_boundary(estimator: Any, X: Any, y: Any, ax: Any = None) -> Any:
    """Draw two-dimensional samples, the decision boundary and the samples that were ignored.

    Parameters
    ----------
    estimator : classifier
        Fitted on two features; any scikit-learn classifier with a `decision_function`. For two
        classes the margin (scores of -1 and 1) is drawn too.
    X : array-like of shape (n_samples, 2)
        Samples. If they are the training data of an estimator with `ignored_` (as many rows as
        the fit had), the ignored samples are marked.
    y : array-like of shape (n_samples,)
        Their labels.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        The axes drawn on.
    """
    X, y = np.asarray(X, dtype=float), np.asarray(y)
    if X.ndim != 2 or X.shape[1] != 2:
        raise ValueError(f"plot_boundary draws two features, but X has the shape {X.shape}.")
    if len(X) != len(y):
        raise ValueError(f"X has {len(X)} samples, but y has {len(y)} labels.")
    ax = _axes(ax)
    classes = list(estimator.classes_)
    _draw_regions(ax, estimator, X, classes)
    for k, label in enumerate(classes):
        ax.scatter(
            *X[y == label].T, s=16, lw=0, alpha=0.75, color=_class_colour(k), label=f"class {label}"
        )
    ignored = _ignored(estimator, len(X))
    if len(ignored):
        ax.scatter(
            *X[ignored].T,
            s=34,
            marker="x",
            lw=1.1,
            color=IGNORED_COLOUR,
            label=f"ignored ({len(ignored)})",
        )
    ax.set(xlabel="feature 1", ylabel="feature 2")
    ax.legend(loc="best", frameon=False)
    return ax


def plot_view_weights(estimator: Any, ax: Any = None) -> Any:
    """Draw how much a multi-view classifier trusts each view.

    Parameters
    ----------
    estimator : MultiViewHTSVC
        A fitted estimator: its `view_weights_` are drawn, a bar per view. Where each class was
        fitted against the rest there is a bar per class, divided among the views.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.

    Returns
    -------
    matplotlib Axes
        The axes drawn on.
    """
    weights = np.asarray(_fitted(estimator, "view_weights_"))
    names = [str(name) for name in estimator.view_names_]
    ax = _axes(ax)
    if weights.ndim == 1:
        ax.bar(names, weights, color=[_class_colour(v) for v in range(len(names))])
        ax.axhline(1.0 / len(names), color=_ink(), lw=0.8, ls=":")
        ax.set(xlabel="view", ylabel="weight", ylim=(0.0, max(1.05 * float(weights.max()), 0.1)))
        return ax
    labels = [str(label) for label in estimator.classes_]
    bottom = np.zeros(len(labels))
    for v, name in enumerate(names):
        ax.bar(labels, weights[:, v], bottom=bottom, color=_class_colour(v), label=name)
        bottom += weights[:, v]
    ax.set(xlabel="class (against the rest)", ylabel="weight of the views", ylim=(0.0, 1.0))
    ax.legend(title="view", frameon=False, loc="upper left", bbox_to_anchor=(1.0, 1.0))
    return ax


def plot_objective(estimator: Any, ax: Any = None, *, problem: int = 0) -> Any:
    """Draw the objective of a multi-view fit, round by round.

    Parameters
    ----------
    estimator : MultiViewHTSVC
        A fitted estimator: the objective in its `history_` is drawn.
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
    problem : int, default=0
        Which binary problem of a multi-class fit.

    Returns
    -------
    matplotlib Axes
        The axes drawn on.
    """
    table = _history_of(estimator, problem)
    ax = _axes(ax)
    ax.plot(table["iteration"], table["objective"], "o-", ms=4, color=OBJECTIVE_COLOUR)
    ax.set(xlabel="round (classifiers, then view weights)", ylabel="objective")
    ax.xaxis.get_major_locator().set_params(integer=True)
    return ax


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
    ax : matplotlib Axes, optional
        Where to draw; a new figure by default.
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
    ax = _axes(ax)
    for k, (side, name) in enumerate(((y != positive, rest), (y == positive, f"class {positive}"))):
        ax.scatter(*points[side].T, s=14, lw=0, alpha=0.7, color=_class_colour(k), label=name)
    if len(status) == len(points):
        _mark_ignored(ax, points, status[:, [first, second]])
    for line in (ax.axvline, ax.axhline):
        line(0.0, color=_ink(), lw=1.2)
        for margin in (-1.0, 1.0):
            line(margin, color=_ink(), lw=0.8, ls="dashed", alpha=0.6)
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


def _axes(ax: Any) -> Any:
    """Return `ax`, or new axes; say how to get matplotlib where it is missing."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('htsvm.plotting needs matplotlib: pip install "htsvm[demo]"') from error
    return plt.subplots()[1] if ax is None else ax


def _ink() -> Any:
    """Return the colour of text in the current style, so that lines show on any background."""
    from matplotlib import rcParams

    return rcParams["text.color"]


def _named(losses: Mapping[str, Curve] | Iterable[Loss] | None) -> dict[str, Curve]:
    if losses is None:
        return {
            "hinge": Hinge(),
            "pinball, tau 0.5": Pinball(0.5),
            "least squares": LeastSquares(),
            "ramp, ceiling 2": Ramp(2.0),
            "0/1": ZeroOne(),
            "hybrid truncated": HybridTruncated(),
        }
    if isinstance(losses, Mapping):
        return dict(losses)
    return {repr(loss): loss for loss in losses}


def _history_of(estimator: Any, problem: int) -> dict[str, Array]:
    """Return the history of one binary problem."""
    table: dict[str, Array] | None = getattr(estimator, "history_", None)
    if table is None:
        raise ValueError(
            f"the picture needs a fitted estimator with history_, got {estimator!r}; call fit."
        )
    if "problem" not in table:
        if problem != 0:
            raise ValueError(f"problem={problem} does not exist: the fit was one problem.")
        return table
    rows = table["problem"] == problem
    if not rows.any():
        last = int(table["problem"].max())
        raise ValueError(f"problem={problem} does not exist: choose one from 0 to {last}.")
    return {name: column[rows] for name, column in table.items()}


def _mark_stages(ax: Any, iteration: Array, cap: Array) -> None:
    """Draw a line where the cap changes, and write the cap beside it."""
    starts = np.flatnonzero(np.r_[True, cap[1:] != cap[:-1]])
    for number, row in enumerate(starts):
        if row > 0:
            ax.axvline(iteration[row] - 0.5, color=_ink(), lw=0.7, alpha=0.35)
        text = "∞" if math.isinf(cap[row]) else f"{cap[row]:g}"
        ax.annotate(
            f"cap {text}" if row == 0 else text,
            # Stages may be short: every second label is a little higher, so that they stay apart.
            (iteration[row] - 0.4 if row > 0 else iteration[row], 1.06 if number % 2 else 1.01),
            xycoords=("data", "axes fraction"),
            fontsize="small",
        )


def _draw_regions(ax: Any, estimator: Any, X: Array, classes: list[Any]) -> None:
    """Shade the side of each class; draw the boundary and, for two classes, the margin."""
    low, high = X.min(axis=0), X.max(axis=0)
    room = 0.05 * np.maximum(high - low, 1e-9)
    axes = [np.linspace(a, b, 200) for a, b in zip(low - room, high + room, strict=True)]
    grid = np.meshgrid(*axes)
    points = np.column_stack([g.ravel() for g in grid])
    scores = np.asarray(estimator.decision_function(points))
    colours = [_class_colour(k) for k in range(len(classes))]
    if scores.ndim == 1:
        level = scores.reshape(grid[0].shape)
        ax.contourf(*grid, level, levels=[-np.inf, 0.0, np.inf], colors=colours, alpha=0.10)
        ax.contour(*grid, level, levels=[0.0], colors=[_ink()], linewidths=1.6)
        ax.contour(
            *grid, level, levels=[-1.0, 1.0], colors=[_ink()], linewidths=0.9, linestyles="dashed"
        )
        return
    winner = scores.argmax(axis=1).reshape(grid[0].shape)
    edges = np.arange(len(classes) + 1) - 0.5
    ax.contourf(*grid, winner, levels=edges, colors=colours, alpha=0.18)


def _class_colour(k: int) -> str:
    return CLASS_COLOURS[k % len(CLASS_COLOURS)]


def _ignored(estimator: Any, n_samples: int) -> Array:
    """Return the ignored samples of the fit, or none where the data are not those of the fit."""
    status = getattr(estimator, "sample_status_", None)
    if status is None or len(status) != n_samples:
        return np.empty(0, dtype=np.intp)
    ignored: Array = estimator.ignored_
    return ignored
