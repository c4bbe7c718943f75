"""What all pictures share: axes, colours, and the history of a fit."""

from __future__ import annotations

from typing import Any

from htsvm._typing import Array

# Colours that are told apart by colour-blind readers, and readable on white and on black.
CLASS_COLOURS = ("#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00")
IGNORED_COLOUR = "#d62728"
OBJECTIVE_COLOUR, RESIDUAL_COLOUR = "#0072b2", "#d55e00"


def axes(ax: Any) -> Any:
    """Return `ax`, or new axes; say how to get matplotlib where it is missing."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError("htsvm.plotting needs matplotlib: pip install matplotlib") from error
    return plt.subplots()[1] if ax is None else ax


def ink() -> Any:
    """Return the colour of text in the current style, so that lines show on any background."""
    from matplotlib import rcParams

    return rcParams["text.color"]


def class_colour(k: int) -> str:
    return CLASS_COLOURS[k % len(CLASS_COLOURS)]


def history_of(estimator: Any, problem: int) -> dict[str, Array]:
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
