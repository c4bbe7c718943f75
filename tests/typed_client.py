"""A small program that uses htsvm, for mypy: the types of the package as seen from outside."""

from __future__ import annotations

from typing import assert_type

import numpy as np

from htsvm import HTSVC, HTSVCCV, MultiViewHTSVC, baselines, certify, show_versions
from htsvm.datasets import flip_labels, make_two_gaussians
from htsvm.losses import HybridTruncated, Loss

X, y = make_two_gaussians(50, random_state=0)
noisy, flipped = flip_labels(y, 0.1)
loss: Loss = HybridTruncated(cap=2.0)
values: np.ndarray[tuple[int, ...], np.dtype[np.float64]] = loss.value(np.zeros(3))

model = HTSVC(C=1.0).fit(X, y)
assert_type(model, HTSVC)
model.predict(X)
assert_type(HTSVCCV().fit(X, y), HTSVCCV)
assert_type(MultiViewHTSVC(views={"a": 2, "b": 2}).fit(X, y), MultiViewHTSVC)
print(certify, baselines.HingeSVC().fit(X, y).predict(X))
show_versions()
