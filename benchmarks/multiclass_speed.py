"""Several classes: the time of a default fit beside rivals, however the columns are scaled."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from sklearn.datasets import load_digits, make_blobs, make_classification
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from benchmarks.bars import Bar, Row, at_most, every
from benchmarks.multiclass_data import NOISES, Noisy, cifar, digits, handwritten
from benchmarks.plan import Plan
from benchmarks.report import markdown_table, number
from benchmarks.sets import MissingData
from benchmarks.timing import interleaved
from htsvm import HTSVC
from htsvm.multiview import MultiViewHTSVC

Labelled = tuple[np.ndarray, np.ndarray]
RIVALS: dict[str, Callable[[], Any]] = {
    "LogisticRegression": LogisticRegression,
    "crammer_singer": partial(LinearSVC, multi_class="crammer_singer"),
}
# The most that the time of a fit over that of a rival may be, by the group of the set.
LIMITS = {
    "CIFAR-10N": {"LogisticRegression": 1.0},
    "small": {"LogisticRegression": 1.0},
    "unscaled digits": {"crammer_singer": 1.0},
    "many classes": {"crammer_singer": 2.0},
    "uneven columns": {"crammer_singer": 0.2, "LogisticRegression": 10.0},
}
VIEW_SECONDS = 2.0


@dataclass(frozen=True)
class Case:
    """A set, the group of bars that it belongs to, and the C of the fit."""

    name: str
    group: str
    load: Callable[[], Labelled]
    C: float = 1.0


def _given(load: Callable[[], Noisy], standardised: bool = False) -> Labelled:
    data = load()
    # The loader divides standardised columns by the square root of their number.
    return data.X * (np.sqrt(data.X.shape[1]) if standardised else 1.0), data.y


def many_classes() -> Labelled:
    """Return a hundred groups of twenty points each, which can be separated."""
    X, y = make_blobs(2000, 20, centers=100, cluster_std=3.0, random_state=0)
    return X, y


def uneven_columns() -> Labelled:
    """Return few correlated rows of 27 classes, with columns from 0.01 to 1,000 in size."""
    rng = np.random.default_rng(0)
    m, n, k = 694, 324, 27
    y = np.arange(m) % k
    X = 0.5 * rng.normal(size=(k, n))[y] + rng.normal(size=(m, n))
    X = X @ (np.eye(n) + 0.3 * rng.normal(size=(n, n)) / np.sqrt(n))
    X = X * 10.0 ** rng.uniform(-2.0, 3.0, size=n) + 10.0 ** rng.uniform(-2.0, 2.0, size=n)
    return X, y


def _unscaled_digits() -> Labelled:
    X, y = load_digits(return_X_y=True)
    return X, y


def three_views() -> Labelled:
    """Return 800 rows of 20 classes, whose columns are cut into three views."""
    X, y = make_classification(
        800, 60, n_informative=40, n_classes=20, n_clusters_per_class=1, random_state=0
    )
    return StandardScaler().fit_transform(X), y


def _cases() -> list[Case]:
    worse = partial(_given, partial(cifar, "worse"), True)
    cases = [Case("CIFAR-10N, worse", "CIFAR-10N", worse, C) for C in (0.01, 1.0)]
    for one in (digits, handwritten):
        cases += [
            Case(f"{one.__name__}, {noise[0]}", "small", partial(_given, partial(one, *noise)))
            for noise in NOISES
        ]
    return [
        *cases,
        Case("unscaled digits", "unscaled digits", _unscaled_digits),
        Case("100 classes, 2,000 x 20", "many classes", many_classes),
        Case("27 classes, 694 x 324, uneven columns", "uneven columns", uneven_columns),
    ]


def run(plan: Plan) -> list[Row]:
    """Time the fits, interleaved with those of the rivals."""
    warnings.simplefilter("ignore")
    rows: list[Row] = []
    cases = _cases()
    for case in [one for one in cases if one.name == "digits, clean"] if plan.quick else cases:
        try:
            X, y = case.load()
        except MissingData as reason:
            plan.say(f"{case.name}: skipped, {reason}")
            continue
        rows.append(_timed(case, X, y, plan.repeats))
        plan.say(_said(rows[-1]))
    if not plan.quick:
        rows.append(_views(plan.repeats))
        plan.say(f"{rows[-1]['set']}: {number(rows[-1]['seconds'])} s")
    return rows


def _timed(case: Case, X: np.ndarray, y: np.ndarray, repeats: int) -> Row:
    model = HTSVC(C=case.C)
    limits = LIMITS[case.group]
    works = {"HTSVC": partial(model.fit, X, y)}
    works |= {name: partial(RIVALS[name]().fit, X, y) for name in limits}
    timings = interleaved(works, repeats)
    row: Row = {
        "set": case.name, "group": case.group, "C": case.C, "m": X.shape[0], "n": X.shape[1],
        "classes": len(np.unique(y)), "seconds": timings["HTSVC"].median,
        "objective": float(model.objective_[0]), "start": model.start_[0],
        "passes": float(model.n_passes_), "certified": bool(model.certificate_[0].certified),
    }  # fmt: skip
    for name in limits:
        row[f"{name}_seconds"] = timings[name].median
        row[f"over_{name}"] = row["seconds"] / timings[name].median
    return row


def _views(repeats: int) -> Row:
    X, y = three_views()
    model = MultiViewHTSVC(views=[20, 20, 20])
    timing = interleaved({"fit": partial(model.fit, X, y)}, repeats)["fit"]
    return {
        "set": "three views of 20 columns, 20 classes", "group": "views", "m": 800, "n": 60,
        "classes": 20, "seconds": timing.median, "rounds": model.n_iter_,
        "certified": all(one.certified for one in model.certificate_),
    }  # fmt: skip


def _said(row: Row) -> str:
    ratios = ", ".join(
        f"{number(row[key])} times {key.removeprefix('over_')}"
        for key in row
        if key.startswith("over_")
    )
    return f"{row['set']}, C = {row['C']:g}: {number(row['seconds'])} s, {ratios}"


def bars(rows: list[Row]) -> list[Bar]:
    """Compare with what was promised."""
    promised = []
    for group, limits in LIMITS.items():
        some = [row for row in rows if row["group"] == group]
        for name, limit in limits.items():
            promise = f"{group}: time of a fit / {name} <= {limit:g}"
            promised.append(at_most(promise, some, f"over_{name}", limit))
    views = [row for row in rows if row["group"] == "views"]
    return [
        *promised,
        at_most(f"three views, 20 classes: <= {VIEW_SECONDS:g} s", views, "seconds", VIEW_SECONDS),
        every("certified", rows, "certified"),
    ]


def tables(rows: list[Row]) -> str:
    """Render as Markdown."""
    cells = [
        {
            "set": row["set"],
            "C": number(row.get("C")),
            "samples": str(row["m"]),
            "columns": str(row["n"]),
            "classes": str(row["classes"]),
            "s": number(row["seconds"]),
            **{f"{name} (s)": number(row.get(f"{name}_seconds")) for name in RIVALS},
            **{f"over {name}": number(row.get(f"over_{name}")) for name in RIVALS},
            "passes": number(row.get("passes")),
            "start": str(row.get("start") or ""),
            "certified": "yes" if row["certified"] else "NO",
        }
        for row in rows
    ]
    return (
        "Default settings but for C, on data as described: CIFAR-10N standardised, digits divided "
        "by 16 (but for those called unscaled), Handwritten standardised and divided by the square "
        f"root of the number of columns.\n\n{markdown_table(cells)}"
    )
