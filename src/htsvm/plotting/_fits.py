"""Pictures of losses, of the history of a fit, of decision boundaries, and of a search."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np

from htsvm._documented import documented
from htsvm._typing import Array
from htsvm.losses import Hinge, HybridTruncated, LeastSquares, Loss, Ramp
from htsvm.plotting._axes import (
    IGNORED_COLOUR,
    OBJECTIVE_COLOUR,
    RESIDUAL_COLOUR,
    axes,
    class_colour,
    history_of,
    ink,
)

Curve = Loss | Callable[[Array], Array]


@documented
def plot_losses(losses: Mapping[str, Curve] | Iterable[Loss] | None = None, ax: Any = None) -> Any:
    """Draw losses as functions of the margin violation ``s = 1 - y f(x)``.

    Parameters
    ----------
    losses : mapping of names to losses or functions, or iterable of losses, optional
        What to draw. By default the six losses of the paper's first figure: hinge, pinball, least
        squares, ramp, 0/1 and hybrid truncated.
    {ax}

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
    ax = axes(ax)
    s = np.linspace(-1.0, 3.0, 801)
    for name, curve in _named(losses).items():
        values = curve.value(s) if isinstance(curve, Loss) else curve(s)
        # Only the truncated losses stand out: they are what the picture is about.
        truncated = isinstance(curve, Loss) and not math.isinf(curve.cap)
        ax.plot(s, values, label=name, lw=2.2 if truncated else 1.4, ls="-" if truncated else "--")
    ax.axvline(0.0, color=ink(), lw=0.8, alpha=0.4)
    ax.axvline(1.0, color=ink(), lw=0.8, alpha=0.4, ls=":")
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
    table = history_of(estimator, problem)
    ax = axes(ax)
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
    if "width" in table:
        _mark_stages(ax, iteration, table["width"])
    ax.set_xlabel("iteration")
    ax.xaxis.get_major_locator().set_params(integer=True)
    # Each axis has the colour of its curve, which needs no legend that hides part of it.
    ax.set_ylabel("objective (circles)", color=OBJECTIVE_COLOUR)
    right.set_ylabel("residual (squares)", color=RESIDUAL_COLOUR)
    return ax


@documented
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
    {ax}

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
    ax = axes(ax)
    classes = list(estimator.classes_)
    _draw_regions(ax, estimator, X, classes)
    for k, label in enumerate(classes):
        ax.scatter(
            *X[y == label].T, s=16, lw=0, alpha=0.75, color=class_colour(k), label=f"class {label}"
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


def _named(losses: Mapping[str, Curve] | Iterable[Loss] | None) -> dict[str, Curve]:
    if losses is None:
        return {
            "hinge": Hinge(),
            "pinball, tau 0.5": lambda s: np.maximum(s, -0.5 * s),
            "least squares": LeastSquares(),
            "ramp, ceiling 2": Ramp(2.0),
            "0/1": lambda s: (s > 0.0).astype(float),
            "hybrid truncated": HybridTruncated(),
        }
    if isinstance(losses, Mapping):
        return dict(losses)
    return {repr(loss): loss for loss in losses}


def _mark_stages(ax: Any, iteration: Array, width: Array) -> None:
    """Draw a line where the width of the kink changes, and write the width beside it."""
    starts = np.flatnonzero(np.r_[True, width[1:] != width[:-1]])
    for number, row in enumerate(starts):
        if row > 0:
            ax.axvline(iteration[row] - 0.5, color=ink(), lw=0.7, alpha=0.35)
        text = f"{width[row]:.2g}"
        ax.annotate(
            f"width {text}" if row == 0 else text,
            # Stages may be short: every second label is a little higher, so that they stay apart.
            (iteration[row] - 0.4 if row > 0 else iteration[row], 1.06 if number % 2 else 1.01),
            xycoords=("data", "axes fraction"),
            fontsize="small",
        )


def _draw_regions(ax: Any, estimator: Any, X: Array, classes: list[Any]) -> None:
    """Shade the side of each class; draw the boundary and, for two classes, the margin."""
    low, high = X.min(axis=0), X.max(axis=0)
    room = 0.05 * np.maximum(high - low, 1e-9)
    grid = np.meshgrid(
        *(np.linspace(a, b, 200) for a, b in zip(low - room, high + room, strict=True))
    )
    points = np.column_stack([g.ravel() for g in grid])
    scores = np.asarray(estimator.decision_function(points))
    colours = [class_colour(k) for k in range(len(classes))]
    if scores.ndim == 1:
        level = scores.reshape(grid[0].shape)
        ax.contourf(*grid, level, levels=[-np.inf, 0.0, np.inf], colors=colours, alpha=0.10)
        ax.contour(*grid, level, levels=[0.0], colors=[ink()], linewidths=1.6)
        ax.contour(
            *grid, level, levels=[-1.0, 1.0], colors=[ink()], linewidths=0.9, linestyles="dashed"
        )
        return
    winner = scores.argmax(axis=1).reshape(grid[0].shape)
    edges = np.arange(len(classes) + 1) - 0.5
    ax.contourf(*grid, winner, levels=edges, colors=colours, alpha=0.18)


def _ignored(estimator: Any, n_samples: int) -> Array:
    """Return the ignored samples of the fit, or none where the data are not those of the fit."""
    status = getattr(estimator, "sample_status_", None)
    if status is None or len(status) != n_samples:
        return np.empty(0, dtype=np.intp)
    ignored: Array = estimator.ignored_
    return ignored


@documented
def plot_grid(search: Any, ax: Any = None, *, column: str = "mean_test_score") -> Any:
    """Draw the scores of a search: a curve over C for each cap, the chosen point marked.

    Parameters
    ----------
    search : HTSVCCV or GridSearchCV
        A fitted search with `cv_results_` and `best_index_`; of a `GridSearchCV` the parameters
        must be C, or C and cap.
    {ax}
    column : str, default="mean_test_score"
        What to draw: a column of `cv_results_`, for instance "agreement". Where there is a
        standard deviation of it, a band of one standard error is drawn around each curve.

    Returns
    -------
    matplotlib Axes
        The axes drawn on.
    """
    table = getattr(search, "cv_results_", None)
    if table is None:
        raise ValueError(f"the picture needs a fitted search with cv_results_, got {search!r}.")
    if column not in table:
        raise ValueError(f"column={column!r} is not in cv_results_; it has {sorted(table)}.")
    ax = axes(ax)
    values = np.asarray(table[column], dtype=float)
    deviation = table.get(column.replace("mean_", "std_")) if column.startswith("mean_") else None
    C = np.array([float(p["C"]) for p in table["params"]])
    caps = np.array([float(p.get("cap", 1.0)) for p in table["params"]])
    root = math.sqrt(getattr(search, "n_splits_", 1))
    for k, cap in enumerate(sorted(set(caps), reverse=True)):
        rows = np.flatnonzero(caps == cap)
        rows = rows[np.argsort(C[rows])]
        name = "no cap" if math.isinf(cap) else f"cap {cap:g}"
        ax.plot(C[rows], values[rows], "o-", ms=4, color=class_colour(k), label=name)
        if deviation is not None:
            error = np.asarray(deviation, dtype=float)[rows] / root
            band = (values[rows] - error, values[rows] + error)
            ax.fill_between(C[rows], *band, color=class_colour(k), alpha=0.10, lw=0)
    best = int(search.best_index_)
    ax.plot(
        C[best], values[best], "o", ms=12, mfc="none", mec=ink(), mew=1.4,
        label=f"chosen: C = {C[best]:g}, cap = {caps[best]:g}",
    )  # fmt: skip
    ax.set_xscale("log", base=2)
    ax.set(xlabel="C", ylabel=column.replace("_", " "))
    ax.legend(loc="best", frameon=False)
    return ax


@documented
def plot_average(model: Any, ax: Any = None) -> Any:
    """Draw what an average of models is made of: accuracy over C, a curve per loss, size by weight.

    Parameters
    ----------
    model : HTLogisticRegressionCV
        A fitted model with `cv_results_` and `weights_`.
    {ax}

    Returns
    -------
    matplotlib Axes
        The axes drawn on. Models above the dashed line take part.
    """
    table, weights = getattr(model, "cv_results_", {}), getattr(model, "weights_", None)
    if weights is None or "param_loss" not in table:
        raise ValueError(
            f"the picture needs a fitted HTLogisticRegressionCV, got {model!r}; call fit first."
        )
    ax = axes(ax)
    accuracy, C = np.asarray(table["mean_test_score"]), np.asarray(table["param_C"], dtype=float)
    caps = [f", cap {p['cap']:g}" if math.isfinite(p["cap"]) else "" for p in table["params"]]
    names = np.array([p["loss"] + cap for p, cap in zip(table["params"], caps, strict=True)])
    for k, name in enumerate(dict.fromkeys(names.tolist())):
        rows = np.flatnonzero(names == name)
        share = float(weights[rows].sum())
        label, colour = f"{name} ({share:.0%})", class_colour(k)
        ax.plot(C[rows], accuracy[rows], "-", lw=1.0, color=colour, label=label)
        ax.scatter(C[rows], accuracy[rows], s=4.0 + 600.0 * weights[rows], color=colour, alpha=0.6)
    ax.axhline(accuracy[weights > 0.0].min(), color=ink(), lw=0.8, ls="dashed")
    ax.set_xscale("log", base=2)
    ax.set(xlabel="C", ylabel="accuracy on held-out labels")
    ax.legend(loc="best", frameon=False)
    return ax
