from __future__ import annotations

import numpy as np
import pytest
from typer.testing import CliRunner

from htsvm_paper.cli import app
from htsvm_paper.experiments.catalogue import EXPERIMENTS
from htsvm_paper.experiments.isolation import DONE, SKIPPED
from htsvm_paper.experiments.losses import CURVES
from htsvm_paper.experiments.methods import get
from htsvm_paper.experiments.results import Results
from htsvm_paper.experiments.splits import make_split
from htsvm_paper.experiments.store import Store
from htsvm_paper.experiments.tasks import PROFILES, Profile, points


@pytest.mark.slow
def test_the_whole_quick_version(tmp_path):
    path = tmp_path / "x.sqlite"
    done = CliRunner().invoke(app, ["reproduce", "--quick", "--store", str(path)])
    assert done.exit_code == 0, done.output
    with Store(path) as store:
        cells = store.cells()
    assert {cell.status for cell in cells} <= {DONE, SKIPPED}
    # Only methods that are not there may be missing, never data.
    assert all("htsvm" in cell.reason for cell in cells if cell.status == SKIPPED)
    # Nothing is fitted for the losses; the figures on sensitivity show cells of another comparison.
    own = set(EXPERIMENTS) - {"losses", "sensitivity"}
    assert {cell.task.experiment for cell in cells} == own
    expected = sum(len(e.tasks(Profile("quick"))) for e in EXPERIMENTS.values())
    assert len(cells) == expected
    page = tmp_path / "report.html"
    done = CliRunner().invoke(app, ["report", "--quick", "--store", str(path), "-o", str(page)])
    assert done.exit_code == 0, done.output
    text = page.read_text(encoding="utf-8")
    assert all(f"id='{name}'" in text for name in EXPERIMENTS)


def test_every_experiment_has_cells_and_every_cell_a_place():
    for name in PROFILES:
        for experiment in EXPERIMENTS.values():
            tasks = experiment.tasks(Profile(name))
            assert len(set(tasks)) == len(tasks)
            # The figures on sensitivity show cells of another comparison.
            own = any(task.experiment == experiment.name for task in tasks)
            assert own or not tasks or experiment.name == "sensitivity"
            assert {task.experiment for task in tasks} <= set(EXPERIMENTS)
            assert all(isinstance(task.settings, dict) for task in tasks)
    sets = {task.dataset for task in EXPERIMENTS["single-view"].tasks(Profile())}
    assert len(sets) == 15
    assert len({task.dataset for task in EXPERIMENTS["stl10"].tasks(Profile())}) == 45


def test_what_a_smaller_profile_computed_is_there_for_a_larger_one():
    """All of hours is a part of full, but for experiments that full does on more folds alone."""
    for experiment in EXPERIMENTS.values():
        hours, full = (set(experiment.tasks(Profile(name))) for name in ("hours", "full"))
        assert hours <= full, experiment.name


def test_the_grids_of_the_paper():
    def tried(name, method, protocol):
        tasks = EXPERIMENTS[name].tasks(Profile())
        one = next(t for t in tasks if (t.method, t.protocol) == (method, protocol))
        return points(one)

    # Untied on the images: 3, 9 or 27 points; nine for every method with one view.
    assert [len(tried("stl10", m, "paper")) for m in ("ht", "svm-2k", "mvht")] == [3, 9, 27]
    assert {p["structure"] for p in tried("ablation", "mvht", "paper")} == {0.25, 1.0, 4.0}
    single = {t.method: len(points(t)) for t in EXPERIMENTS["single-view"].tasks(Profile())
              if t.protocol == "paper"}  # fmt: skip
    assert set(single.values()) == {9}
    assert "ramp-1" in single
    assert tried("two-view", "svm-2k", "paper")[0] == {"C": 2.0**-4, "D": 2.0**-4}


def test_kernels_compare_grids_of_one_size_and_share_the_linear_cells():
    tasks = EXPERIMENTS["two-view-rbf"].tasks(Profile("hours"))
    own = [task for task in tasks if task.experiment == "two-view-rbf"]
    assert {task.method for task in own} == {
        f"{name}-rbf"
        for name in ("svm-2k", "mvsvm-2c", "wave-mvsvm", "mvasy-bx", "mvsl01", "mvht", "ht")
    }
    assert {len(points(task)) for task in own} == {27}
    assert {task.settings["fixed"]["kernel"] for task in own} == {"rbf"}
    shared = [task for task in tasks if task not in own]
    assert set(shared) <= set(EXPERIMENTS["two-view"].tasks(Profile("hours")))
    places = {(t.dataset, t.method.removesuffix("-rbf"), t.fold) for t in own}
    assert places == {(t.dataset, t.method, t.fold) for t in shared}


@pytest.mark.parametrize("method", ["mvht-rbf", "svm-2k-rbf", "ht-rbf"])
def test_a_cell_with_kernels_is_the_fit_that_it_names(method):
    experiment, profile = EXPERIMENTS["two-view-rbf"], Profile("quick")
    task = next(t for t in experiment.tasks(profile)
                if (t.method, t.protocol, t.dataset) == (method, "paper", "heart"))  # fmt: skip
    (row,) = experiment.run(task)
    assert row.params["gamma"] == "scale"
    split = make_split(task, pca_view=True)
    one = get(method).make(row.params, seed=task.seed_of("method"), view_widths=split.view_widths)
    assert one.get_params()["kernel"] == "rbf"
    expected = one.fit(split.X, split.y).score(split.X_test, split.y_test)
    assert row.metrics["accuracy"] == expected


def test_empty_results_still_make_a_report():
    from htsvm_paper.experiments.render import html, markdown

    for name in PROFILES:
        profile = Profile(name)
        for experiment in EXPERIMENTS.values():
            blocks = experiment.sections(Results([], experiment.tasks(profile)), profile)
            assert all(html(block) and markdown(block) for block in blocks)


def test_what_the_captions_of_the_losses_say():
    s = np.linspace(-2.0, 4.0, 60_001)
    ramp, truncated = CURVES["(d) ramp, ceiling 1"](s), CURVES["(f) hybrid truncated"](s)
    assert np.all(truncated >= ramp - 1e-12)
    assert np.max(truncated - ramp) == pytest.approx(5 / 36, abs=1e-6)
