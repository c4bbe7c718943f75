"""Tables of single experiments, from cells made up for the purpose."""

from __future__ import annotations

import dataclasses
from collections import Counter

import pytest

from htsvm_paper.experiments import (
    as_printed,
    cifar10n,
    convergence,
    label_noise,
    models,
)
from htsvm_paper.experiments.blocks import Picture, Table
from htsvm_paper.experiments.catalogue import EXPERIMENTS
from htsvm_paper.experiments.isolation import DONE
from htsvm_paper.experiments.results import Results
from htsvm_paper.experiments.store import Cell
from htsvm_paper.experiments.tasks import Profile, Row, points

QUICK = Profile("quick")


def done(task, *rows):
    return Cell(task, DONE, "", tuple(rows), 1.0, 1.0, 1.0, None, 1)


def test_algorithm_2_is_run_to_the_letter():
    model = models.printed_views(2.0, 0.5, 4.0, 0.25, [2, 3])
    assert (model.C, model.structure, model.weight_smoothness) == (2.0, 0.5, 4.0)
    assert (model.solver.penalty, model.solver.safeguards, model.tol) == (0.25, (), 1e-3)
    task = next(t for t in as_printed.view_tasks(Profile()) if t.method == "mvht-printed")
    assert len(points(task)) == 81


def test_runs_of_algorithm_2_are_counted_and_drawn():
    profile = Profile("hours")
    tasks = [t for t in as_printed.view_tasks(profile) if t.dataset == "heart"]
    cells = [
        done(t, *(
            Row(p, {"accuracy": 0.8, "seconds": 1.0, "unconverged": float(i % 2),
                    "collapsed": float(i % 4 == 0)})
            for i, p in enumerate(points(t)[:80])
        ))
        for t in tasks if t.method == "mvht-printed"
    ]  # fmt: skip
    blocks = as_printed.view_sections(Results(cells, as_printed.view_tasks(profile)), profile)
    table = next(b for b in blocks if isinstance(b, Table) and b.title.startswith("Runs"))
    rows = dict(table.rows)
    assert rows["heart"][0].value == 50.0
    assert rows["heart, one view without weight"][0].value == 25.0
    assert rows["heart"][1].mark == "not computed"
    (picture,) = [b for b in blocks if isinstance(b, Picture)]
    assert picture.caption.startswith("Figure 8")


def test_iterations_to_a_residual():
    tasks = convergence.rate_tasks(QUICK)
    residuals = [1.0, 0.5, 1e-3, 1e-5, 1e-7, 1e-9, 1e-11]
    steps = [Row({"iteration": i}, {"residual": r, "active": 1.0})
             for i, r in enumerate(residuals)]  # fmt: skip
    blocks = convergence.rate_sections(Results([done(tasks[0], *steps)], tasks), QUICK)
    (table,) = [b for b in blocks if isinstance(b, Table)]
    ((label, entries),) = table.rows
    assert label == "australian, Newton (default)"
    assert [e.value for e in entries[:-1]] == [3.0, 4.0, 4.0, 5.0, 6.0]
    assert entries[-1].value == pytest.approx(100 * (1e-11 / 0.5) ** 0.2)


def test_noises_of_the_losses_between_share_the_clean_labels():
    noises = {":".join(t.noise.split(":")[:2]) for t in label_noise.between_tasks(Profile("hours"))}
    assert noises == {"none", "symmetric:0.2", "symmetric:0.4", "boundary:0.2", "boundary:0.4"}


def test_every_fold_has_a_realisation_of_the_noise_of_its_own():
    tasks = label_noise.tasks(Profile("hours"))
    seen = {}
    for task in tasks:
        place = (task.protocol, task.dataset, task.method, ":".join(task.noise.split(":")[:2]))
        seen.setdefault(place, []).append((task.fold, task.seed_of("noise")))
    for (*_, noise), pairs in seen.items():
        folds, seeds = zip(*pairs, strict=True)
        assert sorted(folds) == list(range(5))
        assert len(set(seeds)) == (1 if noise == "none" else 5)


def test_experiments_share_the_cells_that_they_have_in_common():
    """None of what is compared with the same name, data, noise and grid is computed twice."""
    tasks = {t for e in EXPERIMENTS.values() for t in e.tasks(Profile("hours"))}
    places = Counter(dataclasses.replace(t, experiment="") for t in tasks
                     if t.experiment not in ("two-view", "two-view-rbf"))  # fmt: skip
    assert [place for place, count in places.items() if count > 1] == []


def test_every_comparison_on_cifar10n_has_one_formulation():
    names = [name for methods in cifar10n.FORMULATIONS.values() for name in methods]
    assert len(names) == len(set(names))
    tasks = cifar10n.tasks(Profile())
    assert {task.method for task in tasks} == set(names)
