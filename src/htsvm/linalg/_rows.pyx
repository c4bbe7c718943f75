# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, nonecheck=False
"""The rows of X in compiled loops, and products with them.

Work is split into one contiguous block of rows per thread, and partial sums are added in the
order of the blocks, so a result depends on the number of threads but never on their timing.
"""

import numpy as np

from cython.parallel cimport prange

cdef extern from "_threads.h" nogil:
    int htsvm_max_threads()
    int htsvm_has_openmp()

# Products of fewer entries than this take less than some 45 microseconds on one core (a dense array
# of 1,500 x 100): too little to be worth waking other threads.
DEF PARALLEL_FROM = 150000
# What is asked of rows: products with a vector, with the transpose, and of a row with itself.
DEF DOT = 0
DEF TDOT = 1
DEF GRAM = 2


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


cdef int _dense_blocks(double work) noexcept nogil:
    # Values in a row take about an eighth of the time of sparse ones. Waking another thread takes
    # as long as 300,000 of them.
    return _blocks(0.125 * work)


# ---------------------------------------------------------------------------- loops over rows

cdef void _csr_dot(const index* indptr, const index* indices, const real* data,
                   const signed char* y, const double* w, double b, double* out, Py_ssize_t low,
                   Py_ssize_t high) noexcept nogil:
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


cdef void _csr_tdot(const index* indptr, const index* indices, const real* data,
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


cdef void _csr_gram(const index* indptr, const index* indices, const real* data, Py_ssize_t i,
                    double weight, Py_ssize_t n, double* out) noexcept nogil:
    # Needs sorted column indices without duplicates; so for all that is `out`, (n + 1) x (n + 1).
    cdef Py_ssize_t side = n + 1
    cdef index a, b, start = indptr[i]
    cdef double value
    cdef double* target
    cdef double* last = out + n * side
    for a in range(start, indptr[i + 1]):
        value = weight * data[a]
        target = out + indices[a] * side
        for b in range(start, a + 1):
            target[indices[b]] += value * data[b]
        last[indices[a]] += value
    last[n] += weight


cdef void _dense_dot(const real* X, Py_ssize_t n, const signed char* y, const double* w, double b,
                     double* out, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef double total
    cdef const real* row
    for i in range(low, high):
        row = X + i * n
        total = 0.0
        for j in range(n):
            total += row[j] * w[j]
        out[i] = y[i] * (total + b)


cdef void _dense_tdot(const real* X, Py_ssize_t n, const signed char* y, const double* v,
                      double* out, double* total, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
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


cdef void _dense_gram(const real* x, double weight, Py_ssize_t n, double* out) noexcept nogil:
    cdef Py_ssize_t a, b, side = n + 1
    cdef double value
    cdef double* target
    for a in range(n):
        value = weight * x[a]
        target = out + a * side
        for b in range(a + 1):
            target[b] += value * x[b]
    target = out + n * side
    for b in range(n):
        target[b] += weight * x[b]
    target[n] += weight


# Rows of a dense array seen as (x - mean) * scale. Each row is centred by itself: what a correction
# of sums would leave of columns far from zero is rounding.

cdef void _scaled_dot(const real* X, Py_ssize_t n, const double* mean, const double* scale,
                      const signed char* y, const double* w, double b, double* out, Py_ssize_t low,
                      Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef double total
    cdef const real* row
    for i in range(low, high):
        row = X + i * n
        total = 0.0
        for j in range(n):
            total += (row[j] - mean[j]) * (scale[j] * w[j])
        out[i] = y[i] * (total + b)


cdef void _scaled_tdot(const real* X, Py_ssize_t n, const double* mean, const double* scale,
                       const signed char* y, const double* v, double* out, double* total,
                       Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t i, j
    cdef double own
    cdef const real* row
    for i in range(low, high):
        row = X + i * n
        own = y[i] * v[i]
        if own == 0.0:
            continue
        total[0] += own
        for j in range(n):
            out[j] += own * ((row[j] - mean[j]) * scale[j])


cdef void _scaled_gram(const real* x, const double* mean, const double* scale, double weight,
                       Py_ssize_t n, double* out) noexcept nogil:
    cdef Py_ssize_t a, b, side = n + 1
    cdef double own
    cdef double* target
    cdef double* last = out + n * side
    for a in range(n):
        own = weight * ((x[a] - mean[a]) * scale[a])
        target = out + a * side
        for b in range(a + 1):
            target[b] += own * ((x[b] - mean[b]) * scale[b])
        last[a] += own
    last[n] += weight


cdef void _go(int what, Rows X, const index* indptr, const index* indices, const real* data,
              const signed char* y, const double* v, double b, double* out, double* total,
              Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    if what == DOT:
        if X.sparse:
            _csr_dot(indptr, indices, data, y, v, b, out, low, high)
        elif X.mean != NULL:
            _scaled_dot(data, X.n, X.mean, X.scale, y, v, b, out, low, high)
        else:
            _dense_dot(data, X.n, y, v, b, out, low, high)
    elif what == TDOT:
        if X.sparse:
            _csr_tdot(indptr, indices, data, y, v, out, total, low, high)
        elif X.mean != NULL:
            _scaled_tdot(data, X.n, X.mean, X.scale, y, v, out, total, low, high)
        else:
            _dense_tdot(data, X.n, y, v, out, total, low, high)
    elif X.sparse:
        _csr_gram(indptr, indices, data, low, b, X.n, out)
    elif X.mean != NULL:
        _scaled_gram(data + low * X.n, X.mean, X.scale, b, X.n, out)
    else:
        _dense_gram(data + low * X.n, b, X.n, out)


# --------------------------------------------------------------------------------- the rows

cdef class Rows:
    """The rows of a C-contiguous array or a CSR matrix, whatever the types of their entries.

    Those of an array may be seen as (X - mean) * scale.
    """

    def __init__(self, X, mean=None, scale=None):
        self.sparse = hasattr(X, "indptr")
        data = X.data if self.sparse else X
        self.m, self.n = X.shape
        self.stored = data.size
        self.single = data.dtype == np.float32
        self.data = <const void*><Py_ssize_t>data.ctypes.data
        self.keep = (data, mean, scale)
        if self.sparse:
            self.wide = X.indices.dtype.itemsize == 8
            self.indices = <const void*><Py_ssize_t>X.indices.ctypes.data
            self.indptr = <const void*><Py_ssize_t>X.indptr.ctypes.data
            self.keep = (data, X.indices, X.indptr)
        elif mean is not None:
            self.mean = <const double*><Py_ssize_t>mean.ctypes.data
            self.scale = <const double*><Py_ssize_t>scale.ctypes.data

    def signed_dot(self, const signed char[::1] y, const double[::1] w, double b, double[::1] out):
        """Set ``out[i] = y[i] * (x_i @ w + b)``."""
        cdef Py_ssize_t m = self.m
        cdef int blocks = self.blocks(), t
        cdef const double* p_w = &w[0] if self.n else NULL
        if m == 0:
            return
        for t in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
            self.dot(&y[0], p_w, b, &out[0], m * t // blocks, m * (t + 1) // blocks)

    def signed_tdot(self, const signed char[::1] y, const double[::1] v, double[::1] out):
        """Set ``out = X.T @ (y * v)``, reading only rows with ``v != 0``; return ``y @ v``."""
        cdef Py_ssize_t m = self.m, n = self.n
        cdef int blocks = self.blocks(), t
        # Each block needs a vector of its own, to be cleared and added up.
        if m == 0 or n * blocks > self.stored:
            blocks = 1
        cdef double[:, ::1] partial = np.zeros((blocks, n + 1))
        if m > 0:
            for t in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
                self.add_tdot(&y[0], &v[0], &partial[t, 0], &partial[t, n], m * t // blocks,
                              m * (t + 1) // blocks)
        summed = np.asarray(partial).sum(axis=0)
        np.copyto(np.asarray(out), summed[:n])
        return float(summed[n])

    def gram(self, const Py_ssize_t[::1] rows, const double[::1] weights, double[:, ::1] out):
        """Add ``sum_i weights_i (x_i, 1)(x_i, 1)^T`` over `rows` to the lower triangle of `out`."""
        cdef Py_ssize_t count = rows.shape[0], side = self.n + 1, r
        if count == 0:
            return
        cdef double per_row = self.stored / <double>self.m + 1.0
        cdef double work = count * per_row * per_row
        cdef int blocks = _blocks(work), t
        # Each block needs a matrix of its own, to be cleared and added up.
        if 8.0 * blocks * side * side > work:
            blocks = 1
        cdef double[:, :, ::1] partial = np.zeros((blocks - 1, side, side))
        for t in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
            for r in range(count * t // blocks, count * (t + 1) // blocks):
                self.add_gram(rows[r], weights[r], &partial[t - 1, 0, 0] if t else &out[0, 0])
        target = np.asarray(out)
        for t in range(blocks - 1):
            target += np.asarray(partial[t])

    cdef int blocks(self) noexcept nogil:
        """Return into how many blocks a pass over the rows and a few vectors is split."""
        if self.sparse:
            return _blocks(self.stored + 8.0 * self.m)
        return _dense_blocks(self.stored + 8.0 * self.m)

    cdef void go(self, int what, const signed char* y, const double* v, double b, double* out,
                 double* total, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
        cdef const int* p = <const int*>self.indptr
        cdef const int* q = <const int*>self.indices
        cdef const long long* wide_p = <const long long*>self.indptr
        cdef const long long* wide_q = <const long long*>self.indices
        if self.wide and self.single:
            _go(what, self, wide_p, wide_q, <const float*>self.data, y, v, b, out, total, low, high)
        elif self.wide:
            _go(what, self, wide_p, wide_q, <const double*>self.data, y, v, b, out, total, low, high)
        elif self.single:
            _go(what, self, p, q, <const float*>self.data, y, v, b, out, total, low, high)
        else:
            _go(what, self, p, q, <const double*>self.data, y, v, b, out, total, low, high)

    cdef void dot(self, const signed char* y, const double* w, double b, double* out,
                  Py_ssize_t low, Py_ssize_t high) noexcept nogil:
        """Set ``out[i] = y[i] * (x_i @ w + b)`` for some rows."""
        self.go(DOT, y, w, b, out, NULL, low, high)

    cdef void add_tdot(self, const signed char* y, const double* v, double* out, double* total,
                       Py_ssize_t low, Py_ssize_t high) noexcept nogil:
        """Add ``X.T @ (y * v)`` and ``y @ v`` of some rows."""
        self.go(TDOT, y, v, 0.0, out, total, low, high)

    cdef void add_gram(self, Py_ssize_t i, double weight, double* out) noexcept nogil:
        """Add ``weight * (x_i, 1)(x_i, 1)'`` to the lower triangle of `out`."""
        self.go(GRAM, NULL, NULL, weight, out, NULL, i, i + 1)
