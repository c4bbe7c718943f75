# What other compiled modules may use of `_rows.pyx`.

ctypedef fused real:
    float
    double

ctypedef fused index:
    int
    long long

cdef int _blocks(double work) noexcept nogil

cdef int _dense_blocks(double work) noexcept nogil


cdef class Rows:
    cdef const void* data
    cdef const void* indices
    cdef const void* indptr
    # Of dense rows that are seen as (x - mean) * scale; NULL where they are seen as they are.
    cdef const double* mean
    cdef const double* scale
    cdef bint sparse, single, wide
    cdef readonly Py_ssize_t m, n, stored
    cdef object keep

    cdef int blocks(self) noexcept nogil

    cdef void go(self, int what, const signed char* y, const double* v, double b, double* out,
                 double* total, Py_ssize_t low, Py_ssize_t high) noexcept nogil

    cdef void dot(self, const signed char* y, const double* w, double b, double* out,
                  Py_ssize_t low, Py_ssize_t high) noexcept nogil

    cdef void add_tdot(self, const signed char* y, const double* v, double* out, double* total,
                       Py_ssize_t low, Py_ssize_t high) noexcept nogil

    cdef void add_gram(self, Py_ssize_t i, double weight, double* out) noexcept nogil
