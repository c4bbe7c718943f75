"""The model with a kernel beside SVC and its rivals: accuracy, support vectors, time, memory."""

from __future__ import annotations

import time
import tracemalloc
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from statistics import mean, median, stdev
from typing import Any

import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from benchmarks.bars import Bar, Row, at_most
from benchmarks.plan import Plan
from benchmarks.report import markdown_table, number
from benchmarks.resume import Kept
from benchmarks.sets import MissingData, published
from htsvm import KernelHTSVC, KernelHTSVCCV
from htsvm.datasets import flip_labels

LARGE = ("ijcnn1", "skin", "susy", "a9a", "w8a")
SMALL = ("australian", "breast-cancer", "german", "heart", "vote")
NOISES = ("none", "symmetric 20 %", "symmetric 40 %", "one-sided 30 %", "boundary 20 %")
# Rows to train and to test on, and draws, unless asked for otherwise; the grids, gamma in units of
# 1 / n_features.
ROWS, TEST_ROWS, DRAWS = 800, 4000, 1
PENALTIES, WIDTHS, CAPS = (0.125, 1.0, 8.0, 64.0), (0.25, 1.0, 4.0), (np.inf, 2.0, 1.0)
FOLDS, LANDMARKS = 3, 300
# Rows of the timings, and of the prediction.
SIZES, PREDICTED = (2000, 5000, 20_000, 49_990), 100_000


@dataclass(frozen=True, eq=False)
class Split:
    """Training rows with labels as given, and test rows with true ones."""

    name: str
    noise: str
    draw: int
    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


def dense(X: Any) -> np.ndarray:
    return np.asarray(X.toarray() if hasattr(X, "toarray") else X, dtype=np.float64)


def whole(name: str) -> tuple[Any, np.ndarray]:
    """Return all rows of a set of the registry, or of the digits, even against odd."""
    if name == "digits":
        X, y = load_digits(return_X_y=True)
        return X, np.where(y % 2, 1, -1)
    data = published(name)
    return data.X, np.where(data.y == data.y.max(), 1, -1)


def split(name: str, noise: str, draw: int, rows: int = ROWS) -> Split:
    """Return a random part of a set, standardised, with wrong labels in its training part."""
    X, y = whole(name)
    rng = np.random.default_rng(draw)
    order = rng.permutation(len(y))
    size = min(rows, int(0.6 * len(y)))
    train, test = order[:size], order[size : size + TEST_ROWS]
    X_train, X_test = dense(X[train]), dense(X[test])
    scaler = StandardScaler().fit(X_train)
    X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)
    return Split(name, noise, draw, X_train, wrong(noise, X_train, y[train], draw), X_test, y[test])


def wrong(noise: str, X: np.ndarray, y: np.ndarray, draw: int) -> np.ndarray:
    """Return labels with errors of the given kind."""
    if noise == "none":
        return y
    kind, rate = noise.split()[0], int(noise.split()[1]) / 100.0
    if kind == "one-sided":
        return flip_labels(y, rate, classes=[-1], random_state=draw)[0]
    scores = None
    if kind == "boundary":
        scores = LogisticRegression(max_iter=500).fit(X, y).decision_function(X)
    return flip_labels(y, rate, kind=kind, scores=scores, random_state=draw)[0]


# ---------------------------------------------------------------------------------- methods


def searched(model: Any, grid: dict[str, Any], draw: int) -> Any:
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=draw)
    return GridSearchCV(model, grid, cv=folds)


def methods(n: int, m: int, draw: int) -> dict[str, Any]:
    """Return the methods, each with the same grids and folds of the same number."""
    gammas = [width / n for width in WIDTHS]
    landmarks = Nystroem(n_components=min(LANDMARKS, m // 2), random_state=draw)
    steps = {"nystroem__gamma": gammas}
    return {
        "KernelHTSVCCV": KernelHTSVCCV(
            Cs=PENALTIES, caps=CAPS, gammas=gammas, cv=FOLDS, random_state=draw
        ),
        "SVC": searched(SVC(), {"C": PENALTIES, "gamma": gammas}, draw),
        "landmarks + LinearSVC": searched(
            make_pipeline(landmarks, LinearSVC()), {**steps, "linearsvc__C": PENALTIES}, draw
        ),
        "landmarks + LogisticRegression": searched(
            make_pipeline(landmarks, LogisticRegression(max_iter=300)),
            {**steps, "logisticregression__C": PENALTIES}, draw,
        ),
        "boosting": HistGradientBoostingClassifier(random_state=draw),
    }  # fmt: skip


def _compare(data: Split) -> list[Row]:
    rows: list[Row] = []
    for name, model in methods(data.X.shape[1], len(data.y), data.draw).items():
        began = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model.fit(data.X, data.y)
        best = getattr(model, "best_estimator_", model)
        certificates = getattr(model, "certificate_", ())
        rows.append({
            "kind": "accuracy", "set": data.name, "noise": data.noise, "draw": data.draw,
            "method": name, "accuracy": 100.0 * float(model.score(data.X_test, data.y_test)),
            "support": int(np.sum(best.n_support_)) if hasattr(best, "n_support_") else None,
            "cpu_seconds": time.process_time() - began,
            "certified": all(c.certified for c in certificates) if certificates else None,
        })  # fmt: skip
    return rows


# ---------------------------------------------------------------------------- time and memory


def _timed(task: Callable[[], Any]) -> tuple[float, Any]:
    began = time.perf_counter()
    answer = task()
    return time.perf_counter() - began, answer


def _speed(name: str, size: int, repeats: int) -> list[Row]:
    """Fit SVC and the exact or landmark model to the same rows with the same C and gamma."""
    data = split(name, "symmetric 20 %", 0, size)
    gamma = 1.0 / data.X.shape[1]
    new = np.resize(data.X_test, (PREDICTED, data.X.shape[1]))
    times: dict[str, list[float]] = {"ours": [], "svc": [], "ours_new": [], "svc_new": []}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for _ in range(min(repeats, 3) if size <= 5000 else 1):
            seconds, ours = _timed(lambda: KernelHTSVC(8.0, gamma=gamma).fit(data.X, data.y))
            times["ours"].append(seconds)
            seconds, rival = _timed(lambda: SVC(C=8.0, gamma=gamma).fit(data.X, data.y))
            times["svc"].append(seconds)
            times["ours_new"].append(_timed(lambda model=ours: model.predict(new))[0])
            times["svc_new"].append(_timed(lambda model=rival: model.predict(new))[0])
    middle = {key: median(values) for key, values in times.items()}
    return [{
        "kind": "speed", "set": f"{name}, {size} rows", "rows": size, "method": ours.method_,
        "seconds": middle["ours"], "svc_seconds": middle["svc"],
        "fit_ratio": middle["ours"] / middle["svc"],
        "predict_ratio": middle["ours_new"] / middle["svc_new"],
        "support_ratio": len(ours.support_) / len(rival.support_),
        "accuracy": 100.0 * ours.score(data.X_test, data.y_test),
        "svc_accuracy": 100.0 * rival.score(data.X_test, data.y_test),
        "certified": ours.certificate_[0].certified,
    }]  # fmt: skip


def _memory(name: str, size: int, n_landmarks: int | None) -> list[Row]:
    """Measure what a fit takes beside X, in matrices of the method."""
    data = split(name, "symmetric 20 %", 0, size)
    model = KernelHTSVC(8.0, gamma=1.0 / data.X.shape[1], n_landmarks=n_landmarks)
    tracemalloc.start()
    model.fit(data.X, data.y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    width = size if n_landmarks is None else n_landmarks
    return [{
        "kind": "memory", "set": f"{name}, {size} rows, {model.method_}",
        "matrices": peak / (8.0 * size * width),
    }]  # fmt: skip


# ------------------------------------------------------------------------------------ a run


def _cells(plan: Plan) -> Iterator[tuple[str, Callable[[], list[Row]]]]:
    draws = 1 if plan.quick else DRAWS
    names = ("digits",) if plan.quick else (*LARGE, *SMALL, "digits")
    sizes = (2000,) if plan.quick else SIZES
    for size in sizes:
        yield f"speed {size}", lambda size=size: _speed("ijcnn1", size, plan.repeats)
    for count in (None, 500):
        yield f"memory {count}", lambda count=count: _memory("ijcnn1", 4000, count)
    for draw in range(draws):
        for name in names:
            for noise in NOISES:
                cell = (name, noise, draw)
                yield (
                    f"{name}, {noise}, {draw}",
                    lambda cell=cell: _compare(split(*cell, plan.rows or ROWS)),
                )


def run(plan: Plan) -> list[Row]:
    """Measure all cells; a broken run goes on where it broke."""
    kept = Kept(f"kernels-{'quick-' * plan.quick}{plan.rows or ROWS}")
    rows: list[Row] = []
    for name, measure in _cells(plan):
        try:
            rows += kept.get(name, measure)
        except MissingData as reason:
            plan.say(f"{name}: skipped, {reason}")
            continue
        plan.say(name)
    kept.done()
    return rows


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
    found += [
        at_most("fit over SVC's up to 5,000 rows <= 1", small, "fit_ratio", 1.0),
        at_most("fit over SVC's from 20,000 rows up <= 0.2", large, "fit_ratio", 0.2),
        at_most("ijcnn1 whole: seconds <= 60", large, "seconds", 60.0),
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
        for noise in NOISES:
            cells = {m: _cell(accuracy, name, noise, m) for m in names}
            lines.append({"set": name, "wrong labels": noise, **cells})
    for label, noisy in (("noisy", True), ("clean", False)):
        means = {m: f"{_mean(rows, m, noisy):.2f}" for m in names}
        lines.append({"set": "mean", "wrong labels": label, **means})
    columns = ("set", "method", "seconds", "svc_seconds", "fit_ratio", "predict_ratio",
               "support_ratio", "accuracy", "svc_accuracy", "certified")  # fmt: skip
    pages = [markdown_table(lines)] if accuracy else []
    if timed:
        shown = [
            {c: number(row[c]) if isinstance(row[c], float) else str(row[c]) for c in columns}
            for row in timed
        ]
        pages.append(markdown_table(shown))
    return "\n\n".join(pages)


def _cell(accuracy: list[Row], name: str, noise: str, method: str) -> str:
    found = [
        row["accuracy"]
        for row in accuracy
        if (row["set"], row["noise"], row["method"]) == (name, noise, method)
    ]
    spread = f" ± {stdev(found):.1f}" if len(found) > 1 else ""
    return f"{mean(found):.1f}{spread}" if found else ""
