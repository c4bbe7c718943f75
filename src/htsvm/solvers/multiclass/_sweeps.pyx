# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, nonecheck=False
"""Dual block coordinate descent: the loops over samples of `sweeps.py`."""

import numpy as np

from htsvm.linalg._compiled_multiclass cimport _project
from htsvm.linalg._rows cimport index, real


cdef void _start_levels(double* v, Py_ssize_t label, Py_ssize_t k, const double* b,
                        const double* balance, const double* offset, double tie) noexcept nogil:
    """Set v to the levels of a sample, apart from the product of its row with WT."""
    cdef Py_ssize_t j
    for j in range(k):
        v[j] = 1.0 + b[j] + tie * balance[j] - offset[j]
    v[label] -= 1.0


cdef bint _settle(double* alpha, double* v, double* fresh, Py_ssize_t k, double c,
                  double curvature, double scale, double projection, double* balance,
                  double* offset) noexcept nogil:
    """Solve the problem of one sample, v its levels; leave in v what its row takes off WT.

    Return whether anything changed.
    """
    cdef Py_ssize_t j
    cdef bint moved = False
    for j in range(k):
        v[j] = alpha[j] + v[j] / curvature
    _project(v, fresh, k, c)
    for j in range(k):
        v[j] = fresh[j] - alpha[j]
        if v[j] != 0.0:
            moved = True
        alpha[j] = fresh[j]
        balance[j] -= v[j]
        v[j] *= scale
        offset[j] -= v[j] * projection
    return moved


def dense_block_sweep(const real[:, ::1] X, const Py_ssize_t[::1] labels, const double[::1] c,
                      const double[::1] squares, const double[::1] projections,
                      const Py_ssize_t[::1] order, double scale, double stiffness, double square,
                      double[:, ::1] alpha, double[:, ::1] WT, const double[::1] b,
                      double[::1] balance, double[::1] offset):
    """Minimise the dual over the multipliers of one sample after the other, in the given order.

    The rows are taken as x - mean: `projections` holds mean'x, `square` mean'mean, `squares`
    ``scale * |x - mean|**2``. For the pulls B of alpha it keeps ``WT = scale * X.T @ B``,
    ``balance = B.sum(axis=0)`` and ``offset = mean @ WT``; the weights that go with the centred
    rows are ``WT - scale * outer(mean, balance)``.
    """
    cdef Py_ssize_t k = alpha.shape[1], n = X.shape[1], i, j, f, s
    cdef double[:, ::1] scratch = np.empty((2, k + 1))
    cdef double* v = &scratch[0, 0]
    cdef double* fresh = &scratch[1, 0]
    cdef double* row
    cdef double x
    with nogil:
        for s in range(order.shape[0]):
            i = order[s]
            if c[i] <= 0.0:
                continue
            _start_levels(v, labels[i], k, &b[0], &balance[0], &offset[0],
                          stiffness + scale * (square - projections[i]))
            for f in range(n):
                x = X[i, f]
                row = &WT[f, 0]
                for j in range(k):
                    v[j] += x * row[j]
            if not _settle(&alpha[i, 0], v, fresh, k, c[i], max(squares[i] + stiffness, 1e-12),
                           scale, projections[i], &balance[0], &offset[0]):
                continue
            for f in range(n):
                x = X[i, f]
                row = &WT[f, 0]
                for j in range(k):
                    row[j] -= v[j] * x


def csr_block_sweep(const index[::1] indptr, const index[::1] indices, const real[::1] data,
                    const Py_ssize_t[::1] labels, const double[::1] c,
                    const double[::1] squares, const double[::1] projections,
                    const Py_ssize_t[::1] order, double scale, double stiffness, double square,
                    double[:, ::1] alpha, double[:, ::1] WT, const double[::1] b,
                    double[::1] balance, double[::1] offset):
    """Do what `dense_block_sweep` does, for rows in CSR format."""
    cdef Py_ssize_t k = alpha.shape[1], i, j, s
    cdef index at
    cdef double[:, ::1] scratch = np.empty((2, k + 1))
    cdef double* v = &scratch[0, 0]
    cdef double* fresh = &scratch[1, 0]
    cdef double* row
    cdef double x
    with nogil:
        for s in range(order.shape[0]):
            i = order[s]
            if c[i] <= 0.0:
                continue
            _start_levels(v, labels[i], k, &b[0], &balance[0], &offset[0],
                          stiffness + scale * (square - projections[i]))
            for at in range(indptr[i], indptr[i + 1]):
                x = data[at]
                row = &WT[indices[at], 0]
                for j in range(k):
                    v[j] += x * row[j]
            if not _settle(&alpha[i, 0], v, fresh, k, c[i], max(squares[i] + stiffness, 1e-12),
                           scale, projections[i], &balance[0], &offset[0]):
                continue
            for at in range(indptr[i], indptr[i + 1]):
                x = data[at]
                row = &WT[indices[at], 0]
                for j in range(k):
                    row[j] -= v[j] * x
