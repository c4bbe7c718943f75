"""What a bug report should contain."""

from __future__ import annotations

import platform
from importlib import metadata

from htsvm._version import __version__
from htsvm.linalg import kernels


def versions() -> dict[str, str]:
    """Return versions of everything involved, the kernels in use and their threads."""
    found = {"htsvm": __version__, "python": platform.python_version()}
    for name in ("numpy", "scipy", "scikit-learn", "threadpoolctl", "joblib"):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "not installed"
    found["kernels"] = kernels.backend()
    found["OpenMP"] = "yes" if kernels.active.has_openmp() else "no"
    found["threads"] = str(kernels.active.max_threads())
    found["system"] = f"{platform.system()} {platform.machine()}"
    return found


def show_versions() -> None:
    """Print versions of everything involved, the kernels in use and their threads."""
    found = versions()
    width = max(map(len, found))
    for name, value in found.items():
        print(f"{name:<{width}}  {value}")
