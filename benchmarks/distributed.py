"""Fits on a Dask cluster of one machine, and out of core, beside incremental SGD."""

from __future__ import annotations

import hashlib
import json
import math
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np
from sklearn.linear_model import SGDClassifier

from benchmarks.bars import Bar, Row, at_most
from benchmarks.memory import slope
from benchmarks.plan import Plan
from benchmarks.report import number, table
from benchmarks.stale import Kept, sources_of
from benchmarks.stored import fresh_python
from htsvm import HTSVC

# Rows and features; the largest are 4.8 and 0.8 GB. With 100 features more rows take more than ten
# minutes on two busy cores, and ten million (8 GB) want more than 16 GB of memory.
SIZES = (
    (1_000_000, 20), (3_000_000, 20), (10_000_000, 20), (30_000_000, 20),
    (1_000_000, 100), (300_000, 100),
)  # fmt: skip
QUICK_SIZES = ((200_000, 20), (400_000, 20))
WORKERS = (1, 2)
BLOCK_VALUES = 10_000_000
TEST_ROWS, FLIPPED, EPOCHS = 100_000, 0.1, 5
# dask-ml's own solvers go over the data some hundred times: only up to so many values.
MOST_FOR_GLM = 60_000_000
STREAMED = (500_000, 2_000_000)
QUICK_STREAMED = (200_000, 400_000)
GROWTH_LIMIT, STREAM_LIMIT = 1.2, 1.2
# Beside a fit of the same data in memory: rows, features and blocks.
BESIDE, QUICK_BESIDE = (1_000_000, 20, 10), (200_000, 20, 10)
ROUND_LIMIT, MEMORY_LIMIT, SECOND_WORKER_LIMIT = 15, 2.0, 0.6
# Two workers are compared with one from so many values on: the larger set with 20 features.
LARGE = 200_000_000
OURS, SGD, LOCAL = "HTSVC", "SGDClassifier", "HTSVC in memory"
INCREMENTAL, LOGISTIC = "dask-ml Incremental(SGD)", "dask-ml LogisticRegression"


def make_block(number_: int, rows: int, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Return block `number_` of the data: a noisy plane, a tenth of the labels flipped."""
    rng = np.random.default_rng([7, number_ + 1])
    X = rng.normal(size=(rows, n))
    score = X @ np.random.default_rng(n).normal(size=n) / math.sqrt(n)
    y = np.where(score + 0.3 * rng.normal(size=rows) > 0.0, 1, -1)
    wrong = rng.random(rows) < FLIPPED
    return X, np.where(wrong, -y, y) if number_ >= 0 else y


def lazy_data(m: int, n: int, blocks: int | None = None) -> tuple[Any, Any]:
    """Return the data as Dask arrays whose blocks workers make themselves."""
    from dask import array, delayed

    rows = BLOCK_VALUES // n if blocks is None else -(-m // blocks)
    sizes = [min(rows, m - low) for low in range(0, m, rows)]
    parts = [delayed(make_block, nout=2)(k, size, n) for k, size in enumerate(sizes)]
    X = [array.from_delayed(p[0], (s, n), float) for p, s in zip(parts, sizes, strict=True)]
    y = [array.from_delayed(p[1], (s,), int) for p, s in zip(parts, sizes, strict=True)]
    return array.concatenate(X), array.concatenate(y)


def run(plan: Plan) -> list[Row]:
    """Measure fits on clusters, then streamed fits in fresh processes.

    What an interrupted run with the same sources has measured is not measured again.
    """
    sources = hashlib.sha256(json.dumps(sources_of("distributed")).encode()).hexdigest()[:12]
    kept, rows = Kept(f"distributed{'-quick' * plan.quick}", sources=sources), []
    for name, job in _jobs(plan):
        found = kept.get(name, job)
        rows += found
        for row in found:
            plan.say(_progress(row))
    if dask_ml() is None:
        plan.say("dask-ml is not there (pip install dask-ml): its estimators are left out")
    kept.done()
    return rows


def _jobs(plan: Plan) -> Iterator[tuple[str, Callable[[], list[Row]]]]:
    """Yield all measurements by name."""
    beside = QUICK_BESIDE if plan.quick else BESIDE
    yield f"beside {beside}", partial(_beside_memory, *beside, plan.repeats)
    for m, n in QUICK_SIZES if plan.quick else SIZES:
        for workers in WORKERS:
            yield f"cluster {m} {n} {workers}", partial(_on_cluster, m, n, workers)
        yield f"sgd {m} {n}", partial(_sgd, m, n)
    sizes = QUICK_STREAMED if plan.quick else STREAMED
    for m in sizes:
        # As many blocks for all files: a peak is the higher the more often one looks for it.
        yield f"streamed {m}", partial(_streamed, m, 20, repeats=sizes[-1] // m)


def _local_cluster(workers: int) -> Any:
    """Return a cluster of processes with one thread each."""
    from distributed import LocalCluster

    return LocalCluster(
        n_workers=workers, threads_per_worker=1, dashboard_address=None, memory_limit=0,
        env={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
    )  # fmt: skip


def _beside_memory(m: int, n: int, blocks: int, repeats: int) -> list[Row]:
    """Fit on two workers and in memory by turns; the first of each does not count."""
    from distributed import Client, wait

    with _local_cluster(2) as cluster, Client(cluster) as client:
        X, y = lazy_data(m, n, blocks)
        X, y = client.persist([X, y])
        wait([X, y])
        local = X.compute(), y.compute()
        seconds: dict[str, list[float]] = {OURS: [], LOCAL: []}
        for _ in range(repeats + 1):
            for name, data in ((OURS, (X, y)), (LOCAL, local)):
                began = time.perf_counter()
                model = HTSVC().fit(*data)
                seconds[name].append(time.perf_counter() - began)
                if name == OURS:
                    blockwise = model
    times = {name: median(found[1:]) for name, found in seconds.items()}
    return [
        {
            "kind": "beside", "set": f"m = {m:,}, n = {n}, {blocks} blocks, 2 workers", "m": m,
            "n": n, "workers": 2, "estimator": OURS, "seconds": times[OURS],
            "passes": blockwise.n_passes_, "memory_seconds": times[LOCAL],
            "ratio": times[OURS] / times[LOCAL],
            "network_passes": int(blockwise.history_["network_passes"][-1]),
            "objective": float(blockwise.objective_[0]),
            "memory_objective": float(model.objective_[0]),
        }
    ]  # fmt: skip


def dask_ml() -> Any:
    """Return the package, or None where it is not installed or does not work with this Dask."""
    try:
        import dask_ml.linear_model
        import dask_ml.wrappers
    except ImportError:
        return None
    return dask_ml


def _on_cluster(m: int, n: int, workers: int) -> list[Row]:
    """Fit once on a fresh cluster; the data is made and in the workers' memory before.

    Where there is one worker dask-ml follows, on the same data.
    """
    from distributed import Client, wait

    with _local_cluster(workers) as cluster, Client(cluster) as client:
        X, y = lazy_data(m, n)
        X, y = client.persist([X, y])
        wait([X, y])
        before = client.run(resident, "VmRSS")
        began = time.perf_counter()
        model = HTSVC().fit(X, y)
        seconds = time.perf_counter() - began
        after = client.run(resident, "VmHWM")
        rivals = _dask_ml_rivals(X, y) if workers == 1 and dask_ml() is not None else []
    Xt, yt = make_block(-1, TEST_ROWS, n)
    history = model.history_
    ours = {
        "kind": "cluster", "set": f"m = {m:,}, n = {n}, {workers} workers", "m": m, "n": n,
        "workers": workers, "estimator": OURS, "seconds": seconds, "passes": model.n_passes_,
        "network_passes": int(history["network_passes"][-1]),
        "bytes_per_pass": float(history["network_bytes"][-1] / history["network_passes"][-1]),
        "worker_bytes": max(after.values()),
        "data_bytes": 8 * m * n // workers,
        "extra_bytes": max(after[key] - before[key] for key in after),
        "accuracy": model.score(Xt, yt), "certified": bool(model.certificate_[0].certified),
    }  # fmt: skip
    return [ours, *rivals]


def _dask_ml_rivals(X: Any, y: Any) -> list[Row]:
    """Fit dask-ml's estimators on blocks that are in the workers' memory."""
    m, n = X.shape
    ml = dask_ml()
    sgd = SGDClassifier(loss="hinge", alpha=1.0 / m, average=True, random_state=0)
    rivals = {INCREMENTAL: (ml.wrappers.Incremental(sgd), {"classes": [-1, 1]})}
    if m * n <= MOST_FOR_GLM:
        rivals[LOGISTIC] = (ml.linear_model.LogisticRegression(solver="lbfgs"), {})
    Xt, yt = make_block(-1, TEST_ROWS, n)
    rows = []
    for name, (model, options) in rivals.items():
        began = time.perf_counter()
        model.fit(X, y if options else (y > 0).astype(int), **options)
        seconds = time.perf_counter() - began
        scores = Xt @ np.ravel(model.coef_) + model.intercept_
        rows.append({
            "kind": "cluster", "set": f"m = {m:,}, n = {n}", "m": m, "n": n, "workers": 1,
            "estimator": name, "seconds": seconds, "passes": 1 if options else None,
            "accuracy": float(np.mean(np.where(scores > 0.0, 1, -1) == yt)),
        })  # fmt: skip
    return rows


def resident(name: str) -> int:
    """Return a figure of this process's memory, in bytes."""
    lines = Path("/proc/self/status").read_text().splitlines()
    return 1024 * int(next(line for line in lines if line.startswith(name)).split()[1])


def _sgd(m: int, n: int) -> list[Row]:
    """Fit block by block in this process; only the time in `partial_fit` counts."""
    rows = BLOCK_VALUES // n
    model = SGDClassifier(loss="hinge", alpha=1.0 / m, average=True, random_state=0)
    seconds = 0.0
    for k, low in enumerate(range(0, m, rows)):
        X, y = make_block(k, min(rows, m - low), n)
        began = time.perf_counter()
        for _ in range(EPOCHS):
            model.partial_fit(X, y, classes=[-1, 1])
        seconds += time.perf_counter() - began
    Xt, yt = make_block(-1, TEST_ROWS, n)
    return [{
        "kind": "cluster", "set": f"m = {m:,}, n = {n}", "m": m, "n": n, "workers": 1,
        "estimator": SGD, "seconds": seconds, "passes": EPOCHS, "accuracy": model.score(Xt, yt),
    }]  # fmt: skip


def _streamed(m: int, n: int, repeats: int) -> list[Row]:
    """Fit a memory-mapped file in a fresh process that holds none of it."""
    with tempfile.TemporaryDirectory() as folder:
        X = np.lib.format.open_memmap(f"{folder}/X.npy", "w+", np.float64, (m, n))
        y = np.lib.format.open_memmap(f"{folder}/y.npy", "w+", np.int8, (m,))
        step = 50_000
        for k, low in enumerate(range(0, m, step)):
            X[low : low + step], y[low : low + step] = make_block(k, min(step, m - low), n)
        del X, y
        found = json.loads(fresh_python("-m", "benchmarks.child_stream", folder, str(repeats)))
    return [{"kind": "streamed", "set": f"file of {m:,} x {n}", "m": m, "n": n, "workers": 1,
             "estimator": OURS, "data_bytes": 8 * m * n, **found}]  # fmt: skip


def _progress(row: Row) -> str:
    extra = row.get("extra_bytes")
    memory = "" if extra is None else f", {extra / 1e6:.0f} MB beyond the data"
    return f"{row['set']}, {row['estimator']}: {row['seconds']:.1f} s{memory}"


# ----------------------------------------------------------------------------------- report


def bars(rows: list[Row]) -> list[Bar]:
    """Compare with what was promised."""
    ours = [row for row in rows if row["estimator"] == OURS and row["kind"] == "cluster"]
    growth = []
    for n, workers in sorted({(row["n"], row["workers"]) for row in ours}):
        some = [row for row in ours if (row["n"], row["workers"]) == (n, workers)]
        growth.append({"set": f"n = {n}, {workers} workers", "slope": slope(some, "seconds")})
    streamed = [row for row in rows if row["kind"] == "streamed"]
    ratios = []
    if len(streamed) > 1:
        ratio = streamed[-1]["extra_bytes"] / max(streamed[0]["extra_bytes"], 1)
        ratios = [{"set": f"{streamed[0]['set']} to {streamed[-1]['set']}", "ratio": ratio}]
    beside = [row for row in rows if row["kind"] == "beside"]
    seconds = {(r["m"], r["n"], r["workers"]): r["seconds"] for r in ours}
    second = [
        {"set": f"m = {m:,}, n = {n}", "ratio": t / seconds[m, n, 1]}
        for (m, n, workers), t in seconds.items()
        if workers == 2 and n == 20 and m * n >= LARGE
    ]
    return [
        at_most(f"round trips over the network of a fit (<= {ROUND_LIMIT})",
                beside, "network_passes", ROUND_LIMIT),
        at_most(f"two workers over the fit in memory (<= {MEMORY_LIMIT:g})",
                beside, "ratio", MEMORY_LIMIT),
        at_most(f"two workers over one from {LARGE:,} values on (<= {SECOND_WORKER_LIMIT})",
                second, "ratio", SECOND_WORKER_LIMIT),
        at_most(f"time grows linearly with m (log-log slope <= {GROWTH_LIMIT})",
                growth, "slope", GROWTH_LIMIT),
        at_most(f"memory of a streamed fit does not grow with the file (ratio <= {STREAM_LIMIT})",
                ratios, "ratio", STREAM_LIMIT),
    ]  # fmt: skip


def tables(rows: list[Row]) -> str:
    """Render as Markdown."""
    cluster = [row for row in rows if row["kind"] == "cluster"]
    streamed = [row for row in rows if row["kind"] == "streamed"]
    beside = [row for row in rows if row["kind"] == "beside"]
    return "\n\n".join(
        [
            "## Beside a fit in memory\n\nThe same rows in blocks on two workers of one thread "
            "each, and as one array in a process with two threads: medians of fits by turns.",
            table(beside, BESIDE_CELLS),
            "## On a cluster of one machine\n\nEach worker has one thread; blocks of ten million "
            "values are in the workers' memory before the clock starts. *passes*: work in units "
            "of one product X @ w; *network*: passes over the network; *KB*: what one of them "
            "moves in all; *worker*: the most memory that a worker held, beside its share of the "
            "data. A tenth of the training labels is flipped, the test labels are clean. SGD "
            "goes over each block five times, in one process; making the data does not count. "
            "dask-ml, where it is installed, works on the same blocks on one worker: its "
            "`Incremental` takes them to SGD one after the other, once; its logistic regression "
            "(L-BFGS) is left out beyond sixty million values, where it takes minutes.",
            table(cluster, CELLS),
            _speedups(cluster),
            "## Out of core\n\nA memory-mapped file, fitted with `htsvm.stream` in a fresh "
            "process; memory is what the process allocated itself at its peak, without the pages "
            "of the file that the system keeps at hand. Smaller files are fitted several times, so "
            "that as many blocks are read of each; the seconds are those of one fit.",
            table(streamed, STREAM_CELLS),
        ]
    )


def _speedups(rows: list[Row]) -> str:
    seconds = {(r["m"], r["n"], r["workers"]): r["seconds"] for r in rows if r["estimator"] == OURS}
    ratios = [seconds[m, n, 1] / t for (m, n, w), t in seconds.items() if w == 2]
    if not ratios:
        return ""
    return f"Two workers beside one: {number(median(ratios))} times as fast (median)."


def _of_ours(what: Callable[[Row], str]) -> Callable[[Row], str]:
    return lambda row: what(row) if row["estimator"] == OURS else ""


CELLS: dict[str, Any] = {
    "m": lambda row: f"{row['m']:,}",
    "n": lambda row: str(row["n"]),
    "estimator": lambda row: row["estimator"],
    "workers": lambda row: str(row["workers"]),
    "seconds": "seconds",
    "passes": "passes",
    "network": _of_ours(lambda row: str(int(row["network_passes"]))),
    "KB": _of_ours(lambda row: number(row["bytes_per_pass"] / 1e3)),
    "worker (MB)": _of_ours(lambda row: number(row["worker_bytes"] / 1e6)),
    "data (MB)": _of_ours(lambda row: number(row["data_bytes"] / 1e6)),
    "accuracy (%)": lambda row: f"{100 * row['accuracy']:.2f}",
}
BESIDE_CELLS: dict[str, Any] = {
    "set": lambda row: row["set"],
    "seconds": "seconds",
    "in memory": "memory_seconds",
    "ratio": "ratio",
    "passes": "passes",
    "network": lambda row: str(row["network_passes"]),
    "objective over that in memory": lambda r: f"{r['objective'] / r['memory_objective']:.5f}",
}
STREAM_CELLS: dict[str, Any] = {
    "m x n": lambda row: f"{row['m']:,} x {row['n']}",
    "file (MB)": lambda row: number(row["data_bytes"] / 1e6),
    "seconds": "seconds",
    "peak memory beyond the start (MB)": lambda row: number(row["extra_bytes"] / 1e6),
}
warnings.filterwarnings("ignore", message="Port .* is already in use")
