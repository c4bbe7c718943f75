"""A picture of an audit."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from htsvm.audit.result import LabelAudit

# Beyond this many classes cells are too small for numbers.
NUMBERED = 12


def plot_audit(audit: LabelAudit, axes: Any = None) -> Any:
    """Draw the distribution of trust beside the noise matrix."""
    if axes is None:
        import matplotlib.pyplot as plt

        _, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
    left, right = axes
    kept = audit.suggested == audit.codes
    left.hist(
        [audit.trust[kept], audit.trust[~kept]], bins=np.linspace(0.0, 1.0, 41), stacked=True,
        color=["#0072b2", "#d55e00"], label=["label confirmed", "another suggested"],
    )  # fmt: skip
    left.set(xlabel="trust", ylabel="samples", yscale="symlog",
             title=f"{audit.share_wrong} of the labels are wrong")  # fmt: skip
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
