"""Pictures of losses, fits and decision boundaries; needs matplotlib."""

from htsvm.plotting._fits import (
    Curve,
    plot_average,
    plot_boundary,
    plot_grid,
    plot_history,
    plot_losses,
)
from htsvm.plotting._views import plot_objective, plot_view_margins, plot_view_weights

__all__ = [
    "Curve",
    "plot_average",
    "plot_boundary",
    "plot_grid",
    "plot_history",
    "plot_losses",
    "plot_objective",
    "plot_view_margins",
    "plot_view_weights",
]
