# What compiled Newton methods share: see `_system.pyx`.

from htsvm.linalg._rows cimport Rows


cdef class System:
    cdef Rows rows
    cdef const signed char[::1] y
    cdef double[::1] w, direction, gradient, own
    cdef const double[::1] diagonal, metric
    cdef const double[:, ::1] matrix
    cdef double[:, ::1] factor, partial
    cdef double row_length
    cdef bint fit_intercept, full
    cdef Py_ssize_t m, n
    cdef int blocks
    cdef readonly double b, stationarity, balance, passes
    cdef readonly Py_ssize_t interior
    cdef readonly int steps

    cdef void _move_point(self, double t) noexcept nogil
    cdef void _set_gradient(self, const double* pull, double total, double gross) noexcept nogil
    cdef void _regularize(self, const double* v, double* out) noexcept nogil
    cdef double _dot(self, const double* a, const double* b, Py_ssize_t n) noexcept nogil
    cdef bint _solve_factor(self) noexcept nogil
