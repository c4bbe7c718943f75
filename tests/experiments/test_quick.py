from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from htsvm.cli import build_app
from htsvm.experiments.catalogue import EXPERIMENTS
from htsvm.experiments.isolation import DONE, SKIPPED
from htsvm.experiments.losses import CURVES
from htsvm.experiments.store import Store
from htsvm.experiments.tasks import Profile


@pytest.mark.slow
def test_the_whole_quick_version(tmp_path):
    path = tmp_path / "x.sqlite"
    app = build_app()
    done = CliRunner().invoke(app, ["reproduce", "--quick", "--store", str(path)])
    assert done.exit_code == 0, done.output
    with Store(path) as store:
        cells = store.cells()
    assert {cell.status for cell in cells} <= {DONE, SKIPPED}
    # Only methods that are not there may be missing, never data.
    assert all("htsvm." in cell.reason for cell in cells if cell.status == SKIPPED)
    assert {cell.task.experiment for cell in cells} == set(EXPERIMENTS) - {"losses"}
    expected = sum(len(e.tasks(Profile(quick=True))) for e in EXPERIMENTS.values())
    assert len(cells) == expected
    page = tmp_path / "report.html"
    done = CliRunner().invoke(app, ["report", "--quick", "--store", str(path), "-o", str(page)])
    assert done.exit_code == 0, done.output
    text = page.read_text(encoding="utf-8")
    assert all(f"id='{name}'" in text for name in EXPERIMENTS)


def test_every_experiment_has_cells_and_every_cell_a_place():
    for quick in (False, True):
        for experiment in EXPERIMENTS.values():
            tasks = experiment.tasks(Profile(quick=quick))
            assert len(set(tasks)) == len(tasks)
            assert all(task.experiment == experiment.name for task in tasks)
            assert all(task.quick == quick for task in tasks)
    sets = {task.dataset for task in EXPERIMENTS["single-view"].tasks(Profile())}
    assert len(sets) == 15
    assert len({task.dataset for task in EXPERIMENTS["stl10"].tasks(Profile())}) == 45


def test_empty_results_still_make_a_report():
    from htsvm.experiments.render import html, markdown
    from htsvm.experiments.results import Results

    for quick in (False, True):
        profile = Profile(quick=quick)
        for experiment in EXPERIMENTS.values():
            blocks = experiment.sections(Results([], experiment.tasks(profile)), profile)
            assert all(html(block) and markdown(block) for block in blocks)


def test_what_the_captions_of_the_losses_say():
    s = np.linspace(-2.0, 4.0, 60_001)
    ramp, truncated = CURVES["(d) ramp, ceiling 1"](s), CURVES["(f) hybrid truncated"].value(s)
    assert np.all(truncated >= ramp - 1e-12)
    assert np.max(truncated - ramp) == pytest.approx(5 / 36, abs=1e-6)
