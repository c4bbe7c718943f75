# What other compiled modules may use of `_compiled_multiclass.pyx`.

cdef int _project(const double* v, double* out, Py_ssize_t k, double c) noexcept nogil
