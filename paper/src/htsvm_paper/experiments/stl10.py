"""The 45 pairs of classes of STL-10, views HOG and LBP."""

from itertools import combinations

from htsvm_paper.experiments.blocks import Block, Table, about
from htsvm_paper.experiments.evaluate import run_cell
from htsvm_paper.experiments.figures import bars
from htsvm_paper.experiments.methods import ABLATION, NESTED, PAPER, get, of_kind
from htsvm_paper.experiments.results import ACCURACY, Results
from htsvm_paper.experiments.tables import IN_WORDS, Line, Measure, score_table, significance
from htsvm_paper.experiments.tasks import FOLDS, Experiment, Grid, Profile, Task, cells, powers
from htsvm_paper.experiments.two_view import METHODS as TWO_VIEW_METHODS
from htsvm_paper.experiments.two_view import collapse_table, score_measures

NAME = "stl10"
CLASSES = (
    "airplane", "bird", "car", "cat", "deer", "dog", "horse", "monkey", "ship", "truck",
)  # fmt: skip
PAIRS = tuple(combinations(CLASSES, 2))
INNER_FOLDS = 2
# Images in a test part here, and in all of them in the paper.
OUR_IMAGES, THEIR_IMAGES = 160, 1000
# The model with α chosen by itself.
AUTO = "mvht-auto"
METHODS = [*TWO_VIEW_METHODS, AUTO]
# Two methods that take two thirds of the time of all: in the profile of hours on the pairs of the
# ablation alone, in the full one on a single fold.
SLOWEST, FEW = ("mvsvm-2c", "mvsl01"), 10
# The paper's values for each trade-off on its own: 3, 9 or 27 points. The bounded smooth losses go
# without random starts, which would take four times as long.
GRID = Grid(
    powers((-2, 0, 2)), inner_folds=INNER_FOLDS, sweep=True, quick=(1.0,), quick_rows=200,
    fixed={"wave-mvsvm": {"n_restarts": 0}, "mvasy-bx": {"n_restarts": 0}},
)  # fmt: skip


def dataset(pair: tuple[str, str]) -> str:
    """Return the name of the data of a pair."""
    return f"stl10:{pair[0]}:{pair[1]}"


def _pairs(quick: bool) -> tuple[tuple[str, str], ...]:
    return PAIRS[:1] if quick else PAIRS


def tasks(profile: Profile) -> list[Task]:
    """Return the cells: a quick run has one pair, hours one fold of five for each pair."""
    every = cells(
        NAME, profile, datasets=[dataset(pair) for pair in _pairs(profile.quick)],
        methods=METHODS, setting=GRID.of(profile).setting,
        folds=lambda _: profile.pick(1, 1, FOLDS),
    )  # fmt: skip
    few = {dataset(pair) for pair in PAIRS[: profile.pick(1, FEW, len(PAIRS))]}
    return [
        task for task in every
        if task.method not in SLOWEST or (task.dataset in few and task.fold == 0)
    ]  # fmt: skip


def paper_name(pair: tuple[str, str]) -> str:
    """Return how the paper writes a pair."""
    short = ["air" if word == "airplane" else word for word in pair]
    return " vs ".join(f"{word}." for word in short)


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return the tables."""
    lines = [
        Line(" vs ".join(pair), dataset(pair), paper=paper_name(pair))
        for pair in _pairs(profile.quick)
    ]
    slow = profile.pick("one pair", f"{FEW} pairs", "one fold")
    part, ours = profile.pick("One", "One", "Each"), get("mvht").label
    blocks: list[Block] = [
        about(NAME, part=part, folds=FOLDS, inner=INNER_FOLDS, ours=ours, slow=slow)
    ]
    blocks += _where_the_loss_plays_no_part(results, [line.dataset for line in lines])
    blocks.append(collapse_table(results, [line.dataset for line in lines], METHODS))
    for protocol in (PAPER, NESTED):
        blocks += [
            score_table(results, protocol, measure, lines, METHODS, corner="pair")
            for measure in (*score_measures("stl10"), Measure.seconds(None))
        ]
        blocks += _compared(results, protocol, lines)
    return blocks


def _compared(results: Results, protocol: str, lines: list[Line]) -> list[Block]:
    """Return the means over the pairs that all methods have, and whether the methods differ."""
    every = score_table(results, protocol, score_measures("stl10")[0], lines, METHODS)
    lines = [
        line for line, (_, entries) in zip(lines, every.rows, strict=True)
        if not any(entry.mark for entry in entries)
    ]  # fmt: skip
    if not lines:
        return []
    tables = {
        measure.title: score_table(results, protocol, measure, lines, METHODS)
        for measure in score_measures("stl10")
    }
    first = next(iter(tables.values()))
    means = Table(
        f"Means over the {len(lines)} pairs that all methods have: {IN_WORDS[protocol]}",
        "score", first.columns,
        [(title, table.summary[0][1]) for title, table in tables.items()],
    )  # fmt: skip
    name = f"STL-10 accuracy on {len(lines)} pairs, {protocol} protocol"
    return [means, *significance(first, name=name)]


def _where_the_loss_plays_no_part(results: Results, datasets: list[str]) -> list[Block]:
    """Say on how many pairs neither C nor the loss makes a difference."""

    def scores(dataset: str, method: str) -> list[float]:
        return [value for _, value in results.points(PAPER, dataset, method, ACCURACY)]

    flat = sum(len(set(scores(name, "ht"))) == 1 for name in datasets)
    same = sum(scores(name, "mvht") == scores(name, "mvsl01") != [] for name in datasets)
    if not flat or not same:
        return []
    labels = {name: get(name).label for name in ("ht", "mvht", "mvsl01")}
    return [about("stl10-same", flat=flat, same=same, count=len(datasets), **labels)]


EXPERIMENT = Experiment(NAME, tasks, run_cell, sections)


PARTS = of_kind(ABLATION)
WITH_PARTS = ["mvht", *PARTS, AUTO]


def ablation_tasks(profile: Profile) -> list[Task]:
    """Return the cells; those of the whole model are the same as among all pairs of STL-10."""
    datasets = [dataset(pair) for pair in _pairs(profile.quick)[:FEW]]
    whole = [task for task in tasks(profile)
             if task.dataset in datasets and task.method in WITH_PARTS]  # fmt: skip
    return whole + cells(
        "ablation", profile, datasets=datasets, methods=PARTS, setting=GRID.of(profile).setting,
        folds=lambda _: profile.pick(1, 1, FOLDS),
    )  # fmt: skip


def ablation_sections(results: Results, profile: Profile) -> list[Block]:
    """Return a table and a bar chart per protocol."""
    blocks: list[Block] = [about("ablation")]
    lines = [Line(" vs ".join(pair), dataset(pair)) for pair in _pairs(profile.quick)[:FEW]]
    for protocol in (PAPER, NESTED):
        measure = Measure.accuracy(None)
        table = score_table(results, protocol, measure, lines, WITH_PARTS, corner="pair")
        blocks += [table, *bars(table, f"Ablation, {protocol} protocol")]
    return blocks


ABLATION_PARTS = Experiment("ablation", ablation_tasks, run_cell, ablation_sections)
