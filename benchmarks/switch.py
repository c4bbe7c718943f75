"""Two versions of the solvers side by side: ``python -m benchmarks.switch OLD NEW``.

OLD and NEW are commits, or folders with a checkout that is built. Both fit the same problems in
turn, each in one process with one thread. The table has, by family of problems: the objective of
new over old, accuracy on clean test labels, CPU time, products with the data, and the share of fits
that are certified. With another `--seed` all noise is drawn anew.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from functools import cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import (
    load_breast_cancer,
    load_digits,
    load_iris,
    load_wine,
    make_blobs,
    make_classification,
    make_moons,
)
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from benchmarks.sets import published

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "benchmarks" / "results" / "switch.csv"
ONE_THREAD = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
NOISE = ("clean", "symmetric 20", "symmetric 40", "one-sided 30")
CLASS_NOISE = ("clean", "symmetric 20", "next 40")
CS = (0.1, 1.0, 16.0)
SETS = ("heart", "australian", "german", "cancer", "digits", "a2a", "w2a", "a9a", "ijcnn1", "skin")
SEVERAL = ("digits", "wine", "iris", "blobs", "grid", "handwritten")
ROWS = 12_000
FIELDS = ("family", "set", "noise", "C", "side", "objective", "accuracy", "seconds", "products",
          "certified")  # fmt: skip


# ---------------------------------------------------------------------------------- the data


def _blobs() -> tuple[Any, Any]:
    return make_blobs(3000, 20, centers=30, cluster_std=4.0, random_state=0)


def _grid() -> tuple[Any, Any]:
    """Return 27 classes at the corners of a grid, columns of several sizes and offsets."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(27), 60)
    corners = np.array(np.unravel_index(y, (3, 3, 3))).T
    X = np.column_stack([corners + 0.3 * rng.normal(size=(len(y), 3)) for _ in range(4)])
    return X * 10.0 ** rng.uniform(-2, 2, 12) + rng.normal(size=12) * 10.0, y


def _words(columns: int) -> tuple[Any, Any]:
    """Return TF-IDF rows of Zipf-distributed words; the classes follow a linear rule."""
    rng = np.random.default_rng(columns)
    share = np.cumsum(1.0 / np.arange(1, columns + 1) ** 0.9)
    lengths = rng.integers(20, 140, 5000)
    words = np.searchsorted(share / share[-1], rng.random(lengths.sum()))
    entries = np.ones(len(words)), (np.repeat(np.arange(5000), lengths), words)
    X = TfidfTransformer(sublinear_tf=True).fit_transform(sp.csr_matrix(entries, (5000, columns)))
    score = X @ rng.normal(size=columns)
    return X.astype(np.float64), score > np.median(score)


MADE: dict[str, Any] = {
    "cancer": partial(load_breast_cancer, return_X_y=True),
    "digits": partial(load_digits, return_X_y=True),
    "wine": partial(load_wine, return_X_y=True),
    "iris": partial(load_iris, return_X_y=True),
    "moons": partial(make_moons, 1500, noise=0.25, random_state=0),
    "blobs": _blobs,
    "grid": _grid,
    "words-10000": partial(_words, 10_000),
    "words-20000": partial(_words, 20_000),
}


@cache
def _data(family: str, name: str) -> tuple[Any, Any]:
    """Return rows and clean labels of a set, which begin with zero; dense rows are standardised."""
    data = None if name in MADE else published(name)
    X, y = MADE[name]() if data is None else (data.X, data.y)
    y = np.unique(y, return_inverse=True)[1]
    if family != "text" and len(y) > ROWS:
        rows = np.random.default_rng(0).permutation(len(y))[:ROWS]
        X, y = X[rows], y[rows]
    if sp.issparse(X) and X.shape[1] < 100:
        X = X.toarray()
    if (family, name) == ("two", "digits"):
        y = (y > 4).astype(int)
    return (X if sp.issparse(X) or name == "grid" else StandardScaler().fit_transform(X)), y


def _noisy(y: Any, noise: str, rng: np.random.Generator) -> Any:
    kind, _, share = noise.partition(" ")
    draw, k = rng.random(len(y)) < float(share or 0) / 100, len(np.unique(y))
    y = np.asarray(y, dtype=int)
    if kind == "one-sided":
        return np.where(draw & (y == 1), 0, y)
    step = rng.integers(1, k, len(y)) if kind == "symmetric" else 1
    return np.where(draw, (y + step) % k, y)


def _scaled(seed: int) -> tuple[Any, Any, float]:
    """Return a problem whose columns have scales and offsets of 1e-4 to 1e4, and its C."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(250, 800)), int(rng.integers(4, 16))
    X, y = make_classification(m, n, n_informative=max(2, n // 2), n_redundant=0, random_state=seed)
    scale = 10 ** rng.uniform(-4, 4, n)
    offset = scale * 10 ** rng.uniform(-4, 4, n) * rng.choice([-1, 1], n)
    return X * scale + offset, y, float(2.0 ** rng.uniform(-4, 4))


def _any_C(seed: int) -> tuple[Any, Any, float, float]:
    """Return a problem with C from 1e-5 to 1e5, columns of several sizes, and a finite cap."""
    rng = np.random.default_rng(seed)
    m, n = int(rng.integers(60, 400)), int(rng.integers(1, 12))
    X = rng.normal(size=(m, n)) * 10.0 ** rng.uniform(-1.0, 1.0, size=n)
    y = X @ (rng.normal(size=n) / X.std(axis=0)) + 0.5 * rng.normal(size=m) > 0.0
    return X, y.astype(int), 10.0 ** (-5.0 + 10.0 * (seed % 40) / 39.0), [1.0, 0.5, 2, 4][seed % 4]


def cases(seed: int, families: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yield the fits, as what JSON can say."""
    every: list[dict[str, Any]] = []
    for name in SETS:
        every += [{"family": "two", "set": name, "noise": n, "C": C} for n in NOISE for C in CS]
    every += [{"family": "scaled", "set": str(60 * seed + k), "noise": NOISE[1], "C": 0.0}
              for k in range(60)]  # fmt: skip
    every += [{"family": "any C", "set": str(40 * seed + k), "noise": "symmetric 12", "C": 0.0}
              for k in range(40)]  # fmt: skip
    for name in ("words-10000", "words-20000", "reuters"):
        every += [{"family": "text", "set": name, "noise": n, "C": C} for n in NOISE for C in CS]
    for name in SEVERAL:
        several = [(n, C) for n in CLASS_NOISE for C in (0.01, 1.0, 30.0)][:8]
        every += [{"family": "several", "set": name, "noise": n, "C": C} for n, C in several]
    every += [{"family": "kernel", "set": "moons", "noise": n, "C": C} for n in NOISE for C in CS]
    for number, case in enumerate(every):
        if families is None or case["family"] in families:
            yield {**case, "seed": [seed, number // 3]}


# ---------------------------------------------------------------------------------- one side


def fitted(case: dict[str, Any]) -> dict[str, Any]:
    """Fit once; return what the table is made of."""
    from htsvm import HTSVC, KernelHTSVC

    family, options = case["family"], {"C": case["C"]}
    if family == "scaled":
        X, y, options["C"] = _scaled(int(case["set"]))
    elif family == "any C":
        X, y, options["C"], options["cap"] = _any_C(int(case["set"]))
    else:
        X, y = _data(family, case["set"])
    rng = np.random.default_rng([*case["seed"], 7])
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    labels, weights = _noisy(y, case["noise"], rng), None
    if case["set"] in ("german", "wine"):
        weights = rng.integers(0, 4, len(y)).astype(float)
    if case["set"] in ("cancer", "ijcnn1"):
        X, X_test = X.astype(np.float32), X_test.astype(np.float32)
    model = (KernelHTSVC if family == "kernel" else HTSVC)(**options)
    began = time.process_time()
    model.fit(X, labels, sample_weight=weights)
    seconds = time.process_time() - began
    return {
        "objective": float(np.sum(model.objective_)), "seconds": seconds,
        "accuracy": 100.0 * float(model.score(X_test, y_test)),
        "products": float(np.sum(model.n_passes_)),
        "certified": int(all(bool(one.certified) for one in model.certificate_)),
    }  # fmt: skip


def serve(folder: Path) -> None:
    """Fit what the parent asks for, one line of JSON each way."""
    import htsvm

    warnings.simplefilter("ignore")
    if not Path(htsvm.__file__).resolve().is_relative_to(folder.resolve()):
        sys.exit(f"htsvm was imported from {htsvm.__file__}, not from {folder}")
    for line in sys.stdin:
        print(json.dumps(fitted(json.loads(line))), flush=True)


# ---------------------------------------------------------------------------------- both sides


def checkout(side: str) -> Path:
    """Return a folder with a commit, built; a folder that is built is taken as it is."""
    if Path(side).is_dir():
        return Path(side)
    folder = ROOT / "build" / "switch" / side
    if not (folder / "src").is_dir():
        subprocess.run(["git", "worktree", "add", "--detach", folder, side], cwd=ROOT, check=True)
        pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", "src"]
        subprocess.run([*pip, "--upgrade", "."], cwd=folder, check=True)
    return folder


def run(folders: dict[str, Path], wanted: Iterator[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return a row per fit and side."""
    children = {}
    for side, folder in folders.items():
        path = os.pathsep.join([str(folder / "src"), str(ROOT)])
        environment = os.environ | ONE_THREAD | {"PYTHONPATH": path}
        children[side] = subprocess.Popen(
            [sys.executable, "-m", "benchmarks.switch", "--child", folder], cwd=ROOT, text=True,
            env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
        )  # fmt: skip
    rows = []
    for case in wanted:
        for side, child in children.items():
            print(json.dumps(case), file=child.stdin, flush=True)
            found = json.loads(child.stdout.readline() or "{}")
            rows.append({**{k: case[k] for k in FIELDS[:4]}, "side": side, **found})
    for child in children.values():
        child.stdin.close()
    return rows


def summary(rows: list[dict[str, Any]]) -> Iterator[str]:
    """Yield the table, by family and by kind of noise."""
    old, new = ([row for row in rows if row["side"] == side] for side in ("old", "new"))
    yield "| | fits | objective: mean | worst | accuracy: old | new | time: mid | worst | total |"
    yield "|---|---|---|---|---|---|---|---|---|"
    groups = [("family", k) for k in dict.fromkeys(r["family"] for r in new)]
    groups += [("noise", k) for k in dict.fromkeys(r["noise"] for r in new)]
    for key, value in [*groups, ("side", "new")]:
        pairs = [(a, b) for a, b in zip(old, new, strict=True) if b[key] == value]
        ratio = [b["objective"] / a["objective"] for a, b in pairs]
        quick = [b["seconds"] / max(a["seconds"], 1e-4) for a, b in pairs]
        total = sum(b["seconds"] for _, b in pairs) / sum(a["seconds"] for a, _ in pairs)
        sure = [100 * float(np.mean([p[k]["certified"] for p in pairs])) for k in (0, 1)]
        right = [float(np.mean([p[k]["accuracy"] for p in pairs])) for k in (0, 1)]
        name = "all" if key == "side" else value
        yield (
            f"| {name} | {len(pairs)} | {np.mean(ratio):.4f} | {max(ratio):.3f} | {right[0]:.2f} | "
            f"{right[1]:.2f} | {np.median(quick):.2f} | {max(quick):.1f} | {total:.2f} | "
            f"certified {sure[0]:.1f}, {sure[1]:.1f} % |"
        )


def main() -> None:
    """Compare two commits, or with ``--child`` serve one."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sides", nargs="*", metavar="OLD NEW")
    parser.add_argument("--seed", type=int, default=0, help="of all that is drawn")
    parser.add_argument("--families", nargs="+", help="only these: two, scaled, any C, ...")
    parser.add_argument("--output", type=Path, default=RESULTS)
    parser.add_argument("--child", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    os.environ.setdefault("HTSVM_DATA", str(ROOT.parent / "shared" / "data"))
    if options.child:
        serve(options.child)
        return
    folders = dict(zip(("old", "new"), map(checkout, options.sides), strict=True))
    rows = run(folders, cases(options.seed, options.families))
    with options.output.open("w", newline="") as file:
        writer = csv.DictWriter(file, FIELDS)
        writer.writeheader()
        writer.writerows(rows)
    print(*summary(rows), sep="\n")


if __name__ == "__main__":
    main()
