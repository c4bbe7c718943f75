"""Kernels as functions of rows, and the operator of a kernel matrix."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.metrics.pairwise import rbf_kernel

from htsvm.linalg.kernel_functions import kernel_function
from htsvm.linalg.kernel_operator import KernelOperator


@pytest.mark.parametrize("form", [np.asarray, np.float32, sp.csr_matrix])
def test_the_rbf_kernel_is_that_of_scikit_learn(form):
    rng = np.random.default_rng(0)
    X, Z = rng.normal(size=(20, 5)), rng.normal(size=(7, 5))
    found = kernel_function("rbf", 0.3)(form(X), form(Z))
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, rbf_kernel(X, Z, gamma=0.3), rtol=1e-5)


def test_a_row_is_nearest_to_itself_however_far_from_zero():
    X = 1e6 + np.random.default_rng(0).normal(size=(30, 4))
    K = kernel_function("rbf", 1.0)(X, X)
    np.testing.assert_array_equal(np.diagonal(K), 1.0)
    assert K.max() == 1.0


@pytest.mark.parametrize("share", [0.2, 1.0])
def test_a_product_that_is_kept_is_not_taken_for_another(share):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(30, 30))
    operator = KernelOperator(A @ A.T)
    a = rng.normal(size=30) * (rng.random(30) < share)
    np.testing.assert_allclose(operator.product(a), operator.K @ a, atol=1e-10)
    passes = operator.passes
    operator.product(a.copy())
    assert operator.passes == passes
    a[:3] += 1.0
    np.testing.assert_allclose(operator.product(a), operator.K @ a, atol=1e-10)
    assert operator.passes > passes
