"""HTLogisticRegressionCV beside what one would use otherwise, on data with wrong labels.

``python -m benchmarks.front_door --group fresh,large,several,images [--draws 5] [--only NAMES]``
adds what is missing to `results/front-door.csv`; ``--summary`` writes `results/front-door.md`
from it. Test labels are clean, every choice is made from the noisy ones.

No set of the group "fresh" was looked at while the rule of the average was found. The list was
fixed before the first run.
"""

from __future__ import annotations

import argparse
import csv
import os
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    for variable in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ.setdefault(variable, "1")

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_diabetes, load_wine
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.metrics import log_loss
from sklearn.model_selection import (
    GridSearchCV,
    StratifiedKFold,
    TunedThresholdClassifierCV,
    train_test_split,
)
from sklearn.svm import LinearSVC

from benchmarks import multiclass_data
from benchmarks.accuracy_data import NOISES
from benchmarks.sets import Dataset, published, standardised, susy, wrong
from htsvm import HTLogisticRegressionCV

RESULTS = Path(__file__).parent / "results"
FIELDS = ("group", "set", "noise", "draw", "method", "accuracy", "log_loss", "seconds")
OURS, LOGISTIC = "HTLogisticRegressionCV", "LogisticRegression"
PENALTIES = np.logspace(-4.0, 4.0, 9)
# Coordinate descent on the hinge loss does not converge at large C, and takes most of the time.
HINGE_PENALTIES, HINGE_STEPS = np.logspace(-4.0, 2.0, 7), 300
MOST_ROWS, TEST_SHARE = 1000, 0.4
SEVERAL = ("20 % symmetric", "40 % symmetric", "40 % to the next class")
HUMAN = ("clean", "aggregate", "random", "worse")
IMAGE_ROWS = (3000, 20_000)


# ------------------------------------------------------------------------------------------ data


def pair(name: str, first: int, second: int, view: int | None = None) -> Callable[[], Any]:
    """Return what loads two classes of a set, of one view or of all."""

    def load() -> tuple[Any, np.ndarray]:
        data = published(name)
        edges = np.cumsum([0, *data.view_widths])
        columns = slice(None) if view is None else slice(edges[view], edges[view + 1])
        kept = np.isin(data.y, (first, second))
        X = data.X[kept][:, columns]
        return X, np.where(data.y[kept] == second, 1, -1)

    return load


def rest(name: str, positive: int, view: int) -> Callable[[], Any]:
    """Return what loads one class of a view against the rest."""

    def load() -> tuple[Any, np.ndarray]:
        data = published(name)
        edges = np.cumsum([0, *data.view_widths])
        X = data.X[:, edges[view] : edges[view + 1]]
        return X, np.where(data.y == positive, 1, -1)

    return load


def registry(name: str) -> Callable[[], Any]:
    return lambda: (published(name).X, published(name).y)


def wdbc() -> tuple[Any, np.ndarray]:
    X, y = load_breast_cancer(return_X_y=True)
    return X, 2 * y - 1


def diabetes() -> tuple[Any, np.ndarray]:
    X, y = load_diabetes(return_X_y=True)
    return X, np.where(y > np.median(y), 1, -1)


def table(rows: int, columns: int, tails: float, balance: float, seed: int) -> Callable[[], Any]:
    """Return what makes correlated columns of heavy tails, a third of which decide."""

    def load() -> tuple[Any, np.ndarray]:
        rng = np.random.default_rng(seed)
        mix = rng.normal(size=(columns, columns)) / np.sqrt(columns) + np.eye(columns)
        X = rng.standard_t(tails, size=(rows, columns)) @ mix
        w = rng.normal(size=columns) * (np.arange(columns) % 3 == 0)
        f = X @ w / np.sqrt(w @ mix.T @ mix @ w) + rng.logistic(scale=0.4, size=rows)
        return X, np.where(f > np.quantile(f, balance), 1, -1)

    return load


FRESH: dict[str, Callable[[], Any]] = {
    "WDBC": wdbc,
    "diabetes": diabetes,
    "wine": registry("wine"),
    "bankruptcy": registry("bankruptcy"),
    "a4a": registry("a4a"),
    "w4a": registry("w4a"),
    "STL10 4, 6": pair("stl10", 4, 6, 0),
    "CIFAR 0, 8": pair("cifar10n", 0, 8, 0),
    "Wikipedia 2, 10": pair("wikipedia", 2, 10, 0),
    "BBCSport 3": rest("bbcsport", 3, 0),
    "Reuters-1200 1, 2": pair("reuters-1200", 1, 2, 0),
    "Handwritten 4, 9": pair("handwritten", 4, 9, 1),
    "table, heavy tails": table(1000, 15, 3.0, 0.5, 1),
    "table, 20 % positive": table(1500, 30, 10.0, 0.8, 2),
}
LARGE = ("a9a", "ijcnn1", "susy", "skin", "w8a")


def fresh(name: str, noise: str, draw: int) -> Dataset:
    X, y = FRESH[name]()
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=TEST_SHARE, stratify=y, random_state=draw
    )
    some = np.random.default_rng(draw).permutation(len(y))[:MOST_ROWS]
    X, X_test = prepared(X[some], X_test)
    return Dataset(name, X, wrong(noise, X, y[some], draw), X_test, y_test)


def large(name: str, noise: str, draw: int) -> Dataset:
    if name == "susy":
        X, y, X_test, y_test = susy()
    else:
        data = published(name)
        X, y, X_test, y_test = data.X, data.y, data.X_test, data.y_test
        if X_test is None:
            X, X_test, y, y_test = train_test_split(
                X, y, test_size=0.2, stratify=y, random_state=draw
            )
    X, X_test = prepared(X, X_test)
    return Dataset(name, X, wrong(noise, X, y, draw), X_test, y_test)


def prepared(X: Any, X_test: Any) -> tuple[Any, Any]:
    """Return standardised columns, but sparse rows of many columns as they are."""
    if sp.issparse(X) and X.shape[1] > 100:
        return sp.csr_matrix(X, dtype=float), sp.csr_matrix(X_test, dtype=float)
    dense = [
        np.asarray(part.toarray() if sp.issparse(part) else part, float) for part in (X, X_test)
    ]
    if dense[0].shape[1] > 1000:
        return dense[0], dense[1]
    return standardised(*dense)


def several(name: str, noise: str, draw: int) -> Dataset:
    _, share, kind = next(row for row in multiclass_data.NOISES if row[0] == noise)
    if name == "digits":
        return multiclass_data.digits(noise, share, kind, draw)
    if name == "wine":
        X, y = load_wine(return_X_y=True)
    else:
        data = published(name)
        X, y = data.X, np.unique(data.y, return_inverse=True)[1]
    if name == "handwritten":
        X = X[:, : data.view_widths[0]]
    X, X_test, y, y_test = train_test_split(
        X, y, test_size=TEST_SHARE, stratify=y, random_state=draw
    )
    X, X_test = multiclass_data.scaled(np.asarray(X, float), np.asarray(X_test, float))
    return Dataset(name, X, multiclass_data.with_noise(y, share, kind, draw), X_test, y_test)


def images(name: str, noise: str, draw: int) -> Dataset:
    data = multiclass_data.cifar(noise)
    some = np.random.default_rng(draw).permutation(len(data.y))[: int(name.split()[1])]
    return Dataset(name, data.X[some], data.y[some], data.X_test, data.y_test)


GROUPS: dict[str, tuple[Any, tuple[str, ...], tuple[str, ...]]] = {
    "fresh": (fresh, tuple(FRESH), NOISES),
    "large": (large, LARGE, NOISES),
    "several": (several, ("digits", "handwritten", "wikipedia", "wine"), SEVERAL),
    "images": (images, tuple(f"CIFAR-10N {rows}" for rows in IMAGE_ROWS), HUMAN),
}


# --------------------------------------------------------------------------------------- methods


def methods(group: str, data: Dataset) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Return the classifiers, chosen and fitted when they are called."""
    folds = StratifiedKFold(3 if data.n_samples >= 10_000 else 5, shuffle=True, random_state=0)
    chosen: list[float] = []

    def logistic() -> Any:
        model = LogisticRegressionCV(Cs=PENALTIES, cv=folds, max_iter=300).fit(data.X, data.y)
        chosen.append(float(model.C_[0]))
        return model

    def vectors(loss: str, penalties: np.ndarray, steps: int) -> Any:
        model = LinearSVC(loss=loss, max_iter=steps, random_state=0)
        return GridSearchCV(model, {"C": penalties}, cv=folds).fit(data.X, data.y)

    def threshold() -> Any:
        model = LogisticRegression(C=(chosen or [float(logistic().C_[0])])[0], max_iter=300)
        return TunedThresholdClassifierCV(model, scoring="accuracy", cv=folds, random_state=0).fit(
            data.X, data.y
        )

    def cleaned() -> Any:
        from cleanlab.classification import CleanLearning

        model = LogisticRegression(C=(chosen or [float(logistic().C_[0])])[0], max_iter=300)
        classes, codes = np.unique(data.y, return_inverse=True)
        found = CleanLearning(model, seed=0, verbose=False).fit(data.X, codes)
        return Labelled(found, classes)

    every: dict[str, Callable[[], Any]] = {
        OURS: lambda: HTLogisticRegressionCV().fit(data.X, data.y),
        LOGISTIC: logistic,
        "LinearSVC": lambda: vectors("squared_hinge", PENALTIES, 1000),
        "LinearSVC, hinge": lambda: vectors("hinge", HINGE_PENALTIES, HINGE_STEPS),
        "logistic, tuned threshold": threshold,
        "CleanLearning": cleaned,
    }
    for name in wanted(group):
        yield name, every[name]


def wanted(group: str) -> tuple[str, ...]:
    """Return the methods of a group: some know two classes alone, or take too long."""
    if group == "images":
        return OURS, LOGISTIC
    if group == "several":
        return OURS, LOGISTIC, "LinearSVC", "CleanLearning"
    binary = (OURS, LOGISTIC, "LinearSVC", "logistic, tuned threshold", "CleanLearning")
    return binary if group == "large" else (*binary, "LinearSVC, hinge")


class Labelled:
    """A classifier of numbers, that says the classes."""

    def __init__(self, model: Any, classes: np.ndarray) -> None:
        self.model, self.classes = model, classes

    def score(self, X: Any, y: np.ndarray) -> float:
        """Return the accuracy."""
        return float(np.mean(self.classes[self.model.predict(X)] == y))


def forget(path: Path, groups: list[str], only: list[str] | None) -> None:
    """Take our own results on some sets out of the table, to have them again."""
    kept = [
        row
        for row in rows_of(path)
        if row["method"] != OURS
        or row["group"] not in groups
        or (only is not None and row["set"] not in only)
    ]
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(kept)


def run(groups: list[str], draws: int, only: list[str] | None, path: Path) -> None:
    """Add what is missing to the table."""
    done = {tuple(row[name] for name in FIELDS[:5]) for row in rows_of(path)}
    new = not path.exists()
    with path.open("a", newline="", encoding="utf-8") as file:
        writer = csv.DictWriter(file, FIELDS)
        if new:
            writer.writeheader()
        for group in groups:
            load, names, noises = GROUPS[group]
            for draw in range(draws):
                for name in names:
                    for noise in noises:
                        if only is None or name in only:
                            for row in cell(group, load, name, noise, draw, done):
                                writer.writerow(row)
                            file.flush()


def cell(
    group: str, load: Any, name: str, noise: str, draw: int, done: set[Any]
) -> Iterator[dict[str, Any]]:
    """Fit the methods that are not done to one set."""
    place = (group, name, noise, str(draw))
    if all((*place, method) in done for method in wanted(group)):
        return
    data = load(name, noise, draw)
    for method, fit in methods(group, data):
        if (*place, method) in done:
            continue
        began = time.perf_counter()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            try:
                model = fit()
            except Exception as error:
                print(*place, method, repr(error)[:100], flush=True)
                continue
            seconds = time.perf_counter() - began
            accuracy = 100.0 * model.score(data.X_test, data.y_test)
        loss = ""
        if method in (OURS, LOGISTIC):
            likely = model.predict_proba(data.X_test)
            loss = f"{log_loss(data.y_test, likely, labels=np.unique(data.y_test)):.4f}"
        yield dict(
            zip(FIELDS, (*place, method, f"{accuracy:.3f}", loss, f"{seconds:.2f}"), strict=True)
        )


# --------------------------------------------------------------------------------------- summary


def rows_of(path: Path) -> list[dict[str, str]]:
    if not path.exists():
        return []
    with path.open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def summary(path: Path) -> str:
    """Return the tables: means, differences with paired standard errors, wins, ties and losses."""
    found: dict[str, dict[Any, dict[str, dict[str, str]]]] = {}
    for row in rows_of(path):
        setting = (row["set"], row["noise"], row["draw"])
        found.setdefault(row["group"], {}).setdefault(setting, {})[row["method"]] = row
    return "\n".join(part for group, cells in found.items() for part in group_tables(group, cells))


def group_tables(group: str, cells: dict[Any, dict[str, dict[str, str]]]) -> list[str]:
    names = list(wanted(group))
    # Only settings in which no method failed.
    kept = {key: cell for key, cell in cells.items() if set(names) <= set(cell)}
    values = {m: np.array([float(c[m]["accuracy"]) for c in kept.values()]) for m in names}
    noises = list(dict.fromkeys(key[1] for key in kept))
    where = {noise: np.array([key[1] == noise for key in kept]) for noise in noises}
    lines = [f"\n## {group}: {len(kept)} settings ({len(cells) - len(kept)} left out)\n"]
    lines += [
        "| | mean | " + " | ".join(noises) + " | ours less it | wins, ties, losses | seconds |",
        "|---|" + "---:|" * (len(noises) + 4),
    ]
    for method in names:
        own, gap = values[method], values[OURS] - values[method]
        error = gap.std(ddof=1) / np.sqrt(len(gap)) if len(gap) > 1 else np.nan
        seconds = np.median([float(c[method]["seconds"]) for c in kept.values()])
        more = [f"{own[where[n]].mean():.2f}" for n in noises]
        counts = [np.sum(gap > 0.05), np.sum(np.abs(gap) <= 0.05), np.sum(gap < -0.05)]
        versus = (
            ["", ""]
            if method == OURS
            else [f"{gap.mean():+.2f} ±{error:.2f}", f"{counts[0]}, {counts[1]}, {counts[2]}"]
        )
        lines.append(
            "| "
            + " | ".join([method, f"{own.mean():.2f}", *more, *versus, f"{seconds:.2f}"])
            + " |"
        )
    lines += ["", "| ours less it | " + " | ".join(noises) + " |", "|---|" + "---:|" * len(noises)]
    for method in names[1:]:
        gap = values[OURS] - values[method]
        each = [gap[where[n]] for n in noises]
        lines.append(
            f"| {method} | "
            + " | ".join(
                f"{g.mean():+.2f} ±{g.std(ddof=1) / np.sqrt(len(g)):.2f}"
                if len(g) > 1
                else f"{g.mean():+.2f}"
                for g in each
            )
            + " |"
        )
    losses = {
        m: np.array([float(c[m]["log_loss"]) for c in kept.values()]) for m in (OURS, LOGISTIC)
    }
    for method in (OURS, LOGISTIC):
        lines.append(
            f"| log loss, {method} | "
            + " | ".join(f"{losses[method][where[n]].mean():.3f}" for n in noises)
            + " |"
        )
    sets = list(dict.fromkeys(key[0] for key in kept))
    lines += ["", "| set | " + " | ".join(names) + " |", "|---|" + "---:|" * len(names)]
    for name in sets:
        some = np.array([key[0] == name for key in kept])
        lines.append(
            f"| {name} | " + " | ".join(f"{values[m][some].mean():.2f}" for m in names) + " |"
        )
    return lines


def main() -> None:
    ask = argparse.ArgumentParser(description=__doc__)
    ask.add_argument("--group", default="fresh,several,large,images")
    ask.add_argument("--draws", type=int, default=5)
    ask.add_argument("--only")
    ask.add_argument("--summary", action="store_true")
    ask.add_argument("--again", action="store_true", help="fit our own method once more")
    ask.add_argument("--path", type=Path, default=RESULTS / "front-door.csv")
    given = ask.parse_args()
    groups, only = given.group.split(","), given.only and given.only.split(";")
    if given.again:
        forget(given.path, groups, only)
    if not given.summary:
        run(groups, given.draws, only, given.path)
    text = summary(given.path)
    given.path.with_suffix(".md").write_text(
        f"# The front door\n\nWritten by `python -m benchmarks.front_door --summary`.\n{text}\n",
        encoding="utf-8",
    )


if __name__ == "__main__":
    main()
