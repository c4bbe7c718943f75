# What other compiled modules may use of `_vectors.pyx`.

cdef int _project(const double* v, double* out, Py_ssize_t k, double c) noexcept nogil
