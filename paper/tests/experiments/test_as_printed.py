from __future__ import annotations

import warnings

import numpy as np
import pytest

from htsvm.datasets import make_two_gaussians
from htsvm_paper.experiments import as_printed, models
from htsvm_paper.experiments.blocks import Table
from htsvm_paper.experiments.isolation import DONE
from htsvm_paper.experiments.results import Results
from htsvm_paper.experiments.store import Cell
from htsvm_paper.experiments.tasks import Profile, Row


def test_the_printed_algorithm_is_run_to_the_letter():
    model = models.printed(C=2.0, xi=0.5)
    assert (model.C, model.solver.penalty, model.solver.safeguards) == (2.0, 0.5, ())
    X, y = make_two_gaussians(60, random_state=0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        first = models.printed(1.0, 1.0).set_params(max_iter=1).fit(X, y)
    # One step by hand from w = 1/100, b = 0, psi = 0: prox, then w over the working set.
    q = 1.0 - y * (X @ np.full(2, 0.01))
    # At C / xi = 1 the prox sets q in (0, 6/5) to 0, and leaves q > 5/6 + 3/5 alone.
    inside = (q > 0.0) & (q < 5.0 / 6.0 + 3.0 / 5.0)
    target = np.where(inside, np.maximum(q - 6.0 / 5.0, 0.0), q)
    N = (y[:, None] * X)[inside]
    w = np.linalg.solve(np.eye(2) + N.T @ N, N.T @ (1.0 - target[inside]))
    np.testing.assert_allclose(first.coef_[0], w, rtol=1e-8)


@pytest.fixture
def results():
    profile = Profile("quick")
    expected = as_printed.tasks(profile)
    ends = {
        # One good, one that did not converge, one constant classifier, one good.
        "ht-printed": [(0.83, 9.0, 0.0), (0.84, 9.0, 1.0), (0.75, 0.0, 0.0), (0.80, 5.0, 0.0)],
        "ht": [(0.82, 9.0, 0.0)],
    }
    cells = []
    for task in expected:
        rows = tuple(
            Row(
                {"C": 2.0**i, "xi": 1.0},
                {"accuracy": accuracy, "nsv": nsv, "unconverged": unconverged},
            )
            for i, (accuracy, nsv, unconverged) in enumerate(ends.get(task.method, []))
        )
        if rows:
            cells.append(Cell(task, DONE, "", rows, 1.0, 1.0, 1.0, None, 1))
    return as_printed.sections(Results(cells, expected), profile)


def test_neither_constant_nor_unconverged_runs_count_as_good(results):
    _, _, ended, region, _ = [block for block in results if isinstance(block, Table)]
    ((_, entries),) = region.rows
    # κ is 1, 2, 4 and 8: one good run in the middle, one of three beyond.
    assert entries[0].mark == "no runs"
    assert [entry.value for entry in entries[1:]] == pytest.approx([100.0, 100.0 / 3.0])
    ((_, entries),) = ended.rows
    assert [entry.value for entry in entries[::2]] == [50.0, 100.0]
    assert entries[1].mark == "not computed"
