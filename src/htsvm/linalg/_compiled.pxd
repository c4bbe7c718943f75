# What other compiled modules may use of `_compiled.pyx`: its loops over a block of rows.

ctypedef fused real:
    float
    double

ctypedef fused index:
    int
    long long

cdef int _blocks(double work) noexcept nogil

cdef void _csr_dot_block(const index* indptr, const index* indices, const real* data,
                         const signed char* y, const double* w, double b, double* out,
                         Py_ssize_t low, Py_ssize_t high) noexcept nogil

cdef void _csr_tdot_block(const index* indptr, const index* indices, const real* data,
                          const signed char* y, const double* v, double* out, double* total,
                          Py_ssize_t low, Py_ssize_t high) noexcept nogil

cdef void _csr_gram_block(const index* indptr, const index* indices, const real* data,
                          const Py_ssize_t* rows, const double* weights, Py_ssize_t n,
                          double* out, Py_ssize_t low, Py_ssize_t high) noexcept nogil

cdef void _dense_dot_block(const real* X, Py_ssize_t n, const signed char* y, const double* w,
                           double b, double* out, Py_ssize_t low, Py_ssize_t high) noexcept nogil

cdef void _dense_tdot_block(const real* X, Py_ssize_t n, const signed char* y, const double* v,
                            double* out, double* total, Py_ssize_t low,
                            Py_ssize_t high) noexcept nogil

cdef void _clip_step_block(const double* q, const double* alpha, const double* c,
                           const double* penalty, double xi, double* out, unsigned char* active,
                           double* counts, Py_ssize_t low, Py_ssize_t high) noexcept nogil

cdef void _line_terms_block(const double* q, const double* alpha, const double* c,
                            const double* penalty, const double* delta, double xi, double t,
                            double* sums, Py_ssize_t low, Py_ssize_t high) noexcept nogil

cdef void _axpy_block(double* x, const double* d, double t, Py_ssize_t low,
                      Py_ssize_t high) noexcept nogil
