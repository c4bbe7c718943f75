"""All experiments, in the order of the paper."""

from collections.abc import Iterable
from importlib import import_module

from htsvm_paper._names import hint
from htsvm_paper.experiments.tasks import Experiment

# Modules, and the names of their experiments where a module has two.
PLACES = (
    "losses", "data_tables", "single_view", "as_printed", "single_view:SYNTHETIC", "convergence",
    "convergence:RATES_OF_SOLVERS", "label_noise", "two_view", "retests", "two_view_rbf",
    "as_printed:VIEWS_AS_PRINTED", "stl10", "retests:NEAREST_SCORES", "two_view:SENSITIVITY",
    "stl10:ABLATION_PARTS", "cifar10n", "label_noise:LOSSES_BETWEEN", "demo",
)  # fmt: skip


def _experiments() -> Iterable[Experiment]:
    for place in PLACES:
        module, _, name = place.partition(":")
        yield getattr(import_module(f"htsvm_paper.experiments.{module}"), name or "EXPERIMENT")


EXPERIMENTS = {experiment.name: experiment for experiment in _experiments()}


def select(names: Iterable[str] = ()) -> list[Experiment]:
    """Return the named experiments, or all; for an unknown name, list the nearest."""
    wanted = list(names)
    for name in wanted:
        if name not in EXPERIMENTS:
            raise ValueError(f"Unknown experiment {name!r}; {hint(name, EXPERIMENTS)}")
    return [e for e in EXPERIMENTS.values() if not wanted or e.name in wanted]
