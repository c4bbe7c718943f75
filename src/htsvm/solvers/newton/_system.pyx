# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, nonecheck=False
"""What compiled Newton methods share: the point, its gradient with its residuals, the system."""

import numpy as np
from scipy.linalg import cython_lapack

from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from libc.math cimport fabs, fmax, isfinite, sqrt

from htsvm.linalg._rows cimport Rows

DEF MAX_THREADS = 64
DEF SUMS = 8
# The units of residuals as in optimality/residuals.py: four machine epsilons, and a share.
DEF SUM_ROUNDING = 8.881784197001252e-16
DEF GROSS_SHARE = 1e-6

# LAPACK as SciPy carries it, without a second copy and without SciPy at build time.
ctypedef void (*dpotrf_t)(char*, int*, double*, int*, int*) noexcept nogil
ctypedef void (*dpotrs_t)(char*, int*, int*, double*, int*, double*, int*, int*) noexcept nogil


cdef void* _lapack(str name) except NULL:
    capsule = cython_lapack.__pyx_capi__[name]
    return PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))


cdef dpotrf_t dpotrf = <dpotrf_t>_lapack("dpotrf")
cdef dpotrs_t dpotrs = <dpotrs_t>_lapack("dpotrs")


cdef class System:
    """A point (w, b), the gradient there, and Newton systems of a matrix plus the regulariser."""

    def _set_up(self, Rows rows, y, w, double b, diagonal, matrix, double row_length,
                bint fit_intercept):
        """Take rows, labels, a point and the regulariser: its diagonal, or all of it."""
        self.rows, self.y = rows, y
        self.w, self.b = w, b
        self.m, self.n = rows.m, rows.n
        self.full = matrix is not None
        self.diagonal = diagonal
        # As `Quadratic.metric`.
        plain = self.full or self.n == 0 or not np.all(diagonal > 0.0)
        self.metric = np.ones(self.n) if plain else np.mean(diagonal) / diagonal
        self.matrix = matrix if self.full else np.zeros((0, 0))
        self.row_length = row_length
        self.fit_intercept = fit_intercept
        self.direction = np.empty(self.n + 1)
        self.gradient = np.empty(self.n + 1)
        self.own = np.empty(self.n)
        self.factor = np.empty((self.n + 1, self.n + 1))
        self.blocks = rows.blocks()
        if self.blocks > MAX_THREADS:
            self.blocks = MAX_THREADS
        if self.blocks * (self.n + 1) > self.m:
            self.blocks = 1
        self.partial = np.empty((self.blocks, self.n + SUMS))

    cdef void _move_point(self, double t) noexcept nogil:
        cdef Py_ssize_t j
        for j in range(self.n):
            self.w[j] += t * self.direction[j]
        self.b += t * self.direction[self.n]

    cdef void _set_gradient(self, const double* pull, double total, double gross) noexcept nogil:
        """Set gradient and residuals from what the multipliers pull, their balance and their sum."""
        cdef Py_ssize_t j, n = self.n
        cdef double norm = 0.0, own = 0.0, pulled = 0.0, unit, value
        self._regularize(&self.w[0], &self.own[0])
        for j in range(n):
            value = self.own[j] - pull[j]
            self.gradient[j] = value
            norm += self.metric[j] * value * value
            own += self.metric[j] * self.own[j] * self.own[j]
            pulled += self.metric[j] * pull[j] * pull[j]
        self.gradient[n] = -total if self.fit_intercept else 0.0
        norm = fmax(sqrt(norm) - SUM_ROUNDING * gross * self.row_length, 0.0)
        unit = fmax(sqrt(own) + sqrt(pulled), GROSS_SHARE * gross * self.row_length)
        self.stationarity = norm / unit if unit > 0.0 else 0.0
        norm = fmax(fabs(self.gradient[n]) - SUM_ROUNDING * gross, 0.0)
        self.balance = norm / gross if gross > 0.0 else 0.0

    cdef void _regularize(self, const double* v, double* out) noexcept nogil:
        cdef Py_ssize_t j
        if not self.full:
            for j in range(self.n):
                out[j] = self.diagonal[j] * v[j]
            return
        for j in range(self.n):
            out[j] = self._dot(&self.matrix[j, 0], v, self.n)

    cdef double _dot(self, const double* a, const double* b, Py_ssize_t n) noexcept nogil:
        cdef Py_ssize_t j
        cdef double total = 0.0
        for j in range(n):
            total += a[j] * b[j]
        return total

    cdef bint _solve_factor(self) noexcept nogil:
        """Set the direction to minus the solution of the Newton system; False if it fails.

        The lower triangle of `factor` holds the matrix without the regulariser, and is lost.
        """
        cdef Py_ssize_t a, b, n = self.n
        cdef int side = <int>(n + 1), order = <int>(n + 1 if self.fit_intercept else n)
        cdef int one = 1, info = 0
        cdef char upper = b"U"
        cdef double mass
        for a in range(n):
            if self.full:
                for b in range(a + 1):
                    self.factor[a, b] += self.matrix[a, b]
            else:
                self.factor[a, a] += self.diagonal[a]
        if self.fit_intercept:
            mass = self.factor[n, n]
            # Where no sample curves, the intercept moves by one, the unit of the violations.
            if mass == 0.0:
                mass = 1e10 * (fabs(self.gradient[n]) if self.gradient[n] != 0.0 else 1.0)
            self.factor[n, n] += 1e-10 * mass
        for a in range(n + 1):
            self.direction[a] = -self.gradient[a]
        # The lower triangle by rows is the upper one by columns.
        dpotrf(&upper, &order, &self.factor[0, 0], &side, &info)
        if info != 0:
            return False
        dpotrs(&upper, &order, &one, &self.factor[0, 0], &side, &self.direction[0], &side, &info)
        for a in range(order):
            if not isfinite(self.direction[a]):
                return False
        if not self.fit_intercept:
            self.direction[n] = 0.0
        return info == 0
