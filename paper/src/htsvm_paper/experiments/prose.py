"""The sentences that open the report: each is computed from the tables, or left out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace
from itertools import chain, islice

import numpy as np

from htsvm._typing import Array
from htsvm.datasets import BAYES_ACCURACY
from htsvm_paper.experiments import rates
from htsvm_paper.experiments.blocks import Block, Table
from htsvm_paper.experiments.differences import LARGE, NOT_COMPARED
from htsvm_paper.experiments.label_noise import NO_NOISE
from htsvm_paper.experiments.methods import NESTED, PAPER, get
from htsvm_paper.experiments.paper_numbers import paper_table

Sections = dict[str, list[Block]]
# How many sentences open the report.
OPENING = 10
CHOICES = {PAPER: "by best test score", NESTED: "by cross-validation"}


def sentences(sections: Sections) -> list[str]:
    """Return what the results say: ten sentences where so many can be computed.

    The first ten topics are those of the paper. Where its tables are missing, what goes beyond the
    paper takes their place, then what the paper's own numbers say.
    """
    makers: tuple[Callable[[Sections], Iterator[str]], ...] = (
        _against_paper, _one_view, _corner, _sparse, _fast, _printed, _rates, _noise, _two_views,
        _images, _ablation, _kernels, _kernel_change, _synthetic, _between, _in_print,
    )  # fmt: skip
    if not sections:
        return []
    return list(islice(chain.from_iterable(make(sections) for make in makers), OPENING))


# ----------------------------------------------------------------------- numbers from tables


def _tables(sections: Sections, name: str, protocol: str, metric: str) -> list[Table]:
    return [
        block
        for block in sections.get(name, [])
        if isinstance(block, Table) and (block.protocol, block.metric) == (protocol, metric)
    ]


def _values(tables: list[Table], *methods: str) -> Array:
    """Return the numbers of some methods, in the rows in which all of them have one."""
    labels = [get(name).label for name in methods]
    rows = [
        [entries[table.columns.index(label)].value for label in labels]
        for table in tables
        if set(labels) <= set(table.columns)
        for _, entries in table.rows
    ]
    values = np.array(rows, dtype=np.float64).reshape(-1, len(labels))
    known: Array = values[~np.isnan(values).any(axis=1)]
    return known


def _standing(tables: list[Table], method: str, unit: str = "sets") -> str:
    """Return a method's mean and place, in the rows that it has, among methods that have all."""
    label = get(method).label
    tables = [table for table in tables if label in table.columns]
    if not tables:
        return ""
    columns = [c for c in tables[0].columns if all(c in table.columns for table in tables)]
    values = np.array(
        [[entries[table.columns.index(c)].value for c in columns]
         for table in tables for _, entries in table.rows]
    )  # fmt: skip
    values = values[~np.isnan(values[:, columns.index(label)])]
    means = {c: round(float(m), 2) for c, m in zip(columns, values.mean(axis=0), strict=True)
             if not math.isnan(m)} if len(values) else {}  # fmt: skip
    if len(means) < 2:
        return ""
    best = max(means, key=lambda column: means[column])
    place = 1 + sum(mean > means[label] for mean in means.values())
    first = "" if best == label else f"; first is {best} with {means[best]:.2f} %"
    return (
        f"{label} has {means[label]:.2f} % on average of {len(values)} {unit}, number {place} of "
        f"{len(means)}{first}"
    )


def _both_protocols(sections: Sections, name: str, method: str) -> list[str]:
    found = ((_standing(_tables(sections, name, protocol, "accuracy"), method), words)
             for protocol, words in CHOICES.items())  # fmt: skip
    return [f"{words}, {standing}" for standing, words in found if standing]


# --------------------------------------------------------------------------------- sentences


def _against_paper(sections: Sections) -> Iterator[str]:
    """Yield how far accuracies are from those that the paper prints, both by best test score."""
    compared = [name for name in sections if name not in NOT_COMPARED]
    tables = [table for name in compared for table in _tables(sections, name, PAPER, "accuracy")]
    away = np.array([entry.difference for table in tables for _, entries in table.rows
                     for entry in entries])  # fmt: skip
    away = np.abs(away[~np.isnan(away)])
    if len(away):
        yield (
            f"Of the paper's accuracies {len(away)} have a counterpart here by best test score: "
            f"they differ by {away.mean():.2f} points on average, {np.sum(away > LARGE)} of them "
            f"by more than {LARGE:g}."
        )


def _one_view(sections: Sections) -> Iterator[str]:
    if found := _both_protocols(sections, "single-view", "ht"):
        yield f"Accuracy with one view: {'; '.join(found)}. The paper has L_ht-SVM first."


def _corner(sections: Sections) -> Iterator[str]:
    values = _values(_tables(sections, "single-view", NESTED, "accuracy"), "ramp-1", "ht")
    if len(values):
        unit, ours = values.mean(axis=0)
        yield (
            f"The unit ramp loss has {unit:.2f} % and the hybrid truncated loss {ours:.2f} % on "
            f"average over {len(values)} sets, C by cross-validation: rounding its corner changes "
            f"{round(ours - unit, 2) + 0.0:+.2f} points."
        )


def _sparse(sections: Sections) -> Iterator[str]:
    tables = _tables(sections, "single-view", NESTED, "nsv")
    values = _values(tables, "ht", "zero-one", "hinge-ours")
    if len(values):
        ours, zero, hinge = values.T
        yield (
            f"Support vectors, median over {len(values)} sets: L_ht-SVM {np.median(ours):.0f}, the "
            f"0/1 loss {np.median(zero):.0f}, the hinge loss {np.median(hinge):.0f}; L_ht-SVM has "
            f"fewer than the hinge loss on {np.sum(ours < hinge)} and is the sparsest of the three "
            f"on {np.sum((ours < hinge) & (ours < zero))}."
        )


def _fast(sections: Sections) -> Iterator[str]:
    tables = _tables(sections, "single-view", PAPER, "seconds")
    values = _values(tables, "ht", "hinge-ours", "ls", "zero-one")
    if len(values):
        ratios = values[:, :1] / values[:, 1:]
        hinge, squares, zero = np.median(ratios, axis=0)
        yield (
            f"Time of a fit, median over {len(values)} sets, CPU seconds of one thread: "
            f"L_ht-SVM takes {hinge:.1f} times as long as our hinge loss, {squares:.1f} times as "
            f"long as least squares and {zero:.1f} times as long as the 0/1 loss; it is the "
            f"fastest of the four on {np.sum((ratios < 1.0).all(axis=1)) or 'none'}."
        )


def _printed(sections: Sections) -> Iterator[str]:
    """Yield how often Algorithm 1 as printed came to a classifier: on all sets, or on w5a."""
    for block in sections.get("as-printed", []):
        if isinstance(block, Table) and block.title.startswith("Runs that ended"):
            values = [e[0].value for _, e in block.rows if not math.isnan(e[0].value)]
            if values:
                yield (
                    f"Of the runs of Algorithm 1 as printed {min(values):.0f} to {max(values):.0f} "
                    "% (by data set) ended at a certified point that is not a constant classifier."
                )
                return
    for block in sections.get("convergence", []):
        for line in getattr(block, "lines", ()):
            if "stopped at a P-stationary point that is not" in line:
                yield (
                    "On w5a the printed algorithm"
                    + line.split("As printed, with dual step 1, it")[1]
                )
                return


def _rates(sections: Sections) -> Iterator[str]:
    """Yield on how many sets each solver reached the tightest residual, and how soon."""
    solvers, level = list(rates.SOLVERS), f"{rates.LEVELS[-1]:g}"
    for table in (b for b in sections.get(rates.NAME, []) if isinstance(b, Table)):
        place = table.columns.index(level)
        needed: dict[str, list[float]] = {name: [] for name in solvers}
        for row, entries in table.rows:
            needed[row.split(", ", 1)[1]].append(entries[place].value)
        parts = []
        for name, values in needed.items():
            known = [value for value in values if not math.isnan(value)]
            between = sorted({f"{min(known):.0f}", f"{max(known):.0f}"}, key=int) if known else []
            after = f" after {' to '.join(between)} iterations" if known else ""
            parts.append(f"{name} on {len(known)} of {len(values)} sets{after}")
        yield f"A residual of {level} is reached by {'; by '.join(parts)}."


def _noise(sections: Sections) -> Iterator[str]:
    tables = [
        replace(table, rows=[row for row in table.rows if row[0] != NO_NOISE])
        for table in _tables(sections, "label-noise", NESTED, "clean_accuracy")
    ]
    values = _values(tables, "ht", "hinge-ours")
    if len(values):
        ours, hinge = values.T
        yield (
            f"With 10 to 40 % of the labels flipped L_ht-SVM has {ours.mean():.2f} % on clean test "
            f"labels, the hinge loss {hinge.mean():.2f} %, on average of {len(values)} settings; "
            f"L_ht-SVM is ahead in {np.sum(ours > hinge)} and behind in {np.sum(ours < hinge)}."
        )


def _two_views(sections: Sections) -> Iterator[str]:
    if found := _both_protocols(sections, "two-view", "mvht"):
        yield f"UCI sets with two views: {'; '.join(found)}. The paper has MvL_ht-SVM first."


def _images(sections: Sections) -> Iterator[str]:
    tables = _tables(sections, "stl10", NESTED, "accuracy")
    values = _values(tables, "mvht", "mvht-auto", "ht")
    if len(values):
        whole, auto, side = values.mean(axis=0)
        yield (
            f"On {len(values)} pairs of STL-10, by cross-validation, MvL_ht-SVM has {whole:.2f} %, "
            f"with α chosen by itself {auto:.2f} %, and L_ht-SVM on all columns side by side "
            f"{side:.2f} %."
        )


def _ablation(sections: Sections) -> Iterator[str]:
    names = ("mvht", "mvht-no-structure", "mvht-equal-weights", "mvht-auto")
    values = _values(_tables(sections, "ablation", NESTED, "accuracy"), *names)
    if len(values):
        whole, plain, equal, auto = values.mean(axis=0)
        best = np.sum(values[:, 0] >= values.max(axis=1))
        yield (
            f"Ablation on {len(values)} pairs, by cross-validation: the whole model {whole:.2f} %, "
            f"without structure {plain:.2f} %, with equal weights {equal:.2f} %, with α chosen by "
            f"itself {auto:.2f} %; the whole model is best or equal on {best} pairs, in the paper "
            "on all."
        )


def _kernels(sections: Sections) -> Iterator[str]:
    if found := _both_protocols(sections, "two-view-rbf", "mvht-rbf"):
        yield f"Two views with RBF kernels, the same number of points for all: {'; '.join(found)}."


def _kernel_change(sections: Sections) -> Iterator[str]:
    tables = _tables(sections, "two-view-rbf", NESTED, "change")
    values = _values(tables, "mvht")
    if len(values):
        yield (
            f"RBF kernels in the place of linear ones change MvL_ht-SVM by {values.mean():+.2f} "
            f"points on average of {len(values)} sets with two views, from {values.min():+.2f} "
            f"to {values.max():+.2f}; γ is tuned in the place of α, which is then chosen by itself."
        )


def _synthetic(sections: Sections) -> Iterator[str]:
    if found := _both_protocols(sections, "synthetic", "ht"):
        yield f"Two Gaussians: {'; '.join(found)}."


def _between(sections: Sections) -> Iterator[str]:
    tables = _tables(sections, "losses-between", NESTED, "clean_accuracy")
    if found := _standing(tables, "ht", "settings"):
        yield f"Beside smooth losses, on clean and wrong labels, {found}."


def _in_print(_: Sections) -> Iterator[str]:
    """Yield what the paper's own numbers say."""
    ours, many = get("ht").label, get("mvht").label
    bayes = 100.0 * BAYES_ACCURACY
    means = [row[ours] for row in paper_table("syn-acc").values()]
    yield (
        f"In print, {sum(mean > bayes for mean in means)} of {len(means)} mean accuracies of "
        f"{ours} on two Gaussians are above {bayes:.2f} %, which no classifier exceeds in the end."
    )
    noisy = [row for name in ("robust-breast", "robust-aust")
             for label, row in paper_table(name).items() if label.startswith("ACC")]  # fmt: skip
    beaten = sum(row[ours] < max(row.values()) for row in noisy)
    yield (
        f"In print, {ours} is beaten in {beaten} of {len(noisy)} rows of the tables on label "
        "noise, of which the text says that it is the best throughout."
    )
    lead = []
    for name, what in (("rec", "recall"), ("f1", "F1")):
        rows = list(paper_table(f"mv-uci-{name}").values())
        mean = {column: float(np.mean([row[column] for row in rows])) for column in rows[0]}
        best = max(mean, key=lambda column: mean[column])
        lead.append(f"{what} {mean[many]:.2f} against {mean[best]:.2f} of {best}")
    yield f"In print, {many} is not ahead on the UCI sets in {' and '.join(lead)}."
