"""On what results were computed, without names of hosts or places."""

from __future__ import annotations

import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path

from htsvm._show_versions import versions

PACKAGE = Path(__file__).resolve().parents[1]


def describe() -> dict[str, str]:
    """Return the moment, the commit, the machine and the versions of the libraries."""
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit(),
        "CPU": _field("/proc/cpuinfo", "model name"),
        "cores": str(_cores()),
        "RAM": _ram(),
        "load average": _load(),
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "not set"),
        **versions(),
    }


def commit() -> str:
    """Return the commit of the source tree that the package runs from, if it is one."""
    head = _git("rev-parse", "--short=12", "HEAD")
    # An installed copy may lie inside the tree of something else.
    if not head or not _git("ls-files", "--", "_version.py"):
        return "not a source tree"
    changed = _git("status", "--porcelain", "--", ".")
    return f"{head} with changes" if changed else head


def _git(*arguments: str) -> str:
    try:
        done = subprocess.run(
            ["git", *arguments],
            cwd=PACKAGE,
            capture_output=True,
            text=True,
            timeout=10,
            check=False,
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""


def _cores() -> int | None:
    """Return how many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count()


def _field(path: str, name: str) -> str:
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return "unknown"
    values = [line.split(":", 1)[1].strip() for line in lines if line.startswith(name)]
    return values[0] if values else "unknown"


def _ram() -> str:
    words = _field("/proc/meminfo", "MemTotal").split()
    return f"{int(words[0]) / 2**20:.0f} GiB" if words and words[0].isdigit() else "unknown"


def _load() -> str:
    return f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "unknown"
