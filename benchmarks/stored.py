"""Training data as files, to hand them to fresh processes that then hold nothing else."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

ROOT = Path(__file__).resolve().parents[1]


def store(folder: Path, X: Any, y: np.ndarray) -> None:
    """Write X and y to `folder`."""
    np.save(folder / "y.npy", y)
    if sp.issparse(X):
        for name in ("data", "indices", "indptr"):
            np.save(folder / f"{name}.npy", getattr(X, name))
        np.save(folder / "shape.npy", np.array(X.shape))
    else:
        np.save(folder / "X.npy", X)


def load(folder: Path) -> tuple[Any, np.ndarray]:
    """Return what `store` wrote."""
    y = np.load(folder / "y.npy")
    if (folder / "X.npy").exists():
        return np.load(folder / "X.npy"), y
    parts = tuple(np.load(folder / f"{name}.npy") for name in ("data", "indices", "indptr"))
    return sp.csr_matrix(parts, shape=tuple(np.load(folder / "shape.npy"))), y


def fresh_python(*arguments: str, byte_code: Path | None = None) -> str:
    """Run a fresh interpreter from the root of the repository; return what it printed.

    With a folder for byte code, sources are compiled once into it, as an installation does.
    """
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path}
    if byte_code is not None:
        environment |= {"PYTHONPYCACHEPREFIX": str(byte_code), "PYTHONDONTWRITEBYTECODE": ""}
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise RuntimeError(f"a fresh process failed: {done.stderr.strip()[-500:]}")
    return done.stdout
