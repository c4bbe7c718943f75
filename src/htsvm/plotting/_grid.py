"""A picture of a search over C and the cap."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from htsvm._documented import documented
from htsvm.plotting._axes import axes, class_colour, ink


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
