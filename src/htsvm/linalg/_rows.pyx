# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, nonecheck=False
"""Products with the rows of X. Each function has a twin of the same name in `_numpy.py`.

Work is split into one contiguous block of rows per thread, and partial sums are added in the
order of the blocks, so a result depends on the number of threads but never on their timing.
"""

import numpy as np

from cython.parallel cimport prange

cdef extern from "_threads.h" nogil:
    int htsvm_max_threads()
    int htsvm_has_openmp()

cdef extern from "_scaled_rows.h" nogil:
    void htsvm_scaled_dot(const void* X, bint single, Py_ssize_t n, const double* mean,
                          const double* scale, const signed char* y, const double* w, double b,
                          double* out, Py_ssize_t low, Py_ssize_t high)
    void htsvm_scaled_tdot(const void* X, bint single, Py_ssize_t n, const double* mean,
                           const double* scale, const signed char* y, const double* v, double* out,
                           double* total, Py_ssize_t low, Py_ssize_t high)
    void htsvm_scaled_gram(const void* X, bint single, Py_ssize_t n, const double* mean,
                           const double* scale, Py_ssize_t i, double weight, double* out)

# Products of fewer entries than this take less than some 45 microseconds on one core (a dense array
# of 1,500 x 100): too little to be worth waking other threads.
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


cdef int _dense_blocks(double work) noexcept nogil:
    # Values in a row take about an eighth of the time of sparse ones. Waking another thread takes
    # as long as 300,000 of them.
    return _blocks(0.125 * work)


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
    cdef int blocks = _dense_blocks(<double>m * (n + 1)), t
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
    cdef int blocks = _dense_blocks(<double>m * (n + 1)), t
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


cdef void _dense_gram_row(const real* x, Py_ssize_t n, double weight, double* out) noexcept nogil:
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


# --------------------------------------------------------------------------------- the rows

cdef class Rows:
    """The rows of a dense array or a CSR matrix, whatever the types of their entries."""

    @staticmethod
    def dense(X, mean=None, scale=None):
        """Wrap a C-contiguous float32 or float64 array, as (X - mean) * scale if these are given."""
        cdef Rows rows = Rows()
        rows.m, rows.n = X.shape
        rows.stored = X.size
        rows.single = X.dtype == np.float32
        rows.data = <const void*><Py_ssize_t>X.ctypes.data
        rows.keep = (X, mean, scale)
        if mean is not None:
            rows.mean = <const double*><Py_ssize_t>mean.ctypes.data
            rows.scale = <const double*><Py_ssize_t>scale.ctypes.data
        return rows

    @staticmethod
    def csr(X):
        """Wrap a CSR matrix with indices and indptr of one type."""
        cdef Rows rows = Rows()
        rows.m, rows.n = X.shape
        rows.stored = X.nnz
        rows.sparse = True
        rows.single = X.data.dtype == np.float32
        rows.wide = X.indices.dtype.itemsize == 8
        rows.data = <const void*><Py_ssize_t>X.data.ctypes.data
        rows.indices = <const void*><Py_ssize_t>X.indices.ctypes.data
        rows.indptr = <const void*><Py_ssize_t>X.indptr.ctypes.data
        rows.keep = (X.data, X.indices, X.indptr)
        return rows

    cdef int blocks(self) noexcept nogil:
        """Return into how many blocks a pass over the rows and a few vectors is split."""
        if self.sparse:
            return _blocks(self.stored + 8.0 * self.m)
        return _dense_blocks(self.stored + 8.0 * self.m)

    cdef void dot(self, const signed char* y, const double* w, double b, double* out,
                  Py_ssize_t low, Py_ssize_t high) noexcept nogil:
        if self.mean != NULL:
            htsvm_scaled_dot(self.data, self.single, self.n, self.mean, self.scale, y, w, b, out,
                             low, high)
        elif not self.sparse:
            if self.single:
                _dense_dot_block(<const float*>self.data, self.n, y, w, b, out, low, high)
            else:
                _dense_dot_block(<const double*>self.data, self.n, y, w, b, out, low, high)
        elif self.wide:
            if self.single:
                _csr_dot_block(<const long long*>self.indptr, <const long long*>self.indices,
                               <const float*>self.data, y, w, b, out, low, high)
            else:
                _csr_dot_block(<const long long*>self.indptr, <const long long*>self.indices,
                               <const double*>self.data, y, w, b, out, low, high)
        elif self.single:
            _csr_dot_block(<const int*>self.indptr, <const int*>self.indices,
                           <const float*>self.data, y, w, b, out, low, high)
        else:
            _csr_dot_block(<const int*>self.indptr, <const int*>self.indices,
                           <const double*>self.data, y, w, b, out, low, high)

    cdef void add_tdot(self, const signed char* y, const double* v, double* out, double* total,
                       Py_ssize_t low, Py_ssize_t high) noexcept nogil:
        if self.mean != NULL:
            htsvm_scaled_tdot(self.data, self.single, self.n, self.mean, self.scale, y, v, out,
                              total, low, high)
        elif not self.sparse:
            if self.single:
                _dense_tdot_block(<const float*>self.data, self.n, y, v, out, total, low, high)
            else:
                _dense_tdot_block(<const double*>self.data, self.n, y, v, out, total, low, high)
        elif self.wide:
            if self.single:
                _csr_tdot_block(<const long long*>self.indptr, <const long long*>self.indices,
                                <const float*>self.data, y, v, out, total, low, high)
            else:
                _csr_tdot_block(<const long long*>self.indptr, <const long long*>self.indices,
                                <const double*>self.data, y, v, out, total, low, high)
        elif self.single:
            _csr_tdot_block(<const int*>self.indptr, <const int*>self.indices,
                            <const float*>self.data, y, v, out, total, low, high)
        else:
            _csr_tdot_block(<const int*>self.indptr, <const int*>self.indices,
                            <const double*>self.data, y, v, out, total, low, high)

    cdef void add_gram(self, Py_ssize_t i, double weight, double* out) noexcept nogil:
        """Add ``weight * (x_i, 1)(x_i, 1)'`` to the lower triangle of `out`."""
        if self.mean != NULL:
            htsvm_scaled_gram(self.data, self.single, self.n, self.mean, self.scale, i, weight,
                              out)
        elif not self.sparse:
            if self.single:
                _dense_gram_row(<const float*>self.data + i * self.n, self.n, weight, out)
            else:
                _dense_gram_row(<const double*>self.data + i * self.n, self.n, weight, out)
        elif self.wide:
            if self.single:
                _csr_gram_block(<const long long*>self.indptr, <const long long*>self.indices,
                                <const float*>self.data, &i, &weight, self.n, out, 0, 1)
            else:
                _csr_gram_block(<const long long*>self.indptr, <const long long*>self.indices,
                                <const double*>self.data, &i, &weight, self.n, out, 0, 1)
        elif self.single:
            _csr_gram_block(<const int*>self.indptr, <const int*>self.indices,
                            <const float*>self.data, &i, &weight, self.n, out, 0, 1)
        else:
            _csr_gram_block(<const int*>self.indptr, <const int*>self.indices,
                            <const double*>self.data, &i, &weight, self.n, out, 0, 1)
