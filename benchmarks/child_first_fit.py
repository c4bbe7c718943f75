"""Times of the first and of later fits in this fresh process, as JSON.

``python child_first_fit.py FOLDER MODULE ESTIMATOR LATER``; imports nothing but what it must.
"""

import json
import sys
import time
import warnings
from importlib import import_module
from pathlib import Path

warnings.simplefilter("ignore")
folder, module, estimator, later = sys.argv[1:]
make = getattr(import_module(module), estimator)

from benchmarks.stored import load  # noqa: E402

X, y = load(Path(folder))
seconds = []
for _ in range(1 + int(later)):
    began = time.perf_counter()
    make().fit(X, y)
    seconds.append(time.perf_counter() - began)
print(json.dumps(seconds))
