"""Streamed fits in this fresh process: ``python -m benchmarks.child_stream FOLDER REPEATS``.

Prints, as JSON, the seconds of one fit and the peak of the memory that the process allocated beyond
what it held before. Pages of the mapped file do not count: they are the system's to drop.
"""

from __future__ import annotations

import json
import sys
import threading
import time

import dask
import numpy as np

from benchmarks.distributed import resident
from htsvm import HTSVC
from htsvm.distributed import read_npy

BLOCK_BYTES = 8_000_000


def main(folder: str, repeats: str) -> None:
    X = read_npy(f"{folder}/X.npy", blocksize=BLOCK_BYTES)
    y = np.load(f"{folder}/y.npy", mmap_mode="r")
    with dask.config.set({"htsvm.stream": True, "scheduler": "threads", "num_workers": 2}):
        # Late imports and buffers do not count.
        HTSVC().fit(X[:2000].rechunk((500, -1)), np.array(y[:2000]))
        before = resident("RssAnon")
        seen, done = [before], threading.Event()
        watch = threading.Thread(target=_watch, args=(seen, done))
        watch.start()
        began = time.perf_counter()
        for _ in range(int(repeats)):
            model = HTSVC().fit(X, y)
        seconds = (time.perf_counter() - began) / int(repeats)
        done.set()
        watch.join()
    certified = bool(model.certificate_[0].certified)
    print(json.dumps({"seconds": seconds, "extra_bytes": max(seen) - before,
                      "certified": certified}))  # fmt: skip


def _watch(seen: list[int], done: threading.Event) -> None:
    while not done.wait(0.01):
        seen.append(resident("RssAnon"))


if __name__ == "__main__":
    main(*sys.argv[1:])
