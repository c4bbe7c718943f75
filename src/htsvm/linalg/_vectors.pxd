# What other compiled modules may use of `_vectors.pyx`: its loops over a part of vectors.

cdef void _clip_step_block(const double* q, const double* alpha, const double* c,
                           const double* penalty, double xi, double* out, unsigned char* active,
                           double* counts, Py_ssize_t low, Py_ssize_t high) noexcept nogil

cdef void _line_terms_block(const double* q, const double* alpha, const double* c,
                            const double* penalty, const double* delta, double xi, double t,
                            double* sums, Py_ssize_t low, Py_ssize_t high) noexcept nogil

cdef void _axpy_block(double* x, const double* d, double t, Py_ssize_t low,
                      Py_ssize_t high) noexcept nogil
