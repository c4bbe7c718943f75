"""The kernels for several classes in use: compiled where the other kernels are, NumPy otherwise."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from htsvm.linalg import _numpy_multiclass, kernels


def _load() -> Any:
    if not kernels.COMPILED:
        return _numpy_multiclass
    try:
        return import_module("htsvm.linalg._compiled_multiclass")
    except ImportError:
        return _numpy_multiclass


active: Any = _load()
