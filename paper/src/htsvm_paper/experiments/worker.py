"""What runs in the process of a cell; importing it imports all that a cell needs."""

from collections.abc import Iterator
from contextlib import suppress

from threadpoolctl import threadpool_limits

from htsvm_paper.experiments.catalogue import EXPERIMENTS
from htsvm_paper.experiments.methods import METHODS, Unavailable
from htsvm_paper.experiments.tasks import Row, Task

for _method in METHODS.values():
    with suppress(Unavailable):  # A cell of such a method says why.
        _method.resolve()


def run_cell(task: Task) -> Iterator[Row]:
    """Compute a cell on one thread, so that times of different methods compare."""
    with threadpool_limits(1):
        yield from EXPERIMENTS[task.experiment].run(task)
