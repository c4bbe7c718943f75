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
    cdef int blocks = _dense_blocks(4.0 * m), t
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
    cdef int blocks = _dense_blocks(4.0 * m), k
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
    cdef int blocks = _dense_blocks(2.0 * m), k
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


cdef Py_ssize_t _between_block(const double* q, const double* penalty, double least, double most,
                               Py_ssize_t* out, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    # Written always, counted where it holds: without branches.
    cdef Py_ssize_t i, count = 0
    for i in range(low, high):
        out[count] = i
        count += (q[i] > least) & (q[i] < most) & (penalty[i] > 0.0)
    return count


def rows_between(const double[::1] q, const double[::1] penalty, double least, double most):
    """Return the indices with ``least < q < most`` and ``penalty > 0``."""
    cdef Py_ssize_t m = q.shape[0], count
    result = np.empty(m + 1, dtype=np.intp)
    cdef Py_ssize_t[::1] out = result
    if m == 0:
        return result[:0]
    with nogil:
        count = _between_block(&q[0], &penalty[0], least, most, &out[0], 0, m)
    return result[:count]


cdef void _axpy_block(double* x, const double* d, double t, Py_ssize_t low,
                      Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t i
    for i in range(low, high):
        x[i] += t * d[i]


def add_scaled(double[::1] x, const double[::1] d, double t):
    """Add ``t * d`` to `x` in place."""
    cdef Py_ssize_t m = x.shape[0]
    cdef int blocks = _dense_blocks(2.0 * m), k
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
    cdef int blocks = _dense_blocks(4.0 * m), k
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
