"""On what results were computed, without names of hosts or places."""

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
    return {
        "date": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "commit": commit(),
        "CPU": _processor(),
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


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
    except OSError:
        return platform.processor() or "unknown"
    return next(
        (line.split(":", 1)[1].strip() for line in lines if "model name" in line), "unknown"
    )
