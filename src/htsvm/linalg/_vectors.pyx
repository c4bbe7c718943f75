# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, nonecheck=False
"""Vectors over samples. Each function has a twin of the same name in `_numpy.py`.

Work is split into one contiguous block per thread, and partial sums are added in the order of the
blocks, so a result depends on the number of threads but never on their timing.
"""

import numpy as np

from cython.parallel cimport prange

from htsvm.linalg._rows cimport _dense_blocks

cdef extern from "_loops.h" nogil:
    double htsvm_hybrid(Py_ssize_t m, const double* q, const double* penalty, double t, double knee,
                        double cap)
    void htsvm_dual(Py_ssize_t m, const double* q, const double* psi, const double* penalty,
                    const double* weights, const unsigned char* bent, const signed char* y,
                    double top, double tilt, double* down, double* up, double* sums)

# Samples at a time: 16 KB of each vector, which stay in the nearest cache.
DEF CHUNK = 2048

# ------------------------------------------------------------------------ losses with a cap

cdef void _capped_slope_block(const double* h, const double* penalty, double top, double start,
                              double fall, double* out, Py_ssize_t low,
                              Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t i
    cdef double slope
    for i in range(low, high):
        slope = start - fall * h[i]
        if slope > top:
            slope = top
        elif slope < 0.0:
            slope = 0.0
        out[i] = penalty[i] * slope


def capped_slope(const double[::1] h, const double[::1] penalty, double top, double start,
                 double fall, double[::1] out):
    """Set ``out = penalty * clip(start - fall * h, 0, top)``."""
    cdef Py_ssize_t m = h.shape[0]
    cdef int blocks = _dense_blocks(3.0 * m), k
    if m == 0:
        return
    for k in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        _capped_slope_block(&h[0], &penalty[0], top, start, fall, &out[0],
                            m * k // blocks, m * (k + 1) // blocks)


def hybrid_totals(const double[::1] q, const double[::1] penalty, double knee, double cap,
                  const double[::1] multiples):
    """Return the totals of the hybrid truncated loss at multiples of the point with violations q.

    The cap is finite. With the multiple one that is ``sum(penalty * loss(q))``.
    """
    cdef Py_ssize_t m = q.shape[0], count = multiples.shape[0], low, stop, high, j
    cdef int blocks = _dense_blocks(4.0 * m * count), k
    cdef double[:, ::1] sums = np.zeros((blocks, count + 8))
    if m == 0:
        return np.zeros(count)
    for k in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        low, high = m * k // blocks, m * (k + 1) // blocks
        while low < high:
            stop = low + CHUNK if low + CHUNK < high else high
            for j in range(count):
                sums[k, j] += htsvm_hybrid(stop - low, &q[low], &penalty[low], multiples[j], knee,
                                           cap)
            low = stop
    return np.asarray(sums).sum(axis=0)[:count]


# --------------------------------------------------------------------------- certificates

def dual_sums(const double[::1] q, const double[::1] psi, const double[::1] penalty,
              const double[::1] weights, const unsigned char[::1] bent, const signed char[::1] y,
              double top, double tilt, double[::1] down, double[::1] up):
    """Set `down` and `up` to the multipliers of the labels -1 and +1, made to fit hinge losses.

    These have slopes between -tilt * penalty and weights - tilt * penalty; where `bent`, the weight
    is what makes -psi a slope, up to top * penalty. Returns seven sums: of the multipliers of both
    labels, of these times q, of the hinge losses at q, and how many are not -psi, and not zero.
    `down` and `weights` may be the same array.
    """
    cdef Py_ssize_t m = q.shape[0], low, high
    cdef int blocks = _dense_blocks(8.0 * m), k
    cdef double[:, ::1] sums = np.zeros((blocks, 8))
    if m == 0:
        return np.zeros(7)
    for k in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        low, high = m * k // blocks, m * (k + 1) // blocks
        htsvm_dual(high - low, &q[low], &psi[low], &penalty[low], &weights[low], &bent[low],
                   &y[low], top, tilt, &down[low], &up[low], &sums[k, 0])
    return np.asarray(sums).sum(axis=0)[:7]


cdef void _side_totals_block(const signed char* y, const double* v, double* sums, Py_ssize_t low,
                             Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t i
    cdef double total = 0.0, up = 0.0
    for i in range(low, high):
        up += v[i] if y[i] > 0 else 0.0
        total += 0.0 if y[i] > 0 else v[i]
    sums[0] += total
    sums[1] += up


def side_totals(const signed char[::1] y, const double[::1] v):
    """Return the sums of v over the labels -1 and +1."""
    cdef Py_ssize_t m = v.shape[0]
    cdef int blocks = _dense_blocks(2.0 * m), k
    cdef double[:, ::1] sums = np.zeros((blocks, 8))
    if m == 0:
        return np.zeros(2)
    for k in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        _side_totals_block(&y[0], &v[0], &sums[k, 0], m * k // blocks, m * (k + 1) // blocks)
    return np.asarray(sums).sum(axis=0)[:2]


cdef void _square_size_block(const double* q, const double* penalty, double* sums, Py_ssize_t low,
                             Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t i
    cdef double total = 0.0
    for i in range(low, high):
        total += penalty[i] * (1.0 + q[i] * q[i])
    sums[0] += total


def square_size(const double[::1] q, const double[::1] penalty):
    """Return ``sum(penalty * (1 + q ** 2))``."""
    cdef Py_ssize_t m = q.shape[0]
    cdef int blocks = _dense_blocks(3.0 * m), k
    cdef double[:, ::1] sums = np.zeros((blocks, 8))
    if m == 0:
        return 0.0
    for k in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        _square_size_block(&q[0], &penalty[0], &sums[k, 0], m * k // blocks,
                           m * (k + 1) // blocks)
    return float(np.asarray(sums)[:, 0].sum())
