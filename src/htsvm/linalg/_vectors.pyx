# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, nonecheck=False
"""Vectors over samples. Each function has a twin of the same name in `_numpy.py`.

Work is split into one contiguous block per thread, and partial sums are added in the order of the
blocks, so a result depends on the number of threads but never on their timing.
"""

import numpy as np

from cython.parallel cimport prange

from htsvm.linalg._rows cimport _blocks

# ------------------------------------------------------------------ the augmented Lagrangian

cdef inline double _clip(double value, double top) noexcept nogil:
    # Without branches: which way they go is close to random here, and a wrong guess is dear.
    # NaN passes through.
    value = 0.0 if value < 0.0 else value
    return top if value > top else value


cdef void _clip_step_block(const double* q, const double* alpha, const double* c,
                           const double* penalty, double xi, double* out, unsigned char* active,
                           double* counts, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t i, interior = 0, nonzero = 0
    cdef double value, total = 0.0
    cdef int inside, above
    for i in range(low, high):
        value = alpha[i] + xi * penalty[i] * q[i]
        out[i] = _clip(value, c[i])
        above = out[i] > 0.0
        inside = above & (value < c[i])
        active[i] = inside
        interior += inside
        nonzero += above
        total += out[i]
    counts[0] += interior
    counts[1] += nonzero
    counts[2] += total


def clip_step(const double[::1] q, const double[::1] alpha, const double[::1] c,
              const double[::1] penalty, double xi, double[::1] out, unsigned char[::1] active):
    """Set ``out = clip(alpha + xi * penalty * q, 0, c)`` and mark its strictly interior entries.

    Returns the numbers of interior and of non-zero entries.
    """
    cdef Py_ssize_t m = q.shape[0]
    cdef int blocks = _blocks(4.0 * m), t
    cdef double[:, ::1] counts = np.zeros((blocks, 8))
    if m == 0:
        return 0, 0
    for t in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        _clip_step_block(&q[0], &alpha[0], &c[0], &penalty[0], xi, &out[0], &active[0],
                         &counts[t, 0], m * t // blocks, m * (t + 1) // blocks)
    total = np.asarray(counts).sum(axis=0)
    return int(total[0]), int(total[1])


cdef void _line_terms_block(const double* q, const double* alpha, const double* c,
                            const double* penalty, const double* delta, double xi, double t,
                            double* sums, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t i
    cdef double value, inside, first = 0.0, second = 0.0
    for i in range(low, high):
        value = alpha[i] + xi * penalty[i] * (q[i] - t * delta[i])
        inside = 1.0 if value > 0.0 else 0.0
        inside = inside if value < c[i] else 0.0
        first += _clip(value, c[i]) * delta[i]
        second += inside * penalty[i] * delta[i] * delta[i]
    sums[0] += first
    sums[1] += second


def line_terms(const double[::1] q, const double[::1] alpha, const double[::1] c,
               const double[::1] penalty, const double[::1] delta, double xi, double t):
    """Return the sums that give first and second derivative along a direction.

    With ``s = clip(alpha + xi * penalty * (q - t * delta), 0, c)`` these are ``s @ delta`` and the
    sum of ``penalty * delta ** 2`` over the entries where `s` is strictly inside its bounds.
    """
    cdef Py_ssize_t m = q.shape[0]
    cdef int blocks = _blocks(4.0 * m), k
    cdef double[:, ::1] sums = np.zeros((blocks, 8))
    if m == 0:
        return 0.0, 0.0
    for k in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        _line_terms_block(&q[0], &alpha[0], &c[0], &penalty[0], &delta[0], xi, t, &sums[k, 0],
                          m * k // blocks, m * (k + 1) // blocks)
    total = np.asarray(sums).sum(axis=0)
    return float(total[0]), float(total[1])


cdef Py_ssize_t _relevant_block(const double* q, const double* alpha, const double* c, double reach,
                                Py_ssize_t* out, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    # Count the relevant rows; write them too if there is somewhere to write to.
    cdef Py_ssize_t i, count = 0
    for i in range(low, high):
        if c[i] > 0.0 and (q[i] > -reach or alpha[i] > 0.0):
            if out != NULL:
                out[count] = i
            count += 1
    return count


def relevant_rows(const double[::1] q, const double[::1] alpha, const double[::1] c, double reach):
    """Return the indices with ``c > 0`` and (``q > -reach`` or ``alpha > 0``)."""
    cdef Py_ssize_t m = q.shape[0]
    cdef int blocks = _blocks(2.0 * m), k
    cdef Py_ssize_t[::1] counts = np.zeros(blocks + 1, dtype=np.intp)
    if m == 0:
        return np.empty(0, dtype=np.intp)
    for k in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        counts[k + 1] = _relevant_block(&q[0], &alpha[0], &c[0], reach, NULL,
                                        m * k // blocks, m * (k + 1) // blocks)
    cdef Py_ssize_t[::1] starts = np.cumsum(counts)
    result = np.empty(starts[blocks], dtype=np.intp)
    if starts[blocks] == 0:
        return result
    cdef Py_ssize_t[::1] out = result
    for k in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        if starts[k + 1] > starts[k]:
            _relevant_block(&q[0], &alpha[0], &c[0], reach, &out[starts[k]],
                            m * k // blocks, m * (k + 1) // blocks)
    return result


cdef void _axpy_block(double* x, const double* d, double t, Py_ssize_t low,
                      Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(low, high):
        x[i] += t * d[i]


def add_scaled(double[::1] x, const double[::1] d, double t):
    """Add ``t * d`` to `x` in place."""
    cdef Py_ssize_t m = x.shape[0]
    cdef int blocks = _blocks(2.0 * m), k
    if m == 0:
        return
    for k in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        _axpy_block(&x[0], &d[0], t, m * k // blocks, m * (k + 1) // blocks)


cdef void _natural_residual_block(const double* q, const double* alpha, const double* c,
                                  const double* penalty, double nu, double* sums,
                                  Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t i
    cdef double gap, divisor, squares = 0.0, size = 0.0, slack = 0.0
    for i in range(low, high):
        divisor = penalty[i] if penalty[i] > 0.0 else 1.0
        gap = nu * (_clip(alpha[i] + penalty[i] * q[i] / nu, c[i]) - alpha[i])
        gap = gap if penalty[i] > 0.0 else 0.0
        squares += gap * gap / divisor
        size += penalty[i] * (1.0 + q[i] * q[i])
        gap = ((c[i] if q[i] > 0.0 else 0.0) - alpha[i]) * q[i]
        slack += (gap if gap > 0.0 else -gap) if penalty[i] > 0.0 else 0.0
    sums[0] = squares
    sums[1] = size
    sums[2] = slack


def natural_residual(const double[::1] q, const double[::1] alpha, const double[::1] c,
                     const double[::1] penalty, double nu):
    """Return ``sum(penalty * r ** 2)``, ``sum(penalty * (1 + q ** 2))`` and the slack.

    r = step * (clip(alpha + q / step, 0, c) - alpha) with the step nu / penalty vanishes exactly
    where alpha is a subgradient of ``c * max(q, 0)``, and so does ``|c [q > 0] - alpha| |q|``,
    whose sum is the slack. Samples without penalty do not count.
    """
    cdef Py_ssize_t m = q.shape[0]
    cdef int blocks = _blocks(4.0 * m), k
    cdef double[:, ::1] sums = np.zeros((blocks, 8))
    if m == 0:
        return 0.0, 0.0, 0.0
    for k in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        _natural_residual_block(&q[0], &alpha[0], &c[0], &penalty[0], nu, &sums[k, 0],
                                m * k // blocks, m * (k + 1) // blocks)
    total = np.asarray(sums).sum(axis=0)
    return float(total[0]), float(total[1]), float(total[2])


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
    cdef int blocks = _blocks(3.0 * m), k
    if m == 0:
        return
    for k in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        _capped_slope_block(&h[0], &penalty[0], top, start, fall, &out[0],
                            m * k // blocks, m * (k + 1) // blocks)


cdef void _hybrid_total_block(const double* s, const double* penalty, double knee, double cap,
                              double* total, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    # On [0, 1] the loss is its first straight line less a parabola that starts at the knee.
    cdef Py_ssize_t i, missing = 0
    cdef double u, past, result = 0.0
    cdef double slope = 2.0 / (1.0 + knee), curve = 1.0 / (1.0 - knee * knee), scale = 1.0 / cap
    for i in range(low, high):
        u = _clip(s[i] * scale, 1.0)
        past = u - knee
        past = past if past > 0.0 else 0.0
        result += penalty[i] * (slope * u - curve * past * past)
        missing += s[i] != s[i]
    total[0] = cap * result
    total[1] = missing


def hybrid_total(const double[::1] s, const double[::1] penalty, double knee, double cap):
    """Return ``sum(penalty * loss(s))`` for the hybrid truncated loss with a finite cap."""
    cdef Py_ssize_t m = s.shape[0]
    cdef int blocks = _blocks(4.0 * m), k
    cdef double[:, ::1] sums = np.zeros((blocks, 8))
    if m == 0:
        return 0.0
    for k in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        _hybrid_total_block(&s[0], &penalty[0], knee, cap, &sums[k, 0],
                            m * k // blocks, m * (k + 1) // blocks)
    total = np.asarray(sums).sum(axis=0)
    return float("nan") if total[1] > 0.0 else float(total[0])
