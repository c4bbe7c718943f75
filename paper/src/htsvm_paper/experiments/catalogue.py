"""All experiments, in the order of the paper."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from htsvm_paper.experiments import (
    ablation,
    as_printed,
    as_printed_views,
    cifar10n,
    convergence,
    data_tables,
    label_noise,
    losses,
    losses_between,
    nearest,
    rates,
    retests,
    sensitivity,
    single_view,
    stl10,
    synthetic,
    two_view,
    two_view_rbf,
)
from htsvm_paper.experiments.demo import experiment as demo
from htsvm_paper.experiments.tasks import Experiment

EXPERIMENTS: dict[str, Experiment] = {
    module.EXPERIMENT.name: module.EXPERIMENT
    for module in (
        losses, data_tables, single_view, as_printed, synthetic, convergence, rates, label_noise,
        two_view, retests, two_view_rbf, as_printed_views, stl10, nearest, sensitivity, ablation,
        cifar10n, losses_between, demo,
    )
}  # fmt: skip


def select(names: Iterable[str] = ()) -> list[Experiment]:
    """Return the named experiments, or all; for an unknown name, list the nearest."""
    wanted = list(names)
    for name in wanted:
        if name not in EXPERIMENTS:
            near = get_close_matches(name, EXPERIMENTS, n=3, cutoff=0.4)
            hint = f"did you mean {', '.join(near)}?" if near else f"there are {_all()}."
            raise ValueError(f"Unknown experiment {name!r}; {hint}")
    return [e for e in EXPERIMENTS.values() if not wanted or e.name in wanted]


def _all() -> str:
    return ", ".join(EXPERIMENTS)
