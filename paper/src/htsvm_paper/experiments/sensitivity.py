"""How the accuracy on Heart depends on the three trade-offs of the multi-view model."""

from __future__ import annotations

from htsvm_paper.experiments.blocks import Block, Words
from htsvm_paper.experiments.evaluate import run_with_views
from htsvm_paper.experiments.figures import heat_maps
from htsvm_paper.experiments.methods import PAPER, get
from htsvm_paper.experiments.results import ACCURACY, Results
from htsvm_paper.experiments.tasks import CLEAN, Experiment, Profile, Task
from htsvm_paper.experiments.two_view import tasks as comparison

NAME = "sensitivity"
SET, METHOD = "heart", "mvht"
SYMBOLS = {"C": "C", "structure": "η (structure)", "weight_smoothness": "α (weight smoothness)"}


def tasks(profile: Profile) -> list[Task]:
    """Return the cells, every point of the grid in every fold, from the comparison of methods."""
    return [
        task for task in comparison(profile)
        if (task.protocol, task.dataset, task.method) == (PAPER, SET, METHOD)
    ]  # fmt: skip


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return a row of heat maps for each trade-off that is held fixed."""
    points = results.points(PAPER, SET, METHOD, ACCURACY)
    if not points:
        found = results.find(PAPER, SET, METHOD, ACCURACY, noise=CLEAN)
        return [Words((f"{get(METHOD).label} on Heart: {found.mark}.",))]
    values = [accuracy for _, accuracy in points]
    return [
        Words(
            (
                f"Test accuracy of {get(METHOD).label} on Heart, mean of folds, over all "
                f"{len(points)} combinations: {100 * min(values):.1f} to {100 * max(values):.1f} "
                "%. The paper's fourth parameter, ξ, belongs to its algorithm and not to the "
                "model; the solver used here has no such parameter.",
            )
        ),
        *heat_maps(points, SYMBOLS),
    ]


EXPERIMENT = Experiment(
    NAME, "parameter sensitivity on Heart", "figures 5-8", tasks, run_with_views, sections
)
