"""Fit what the parent asks for, one line of JSON each way: ``python child_compare.py SOURCES``.

Runs on the library in the folder SOURCES, of any age: only the public interface is used.
"""

import json
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path

warnings.simplefilter("ignore")

import htsvm  # noqa: E402
from benchmarks.stored import load  # noqa: E402

if not Path(htsvm.__file__).resolve().is_relative_to(Path(sys.argv[1]).resolve()):
    sys.exit(f"htsvm was imported from {htsvm.__file__}, not from {sys.argv[1]}")


def answer(task):
    """Fit once; return the seconds and the objective, or why it cannot be done."""
    if "versions" in task:
        return htsvm._show_versions.versions()
    try:
        kind = getattr(import_module(task["module"]), task["estimator"])
        X, y = load(Path(task["folder"]))
        model = kind(**task["parameters"])
        began = time.perf_counter()
        model.fit(X, y)
        seconds = time.perf_counter() - began
        objective = getattr(model, "objective_", None)
        value = None if objective is None else float(sum(objective.ravel()))
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"}
    return {"seconds": seconds, "objective": value}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
