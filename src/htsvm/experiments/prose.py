"""Sentences that a reader can trust: each is made from the tables, or left out without them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator

import numpy as np

from htsvm.datasets import BAYES_ACCURACY
from htsvm.experiments.blocks import Block, Entry, Table
from htsvm.experiments.methods import NESTED, PAPER, get
from htsvm.experiments.paper_numbers import paper_table
from htsvm.experiments.score_tables import MEAN, RANK

Sections = dict[str, list[Block]]


def sentences(sections: Sections) -> list[str]:
    """Return what the results say, in the order of the paper."""
    makers: tuple[Callable[[Sections], Iterator[str]], ...] = (
        _one_view, _tuned, _sparse, _fast, _printed, _convergence, _synthetic, _noise, _two_views,
        _images, _ablation,
    )  # fmt: skip
    found = [sentence for maker in makers for sentence in maker(sections)]
    return [*found, *_in_print(sections)] if sections else []


def _in_print(_: Sections) -> Iterator[str]:
    """Yield what the paper's own numbers say."""
    ours = get("ht").label
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
    many = get("mvht").label
    lead = []
    for name, what in (("rec", "recall"), ("f1", "F1")):
        rows = list(paper_table(f"mv-uci-{name}").values())
        mean = {column: float(np.mean([row[column] for row in rows])) for column in rows[0]}
        best = max(mean, key=lambda column: mean[column])
        lead.append(f"{what} {mean[many]:.2f} against {mean[best]:.2f} of {best}")
    yield f"In print, {many} is not ahead on the UCI sets in {' and '.join(lead)}."


def _tables(sections: Sections, name: str, protocol: str, metric: str) -> list[Table]:
    return [
        block
        for block in sections.get(name, [])
        if isinstance(block, Table) and (block.protocol, block.metric) == (protocol, metric)
    ]


def _of(table: Table, row: str, method: str) -> float:
    """Return a method's number in a row of the summary; NaN where it has none."""
    label = get(method).label
    found = {name: entries for name, entries, _ in table.summary}
    if label not in table.columns or row not in found:
        return math.nan
    return found[row][table.columns.index(label)].value


def _place(table: Table, method: str) -> tuple[int, int, str]:
    """Return the place of a method by average rank, of how many, and the best."""
    ranks = next(entries for name, entries, _ in table.summary if name == RANK)
    known = {c: e.value for c, e in zip(table.columns, ranks, strict=True) if e.value == e.value}
    order = sorted(known, key=lambda column: known[column])
    label = get(method).label
    return (order.index(label) + 1 if label in order else 0), len(order), (order or [""])[0]


def _standing(tables: list[Table], method: str, what: str) -> Iterator[str]:
    for table in tables:
        place, count, best = _place(table, method)
        if place:
            subject = table.title.split(":")[0]
            yield (
                f"{subject}: {get(method).label} is number {place} of {count} by average rank "
                f"{what} (mean {_of(table, MEAN, method):.2f}); first is {best}."
            )


def _one_view(sections: Sections) -> Iterator[str]:
    for protocol, what in ((PAPER, "by best test score"), (NESTED, "with honest choice of C")):
        yield from _standing(_tables(sections, "single-view", protocol, "accuracy")[:2], "ht", what)


def _tuned(sections: Sections) -> Iterator[str]:
    for table in _tables(sections, "single-view", NESTED, "accuracy")[:2]:
        unit, ours = (_of(table, MEAN, name) for name in ("ramp-1", "ht"))
        if not math.isnan(unit + ours):
            yield (
                f"{table.title.split(':')[0]}: the unit ramp loss has {unit:.2f}, the hybrid "
                f"truncated loss {ours:.2f}: rounding the corner changes {ours - unit:+.2f} points."
            )


def _sparse(sections: Sections) -> Iterator[str]:
    for table in _tables(sections, "single-view", NESTED, "nsv")[:2]:
        ours, zero, hinge = (_of(table, MEAN, name) for name in ("ht", "zero-one", "hinge-ours"))
        if math.isnan(ours + zero + hinge):
            continue
        denser = [
            row for row, e in table.rows if _value(table, e, "ht") > _value(table, e, "hinge-ours")
        ]
        yield (
            f"{table.title.split(':')[0]}: {ours:.0f} support vectors on average, the 0/1 loss "
            f"{zero:.0f}, the hinge loss {hinge:.0f}"
            + (
                f"; L_ht-SVM is denser than the hinge loss on {', '.join(denser)}."
                if denser
                else "."
            )
        )


def _value(table: Table, entries: list[Entry], method: str) -> float:
    label = get(method).label
    return float(entries[table.columns.index(label)].value) if label in table.columns else math.nan


def _fast(sections: Sections) -> Iterator[str]:
    for table in _tables(sections, "single-view", PAPER, "seconds")[:2]:
        place, count, best = _place(table, "ht")
        if place:
            yield (
                f"{table.title.split(':')[0]}: L_ht-SVM is number {place} of {count} by rank of "
                f"time, on a machine with other work to do; first is {best}."
            )


def _printed(sections: Sections) -> Iterator[str]:
    for block in sections.get("as-printed", []):
        if isinstance(block, Table) and block.title.startswith("Runs that ended"):
            values = [e[0].value for _, e in block.rows if not math.isnan(e[0].value)]
            if values:
                yield (
                    f"Of the runs of Algorithm 1 as printed {min(values):.0f} to {max(values):.0f} "
                    "% (by data set) ended at a certified point that is not a constant classifier."
                )


def _convergence(sections: Sections) -> Iterator[str]:
    for block in sections.get("convergence", []):
        for line in getattr(block, "lines", ()):
            if "stopped at a P-stationary point that is not" in line:
                yield (
                    "On w5a the printed algorithm"
                    + line.split("As printed, with dual step 1, it")[1]
                )


def _synthetic(sections: Sections) -> Iterator[str]:
    yield from _standing(
        _tables(sections, "synthetic", NESTED, "accuracy"), "ht", "with honest choice of C"
    )


def _noise(sections: Sections) -> Iterator[str]:
    for table in _tables(sections, "label-noise", NESTED, "clean_accuracy"):
        ours, hinge = (_of(table, MEAN, name) for name in ("ht", "hinge-ours"))
        if not math.isnan(ours + hinge):
            subject = table.title.split(":")[0].removeprefix("Accuracy on clean labels (%), ")
            yield (
                f"{subject}, 0 to 40 % of the labels flipped: L_ht-SVM {ours:.2f} % on clean test "
                f"labels, hinge loss {hinge:.2f} %."
            )


def _two_views(sections: Sections) -> Iterator[str]:
    for protocol, what in ((PAPER, "by best test score"), (NESTED, "with honest choice")):
        tables = _tables(sections, "two-view", protocol, "accuracy")
        for sentence in _standing(tables, "mvht", what):
            yield f"Ten UCI sets with two views, {sentence[0].lower()}{sentence[1:]}"


def _images(sections: Sections) -> Iterator[str]:
    for table in _tables(sections, "stl10", NESTED, "accuracy"):
        means, count = _common(table, ("mvht", "mvht-auto", "ht"))
        if count:
            yield (
                f"On {count} pairs of STL-10, with honest choice, MvL_ht-SVM has {means[0]:.2f} %, "
                f"with α chosen by itself {means[1]:.2f} %, and L_ht-SVM on all columns side by "
                f"side {means[2]:.2f} %."
            )


def _common(table: Table, methods: tuple[str, ...]) -> tuple[list[float], int]:
    """Return the means over the rows in which all of some methods have a number; how many."""
    values = np.array([[_value(table, e, name) for name in methods] for _, e in table.rows])
    known = values[~np.isnan(values).any(axis=1)] if len(values) else values
    return ([float(mean) for mean in known.mean(axis=0)] if len(known) else []), len(known)


def _ablation(sections: Sections) -> Iterator[str]:
    names = ("mvht", "mvht-no-structure", "mvht-equal-weights", "mvht-auto")
    for table in _tables(sections, "ablation", NESTED, "accuracy"):
        means, count = _common(table, names)
        if count:
            yield (
                f"Ablation on {count} pairs, with honest choice: the whole model {means[0]:.2f} %, "
                f"without structure {means[1]:.2f} %, with equal weights {means[2]:.2f} %, with α "
                f"chosen by itself {means[3]:.2f} %: the paper says that the whole model is best."
            )
