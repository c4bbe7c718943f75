# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, nonecheck=False
"""Dual block coordinate descent: the loops over samples of `sweeps.py`."""

import numpy as np

from htsvm.linalg._vectors cimport _project
from htsvm.linalg._rows cimport index, real

cdef extern from "_rows_by_classes.h" nogil:
    void htsvm_add_scores_double(Py_ssize_t n, Py_ssize_t k, const double* x, const double* WT,
                                 double* v)
    void htsvm_add_scores_float(Py_ssize_t n, Py_ssize_t k, const float* x, const double* WT,
                                double* v)
    void htsvm_take_off_double(Py_ssize_t n, Py_ssize_t k, const double* x, double* WT,
                               const double* d)
    void htsvm_take_off_float(Py_ssize_t n, Py_ssize_t k, const float* x, double* WT,
                              const double* d)


cdef void _start_levels(double* v, Py_ssize_t label, Py_ssize_t k, const double* b,
                        const double* balance, double stiffness) noexcept nogil:
    """Set v to the levels of a sample, apart from the product of its row with WT."""
    cdef Py_ssize_t j
    for j in range(k):
        v[j] = 1.0 + b[j] + stiffness * balance[j]
    v[label] -= 1.0


cdef bint _settle(double* alpha, double* v, double* fresh, Py_ssize_t label, Py_ssize_t k,
                  double c, double curvature, double scale, double* balance, double* near,
                  double* slack) noexcept nogil:
    """Solve the problem of one sample, v its levels; leave in v what its row takes off WT.

    `near` becomes how far the levels are from a change of the multipliers; what these fell short
    of is added to `slack`. Return whether anything changed.
    """
    cdef Py_ssize_t j, held = label
    cdef double used = 0.0, top = -1e300, second = -1e300, below = 0.0, high
    cdef int parts = 0
    for j in range(k):
        if j != label:
            if v[j] > top:
                top = v[j]
            if alpha[j] > 0.0:
                used += alpha[j]
                below += alpha[j] * v[j]
                parts += 1
                held = j
    high = top if top > v[label] else v[label]
    slack[0] += used * high - below
    if c > used:
        slack[0] += (c - used) * (high - v[label])
    if used == 0.0 and (c <= 0.0 or top <= v[label]):
        near[0] = v[label] - top if c > 0.0 else 1e300
        return False
    if c > 0.0:
        for j in range(k):
            fresh[j] = alpha[j] + v[j] / curvature
        _project(fresh, fresh, k, c)
    else:
        for j in range(k):
            fresh[j] = 0.0
    near[0] = 0.0
    if parts == 1 and fresh[held] == c and alpha[held] >= c * (1.0 - 1e-12):
        for j in range(k):
            if j != held and v[j] > second:
                second = v[j]
        near[0] = v[held] - second
    parts = 0
    for j in range(k):
        v[j] = fresh[j] - alpha[j]
        if v[j] != 0.0:
            parts += 1
            alpha[j] = fresh[j]
            balance[j] -= v[j]
            v[j] *= scale
    return parts > 0


def dense_block_sweep(const real[:, ::1] X, const Py_ssize_t[::1] labels,
                      const double[::1] c, const double[::1] squares,
                      const Py_ssize_t[::1] order, double scale, double stiffness,
                      double[:, ::1] alpha, double[:, ::1] WT, const double[::1] b,
                      double[::1] balance, double[::1] near):
    """Minimise the dual over the multipliers of one sample after the other, in the given order.

    `squares` holds ``scale * |x|**2``. For the pulls B of alpha it keeps ``WT = scale * X.T @ B``,
    with columns of zeros up to a multiple of four, and ``balance = B.sum(axis=0)``. `near` becomes
    how far the levels of each sample were from a change of its multipliers.

    Returns the sum of what the multipliers fell short of, as they were met.
    """
    cdef Py_ssize_t k = alpha.shape[1], p = WT.shape[1], n = X.shape[1], i, s
    cdef double[:, ::1] scratch = np.zeros((2, p + 8))
    cdef double* v = &scratch[0, 0]
    cdef double* fresh = &scratch[1, 0]
    cdef double slack = 0.0
    with nogil:
        for s in range(order.shape[0]):
            i = order[s]
            _start_levels(v, labels[i], k, &b[0], &balance[0], stiffness)
            if real is double:
                htsvm_add_scores_double(n, p, &X[i, 0], &WT[0, 0], v)
            else:
                htsvm_add_scores_float(n, p, &X[i, 0], &WT[0, 0], v)
            if _settle(&alpha[i, 0], v, fresh, labels[i], k, c[i],
                       max(squares[i] + stiffness, 1e-12), scale, &balance[0], &near[i], &slack):
                if real is double:
                    htsvm_take_off_double(n, p, &X[i, 0], &WT[0, 0], v)
                else:
                    htsvm_take_off_float(n, p, &X[i, 0], &WT[0, 0], v)
    return slack


def csr_block_sweep(const index[::1] indptr, const index[::1] indices, const real[::1] data,
                    const Py_ssize_t[::1] labels, const double[::1] c,
                    const double[::1] squares, const Py_ssize_t[::1] order, double scale,
                    double stiffness, double[:, ::1] alpha, double[:, ::1] WT,
                    const double[::1] b, double[::1] balance, double[::1] near):
    """Do what `dense_block_sweep` does, for rows in CSR format."""
    cdef Py_ssize_t k = alpha.shape[1], p = WT.shape[1], i, j, s
    cdef index at
    cdef double[:, ::1] scratch = np.zeros((2, p + 8))
    cdef double* v = &scratch[0, 0]
    cdef double* fresh = &scratch[1, 0]
    cdef double* row
    cdef double x, slack = 0.0
    with nogil:
        for s in range(order.shape[0]):
            i = order[s]
            _start_levels(v, labels[i], k, &b[0], &balance[0], stiffness)
            for at in range(indptr[i], indptr[i + 1]):
                x = data[at]
                row = &WT[indices[at], 0]
                for j in range(k):
                    v[j] += x * row[j]
            if _settle(&alpha[i, 0], v, fresh, labels[i], k, c[i],
                       max(squares[i] + stiffness, 1e-12), scale, &balance[0], &near[i], &slack):
                for at in range(indptr[i], indptr[i + 1]):
                    x = data[at]
                    row = &WT[indices[at], 0]
                    for j in range(k):
                        row[j] -= v[j] * x
    return slack
