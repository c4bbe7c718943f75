"""What becomes of each sample."""

import numpy as np
import pytest

from htsvm.losses import Hinge, HybridTruncated
from htsvm.optimality import SampleStatus, sample_status

LOSS = HybridTruncated()


def test_status():
    q = np.array([-1.0, -1e-10, 0.0, 1e-10, 0.3, 2 / 3, 0.7, 0.999, 1.0, 5.0])
    expected = [0, 1, 1, 1, 2, 2, 3, 3, 4, 4]
    status = sample_status(q, LOSS)
    assert status.dtype == np.int8
    np.testing.assert_array_equal(status, expected)
    assert SampleStatus(status[-1]) is SampleStatus.IGNORED


def test_status_with_tolerance_knee_cap_and_shape():
    q = np.array([[-0.2, -0.05], [0.05, 0.2], [0.5, 1.9], [2.0, 9.0]])
    loss = HybridTruncated(0.5, 2.0)
    np.testing.assert_array_equal(sample_status(q, loss, 0.1), [[0, 1], [1, 2], [2, 3], [4, 4]])


@pytest.mark.parametrize("loss", [Hinge(), HybridTruncated(cap=np.inf)])
def test_convex_losses_ignore_nobody(loss):
    np.testing.assert_array_equal(sample_status([-1.0, 0.0, 0.5, 1e9], loss), [0, 1, 2, 2])
