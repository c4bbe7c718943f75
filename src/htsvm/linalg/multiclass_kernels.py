"""The kernels for several classes in use: compiled where the other kernels are, NumPy otherwise."""

from __future__ import annotations

from typing import Any

from htsvm.linalg import _numpy_multiclass, kernels

active: Any = kernels.optional("linalg._compiled_multiclass") or _numpy_multiclass
