"""On what results were computed, without names of hosts or places."""

import os
import platform
import subprocess
from datetime import UTC, datetime
from importlib import metadata
from pathlib import Path

import htsvm

# Where the commit must hold what is run: the library and the experiments.
SOURCES = (Path(htsvm.__file__).resolve().parent, Path(__file__).resolve().parents[1])
LIBRARIES = ("numpy", "scipy", "scikit-learn", "threadpoolctl", "joblib")


def environment() -> dict[str, str]:
    """Return the moment, the commit, the machine and the versions of the libraries."""
    cores = os.sched_getaffinity(0) if hasattr(os, "sched_getaffinity") else ()
    load = f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "unknown"
    ram = _field("/proc/meminfo", "MemTotal").split()
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit(),
        "CPU": _field("/proc/cpuinfo", "model name"),
        "cores": str(len(cores) or os.cpu_count()),
        "RAM": f"{int(ram[0]) / 2**20:.0f} GiB" if ram[0].isdigit() else "unknown",
        "load average": load,
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "not set"),
        "htsvm": htsvm.__version__,
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in LIBRARIES},
        "system": f"{platform.system()} {platform.machine()}",
    }


def commit() -> str:
    """Return the commit of the source tree that the packages run from, if it is one."""
    head = _git(SOURCES[0], "rev-parse", "--short=12", "HEAD")
    # An installed copy may lie inside the tree of something else.
    if not head or not _git(SOURCES[0], "ls-files", "--", "_version.py"):
        return "not a source tree"
    changed = any(_git(folder, "status", "--porcelain", "--", ".") for folder in SOURCES)
    return f"{head} with changes" if changed else head


def _git(folder: Path, *arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments], cwd=folder, capture_output=True, text=True, timeout=10,
            check=False,
        )  # fmt: skip
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _field(path: str, name: str) -> str:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown"
    values = [line.split(":", 1)[1].strip() for line in lines if line.startswith(name)]
    return values[0] if values else "unknown"
