"""Multi-view fits beside single-view ones, at size, and what clustering a summary changes."""

from __future__ import annotations

import json
import tempfile
from functools import partial
from typing import Any

import numpy as np
from joblib import Memory
from sklearn.compose import ColumnTransformer
from sklearn.ensemble import VotingClassifier
from sklearn.impute import SimpleImputer
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler
from sklearn.svm import LinearSVC

from benchmarks.bars import Bar, Row, at_most, every
from benchmarks.multiview_sets import IMAGE_SETS, UCI_SETS
from benchmarks.plan import Plan
from benchmarks.report import markdown_table, number
from benchmarks.sets import MissingData
from benchmarks.stored import fresh_python
from benchmarks.timing import interleaved
from htsvm import HTSVC
from htsvm.multiview import MultiViewHTSVC, stack_views
from htsvm_paper.datasets import make_views

STRUCTURE = 0.1
LIMIT, SECONDS, MEGABYTES = 10.0, 60.0, 2000.0
QUICK_SETS = 2
# What is measured at size, each in a fresh process: one class against another, and all others.
LARGE = ("CIFAR-10N airplane/car", "CIFAR-10N airplane/rest")


def run(plan: Plan) -> list[Row]:
    """Time the fits on small sets, then those at size."""
    sets = [*UCI_SETS, *IMAGE_SETS]
    rows = []
    for one in sets[:QUICK_SETS] if plan.quick else sets:
        try:
            views, y = one.load()
        except MissingData as reason:
            plan.say(f"{one.name}: skipped, {reason}")
            continue
        if not isinstance(views, list):
            views = _two_views(views)
        rows.append(_timed(one.name, views, y, plan.repeats))
        plan.say(f"{one.name}: {number(rows[-1]['ratio'])} times HTSVC on all columns")
    for name in () if plan.quick else LARGE:
        for summary in (False, True) if name.endswith("car") else (True,):
            arguments = ["-m", "benchmarks.child_multiview", name, str(int(summary))]
            rows.append({"set": name, **json.loads(fresh_python(*arguments))})
            plan.say(f"{name}: {number(rows[-1]['seconds'])} s, {number(rows[-1]['megabytes'])} MB")
    return rows


def _two_views(X: np.ndarray) -> list[np.ndarray]:
    """Return scaled columns and their principal components."""
    maker = make_pipeline(SimpleImputer(strategy="median"), MinMaxScaler((-1, 1)), make_views())
    stacked = maker.fit_transform(X)
    return [stacked[:, place] for place in maker[-1].views_.values()]


def _timed(name: str, views: list[np.ndarray], y: np.ndarray, repeats: int) -> Row:
    X, widths = stack_views(views)
    with tempfile.TemporaryDirectory() as folder:
        memory = Memory(folder, verbose=0)
        model = MultiViewHTSVC(views=widths, structure=STRUCTURE, memory=memory)
        model.fit(X, y)
        works = {
            "multiview": partial(model.fit, X, y),
            "uncached": partial(MultiViewHTSVC(views=widths, structure=STRUCTURE).fit, X, y),
            "plain": partial(MultiViewHTSVC(views=widths).fit, X, y),
            "htsvc": partial(HTSVC().fit, X, y),
            "linearsvc": partial(LinearSVC(random_state=0).fit, X, y),
            "voting": partial(_voting(widths).fit, X, y),
        }
        timings = interleaved(works, repeats)
    row: Row = {"set": name, "m": len(y), "n1": widths[0], "n2": widths[1]}
    row |= {f"{key}_seconds": timing.median for key, timing in timings.items()}
    row["ratio"] = timings["multiview"].median / timings["htsvc"].median
    row["rounds"] = model.n_iter_
    row["certified"] = all(
        certificate.certified
        for certificate, weight in zip(model.certificate_, model.view_weights_, strict=True)
        if weight > 0.0
    )
    return row


def _voting(widths: list[int]) -> Any:
    places = slice(0, widths[0]), slice(widths[0], None)
    return VotingClassifier(
        [
            (str(v), make_pipeline(_columns(place), LinearSVC(random_state=0)))
            for v, place in enumerate(places)
        ]
    )


def _columns(place: slice) -> ColumnTransformer:
    return ColumnTransformer([("view", "passthrough", place)])


# ----------------------------------------------------------------------------------- report


def bars(rows: list[Row]) -> list[Bar]:
    """Compare with what was promised."""
    large = [row for row in rows if row.get("megabytes") is not None]
    samples = "20,000 samples, two views of hundreds of columns"
    return [
        at_most(f"fit with cached structure <= {LIMIT:g} x HTSVC on all columns", rows, "ratio",
                LIMIT),
        at_most(f"{samples}: <= {SECONDS:g} s", large, "seconds", SECONDS),
        at_most(f"{samples}: <= {MEGABYTES:g} MB", large, "megabytes", MEGABYTES),
        every("every view that counts certified", rows, "certified"),
    ]  # fmt: skip


def tables(rows: list[Row]) -> str:
    """Render as Markdown."""
    small = [row for row in rows if row.get("ratio") is not None]
    large = [row for row in rows if row.get("megabytes") is not None]
    columns = {
        "multi-view, cached": "multiview_seconds",
        "first fit": "uncached_seconds",
        "without structure": "plain_seconds",
        "HTSVC, all columns": "htsvc_seconds",
        "LinearSVC, all columns": "linearsvc_seconds",
        "vote of two LinearSVC": "voting_seconds",
    }
    cells = [
        {
            "set": row["set"],
            "samples": str(row["m"]),
            "columns": f"{row['n1']} + {row['n2']}",
            **{title: number(1e3 * row[key]) for title, key in columns.items()},
            "cached / HTSVC": number(row["ratio"]),
            "rounds": str(row["rounds"]),
            "certified": "yes" if row["certified"] else "NO",
        }
        for row in small
    ]
    text = (
        f"## Milliseconds per fit\n\nDefault settings, structure = {STRUCTURE:g} (0 in the column "
        "that says so). UCI sets: columns scaled to [-1, 1], and their principal components.\n\n"
        f"{markdown_table(cells)}"
    )
    if not large:
        return text
    cells = [
        {
            "set": row["set"],
            "samples": str(row["samples"]),
            "clustered": "summary" if row["summary"] else "all samples",
            "clusters": row["clusters"],
            "s": number(row["seconds"]),
            "of the processor (s)": number(row["cpu_seconds"]),
            "of which structure (s)": number(row["structure_seconds"]),
            "MB at the peak": number(row["megabytes"]),
            "test accuracy": number(row["accuracy"], 4),
            "agreement": number(row.get("agreement")),
            "difference of Sigma": number(row.get("difference")),
            "certified": "yes" if row["certified"] else "NO",
        }
        for row in large
    ]
    return (
        f"{text}\n\n## At size, and with a summary clustered in place of the samples\n\n"
        "Each fit in a fresh process, whose memory includes libraries and data. *agreement*: "
        "adjusted Rand index of the clusters with those of all samples (the lower of both views); "
        "*difference of Sigma*: the largest relative difference (Frobenius) of a structural matrix "
        f"to that of all samples.\n\n{markdown_table(cells)}"
    )
