"""How long multi-view fits take: with structure, a grid of one fold, and the slowest baseline."""

from __future__ import annotations

import tempfile
import warnings
from functools import partial
from typing import Any

import numpy as np
from joblib import Memory
from sklearn.model_selection import StratifiedKFold

from benchmarks.bars import Bar, Row, at_most, every
from benchmarks.plan import Plan
from benchmarks.report import markdown_table, number
from benchmarks.sets import MissingData, published, signs
from benchmarks.timing import interleaved
from htsvm.multiview import MultiViewHTSVC, MultiViewHTSVCCV, stack_views
from htsvm_paper.baselines import MvSVM2C

IMAGES = 3000
# The cells of the LBP histograms count so many pixels.
STL10_CELL, CIFAR_CELL = 24 * 24, 16 * 16
STRUCTURE = 1.0
# The grid of one fold: C, structure and smoothness, three values each.
GRID = {"Cs": [0.1, 1.0, 10.0], "structures": [0.1, 1.0, 10.0], "smoothnesses": [0.1, 1.0, 10.0]}
POINTS = 27
# What each may take: seconds, or fits.
LIMITS = {"structured": 5.0, "known": 0.1, "mvsvm2c": 0.5, "grid": 5.0}


def run(plan: Plan) -> list[Row]:
    """Time the fits to one pair of STL-10, then that to more images."""
    warnings.simplefilter("ignore")
    rows: list[Row] = []
    for work in (_pair,) if plan.quick else (_pair, _images):
        try:
            rows += work(plan)
        except MissingData as reason:
            plan.say(f"skipped, {reason}")
    return rows


def _row(plan: Plan, name: str, what: str, seconds: float, model: Any, **more: float) -> Row:
    """Return what was measured, and say so."""
    certificates = np.ravel(getattr(model, "certificate_", []))
    weights = np.ravel(getattr(model, "view_weights_", np.ones(len(certificates))))
    counted = [one for one, w in zip(certificates, weights, strict=False) if w > 0.0]
    row = {"set": name, "what": what, f"{what}_seconds": seconds, **more}
    row["certified"] = all(one.certified for one in counted) if counted else None
    plan.say(f"{name}, {what}: {number(seconds)} s")
    return row


def _pair(plan: Plan) -> list[Row]:
    name, data = "STL-10 airplane/bird", published("stl10:airplane:bird")
    views, y = _views(data.X, data, STL10_CELL), data.y
    X, widths = stack_views(views)
    with tempfile.TemporaryDirectory() as folder:
        memory = Memory(folder, verbose=0)
        known = MultiViewHTSVC(views=widths, structure=STRUCTURE, memory=memory).fit(X, y)
        baseline = MvSVM2C()
        works = {"known": partial(known.fit, X, y), "mvsvm2c": partial(baseline.fit, views, y)}
        timings = interleaved(works, plan.repeats)
        fit = timings["known"].median
        rows = [
            _row(plan, name, "known", fit, known),
            _row(plan, name, "mvsvm2c", timings["mvsvm2c"].median, baseline),
        ]
        if plan.quick:
            return rows
        fold = [next(StratifiedKFold(5).split(X, y))]
        grid = MultiViewHTSVCCV(views=widths, cv=fold, memory=memory, **GRID)
        taken = interleaved({"grid": partial(grid.fit, X, y)}, 1)["grid"].median
    # The last fit, to all samples, is no point of the grid.
    shares = {"grid_fits": (taken - fit) / fit}
    return [*rows, _row(plan, name, "grid", taken, None, **shares)]


def _views(X: np.ndarray, data: Any, cell: int) -> list[np.ndarray]:
    """Return HOG, and LBP scaled to unit range."""
    hog, lbp = np.split(np.asarray(X, dtype=np.float64), [data.view_widths[0]], axis=1)
    return [np.ascontiguousarray(hog), lbp / cell]


def _images(plan: Plan) -> list[Row]:
    data = published("cifar10n")
    labels = data.other_labels["aggre"]
    rows = np.flatnonzero(np.isin(labels, (0, 1)))[:IMAGES]
    views, y = _views(data.X[rows], data, CIFAR_CELL), signs(labels[rows] == 0)
    model = MultiViewHTSVC(structure=STRUCTURE)
    timing = interleaved({"fit": partial(model.fit, views, y)}, plan.repeats)["fit"]
    return [_row(plan, "CIFAR-10N airplane/car", "structured", timing.median, model)]


def bars(rows: list[Row]) -> list[Bar]:
    """Compare with what was promised."""
    return [
        at_most(f"structure, {IMAGES:,} images: <= {LIMITS['structured']:g} s", rows,
                "structured_seconds", LIMITS["structured"]),
        at_most(f"one STL-10 pair, structure known: <= {LIMITS['known']:g} s", rows,
                "known_seconds", LIMITS["known"]),
        at_most(f"grid of {POINTS} points, one fold: <= {LIMITS['grid']:g} fits", rows,
                "grid_fits", LIMITS["grid"]),
        at_most(f"MvSVM2C, one STL-10 pair: <= {LIMITS['mvsvm2c']:g} s", rows,
                "mvsvm2c_seconds", LIMITS["mvsvm2c"]),
        every("certified", rows, "certified"),
    ]  # fmt: skip


def tables(rows: list[Row]) -> str:
    """Render as Markdown."""
    cells = [
        {
            "set": row["set"],
            "what": row["what"],
            "s": number(row[f"{row['what']}_seconds"]),
            "in fits": number(row.get("grid_fits")),
            "certified": {True: "yes", False: "NO", None: ""}[row["certified"]],
        }
        for row in rows
    ]
    return f"Default settings, structure = {STRUCTURE:g}.\n\n{markdown_table(cells)}"
