"""Computes what is not in the store yet, several cells at a time, each in its own process."""

import fnmatch
import math
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from joblib import Parallel, delayed

from htsvm_paper._names import hint
from htsvm_paper.datasets import DataFileError, describe, names
from htsvm_paper.experiments import isolation
from htsvm_paper.experiments.environment import environment
from htsvm_paper.experiments.isolation import DONE, ELSEWHERE, FAILED, LEFT, SKIPPED, SLOW, Outcome
from htsvm_paper.experiments.methods import METHODS, Unavailable, get
from htsvm_paper.experiments.store import Store
from htsvm_paper.experiments.tasks import Experiment, Profile, Task
from htsvm_paper.experiments.worker import run_cell

# Called with a finished cell and how it ended.
Progress = Callable[[Task, Outcome], None]


@dataclass(frozen=True)
class Selection:
    """Which cells are wanted, by names of methods and of data sets; all by default.

    A name of a data set may have wildcards, as ``"stl10:*"``.
    """

    methods: Sequence[str] | None = None
    datasets: Sequence[str] | None = None

    def of(self, tasks: Iterable[Task]) -> list[Task]:
        """Return the wanted ones of some cells; unknown names are an error."""
        tasks = list(tasks)
        for name in self.methods or ():
            get(name)
        known = sorted({task.dataset for task in tasks})
        for pattern in self.datasets or ():
            if not fnmatch.filter(known, pattern):
                near = hint(pattern, known, shown=12)
                raise ValueError(f"No experiment here uses a data set {pattern!r}; {near}")
        patterns = ["*"] if self.datasets is None else self.datasets
        return [
            task for task in tasks
            if (self.methods is None or task.method in self.methods)
            and any(fnmatch.fnmatch(task.dataset, pattern) for pattern in patterns)
        ]  # fmt: skip


def plan(
    experiments: Iterable[Experiment], profile: Profile, store: Store, *,
    selection: Selection | None = None, time_limit: float | None = None, retry: bool = False,
) -> tuple[list[Task], int]:  # fmt: skip
    """Return the cells that have to be computed, and how many are there already.

    Finished cells are never repeated. Failed ones are with `retry`, those that were too slow also
    when there is more time now, and those of a method that was missing once it is there.
    """
    # Experiments may share cells.
    every = list(dict.fromkeys(t for e in experiments for t in e.tasks(profile)))
    tasks = (selection or Selection()).of(every)
    stored = {cell.task: cell for cell in store.cells()}
    todo = []
    for task in tasks:
        cell = stored.get(task)
        given = math.inf if time_limit is None else time_limit
        if (
            cell is None or cell.status == SKIPPED or (retry and cell.status != DONE)
            or (cell.status == SLOW and given > (cell.time_limit or math.inf))
        ):  # fmt: skip
            todo.append(task)
    return todo, len(tasks) - len(todo)


def compute(
    todo: Sequence[Task], store: Store, *, jobs: int = 1, time_limit: float | None = None,
    minutes: float | None = None, progress: Progress = lambda task, outcome: None,
) -> Counter[str]:  # fmt: skip
    """Compute cells and write each to the store as soon as it is there; return how many ended how.

    A cell that needs more than `time_limit` seconds is marked "too slow"; after `minutes` no
    further one is begun ("left"); "elsewhere" are those that another run has taken in the meantime.
    """
    stop, began = threading.Event(), time.monotonic()
    unavailable, counts = _unavailable(todo), Counter[str]()

    def one(task: Task) -> tuple[Task, Outcome]:
        if minutes is not None and time.monotonic() - began > 60.0 * minutes:
            return task, Outcome(LEFT)
        if stop.is_set() or not store.claim(task, run):
            return task, Outcome(ELSEWHERE)
        if reason := unavailable.get(task.method) or unavailable.get(task.dataset):
            return task, Outcome(SKIPPED, reason)
        try:
            return task, isolation.run_isolated(run_cell, task, time_limit=time_limit, stop=stop)
        except isolation.Stopped:
            return task, Outcome(FAILED, "stopped")

    run = store.new_run(environment())
    try:
        if todo:
            isolation.start_server()
        # Threads that only wait: each looks after one process at a time.
        done = Parallel(n_jobs=jobs, prefer="threads", return_as="generator_unordered")(
            delayed(one)(task) for task in todo
        )
        for task, outcome in done:
            if outcome.status not in (ELSEWHERE, LEFT):
                store.add(task, outcome, run=run, time_limit=time_limit)
            counts[outcome.status] += 1
            progress(task, outcome)
    finally:
        stop.set()
        store.end_run(run)
    return counts


def _unavailable(todo: Iterable[Task]) -> dict[str, str]:
    """Return why methods cannot be used, and why data sets are not there.

    Their files are fetched, once and before the work.
    """
    found = {}
    for name in {task.method for task in todo} & METHODS.keys():
        try:
            get(name).resolve()
        except Unavailable as error:
            found[name] = str(error)
    known = set(names())
    for dataset in {task.dataset for task in todo if task.dataset.split(":")[0] in known}:
        try:
            describe(dataset).paths()
        except DataFileError as error:
            found[dataset] = str(error)
    return found
