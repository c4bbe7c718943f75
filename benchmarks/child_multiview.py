"""One multi-view fit in this fresh process: ``python -m benchmarks.child_multiview SET SUMMARY``.

Prints, as JSON, seconds, the memory of the whole process at its peak, and how the fit turned out.
SUMMARY is 1 to cluster centres of k-means, 0 to cluster the samples themselves.
"""

from __future__ import annotations

import json
import resource
import sys
import time
import warnings

import numpy as np
from sklearn.metrics import adjusted_rand_score

import htsvm.multiview.htsvc as module
from benchmarks.multiview_sets import cifar10n, cifar10n_test
from htsvm.multiview import MultiViewHTSVC
from htsvm.multiview.clusters import SUMMARY_ROWS
from htsvm.multiview.structure import Structure, find_structure

STRUCTURE = 0.1


def main(name: str, summary: bool) -> None:
    warnings.simplefilter("ignore")
    negative = None if name.endswith("rest") else 1
    views, y = cifar10n(0, negative, "aggre")
    found: list[Structure] = []
    seconds: list[float] = []
    # Against all other classes the defaults decide; the two classes are few enough for both ways.
    limits = {"direct_rows": SUMMARY_ROWS if summary else len(y)} if negative is not None else {}

    def timed(*arguments: object, **options: object) -> Structure:
        began = time.perf_counter()
        found.append(find_structure(*arguments, **{**options, **limits}))
        seconds.append(time.perf_counter() - began)
        return found[-1]

    module.find_structure = timed
    began, cpu = time.perf_counter(), time.process_time()
    model = MultiViewHTSVC(structure=STRUCTURE, class_weight="balanced").fit(views, y)
    ended, cpu = time.perf_counter(), time.process_time() - cpu
    samples, labels = cifar10n_test(0, negative)
    row = {
        "seconds": ended - began,
        "cpu_seconds": cpu,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0,
        "structure_seconds": sum(seconds),
        "samples": len(y),
        "summary": summary,
        "clusters": " + ".join(map(str, model.n_clusters_)),
        "accuracy": model.score(samples, labels),
        "certified": all(certificate.certified for certificate in model.certificate_),
    }
    if summary and negative is not None:
        exact = find_structure(views, (y > 0).astype(int), None)
        row["agreement"] = min(
            adjusted_rand_score(a, b)
            for a, b in zip(found[-1].labels.T, exact.labels.T, strict=True)
        )
        row["difference"] = max(
            float(np.linalg.norm(a - b) / np.linalg.norm(b))
            for ours, theirs in zip(found[-1].covariances, exact.covariances, strict=True)
            for a, b in zip(ours, theirs, strict=True)
        )
    print(json.dumps(row))


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2] == "1")
