"""The loss functions, drawn."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from htsvm._typing import Array
from htsvm.losses import Hinge, HybridTruncated
from htsvm.plotting import Curve
from htsvm_paper.experiments.blocks import Block, Picture
from htsvm_paper.experiments.results import Results
from htsvm_paper.experiments.tasks import Experiment, Profile, Row, Task
from htsvm_paper.svg import drawing

NAME = "losses"
TAU, CEILING = 0.5, 1.0


def _pinball(s: Array) -> Array:
    return np.maximum(s, -TAU * s)


def _ramp(s: Array) -> Array:
    return np.clip(s, 0.0, CEILING)


def _zero_one(s: Array) -> Array:
    return (s > 0.0).astype(float)


CURVES: dict[str, Curve] = {
    "(a) hinge": Hinge(),
    f"(b) pinball, τ = {TAU:g}": _pinball,
    "(c) least squares": np.square,
    f"(d) ramp, ceiling {CEILING:g}": _ramp,
    "(e) 0/1": _zero_one,
    "(f) hybrid truncated": HybridTruncated(),
}


def tasks(profile: Profile) -> list[Task]:
    """Return no cells: nothing is fitted."""
    return []


def run(task: Task) -> Iterator[Row]:
    """Compute nothing."""
    return iter(())


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return the six panels of the figure."""
    s = np.linspace(-2.0, 2.0, 801)
    with drawing(4.4, width=8.0, nrows=2, ncols=3, sharex=True, sharey=True) as (axes, finish):
        for ax, (name, curve) in zip(axes.flat, CURVES.items(), strict=True):
            values = curve.value(s) if hasattr(curve, "value") else curve(s)
            ax.plot(s, values, color="#d55e00", lw=2)
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


EXPERIMENT = Experiment(NAME, "the loss functions", "figure 1", tasks, run, sections)
