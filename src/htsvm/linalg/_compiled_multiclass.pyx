# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, nonecheck=False
"""Compiled kernels for scores of several classes; each has a twin in `_numpy_multiclass.py`.

Work is split into one contiguous block of rows per thread, and partial sums are added in the
order of the blocks, so a result depends on the number of threads but never on their timing.
"""

import numpy as np

from cython.parallel cimport prange

cdef extern from "_threads.h" nogil:
    int htsvm_max_threads()

# Below this many elementary operations the start of a parallel region costs more than it saves.
DEF PARALLEL_FROM = 150000


cdef inline int _blocks(double work) noexcept nogil:
    cdef int threads = htsvm_max_threads()
    if work < PARALLEL_FROM:
        return 1
    return threads if threads > 0 else 1


cdef int _project(const double* v, double* out, Py_ssize_t k, double c) noexcept nogil:
    """Project v onto the simplex of size c > 0; return the number of positive entries.

    Only entries within c of the largest can stay positive. Of these, the ones below the level at
    which the rest sum to c are dropped until none is left to drop (Michelot's method). Rounding may
    bring one back, which also ends it: of entries that are equal but for rounding it would
    otherwise drop and bring back the same ones for ever.
    """
    cdef Py_ssize_t j
    cdef int number = <int> k + 1, before
    cdef double top = v[0], total = 0.0, level
    for j in range(1, k):
        if v[j] > top:
            top = v[j]
    level = top - c
    while True:
        before = number
        total = 0.0
        number = 0
        for j in range(k):
            if v[j] > level:
                total += v[j] - top
                number += 1
        if number == 0:
            # c is lost against the size of v: rounding leaves the largest entry alone.
            number = 1
            level = top - c
            break
        if number >= before:
            break
        level = top + (total - c) / number
    for j in range(k):
        out[j] = v[j] - level if v[j] > level else 0.0
        if number == 1 and out[j] > 0.0:
            out[j] = c
    return number


cdef double _step_block(const double* alpha, const double* U, const double* D, double t,
                        const double* sigma, const double* c, double* out, int* counts,
                        double* v, Py_ssize_t k, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t i, j, at
    cdef double total = 0.0
    for i in range(low, high):
        at = i * k
        if c[i] <= 0.0:
            counts[i] = 0
            for j in range(k):
                out[at + j] = 0.0
            continue
        for j in range(k):
            v[j] = alpha[at + j] + sigma[i] * (U[at + j] + t * D[at + j])
        counts[i] = _project(v, out + at, k, c[i])
        for j in range(k):
            total += out[at + j] * D[at + j]
    return total


def simplex_step(const double[:, ::1] alpha, const double[:, ::1] U, const double[:, ::1] D,
                 double t, const double[::1] sigma, const double[::1] c, double[:, ::1] out,
                 int[::1] counts):
    """Project ``alpha_i + sigma_i (u_i + t d_i)`` onto the simplex of size ``c_i``, row by row."""
    cdef Py_ssize_t m = U.shape[0], k = U.shape[1]
    cdef int blocks = _blocks(8.0 * m * k), s
    if m == 0:
        return 0.0
    cdef double[:, ::1] scratch = np.empty((blocks, k + 8))
    cdef double[::1] partial = np.zeros(blocks)
    for s in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        partial[s] = _step_block(&alpha[0, 0], &U[0, 0], &D[0, 0], t, &sigma[0], &c[0],
                                 &out[0, 0], &counts[0], &scratch[s, 0], k,
                                 m * s // blocks, m * (s + 1) // blocks)
    return float(np.sum(partial))


def top_rivals(const double[:, ::1] U, const Py_ssize_t[::1] labels, double[::1] out):
    """Set ``out[i] = max(U[i, j] over j != labels[i]) - U[i, labels[i]]``."""
    cdef Py_ssize_t m = U.shape[0], k = U.shape[1], i, j, y
    cdef double best
    with nogil:
        for i in range(m):
            y = labels[i]
            best = U[i, 0] if y else U[i, 1]
            for j in range(k):
                if j != y and U[i, j] > best:
                    best = U[i, j]
            out[i] = best - U[i, y]


def spread_products(double[:, ::1] S, const unsigned char[:, ::1] mask, const int[::1] counts,
                    const double[::1] sigma):
    """Replace each row s of S by ``sigma_i (I_A - 1 1' / |A|) s``, A the entries in `mask`."""
    cdef Py_ssize_t m = S.shape[0], k = S.shape[1], i, j
    cdef double mean
    with nogil:
        for i in range(m):
            mean = 0.0
            for j in range(k):
                if mask[i, j]:
                    mean += S[i, j]
            mean /= counts[i]
            for j in range(k):
                S[i, j] = sigma[i] * (S[i, j] - mean) if mask[i, j] else 0.0


# ---------------------------------------------------------------------- dual block sweeps

ctypedef fused real:
    float
    double

ctypedef fused index:
    int
    long long


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
