"""A picture of an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from htsvm._typing import Array

if TYPE_CHECKING:
    from htsvm.audit.result import LabelAudit

# Beyond this many classes cells are too small for numbers.
NUMBERED = 12


def plot_audit(audit: LabelAudit, axes: Any = None) -> Any:
    """Draw the distribution of trust beside the noise matrix.

    Parameters
    ----------
    audit : LabelAudit
        What to draw.
    axes : pair of matplotlib axes, optional
        Where to draw.
    """
    if axes is None:
        plt = _pyplot()
        _, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    left, right = axes
    kept = audit.suggested == audit.codes
    left.hist(
        [audit.trust[kept], audit.trust[~kept]], bins=np.linspace(0.0, 1.0, 41), stacked=True,
        color=["#0072b2", "#d55e00"], label=["label confirmed", "another suggested"],
    )  # fmt: skip
    left.set(xlabel="trust", ylabel="samples", yscale="symlog",
             title=f"about {audit.n_wrong:.0f} of {len(audit)} labels are wrong")  # fmt: skip
    left.legend(frameon=False)
    shown = audit.noise_matrix.copy()
    np.fill_diagonal(shown, np.nan)
    right.imshow(shown, cmap="OrRd", vmin=0.0)
    ticks = list(range(len(audit.classes))) if len(audit.classes) <= 30 else []
    labels = [str(audit.classes[k]) for k in ticks]
    right.set_xticks(ticks, labels, rotation=45, ha="right")
    right.set_yticks(ticks, labels)
    right.set(xlabel="given label", ylabel="true class", title="estimated share of labels (%)")
    if len(audit.classes) <= NUMBERED:
        for k, line in enumerate(audit.noise_matrix):
            for j, share in enumerate(line):
                right.text(j, k, f"{100 * share:.0f}", ha="center", va="center", fontsize=8)
    return axes


def plot_reliability(trust: Array, right: Array, ax: Any = None, *, bins: int = 10) -> Any:
    """Draw the share of right labels against the trust they were given; needs the truth.

    Parameters
    ----------
    trust : array-like of shape (n_samples,)
        The trust of an audit.
    right : array-like of bool of shape (n_samples,)
        Which labels are right.
    ax : matplotlib axes, optional
        Where to draw.
    bins : int, default=10
        Groups of equal size.
    """
    if ax is None:
        _, ax = _pyplot().subplots(figsize=(4.5, 4.5), layout="constrained")
    said, seen = reliability(np.asarray(trust), np.asarray(right), bins)
    ax.plot([0, 1], [0, 1], ls=":", color="grey")
    ax.plot(said, seen, marker="o", color="#0072b2")
    ax.set(xlabel="trust", ylabel="share of right labels", xlim=(0, 1), ylim=(0, 1))
    return ax


def reliability(trust: Array, right: Array, bins: int = 10) -> tuple[Array, Array]:
    """Return mean trust and share of right labels of groups of equal size, by rising trust.

    Parameters
    ----------
    trust : ndarray of shape (n_samples,)
        The trust of an audit.
    right : ndarray of bool of shape (n_samples,)
        Which labels are right.
    bins : int, default=10
        The number of groups.
    """
    groups = [rows for rows in np.array_split(np.argsort(trust, kind="stable"), bins) if len(rows)]
    said = np.array([trust[rows].mean() for rows in groups])
    return said, np.array([np.mean(right[rows]) for rows in groups])


def _pyplot() -> Any:
    try:
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise ImportError('Pictures need matplotlib: pip install "htsvm[plot]"') from error
    return plt
