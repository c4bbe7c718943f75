"""One fit in this fresh process: ``python -m benchmarks.child_kernel_memory ROWS LANDMARKS``.

Prints, as JSON, the memory that the fit took at its peak beyond what was held before it, in
matrices of the method: of all rows with each other (LANDMARKS 0) or with the landmarks.
"""

from __future__ import annotations

import json
import sys
import warnings

from benchmarks.child_memory import _resident_growth, _traced
from benchmarks.kernels_data import split
from htsvm import KernelHTSVC

WARM_UP_ROWS = 500


def main(rows: str, landmarks: str) -> None:
    warnings.simplefilter("ignore")
    data = split("ijcnn1", "symmetric 20 %", 0, int(rows))
    count = int(landmarks) or None
    model = KernelHTSVC(8.0, gamma=1.0 / data.X.shape[1], n_landmarks=count)
    KernelHTSVC(8.0).fit(data.X[:WARM_UP_ROWS], data.y[:WARM_UP_ROWS])
    matrix = 8.0 * len(data.y) * (count or len(data.y))
    peaks = [measure(lambda: model.fit(data.X, data.y)) for measure in (_resident_growth, _traced)]
    print(json.dumps([None if peak is None else peak / matrix for peak in peaks]))


if __name__ == "__main__":
    main(*sys.argv[1:])
