"""The model with a kernel beside SVC and its rivals: accuracy, support vectors, time, memory.

The rows of the rivals are kept by what they depend on, the data and the rivals themselves: a change
of the library does not make them measured again.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import mean, median, stdev
from typing import Any

import numpy as np
import sklearn
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks import kernels_data
from benchmarks.accuracy_data import LARGE, NOISES
from benchmarks.bars import Bar, Row, at_most
from benchmarks.kernels_data import (
    FOLDS,
    HUMAN,
    IMAGES,
    PENALTIES,
    ROWS,
    SMALL,
    compare,
    gammas,
    rivals,
    split,
)
from benchmarks.plan import Plan
from benchmarks.report import markdown_table, number
from benchmarks.sets import Dataset, MissingData, published, wrong
from benchmarks.stale import Kept
from benchmarks.stored import ROOT
from htsvm import KernelHTSVC, KernelHTSVCCV

CAPS = (np.inf, 2.0, 1.0)
DRAWS = 1
# Rows of the timings (SVC takes minutes to predict with the last) and of the prediction; rows and
# landmarks of the measurements of memory.
SIZES, PREDICTED = (1000, 2000, 5000, 20_000, 49_990), 100_000
HELD = ((4000, 0), (20_000, 500))


def ours(data: Dataset) -> dict[str, Any]:
    """Return the model, with the grids of its rivals."""
    model = KernelHTSVCCV(
        Cs=PENALTIES, caps=CAPS, gammas=gammas(data), cv=FOLDS, random_state=data.draw
    )
    return {"KernelHTSVCCV": model}


# ---------------------------------------------------------------------------- time and memory


def _timed(task: Callable[[], Any]) -> tuple[float, float, Any]:
    """Return seconds by the clock and of the processor, and the answer."""
    clock, cpu = time.perf_counter(), time.process_time()
    answer = task()
    return time.perf_counter() - clock, time.process_time() - cpu, answer


def _some_rows(size: int) -> Dataset:
    """Return rows of ijcnn1 with 20 % wrong labels, and its own test part."""
    data = published("ijcnn1")
    some = np.random.default_rng(0).permutation(len(data.y))[:size]
    scaler = StandardScaler().fit(data.X[some].toarray())
    X, X_test = (scaler.transform(part.toarray()) for part in (data.X[some], data.X_test))
    y = wrong("symmetric 20 %", X, data.y[some], 0)
    return Dataset("ijcnn1", X, y, X_test, data.y_test, "symmetric 20 %")


def _speed(size: int, repeats: int) -> list[Row]:
    """Fit SVC and the exact or landmark model to the same rows with the same C and gamma."""
    data = _some_rows(size)
    gamma = 1.0 / data.X.shape[1]
    new = np.resize(data.X_test, (PREDICTED, data.X.shape[1]))
    models = {"ours": KernelHTSVC(8.0, gamma=gamma), "svc": SVC(C=8.0, gamma=gamma)}
    found: dict[str, list[float]] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(min(repeats, 3) if size <= 5000 else 1):
            for name, model in models.items():
                clock, cpu, _ = _timed(lambda model=model: model.fit(data.X, data.y))
                found.setdefault(f"{name} clock", []).append(clock)
                found.setdefault(f"{name} fit", []).append(cpu)
        if size < SIZES[-1]:
            for name, model in models.items():
                found[f"{name} new"] = [_timed(lambda model=model: model.predict(new))[1]]
    middle = {key: median(values) for key, values in found.items()}
    own, rival = models.values()
    rows = slice(0, 4000)
    return [{
        "kind": "speed", "set": f"ijcnn1, {size} rows", "rows": size, "method": own.method_,
        "seconds": middle["ours clock"], "cpu_seconds": middle["ours fit"],
        "svc_cpu_seconds": middle["svc fit"],
        "fit_ratio": middle["ours fit"] / middle["svc fit"],
        "predict_ratio": middle["ours new"] / middle["svc new"] if size < SIZES[-1] else None,
        "support_ratio": len(own.support_) / len(rival.support_),
        "accuracy": 100.0 * own.score(data.X_test[rows], data.y_test[rows]),
        "svc_accuracy": 100.0 * rival.score(data.X_test[rows], data.y_test[rows]),
        "certified": own.certificate_[0].certified,
    }]  # fmt: skip


def _memory(rows: int, landmarks: int) -> list[Row]:
    """Measure what a fit takes beside X in a process of its own, in matrices of the method."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.child_kernel_memory", str(rows), str(landmarks)],
        capture_output=True, text=True, check=True, cwd=ROOT,
    )  # fmt: skip
    resident, traced = json.loads(done.stdout.splitlines()[-1])
    what = f"{landmarks} landmarks" if landmarks else "exact"
    return [{
        "kind": "memory", "set": f"ijcnn1, {rows} rows, {what}", "resident": resident,
        "traced": traced, "matrices": max(resident or 0.0, traced),
    }]  # fmt: skip


# ------------------------------------------------------------------------------------ a run


def _cells(plan: Plan) -> Iterator[tuple[str, Callable[[], list[Row]]]]:
    """Yield what is measured of speed and memory, each with its name."""
    for size in (2000,) if plan.quick else SIZES:
        yield f"speed {size}", lambda size=size: _speed(size, plan.repeats)
    for held in ((2000, 0),) if plan.quick else HELD:
        yield f"memory {held}", lambda held=held: _memory(*held)


def _settings(plan: Plan) -> Iterator[tuple[str, str, int]]:
    """Yield sets, kinds of noise and draws; the first draw of all comes first."""
    names = ("digits",) if plan.quick else (*LARGE, "digits", *SMALL)
    for draw in range(1 if plan.quick else DRAWS):
        for name in names:
            yield from ((name, noise, draw) for noise in NOISES)
    if not plan.quick:
        yield from ((IMAGES, noise, 0) for noise in HUMAN)


def run(plan: Plan) -> list[Row]:
    """Measure all cells; a broken run goes on where it broke."""
    size = plan.rows or ROWS
    kept = Kept(f"kernels-{'quick-' * plan.quick}{size}")
    others = Kept(f"kernels-rivals-{size}", sources=_rivals_digest())
    rows: list[Row] = []
    # SVC has one thread; with more, times of the processor would not compare.
    with threadpool_limits(1):
        for setting in _settings(plan):
            name = "{}, {}, {}".format(*setting)
            rows += _measured(
                plan, name, lambda name=name, at=setting: _compared(kept, others, name, at, size)
            )
        for name, measure in _cells(plan):
            rows += _measured(plan, name, lambda n=name, measure=measure: kept.get(n, measure))
    kept.done()
    return rows


def _measured(plan: Plan, name: str, measure: Callable[[], list[Row]]) -> list[Row]:
    try:
        rows = measure()
    except MissingData as reason:
        plan.say(f"{name}: skipped, {reason}")
        return []
    plan.say(name)
    return rows


def _compared(
    kept: Kept, others: Kept, name: str, setting: tuple[str, str, int], size: int
) -> list[Row]:
    """Return the rows of all methods, the model with a kernel first."""

    def measured(models: Callable[[Dataset], dict[str, Any]]) -> list[Row]:
        data = split(*setting, size)
        return compare(data, models(data))

    first = kept.get(name, lambda: measured(ours))
    return first + others.get(name, lambda: measured(rivals))


def _rivals_digest() -> str:
    """Return a digest of what the rows of the rivals depend on."""
    text = Path(kernels_data.__file__).read_text(encoding="utf-8") + sklearn.__version__
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def _mean(rows: list[Row], method: str, noisy: bool) -> float:
    found = [r["accuracy"] for r in rows
             if r["kind"] == "accuracy" and r["method"] == method
             and (r["noise"] != "none") == noisy]  # fmt: skip
    return mean(found) if found else float("nan")


def _support_ratios(rows: list[Row]) -> list[float]:
    at = {(r["set"], r["noise"], r["draw"], r["method"]): r["support"]
          for r in rows if r["kind"] == "accuracy"}  # fmt: skip
    return [
        count / at[name, noise, draw, "SVC"]
        for (name, noise, draw, method), count in at.items()
        if method == "KernelHTSVCCV" and "20 %" in noise
    ]


def bars(rows: list[Row]) -> list[Bar]:
    """Return the promises beside the figures."""
    timed = [row for row in rows if row["kind"] == "speed"]
    held = [row for row in rows if row["kind"] == "memory"]
    found = []
    if any(row["kind"] == "accuracy" for row in rows):
        gain = _mean(rows, "KernelHTSVCCV", True) - _mean(rows, "SVC", True)
        others = [m for m in _methods(rows) if m != "KernelHTSVCCV"]
        best = max(_mean(rows, m, True) for m in others)
        clean = _mean(rows, "KernelHTSVCCV", False) - _mean(rows, "SVC", False)
        ahead = _mean(rows, "KernelHTSVCCV", True) - best
        found += [
            Bar("noisy settings: the best mean", f"{ahead:+.2f} points to the best", ahead >= 0),
            Bar("noisy settings: 1.5 points over SVC's mean", f"{gain:+.2f}", gain >= 1.5),
            Bar("clean data: at most 0.3 behind SVC", f"{clean:+.2f}", clean >= -0.3),
        ]
        ratio = median(_support_ratios(rows))
        found.append(
            Bar("support vectors at 20 % noise, median: <= 0.2 of SVC's", f"{ratio:.3f}",
                ratio <= 0.2)
        )  # fmt: skip
    small, large = ([r for r in timed if r["rows"] <= 5000], [r for r in timed if r["rows"] > 5000])
    full = [r for r in timed if r["rows"] == SIZES[-1]]
    found += [
        at_most("fit over SVC's up to 5,000 rows, CPU time <= 1", small, "fit_ratio", 1.0),
        at_most("fit over SVC's from 20,000 rows up, CPU time <= 0.2", large, "fit_ratio", 0.2),
        at_most("ijcnn1 whole: seconds <= 60", full, "seconds", 60.0),
        at_most("predicting 100,000 rows over SVC's <= 0.3", timed, "predict_ratio", 0.3),
        at_most("memory in matrices of the method <= 1.3", held, "matrices", 1.3),
    ]
    return found


def _methods(rows: list[Row]) -> list[str]:
    return list(dict.fromkeys(row["method"] for row in rows if row["kind"] == "accuracy"))


def tables(rows: list[Row]) -> str:
    """Return the tables of a run."""
    accuracy = [row for row in rows if row["kind"] == "accuracy"]
    timed = [row for row in rows if row["kind"] == "speed"]
    names = _methods(rows)
    lines: list[dict[str, str]] = []
    for name in dict.fromkeys(row["set"] for row in accuracy):
        for noise in HUMAN if name == IMAGES else NOISES:
            cells = {m: _cell(accuracy, name, noise, m) for m in names}
            lines.append({"set": name, "wrong labels": noise, **cells})
    for label, noisy in (("noisy", True), ("clean", False)):
        means = {m: f"{_mean(rows, m, noisy):.2f}" for m in names}
        lines.append({"set": "mean", "wrong labels": label, **means})
    columns = ("set", "method", "cpu_seconds", "svc_cpu_seconds", "fit_ratio", "predict_ratio",
               "support_ratio", "accuracy", "svc_accuracy", "certified")  # fmt: skip
    said = f"Accuracy in %, at most {ROWS} rows to train on ({IMAGES}: ten kinds of images)."
    pages = [said, markdown_table(lines)] if accuracy else []
    if timed:
        shown = [{c: _shown(row[c]) for c in columns} for row in timed]
        pages.append("CPU seconds, one thread; ratios are to SVC with the same C and gamma.")
        pages.append(markdown_table(shown))
    held = [row for row in rows if row["kind"] == "memory"]
    if held:
        pages.append("Memory of a fit at its peak beside X, in matrices of the method.")
        columns = ("set", "resident", "traced")
        pages.append(markdown_table([{c: _shown(row[c]) for c in columns} for row in held]))
    return "\n\n".join(pages)


def _shown(value: Any) -> str:
    return number(value) if isinstance(value, float) else str(value)


def _cell(accuracy: list[Row], name: str, noise: str, method: str) -> str:
    found = [
        row["accuracy"]
        for row in accuracy
        if (row["set"], row["noise"], row["method"]) == (name, noise, method)
    ]
    spread = f" ± {stdev(found):.1f}" if len(found) > 1 else ""
    return f"{mean(found):.1f}{spread}" if found else ""
