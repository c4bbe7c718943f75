"""The demonstration: HTSVCCV as it comes beside scikit-learn's classifiers, as labels go wrong.

It is an experiment like the others; ``htsvm-paper demo`` computes it at once, without a store, and
adds pictures of single fits.
"""

import time
import warnings
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import StratifiedKFold, train_test_split
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from threadpoolctl import threadpool_limits

from htsvm import HTSVC, datasets, plotting
from htsvm_paper._typing import Array
from htsvm_paper.datasets import DataFileError
from htsvm_paper.datasets import load as published
from htsvm_paper.experiments.blocks import Block, Entry, Picture, Table, about
from htsvm_paper.experiments.choosing import first_best
from htsvm_paper.experiments.figures import INK, drawing
from htsvm_paper.experiments.isolation import DONE
from htsvm_paper.experiments.methods import NESTED, Unavailable, get
from htsvm_paper.experiments.results import Results
from htsvm_paper.experiments.splits import Split
from htsvm_paper.experiments.store import Cell
from htsvm_paper.experiments.tables import Line, Measure, score_table
from htsvm_paper.experiments.tasks import CLEAN, Experiment, Profile, Row, Task, as_setting

NAME = "demo"
BREAST_CANCER, GAUSSIANS, INCOME, DIGITS = "breast cancer", "two Gaussians", "income", "digits"
SYMMETRIC, ONE_SIDED = "any label", "one class only"
# Samples to train and to test on: of each class of the Gaussians, of income, of digits.
PER_CLASS, INCOME_PARTS, DIGITS_TRAIN = (250, 1000), (2000, 10_000), 300
# Enough for LinearSVC's hinge loss, which needs more than its default of 1000.
LONG = {"max_iter": 10_000}
OURS = "ht-cv"
METHODS: dict[str, dict[str, Any]] = {
    OURS: {}, "linear-svc": LONG, "linear-svc-hinge": LONG, "logistic": LONG, "modified-huber": {}
}  # fmt: skip
# A sample this close to the margin counts as on it: solvers are not exact.
ON_MARGIN = 1e-3
# Before the name of a warning among the metrics of a cell.
COMPLAINT = "warning "
# The share of wrong labels in the fits that are shown singly.
SHOWN_RATE = 0.3


@dataclass(frozen=True)
class Settings:
    """How much to compute: the data, the noise, and the C that rivals choose from."""

    sets: tuple[str, ...] = (BREAST_CANCER, GAUSSIANS, INCOME, DIGITS)
    noises: tuple[str, ...] = (SYMMETRIC, ONE_SIDED)
    penalties: tuple[float, ...] = (2.0**-10, 2.0**-7, 2.0**-4, 2.0**-1, 4.0)
    rates: tuple[float, ...] = (0.0, SHOWN_RATE)
    folds: int = 5


FULL = Settings()
QUICK = Settings((BREAST_CANCER,), (SYMMETRIC,), (2.0**-8, 2.0**-4, 1.0))


def settings(profile: Profile) -> Settings:
    """Return how much a profile computes."""
    return profile.pick(QUICK, FULL, FULL)


def clean_split(name: str, seed: int) -> Split:
    """Return a split of a data set, standardised on its training part, with right labels."""
    X, X_test, y, y_test = _parts(name, seed)
    scaler = StandardScaler().fit(X)
    return Split(scaler.transform(X), y, scaler.transform(X_test), y_test, y_test)


def _parts(name: str, seed: int) -> list[Array]:
    """Return training and test samples, and training and test labels, which are numbers."""
    sizes: dict[str, float]
    if name == GAUSSIANS:
        rng = np.random.default_rng(seed)
        drawn = [datasets.make_two_gaussians(m, random_state=rng) for m in PER_CLASS]
        return [*(X for X, _ in drawn), *((y + 1) // 2 for _, y in drawn)]
    if name == INCOME:
        data, (train, test) = published("a9a"), INCOME_PARTS
        X, y = data.X, (data.y + 1) // 2
        sizes = {"train_size": train, "test_size": test}
    elif name == DIGITS:
        (X, y), sizes = load_digits(return_X_y=True), {"train_size": DIGITS_TRAIN}
    else:
        # scikit-learn calls malignant 0; here it is 1, the class that one wants to find.
        (X, benign), sizes = load_breast_cancer(return_X_y=True), {"test_size": 0.3}
        y = 1 - benign
    X, X_test, *labels = train_test_split(X, y, stratify=y, random_state=seed, **sizes)
    return [*(M.toarray() if sp.issparse(M) else M for M in (X, X_test)), *labels]


def with_noise(split: Split, noise: str, rate: float, seed: int) -> tuple[Split, Array]:
    """Return the split with a share of its training labels flipped, and which.

    Labels of all classes alike become another one, or only labels of class 1; where there are
    several classes, the second noise moves labels of all of them to the next class. For one seed a
    higher rate flips the same labels and some more.
    """
    n_classes = int(split.y.max()) + 1
    one_sided = noise == ONE_SIDED
    classes = [1] if one_sided and n_classes == 2 else None
    y, flipped = datasets.flip_labels(split.y, rate, classes=classes, random_state=seed)
    if one_sided and n_classes > 2:
        y = np.where(flipped, (split.y + 1) % n_classes, split.y)
    return replace(split, y=y), flipped


def tasks(profile: Profile) -> list[Task]:
    """Return the cells; without wrong labels, once for all kinds of noise."""
    wanted = settings(profile)
    setting = as_setting(penalties=wanted.penalties, inner_folds=wanted.folds)
    noises = [CLEAN if rate == 0.0 else f"{kind}:{rate:g}" for rate in wanted.rates
              for kind in (wanted.noises if rate else wanted.noises[:1])]  # fmt: skip
    return [
        Task(NAME, NESTED, dataset, noise, method, 0, profile.seed, setting)
        for dataset in wanted.sets
        for noise in noises
        for method in METHODS
    ]


def run(task: Task) -> Iterator[Row]:
    """Choose C on the noisy training data and fit; yield what came out."""
    # One seed per axis: every method, and every rate, sees the same split and the same noise.
    seed = task.seed + 1000 * task.fold
    kind, _, rate = task.noise.partition(":")
    try:
        split = clean_split(task.dataset, seed)
    except DataFileError as error:
        raise Unavailable(str(error)) from error
    flipped = np.zeros(len(split.y), dtype=bool)
    if rate:
        split, flipped = with_noise(split, kind, float(rate), seed + 1)
    began = time.process_time()
    penalty = float("nan")
    if task.method != OURS:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            penalty = _choose_penalty(task, split, seed)
    model = _make(task.method, penalty, len(split.y), seed)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        model.fit(split.X, split.y)
    seconds = time.process_time() - began
    ignored = getattr(model, "ignored_", None)
    metrics = {
        "accuracy": float(model.score(split.X_test, split.y_test)),
        "nsv": float(_count_support(model, task.method, split)),
        "seconds": seconds,
        "flipped_ignored": _share(ignored, flipped),
        "clean_ignored": _share(ignored, ~flipped),
    }
    complaints = Counter(f"{COMPLAINT}{w.category.__name__}" for w in caught)
    yield Row({"C": float(getattr(model, "C_", penalty))}, {**metrics, **complaints})


def _make(method: str, C: float, n_samples: int, seed: int) -> Any:
    params = METHODS[method] if method == OURS else {"C": C, **METHODS[method]}
    return get(method).make(params, seed=seed, n_samples=n_samples)


def _choose_penalty(task: Task, split: Split, seed: int) -> float:
    """Return the C of the best cross-validated accuracy; of equally good ones the smallest."""
    folds = StratifiedKFold(task.settings["inner_folds"], shuffle=True, random_state=seed)
    parts = list(folds.split(split.X, split.y))
    penalties: list[float] = task.settings["penalties"]
    means = [
        float(np.mean([
            _make(task.method, C, len(train), seed)
            .fit(split.X[train], split.y[train]).score(split.X[test], split.y[test])
            for train, test in parts
        ]))
        for C in penalties
    ]  # fmt: skip
    return penalties[first_best(means)]


def _count_support(model: Any, method: str, split: Split) -> int:
    """Count the training samples that pull at the fitted model."""
    if method == OURS:
        return int(model.n_support_.sum())
    if method == "logistic":
        return len(split.y)
    scores = model.decision_function(split.X)
    if scores.ndim == 1:
        margins = np.where(split.y == model.classes_[1], 1.0, -1.0) * scores
    else:
        # One problem per class: a sample counts if it is on or inside the margin of any.
        own = np.equal.outer(split.y, model.classes_)
        margins = np.where(own, scores, -scores).min(axis=1)
    return int(np.count_nonzero(margins <= 1.0 + ON_MARGIN))


def _share(ignored: Array | None, among: Array) -> float:
    """Return the share of some samples that was ignored."""
    if ignored is None or not among.any():
        return float("nan")
    return float(np.count_nonzero(among[ignored]) / np.count_nonzero(among))


def sections(results: Results, profile: Profile) -> list[Block]:
    """Return a table of accuracies for each data set and kind of noise."""
    wanted = settings(profile)
    blocks: list[Block] = [about(NAME)]
    there = {cell.task.dataset for cell in results.cells.values() if cell.status == DONE}
    for dataset in wanted.sets:
        for kind in wanted.noises if dataset in there or not there else ():
            lines = [
                Line(f"{rate:.0%}", dataset, f"{kind}:{rate:g}" if rate else CLEAN)
                for rate in wanted.rates
            ]
            title = f"Accuracy (%), {dataset}, wrong labels in {kind}"
            measure = Measure.accuracy(None)
            blocks.append(
                score_table(results, NESTED, measure, lines, list(METHODS), title=title,
                            corner="wrong labels")
            )  # fmt: skip
    return blocks


def compute(profile: Profile, progress: Callable[[], None]) -> Results:
    """Compute the cells here and now, without a store; `progress` is called after each."""
    every, cells = tasks(profile), []
    for task in every:
        began = time.perf_counter()
        try:
            # On data this small threads only get in each other's way; one serves all best.
            with threadpool_limits(1):
                rows, status, reason = tuple(run(task)), DONE, ""
        except Unavailable as error:
            rows, status, reason = (), "skipped", str(error)
        seconds, nan = time.perf_counter() - began, float("nan")
        cells.append(Cell(task, status, reason, rows, seconds, nan, nan, None, 0))
        progress()
    return Results(cells, every)


def findings(results: Results) -> list[str]:
    """Return what was gained over the best rival on wrong labels, what it cost, and warnings."""
    means: dict[str, list[float]] = defaultdict(list)
    seconds: dict[str, list[float]] = defaultdict(list)
    complaints: Counter[str] = Counter()
    for task, cell in results.cells.items():
        for row in cell.rows:
            label = get(task.method).label
            seconds[label].append(row.metrics["seconds"])
            if task.noise != CLEAN:
                means[label].append(row.metrics["accuracy"])
            for name, count in row.metrics.items():
                if name.startswith(COMPLAINT):
                    complaints[f"{label}, {name.removeprefix(COMPLAINT)}"] += int(count)
    mean = {label: float(np.mean(values)) for label, values in means.items()}
    cost = {label: float(np.median(values)) for label, values in seconds.items()}
    ours = get(OURS).label
    rival = max((label for label in mean if label != ours), key=lambda label: mean[label])
    points = 100.0 * (mean[ours] - mean[rival])
    ranked = ", ".join(f"{name} {mean[name]:.1%}" for name in sorted(mean, key=lambda n: -mean[n]))
    warned = ", ".join(f"{name} {count}" for name, count in sorted(complaints.items()))
    return [
        f"With wrong labels {ours}() has {mean[ours]:.1%} of the test right on average, the best "
        f"rival, {rival} with its C chosen by cross-validation, {mean[rival]:.1%}: "
        f"{abs(points):.1f} points {'more' if points >= 0.0 else 'less'}. It costs "
        f"{cost[ours]:.1f} s of CPU time per data set, {rival} {cost[rival]:.1f} s.",
        f"Mean test accuracy over the settings with wrong labels: {ranked}.",
        f"Warnings of the fits with the chosen C: {warned}."
        if warned
        else "No fit with the chosen C gave a warning.",
    ]


def ignored_table(results: Results) -> Table:
    """Return how many of the wrong and of the right labels HTSVCCV took for outliers."""
    columns = {"wrong labels": "flipped_ignored", "right labels": "clean_ignored"}
    rows = [
        (f"{task.dataset}, {task.noise.replace(':', ' ')}",
         [Entry(100.0 * cell.rows[0].metrics[name], mark="none") for name in columns.values()])
        for task, cell in results.cells.items() if task.method == OURS and cell.rows
    ]  # fmt: skip
    title = "What HTSVCCV ignored (%)"
    return Table(title, "data set, wrong labels", list(columns), rows, better="", decimals=1)


def pictures(seed: int) -> list[Block]:
    """Return single fits, the losses, and one fit iteration by iteration with its certificate."""
    plane, flipped = with_noise(clean_split(GAUSSIANS, seed), ONE_SIDED, SHOWN_RATE, seed + 1)
    blocks: list[Block] = []
    for model in (HTSVC(random_state=seed), LinearSVC(random_state=seed)):
        name = type(model.fit(plane.X, plane.y)).__name__
        with drawing(4.6) as (ax, finish):
            plotting.plot_boundary(model, plane.X, plane.y, ax=ax)
            look = {"facecolors": "none", "edgecolors": INK, "lw": 0.7}
            ax.scatter(*plane.X[flipped].T, s=46, label=f"wrong label ({flipped.sum()})", **look)
            ax.set_title(f"{name}: {model.score(plane.X_test, plane.y_test):.1%} of the test right")
            ax.legend(loc="upper center", bbox_to_anchor=(0.5, -0.14), ncols=2, frameon=False)
        blocks.append(Picture(
            finish(f"Decision boundary of {name} in the plane"),
            f"{name}, {SHOWN_RATE:.0%} of class 1 called class 0, C = 1. Rings: wrong labels; "
            "crosses: samples that the fit ignored, without knowing which labels are wrong.",
        ))  # fmt: skip
    with drawing(3.8) as (ax, finish):
        plotting.plot_losses(ax=ax)
    blocks.append(Picture(finish("Losses of the margin violation"), (
        "The hybrid truncated loss charges at most its cap: on its flat part a sample has no pull "
        "at all. The usual losses charge ever more, so that a few wrong labels can move the model."
    )))  # fmt: skip
    noisy, _ = with_noise(clean_split(BREAST_CANCER, seed), SYMMETRIC, SHOWN_RATE, seed + 1)
    fit = HTSVC(random_state=seed).fit(noisy.X, noisy.y)
    with drawing(3.8) as (ax, finish):
        plotting.plot_history(fit, ax=ax)
    what = f"One fit to breast cancer data, {SHOWN_RATE:.0%} of the labels wrong"
    certificate = " ".join(str(fit.certificate_[0]).split())
    return [*blocks, Picture(finish(what), f"{what}. {certificate}")]


EXPERIMENT = Experiment(NAME, tasks, run, sections)
