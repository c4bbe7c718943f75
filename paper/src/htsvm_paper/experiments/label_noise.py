"""Label noise on breast-cancer and australian: the paper's, and beyond it."""

from collections.abc import Iterator
from dataclasses import replace

from htsvm_paper.experiments.blocks import Block, about
from htsvm_paper.experiments.evaluate import run_cell
from htsvm_paper.experiments.figures import noise_curves
from htsvm_paper.experiments.methods import NESTED, PAPER, SINGLE, of_kind
from htsvm_paper.experiments.results import Results
from htsvm_paper.experiments.single_view import GRID, clean_tasks
from htsvm_paper.experiments.splits import folds
from htsvm_paper.experiments.tables import Line, Measure, score_table, significance
from htsvm_paper.experiments.tasks import CLEAN, FOLDS, FULL, Experiment, Profile, Task, cells

NAME = "label-noise"
SETS = {"breast-cancer": "robust-breast", "australian": "robust-aust"}
PAPER_RATES = (0.0, 0.02, 0.04, 0.06, 0.08, 0.10)
RATES = (0.0, 0.1, 0.2, 0.3, 0.4)
KINDS = ("per-class", "symmetric", "boundary")
CLEAN_ACCURACY = Measure("clean_accuracy", "Accuracy on clean labels (%)", by="clean_accuracy")


def noise(kind: str, rate: float) -> str:
    """Return the name of a noise; without flipped labels all kinds are one."""
    return CLEAN if rate == 0.0 else f"{kind}:{rate:g}"


def _noises(quick: bool) -> list[str]:
    if quick:
        return [noise(KINDS[0], rate) for rate in (0.0, 0.1)]
    wanted = [noise(KINDS[0], rate) for rate in PAPER_RATES]
    wanted += [noise(kind, rate) for kind in KINDS for rate in RATES]
    return list(dict.fromkeys(wanted))


def sets(quick: bool) -> list[str]:
    """Return the data sets."""
    return ["australian"] if quick else list(SETS)


def tasks(profile: Profile) -> list[Task]:
    """Return the cells; those with clean labels are the same as among the single-view sets.

    Each fold has a realisation of the noise of its own, so that five folds see five of them.
    """
    # Those with tuned shapes take longest and are left to the full profile.
    left_out = () if profile.name == FULL else ("pin-tuned", "ramp-tuned")
    methods = [name for name in of_kind(SINGLE) if name not in left_out]
    clean = clean_tasks(profile, sets(profile.quick), methods)
    return clean + paired(NAME, profile, _noises(profile.quick)[1:], methods)


def paired(experiment: str, profile: Profile, noises: list[str], methods: list[str]) -> list[Task]:
    """Return the cells in which each fold has a realisation of the noise of its own."""
    more = [f"{name}:{k}" for k in range(1, FOLDS) for name in noises if name != CLEAN]
    every = cells(
        experiment, profile, datasets=sets(profile.quick), methods=methods,
        setting=GRID.of(profile).setting, noises=[*noises, *more], folds=folds(profile),
    )  # fmt: skip
    # The number of a realisation is not written out for the first; clean labels have none.
    return [
        task for task in every
        if task.noise == CLEAN or int((*task.noise.split(":"), "0")[2]) == task.fold
    ]  # fmt: skip


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return the paper's tables, then curves up to 40 % for three kinds of noise."""
    blocks: list[Block] = [about(NAME)]
    there = set(_noises(profile.quick))
    for dataset in sets(profile.quick):
        for protocol in (PAPER, NESTED):
            blocks += _paper_tables(results, protocol, dataset, there)
        for protocol in (PAPER, NESTED):
            for kind in KINDS:
                rates = [rate for rate in RATES if noise(kind, rate) in there]
                if len(rates) > 1:
                    blocks += _beyond(results, protocol, dataset, kind, rates)
    for protocol in (PAPER, NESTED):
        blocks += _tested(results, protocol, profile)
    return blocks


def _tested(results: Results, protocol: str, profile: Profile) -> list[Block]:
    """Return whether methods differ by more than chance over all sets, kinds and rates."""
    there = set(_noises(profile.quick))
    lines = [
        Line(f"{name} {kind} {rate:.0%}", name, noise(kind, rate))
        for name in sets(profile.quick)
        for kind in KINDS
        for rate in RATES[1:]
        if noise(kind, rate) in there
    ]
    table = score_table(results, protocol, CLEAN_ACCURACY, lines, of_kind(SINGLE))
    return significance(table, name=f"accuracy under label noise, {protocol} protocol")


def _paper_tables(
    results: Results, protocol: str, dataset: str, there: set[str]
) -> Iterator[Block]:
    rates = [rate for rate in PAPER_RATES if noise(KINDS[0], rate) in there]
    table = SETS[dataset]
    for section, measure in (
        ("ACC", Measure("accuracy", "Accuracy on noisy labels (%)", table)),
        ("NSV", replace(Measure.support(None), paper=table)),
        ("TIME", replace(Measure.seconds(None), paper=table)),
    ):
        lines = [
            Line(f"{rate:.2f}", dataset, noise(KINDS[0], rate), f"{section}/{rate:.2f}")
            for rate in rates
        ]
        yield score_table(
            results, protocol, measure, lines, of_kind(SINGLE),
            corner="noise", title=f"{measure.title}, {dataset}",
        )  # fmt: skip


def _beyond(
    results: Results, protocol: str, dataset: str, kind: str, rates: list[float]
) -> Iterator[Block]:
    lines = [Line(f"{rate:.0%}", dataset, noise(kind, rate)) for rate in rates]
    table = score_table(
        results, protocol, CLEAN_ACCURACY, lines, of_kind(SINGLE),
        corner="noise", title=f"{CLEAN_ACCURACY.title}, {dataset}, {kind} noise",
    )  # fmt: skip
    yield table
    yield from noise_curves(table, rates, f"{dataset}, {kind} noise, {protocol} protocol")


EXPERIMENT = Experiment(NAME, tasks, run_cell, sections)


BETWEEN = "losses-between"
# Cells of the first are the same as above.
SHARED, OTHERS = (
    ["ht", "ht-cap", "hinge-ours"],
    ["logistic", "truncated-logistic", "modified-huber"],
)
BETWEEN_KINDS = ("symmetric", "boundary")


def _between_rates(profile: Profile) -> tuple[float, ...]:
    return profile.pick((0.2,), (0.0, 0.2, 0.4), RATES)


def _between_noises(profile: Profile) -> list[str]:
    kinds = BETWEEN_KINDS[:1] if profile.quick else BETWEEN_KINDS
    every = (noise(kind, rate) for kind in kinds for rate in _between_rates(profile))
    return list(dict.fromkeys(every))


def between_tasks(profile: Profile) -> list[Task]:
    """Return the cells; in every profile each fold has a realisation of the noise of its own."""
    noises = _between_noises(profile)
    noisy = [noise for noise in noises if noise != CLEAN]
    found = paired(NAME, profile, noisy, SHARED) + paired(BETWEEN, profile, noises, OTHERS)
    if CLEAN in noises:
        found += clean_tasks(profile, sets(profile.quick), SHARED)
    return [task for task in found if task.protocol == NESTED]


def between_sections(results: Results, profile: Profile) -> list[Block]:
    """Return the accuracy on clean test labels, and whether it differs by more than chance."""
    there = set(_between_noises(profile))
    lines = [
        Line(f"{name}, {kind} {rate:.0%}" if rate else f"{name}, clean", name, noise(kind, rate))
        for name in sets(profile.quick)
        for kind in BETWEEN_KINDS
        for rate in _between_rates(profile)
        if noise(kind, rate) in there and (rate or kind == BETWEEN_KINDS[0])
    ]
    methods = [*SHARED, *OTHERS]
    table = score_table(results, NESTED, CLEAN_ACCURACY, lines, methods, corner="training labels")
    return [about(BETWEEN), table, *significance(table, name="losses under label noise")]


LOSSES_BETWEEN = Experiment(BETWEEN, between_tasks, run_cell, between_sections)
