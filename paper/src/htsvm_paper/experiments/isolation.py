"""A cell in a process of its own: it can be stopped, and its memory is its own.

The peak resident size that the system keeps per process (ru_maxrss) only ever grows. In a process
that lives for one cell it is the peak of that cell, together with the interpreter and the imported
libraries, about 0.15 GB; `base` says how much of it was there before.
"""

import multiprocessing
import multiprocessing.connection
import os
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

DONE, FAILED, SLOW, SKIPPED = "done", "failed", "too slow", "skipped"
# No outcomes: another run has the cell, or there was no time left to begin it.
ELSEWHERE, LEFT = "elsewhere", "left"
PRELOAD = "htsvm_paper.experiments.worker"
LOOK_EVERY = 0.2


@dataclass
class Outcome:
    """How a cell ended, why if not "done", and what it had found until then.

    `seconds` is the CPU time of its process, which other work on the machine does not lengthen; of
    one that was killed, how long it lasted. `peak_mb` and `base_mb` are the highest resident memory
    and that at the start; NaN where the system does not say.
    """

    status: str
    reason: str = ""
    rows: list[Any] = field(default_factory=list)
    seconds: float = 0.0
    peak_mb: float = float("nan")
    base_mb: float = float("nan")


class Stopped(Exception):
    """The whole run was told to stop."""


def run_isolated(
    work: Callable[[Any], Iterator[Any]], argument: Any, *, time_limit: float | None = None,
    stop: threading.Event | None = None,
) -> Outcome:  # fmt: skip
    """Run ``work(argument)`` in a new process and collect what it yields.

    `work` is a function at module level. The process is killed after `time_limit` seconds, and with
    `Stopped` once `stop` is set.
    """
    context = _context()
    receiver, sender = context.Pipe(duplex=False)
    process = context.Process(target=_child, args=(sender, work, argument), daemon=True)
    began = time.monotonic()
    process.start()
    sender.close()
    try:
        outcome = _collect(receiver, process, began, time_limit, stop)
    finally:
        receiver.close()
        if process.is_alive():
            process.kill()
        process.join()
    outcome.seconds = outcome.seconds or time.monotonic() - began
    return outcome


def start_server() -> None:
    """Start the server that processes come from, so that an interrupt does not reach it.

    A terminal sends Ctrl-C to all of a command's processes. Here only this one heeds it, and then
    ends the others.
    """
    context = _context()
    if context.get_start_method() != "forkserver":
        return
    from multiprocessing import forkserver, resource_tracker

    resource_tracker.ensure_running()  # It would lift the block if it came later.
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        forkserver.ensure_running()
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _context() -> Any:
    """Return how processes are made: from a server that has everything imported, if there is one.

    Never a copy of this process, whose threads would be copied in an unknown state.
    """
    if "forkserver" in multiprocessing.get_all_start_methods():
        context: Any = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([PRELOAD])
        return context
    return multiprocessing.get_context("spawn")


def _collect(
    receiver: Any, process: Any, began: float, time_limit: float | None, stop: Any
) -> Outcome:
    outcome = Outcome(FAILED)
    while True:
        if stop is not None and stop.is_set():
            raise Stopped
        if not receiver.poll(LOOK_EVERY):
            if time_limit is not None and time.monotonic() - began > time_limit:
                return replace(outcome, status=SLOW, reason=f"more than {time_limit:g} s")
            continue
        try:
            what, value = receiver.recv()
        except EOFError:
            process.join()
            return replace(outcome, reason=f"its process died (exit code {process.exitcode})")
        if what == "end":
            status, reason, *costs = value
            return Outcome(status, reason, outcome.rows, *costs)
        outcome.rows.append(value)


def _child(sender: Any, work: Callable[[Any], Iterator[Any]], argument: Any) -> None:
    threading.Thread(target=_leave_with_parent, daemon=True).start()
    from htsvm_paper.experiments.methods import Unavailable

    base = peak_mb()
    status, reason = DONE, ""
    try:
        for row in work(argument):
            sender.send(("row", row))
    except Unavailable as error:
        status, reason = SKIPPED, str(error)
    except MemoryError:
        status, reason = FAILED, "out of memory"
    except Exception as error:
        where = traceback.extract_tb(error.__traceback__)[-1]
        status = FAILED
        reason = f"{type(error).__name__}: {error} ({where.name}, line {where.lineno})"
    sender.send(("end", (status, reason, time.process_time(), peak_mb(), base)))
    sender.close()


def _leave_with_parent() -> None:
    """End this process when the one that asked for it has gone, even if it was killed.

    That is not the parent that the system knows: a fork server lives as long as its children do.
    """
    asked_by = multiprocessing.parent_process()
    if asked_by is not None:
        multiprocessing.connection.wait([asked_by.sentinel])
        os._exit(1)


def peak_mb() -> float:
    """Return the highest resident memory of this process so far, in MB."""
    try:
        import resource
    except ImportError:  # Windows
        return float("nan")
    peak = float(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
    return peak / (2**20 if sys.platform == "darwin" else 2**10)
