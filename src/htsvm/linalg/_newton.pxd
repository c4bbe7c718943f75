# What other compiled modules may use of `_newton.pyx`: rows, whatever the types of their entries.

cdef class Rows:
    cdef const void* data
    cdef const void* indices
    cdef const void* indptr
    cdef bint sparse, single, wide
    cdef readonly Py_ssize_t m, n, stored
    cdef object keep

    cdef void dot(self, const signed char* y, const double* w, double b, double* out,
                  Py_ssize_t low, Py_ssize_t high) noexcept nogil

    cdef void add_tdot(self, const signed char* y, const double* v, double* out, double* total,
                       Py_ssize_t low, Py_ssize_t high) noexcept nogil

    cdef void add_gram(self, Py_ssize_t i, double weight, double* out) noexcept nogil
