"""What workers compute of a block, against numerical derivatives."""

import numpy as np

from htsvm.distributed.blocks import Block, BlockTask, sums_of
from htsvm.losses import HybridTruncated
from htsvm.losses.rounded import rounded
from htsvm.problems.build import tasks_of


def test_sums_and_second_derivatives():
    rng = np.random.default_rng(6)
    X, codes = rng.normal(size=(120, 4)), rng.integers(2, size=120)
    block = Block(X, codes, (np.arange(120) % 3).astype(float), 0)
    loss, one = HybridTruncated(cap=2.0), np.ones(2)
    (stated,) = tasks_of(one, one, C=0.7, loss=loss, fit_intercept=True)
    stage, z = rounded(loss, 0.3), np.array([0.3, -0.2, 0.1, 0.0, 0.2])

    def sums(at, curvature=False):
        return sums_of(block, BlockTask(stated), at, stage, np.zeros(0), curvature)

    _, gradient, gross, hessian, _ = sums(z, curvature=True)
    steps = 1e-6 * np.eye(5)
    slopes = [(sums(z + e)[0] - sums(z - e)[0]) / 2e-6 for e in steps]
    np.testing.assert_allclose(gradient, slopes, rtol=1e-5, atol=1e-5)
    # Of the loss without its knee: the positive part alone.
    stage = stage._replace(knee=np.inf, cap=np.inf)
    changes = [(sums(z + e)[1] - sums(z - e)[1]) / 2e-6 for e in steps]
    np.testing.assert_allclose(np.tril(hessian), np.tril(changes), rtol=1e-4, atol=1e-3)
    assert gross > 0.0
