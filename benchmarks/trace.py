"""How far it is from `fit` to the certificate: ``python benchmarks/trace.py``.

Fits once per kind of data and counts which of our files and functions are entered on the way, how
deep calls are nested, and how many stand between `fit` and the certificate when that is made.
Imports nothing but the library, so that it runs on any version: ``PYTHONPATH=other/src``. With
``--convex`` there is one start only, as in version 0.1.
"""

from __future__ import annotations

import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_digits, make_classification

import htsvm

ROOT = str(Path(htsvm.__file__).parent)
# Counted by reading version 0.1: files, functions.
BY_HAND = {"dense": (31, 45), "sparse": (31, 45), "several classes": (28, 40),
           "Dask": (37, 70), "MultiViewHTSVC": (40, 60)}  # fmt: skip


@dataclass
class Trace:
    """What was entered during a fit.

    Attributes
    ----------
    codes : set of code objects
        Functions of ours; comprehensions and lambdas do not count.
    deepest : int
        The most calls of ours that were nested.
    path : list of code objects
        The calls that stood between `fit` and the first certificate.
    """

    codes: set[CodeType] = field(default_factory=set)
    deepest: int = 0
    path: list[CodeType] = field(default_factory=list)
    depth: int = 0

    def event(self, frame: FrameType, kind: str, _: Any) -> None:
        """Take in a call or a return."""
        code = frame.f_code
        if not code.co_filename.startswith(ROOT) or code.co_name.startswith("<"):
            return
        if kind == "call":
            self.codes.add(code)
            self.depth += 1
            self.deepest = max(self.deepest, self.depth)
            if not self.path and "optimality" in code.co_filename and "onclude" in code.co_name:
                self.path = stack_of(frame)
        elif kind == "return":
            self.depth -= 1

    @property
    def files(self) -> set[str]:
        """The files of these functions."""
        return {code.co_filename for code in self.codes}


def stack_of(frame: FrameType | None) -> list[CodeType]:
    """Return our functions that are under way, the innermost first."""
    found = []
    while frame is not None:
        code = frame.f_code
        if code.co_filename.startswith(ROOT) and not code.co_name.startswith("<"):
            found.append(code)
        frame = frame.f_back
    return found


@contextmanager
def traced() -> Iterator[Trace]:
    """Trace what runs in the block."""
    trace = Trace()
    threading.setprofile(trace.event)
    sys.setprofile(trace.event)
    try:
        yield trace
    finally:
        sys.setprofile(None)
        threading.setprofile(None)


def fits(**options: Any) -> dict[str, Callable[[], Any]]:
    """Return a fit for every kind of data, with further options of the estimators."""
    X, y = make_classification(400, 20, flip_y=0.1, random_state=0)
    digits, labels = load_digits(return_X_y=True)
    views = {"one": X[:, :10], "two": X[:, 10:]}
    return {
        "dense": lambda: htsvm.HTSVC(**options).fit(X, y),
        "sparse": lambda: htsvm.HTSVC(**options).fit(sp.csr_matrix(X), y),
        "several classes": lambda: htsvm.HTSVC(C=0.01, **options).fit(digits[:300], labels[:300]),
        "Dask": lambda: on_dask(X, y, options),
        "MultiViewHTSVC": lambda: htsvm.MultiViewHTSVC(**options).fit(views, y),
    }


def on_dask(X: np.ndarray, y: np.ndarray, options: dict[str, Any]) -> Any:
    """Fit two blocks in this thread."""
    import dask
    from dask import array

    with dask.config.set(scheduler="synchronous"):
        blocks = array.from_array(X, (200, -1)), array.from_array(y, 200)
        return htsvm.HTSVC(**options).fit(*blocks)


def main(arguments: list[str]) -> None:
    options = {"starts": ["convex"]} if "--convex" in arguments else {}
    print("| fit | by hand, version 0.1 | files entered | functions entered | deepest call | "
          "between fit and certificate |")  # fmt: skip
    print("|---|---|---|---|---|---|")
    for name, fit in fits(**options).items():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit()  # imports are not part of a fit
            with traced() as trace:
                fit()
        files = len({code.co_filename for code in trace.path})
        hand = "{} files, {} functions".format(*BY_HAND[name])
        print(f"| {name} | {hand} | {len(trace.files)} | {len(trace.codes)} | {trace.deepest} | "
              f"{files} files, {len(trace.path)} functions |")  # fmt: skip


if __name__ == "__main__":
    main(sys.argv[1:])
