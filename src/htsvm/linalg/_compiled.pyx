# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, nonecheck=False
"""Compiled kernels. Each has a twin of the same name and meaning in `_numpy.py`.

Work is split into one contiguous block of rows per thread, and partial sums are added in the
order of the blocks, so a result depends on the number of threads but never on their timing.
"""

import numpy as np

from cython.parallel cimport prange

cdef extern from "_threads.h" nogil:
    int htsvm_max_threads()
    int htsvm_has_openmp()

# Below this many elementary operations the start of a parallel region costs more than it saves.
DEF PARALLEL_FROM = 150000


def max_threads():
    """Return how many threads a parallel kernel may use now."""
    return htsvm_max_threads()


def has_openmp():
    """Return whether the kernels were compiled with OpenMP."""
    return bool(htsvm_has_openmp())


cdef int _blocks(double work) noexcept nogil:
    cdef int threads = htsvm_max_threads()
    if work < PARALLEL_FROM:
        return 1
    return threads if threads > 0 else 1


# --------------------------------------------------------------------------- rows of X

cdef void _csr_dot_block(const index* indptr, const index* indices, const real* data,
                         const signed char* y, const double* w, double b, double* out,
                         Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t i
    cdef index k, stop
    cdef double total
    for i in range(low, high):
        total = b
        stop = indptr[i + 1]
        k = indptr[i]
        while k < stop:
            total += data[k] * w[indices[k]]
            k += 1
        out[i] = y[i] * total


def csr_signed_dot(const index[::1] indptr, const index[::1] indices, const real[::1] data,
                   const signed char[::1] y, const double[::1] w, double b, double[::1] out):
    """Set ``out[i] = y[i] * (x_i @ w + b)``."""
    cdef Py_ssize_t m = out.shape[0]
    cdef int blocks = _blocks(data.shape[0] + 2.0 * m), t
    if m == 0:
        return
    cdef const index* p_ind = &indices[0] if indices.shape[0] else NULL
    cdef const real* p_data = &data[0] if data.shape[0] else NULL
    cdef const double* p_w = &w[0] if w.shape[0] else NULL
    if blocks == 1:
        with nogil:
            _csr_dot_block(&indptr[0], p_ind, p_data, &y[0], p_w, b, &out[0], 0, m)
        return
    for t in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        _csr_dot_block(&indptr[0], p_ind, p_data, &y[0], p_w, b, &out[0],
                       m * t // blocks, m * (t + 1) // blocks)


cdef void _csr_tdot_block(const index* indptr, const index* indices, const real* data,
                          const signed char* y, const double* v, double* out, double* total,
                          Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t i
    cdef index k, stop
    cdef double scale, signed_sum = 0.0
    for i in range(low, high):
        if v[i] == 0.0:
            continue
        scale = y[i] * v[i]
        signed_sum += scale
        stop = indptr[i + 1]
        k = indptr[i]
        while k < stop:
            out[indices[k]] += scale * data[k]
            k += 1
    total[0] += signed_sum


def csr_signed_tdot(const index[::1] indptr, const index[::1] indices, const real[::1] data,
                    const signed char[::1] y, const double[::1] v, double[::1] out):
    """Set ``out = X.T @ (y * v)``, reading only rows with ``v != 0``; return ``y @ v``."""
    cdef Py_ssize_t m = v.shape[0], n = out.shape[0]
    cdef int blocks = _blocks(data.shape[0] + 2.0 * m), t
    if m == 0:
        out[:] = 0.0
        return 0.0
    if n * blocks > data.shape[0]:
        blocks = 1
    cdef double[:, ::1] partial = np.zeros((blocks, n + 1))
    cdef const index* p_ind = &indices[0] if indices.shape[0] else NULL
    cdef const real* p_data = &data[0] if data.shape[0] else NULL
    if blocks == 1:
        with nogil:
            _csr_tdot_block(&indptr[0], p_ind, p_data, &y[0], &v[0], &partial[0, 0],
                            &partial[0, n], 0, m)
    else:
        for t in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
            _csr_tdot_block(&indptr[0], p_ind, p_data, &y[0], &v[0], &partial[t, 0],
                            &partial[t, n], m * t // blocks, m * (t + 1) // blocks)
    summed = np.asarray(partial).sum(axis=0)
    np.copyto(np.asarray(out), summed[:n])
    return float(summed[n])


cdef void _csr_gram_block(const index* indptr, const index* indices, const real* data,
                          const Py_ssize_t* rows, const double* weights, Py_ssize_t n,
                          double* out, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    # Lower triangle of the weighted sum of (x, 1)(x, 1)^T; `out` is (n + 1) x (n + 1).
    cdef Py_ssize_t r, i, side = n + 1
    cdef index a, b, start, stop
    cdef double value
    cdef double* target
    cdef double* last = out + n * side
    for r in range(low, high):
        i = rows[r]
        start = indptr[i]
        stop = indptr[i + 1]
        a = start
        while a < stop:
            value = weights[r] * data[a]
            target = out + indices[a] * side
            b = start
            while b <= a:
                target[indices[b]] += value * data[b]
                b += 1
            last[indices[a]] += value
            a += 1
        last[n] += weights[r]


def csr_add_gram(const index[::1] indptr, const index[::1] indices, const real[::1] data,
                 const Py_ssize_t[::1] rows, const double[::1] weights, double[:, ::1] out):
    """Add ``sum_i weights_i (x_i, 1)(x_i, 1)^T`` over `rows` to the lower triangle of `out`.

    Needs sorted column indices without duplicates.
    """
    cdef Py_ssize_t count = rows.shape[0], n = out.shape[0] - 1, side = out.shape[0]
    if count == 0:
        return
    cdef double per_row = data.shape[0] / <double>(indptr.shape[0] - 1) + 1.0
    cdef double work = count * per_row * per_row
    cdef int blocks = _blocks(work), t
    # Each block needs a matrix of its own, to be cleared and added up.
    if 8.0 * blocks * side * side > work:
        blocks = 1
    cdef const index* p_ind = &indices[0] if indices.shape[0] else NULL
    cdef const real* p_data = &data[0] if data.shape[0] else NULL
    if blocks == 1:
        with nogil:
            _csr_gram_block(&indptr[0], p_ind, p_data, &rows[0], &weights[0], n, &out[0, 0], 0,
                            count)
        return
    cdef double[:, :, ::1] partial = np.zeros((blocks, side, side))
    for t in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        _csr_gram_block(&indptr[0], p_ind, p_data, &rows[0], &weights[0], n, &partial[t, 0, 0],
                        count * t // blocks, count * (t + 1) // blocks)
    target = np.asarray(out)
    for t in range(blocks):
        target += np.asarray(partial[t])


cdef void _dense_dot_block(const real* X, Py_ssize_t n, const signed char* y, const double* w,
                           double b, double* out, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef double total
    cdef const real* row
    for i in range(low, high):
        row = X + i * n
        total = 0.0
        for j in range(n):
            total += row[j] * w[j]
        out[i] = y[i] * (total + b)


def dense_signed_dot(const real[:, ::1] X, const signed char[::1] y, const double[::1] w, double b,
                     double[::1] out):
    """Set ``out[i] = y[i] * (x_i @ w + b)``."""
    cdef Py_ssize_t m = X.shape[0], n = X.shape[1]
    cdef int blocks = _blocks(<double>m * (n + 1)), t
    if m == 0:
        return
    if blocks == 1:
        with nogil:
            _dense_dot_block(&X[0, 0], n, &y[0], &w[0], b, &out[0], 0, m)
        return
    for t in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        _dense_dot_block(&X[0, 0], n, &y[0], &w[0], b, &out[0],
                         m * t // blocks, m * (t + 1) // blocks)


cdef void _dense_tdot_block(const real* X, Py_ssize_t n, const signed char* y, const double* v,
                            double* out, double* total, Py_ssize_t low,
                            Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef double scale, signed_sum = 0.0
    cdef const real* row
    for i in range(low, high):
        if v[i] == 0.0:
            continue
        scale = y[i] * v[i]
        signed_sum += scale
        row = X + i * n
        for j in range(n):
            out[j] += scale * row[j]
    total[0] += signed_sum


def dense_signed_tdot(const real[:, ::1] X, const signed char[::1] y, const double[::1] v,
                      double[::1] out):
    """Set ``out = X.T @ (y * v)``, reading only rows with ``v != 0``; return ``y @ v``."""
    cdef Py_ssize_t m = X.shape[0], n = X.shape[1]
    cdef int blocks = _blocks(<double>m * (n + 1)), t
    if m == 0:
        out[:] = 0.0
        return 0.0
    if blocks > m:
        blocks = 1
    cdef double[:, ::1] partial = np.zeros((blocks, n + 1))
    if blocks == 1:
        with nogil:
            _dense_tdot_block(&X[0, 0], n, &y[0], &v[0], &partial[0, 0], &partial[0, n], 0, m)
    else:
        for t in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
            _dense_tdot_block(&X[0, 0], n, &y[0], &v[0], &partial[t, 0], &partial[t, n],
                              m * t // blocks, m * (t + 1) // blocks)
    summed = np.asarray(partial).sum(axis=0)
    np.copyto(np.asarray(out), summed[:n])
    return float(summed[n])


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
    cdef double value, weight = 0.0, total = 0.0
    cdef int inside, above
    for i in range(low, high):
        value = alpha[i] + xi * penalty[i] * q[i]
        out[i] = _clip(value, c[i])
        above = out[i] > 0.0
        inside = above & (value < c[i])
        active[i] = inside
        interior += inside
        nonzero += above
        weight += above * penalty[i]
        total += out[i]
    counts[0] += interior
    counts[1] += nonzero
    counts[2] += weight
    counts[3] += total


def clip_step(const double[::1] q, const double[::1] alpha, const double[::1] c,
              const double[::1] penalty, double xi, double[::1] out, unsigned char[::1] active):
    """Set ``out = clip(alpha + xi * penalty * q, 0, c)`` and mark its strictly interior entries.

    Returns the numbers of interior and of non-zero entries, and the penalty of the latter.
    """
    cdef Py_ssize_t m = q.shape[0]
    cdef int blocks = _blocks(4.0 * m), t
    cdef double[:, ::1] counts = np.zeros((blocks, 8))
    if m == 0:
        return 0, 0, 0.0
    for t in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        _clip_step_block(&q[0], &alpha[0], &c[0], &penalty[0], xi, &out[0], &active[0],
                         &counts[t, 0], m * t // blocks, m * (t + 1) // blocks)
    total = np.asarray(counts).sum(axis=0)
    return int(total[0]), int(total[1]), float(total[2])


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


cdef void _distance_block(const double* a, const double* b, const double* penalty, double* total,
                          Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t i
    cdef double change, divisor, result = 0.0
    for i in range(low, high):
        divisor = penalty[i] if penalty[i] > 0.0 else 1.0
        change = a[i] - b[i]
        change = change if penalty[i] > 0.0 else 0.0
        result += change * change / divisor
    total[0] = result


def scaled_distance(const double[::1] a, const double[::1] b, const double[::1] penalty):
    """Return ``sum((a - b) ** 2 / penalty)`` over the samples with a penalty."""
    cdef Py_ssize_t m = a.shape[0]
    cdef int blocks = _blocks(3.0 * m), k
    cdef double[:, ::1] sums = np.zeros((blocks, 8))
    if m == 0:
        return 0.0
    for k in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        _distance_block(&a[0], &b[0], &penalty[0], &sums[k, 0],
                        m * k // blocks, m * (k + 1) // blocks)
    return float(np.asarray(sums)[:, 0].sum())


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


# ----------------------------------------------------------------- dual coordinate descent

def csr_dual_sweep(const index[::1] indptr, const index[::1] indices, const real[::1] data,
                   const signed char[::1] y, const double[::1] c, const double[::1] squares,
                   const Py_ssize_t[::1] order, double scale, double stiffness,
                   double[::1] alpha, double[::1] w, double b, double balance):
    """Improve the multipliers in `order` one after the other; return the new ``y @ alpha``.

    Coordinate descent on the dual of min w'w / (2 scale) + sum_i c_i max(0, 1 - y_i (x_i'w + b)),
    with w = scale * X'(y * alpha) kept up to date. The constraint y'alpha = 0 of the free
    intercept is left to a multiplier b and a quadratic penalty `stiffness` (zero without
    intercept): the intercept in force is ``b + stiffness * balance`` with balance = y'alpha.
    `squares` holds ``scale * x_i'x_i``.
    """
    cdef Py_ssize_t t, i
    cdef index k, start, stop
    cdef double total, curvature, old, new, change
    with nogil:
        for t in range(order.shape[0]):
            i = order[t]
            curvature = squares[i] + stiffness
            if c[i] <= 0.0 and alpha[i] == 0.0:
                continue
            start = indptr[i]
            stop = indptr[i + 1]
            total = b + stiffness * balance
            k = start
            while k < stop:
                total += data[k] * w[indices[k]]
                k += 1
            old = alpha[i]
            if curvature > 0.0:
                new = old + (1.0 - y[i] * total) / curvature
            else:
                new = c[i] if y[i] * total < 1.0 else 0.0
            if new < 0.0:
                new = 0.0
            elif new > c[i]:
                new = c[i]
            change = (new - old) * y[i]
            if change == 0.0:
                continue
            alpha[i] = new
            balance += change
            change *= scale
            k = start
            while k < stop:
                w[indices[k]] += change * data[k]
                k += 1
    return balance
