"""A scheduler and workers, each a process of its own, that tests kill and start again."""

import contextlib
import os
import socket
import subprocess
import sys


class OwnCluster:
    """A scheduler at an address that stays, and workers without nannies.

    A nanny gives up on a worker that dies while it starts; here `replace` starts another one.
    """

    def __init__(self, workers=1):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.n_workers = workers
        self.start()

    def start(self):
        self.scheduler = self._run("scheduler", "--host", "127.0.0.1", "--port", str(self.port))
        self.workers = [self._worker() for _ in range(self.n_workers)]

    def _worker(self):
        return self._run("worker", self.address, "--nthreads", "1", "--no-nanny")

    def _run(self, what, *args):
        command = [sys.executable, "-m", f"distributed.cli.dask_{what}", *args, "--no-dashboard"]
        return subprocess.Popen(command, stderr=subprocess.DEVNULL, env=dict(os.environ))

    def replace(self, worker):
        """Kill a worker as the system would, and start another one."""
        worker.kill()
        worker.wait()
        self.workers[self.workers.index(worker)] = self._worker()

    def stop(self):
        for process in (self.scheduler, *self.workers):
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            process.wait()
