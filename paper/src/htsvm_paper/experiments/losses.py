"""The loss functions, drawn."""

from collections.abc import Callable

import numpy as np

from htsvm import losses
from htsvm_paper._typing import Array
from htsvm_paper.experiments.blocks import Block, Picture
from htsvm_paper.experiments.figures import drawing
from htsvm_paper.experiments.results import Results
from htsvm_paper.experiments.tasks import Experiment, Profile

TAU, CEILING = 0.5, 1.0
CURVES: dict[str, Callable[[Array], Array]] = {
    "(a) hinge": losses.Hinge().value,
    f"(b) pinball, τ = {TAU:g}": lambda s: np.maximum(s, -TAU * s),
    "(c) least squares": np.square,
    f"(d) ramp, ceiling {CEILING:g}": lambda s: np.clip(s, 0.0, CEILING),
    "(e) 0/1": lambda s: (s > 0.0).astype(float),
    "(f) hybrid truncated": losses.HybridTruncated().value,
}


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return the six panels of the figure."""
    s = np.linspace(-2.0, 2.0, 801)
    with drawing(4.4, width=8.0, nrows=2, ncols=3, sharex=True, sharey=True) as (axes, finish):
        for ax, (name, curve) in zip(axes.flat, CURVES.items(), strict=True):
            ax.plot(s, curve(s), color="#d55e00", lw=2)
            ax.set(title=name, ylim=(-0.2, 2.2))
            ax.grid(alpha=0.3)
        for ax in axes[-1]:
            ax.set_xlabel("s = 1 − y f(x)")
    caption = (
        "Figure 1, the losses. The pinball loss is printed in the paper with the wrong sign for "
        "s < 0; this is the usual one. The hybrid truncated loss is never more than 0.14 above "
        "the ramp loss of the same ceiling."
    )
    return [Picture(finish("The six loss functions"), caption)]


EXPERIMENT = Experiment("losses", lambda profile: [], lambda task: iter(()), sections)
