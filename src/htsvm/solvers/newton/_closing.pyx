# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, nonecheck=False
"""The end of a round in one sweep over the samples: the compiled form of `state.close_round`."""

import numpy as np

from cython.parallel cimport prange
from libc.math cimport INFINITY, fabs

from htsvm.linalg._rows cimport Rows, _dense_blocks

# Samples at a time: 16 KB of each vector, so that a few fit into the nearest cache.
DEF CHUNK = 2048


cdef struct Line:
    # A loss whose profile has the slope clip(start - fall * h, 0, top).
    double top, start, fall, knee, cap


cdef Line _line(tuple line):
    cdef Line result
    result.top, result.start, result.fall = line
    result.knee = (result.start - result.top) / result.fall if result.fall > 0.0 else INFINITY
    result.cap = result.start / result.fall if result.fall > 0.0 else INFINITY
    return result


cdef void _close_block(Py_ssize_t low, Py_ssize_t high, bint refresh, double* q,
                       const double* alpha, double* weights, const double* penalty, Line stage,
                       Line own, double nu, double* sums) noexcept nogil:
    cdef Py_ssize_t i, violated = 0
    cdef double h, past, slope, gap, divisor, value
    cdef double squares = 0.0, size = 0.0, total = 0.0, lag = 0.0
    for i in range(low, high):
        if refresh:
            q[i] = 1.0 - q[i]
        violated += (q[i] > 0.0) & (weights[i] > 0.0)
        lag += fabs(((weights[i] if q[i] > 0.0 else 0.0) - alpha[i]) * q[i])
        slope = stage.start - stage.fall * q[i]
        slope = 0.0 if slope < 0.0 else slope
        slope = stage.top if slope > stage.top else slope
        weights[i] = penalty[i] * slope
        value = alpha[i] + penalty[i] * q[i] / nu
        value = 0.0 if value < 0.0 else value
        value = weights[i] if value > weights[i] else value
        gap = nu * (value - alpha[i])
        divisor = penalty[i] if penalty[i] > 0.0 else 1.0
        gap = gap if penalty[i] > 0.0 else 0.0
        squares += gap * gap / divisor
        size += penalty[i] * (1.0 + q[i] * q[i])
        h = 0.0 if q[i] < 0.0 else q[i]
        h = own.cap if h > own.cap else h
        past = h - own.knee
        past = past if past > 0.0 else 0.0
        total += penalty[i] * (own.top * h - 0.5 * own.fall * past * past)
    sums[0] += violated
    sums[1] += squares
    sums[2] += size
    sums[3] += total
    sums[4] += lag


cdef void _close_range(Rows rows, const signed char* y, const double* w, double b, bint refresh,
                       double* q, const double* alpha, double* weights, const double* penalty,
                       Line stage, Line own, double nu, double* sums, Py_ssize_t low,
                       Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t start = low, stop
    while start < high:
        stop = start + CHUNK if start + CHUNK < high else high
        if refresh:
            rows.dot(y, w, b, q, start, stop)
        _close_block(start, stop, refresh, q, alpha, weights, penalty, stage, own, nu, sums)
        start = stop


def close_round(Rows rows, const signed char[::1] y, const double[::1] w, double b, bint refresh,
                double[::1] q, const double[::1] alpha, double[::1] weights,
                const double[::1] penalty, tuple stage, tuple own, double nu):
    """Do in one sweep what `state.py` says of the end of a round.

    With `refresh`, set ``q = 1 - y * (X w + b)``. Then set the weights to the slopes of the
    `stage` times the penalty. Both it and `own`, the loss itself, are given by three numbers (see
    `Loss.slope_line`). Returns how many samples with an old weight are violated, the three sums of
    `natural_residual` at the new weights, the total of the loss itself, and the last of the three
    sums at the old weights.
    """
    cdef Py_ssize_t m = q.shape[0]
    cdef int blocks = rows.blocks() if refresh else _dense_blocks(8.0 * m), k
    cdef Line first = _line(stage), second = _line(own)
    cdef double[:, ::1] sums = np.zeros((blocks, 8))
    if m == 0:
        return 0, 0.0, 0.0, 0.0, 0.0
    for k in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        _close_range(rows, &y[0], &w[0], b, refresh, &q[0], &alpha[0], &weights[0], &penalty[0],
                     first, second, nu, &sums[k, 0], m * k // blocks, m * (k + 1) // blocks)
    total = np.asarray(sums).sum(axis=0)
    return (int(total[0]), *(float(value) for value in total[1:5]))
