"""Figures of the report: what is drawn can be seen."""

from __future__ import annotations

from contextlib import contextmanager

import numpy as np
import pytest

from htsvm_paper.experiments import convergence, figures
from htsvm_paper.experiments.blocks import Entry, Table

LABELS = ["Hinge-SVM, ours", "Ramp-SVM, ceiling 1", "L0/1-SVM", "L_ht-SVM", "LS-SVM"]
TABLE = Table("t", "data", LABELS, [(str(i), [Entry(50.0 + i)] * 5) for i in range(5)])
STEPS = [
    {"residual": 0.5**i, "active": 0.1, "train_accuracy": 0.9, "seconds": 0.1} for i in range(30)
]


@pytest.fixture
def drawn(monkeypatch):
    """Return the axes of every figure that is drawn."""
    seen, real = [], figures.drawing

    @contextmanager
    def drawing(*args, **options):
        with real(*args, **options) as (axes, finish):
            seen.append(np.atleast_1d(axes).ravel())
            yield axes, finish

    for module in (figures, convergence):
        monkeypatch.setattr(module, "drawing", drawing)
    return seen


@pytest.mark.parametrize(
    "draw",
    [
        lambda: figures.noise_curves(TABLE, [0.0, 0.1, 0.2, 0.3, 0.4], "noise"),
        lambda: figures.bars(TABLE, "bars"),
        lambda: figures.convergence_panels(dict.fromkeys(LABELS, STEPS), "w5a"),
        lambda: convergence._curves(
            {("a1a", name): [0.5**i for i in range(30)] for name in convergence.SOLVERS}, ("a1a",)
        ),
    ],
    ids=["noise", "bars", "convergence", "rates"],
)
def test_a_legend_covers_no_panel(drawn, draw):
    draw()
    (panels,) = drawn
    figure = panels[0].figure
    figure.draw_without_rendering()
    (legend,) = figure.legends
    assert not any(panel.get_legend() for panel in panels)
    box = legend.get_window_extent()
    assert len(legend.get_texts()) >= 3
    assert not any(box.overlaps(panel.get_window_extent()) for panel in panels)
