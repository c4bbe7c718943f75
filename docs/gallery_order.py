"""The order of the examples, and what is the same for all their pictures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

ORDER = (
    "plot_wrong_labels_in_five_minutes.py",
    "plot_noise_curves.py",
    "plot_two_moons.py",
    "plot_losses.py",
    "plot_choosing_cap.py",
    "plot_path.py",
    "plot_digits_wrong_labels.py",
    "plot_audit.py",
    "plot_text.py",
    "plot_handwritten_views.py",
    "plot_certificate.py",
    "plot_convergence.py",
    "plot_as_printed.py",
    "plot_baselines.py",
    "plot_probabilities.py",
    "plot_robust_probabilities.py",
    "plot_curved_boundaries.py",
    "plot_dask.py",
)


class InReadingOrder:
    """Sort the examples as listed here; new ones come last."""

    def __init__(self, folder: str) -> None:
        self.folder = folder

    def __call__(self, name: str) -> tuple[int, str]:
        name = Path(name).name
        return (ORDER.index(name) if name in ORDER else len(ORDER), name)


def reset(_conf: Any, _name: str) -> None:
    """Set what all pictures share."""
    import matplotlib.pyplot as plt

    plt.rcParams.update(
        {
            "figure.figsize": (7.0, 4.2),
            "figure.dpi": 100,
            "axes.spines.top": False,
            "axes.spines.right": False,
            "figure.constrained_layout.use": True,
        }
    )
