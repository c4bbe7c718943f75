# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, nonecheck=False
"""The Newton steps of one round in a single call.

Between two multiplier updates the default solver takes a few Newton steps (see
`inner.py`, whose NumPy version is the reference). With few features a step is a
matter of microseconds, and so it pays to stay in compiled code for all of them.

Vectors are worked through in chunks that stay in the cache, one contiguous share of the chunks per
thread; partial sums are added in the order of the threads.
"""

import numpy as np

from cython.parallel cimport prange
from libc.math cimport INFINITY, NAN, fabs, fmax, fmin, isinf
from libc.string cimport memset

from htsvm.linalg._rows cimport Rows
from htsvm.linalg._vectors cimport _axpy_block, _clip_step_block, _line_terms_block
from htsvm.solvers.newton._system cimport System

# Samples at a time: 16 KB of each vector, so that a few fit into the nearest cache.
DEF CHUNK = 2048
# A line search ends when the slope has shrunk by this factor, or after this many trials, as in
# `inner.py`.
DEF SLOPE_REDUCTION = 0.1
DEF MOST_TRIALS = 40

# How a call ended.
FINISHED, OUT_OF_STEPS, NO_DESCENT, SINGULAR = range(4)
cdef enum:
    _FINISHED = 0
    _OUT_OF_STEPS = 1
    _NO_DESCENT = 2
    _SINGULAR = 3


cdef class NewtonSteps(System):
    """Newton's method on the inner function of a round, for few features and at least one row.

    The arguments are what `inner.py` calls them: violations `q`, multipliers
    `alpha`, weights `c`, penalties, the classifier `w` and `b`. `gram` is the weighted Gram matrix
    (lower triangle, intercept last) of the samples marked in `inside`, and is kept up to date.
    `tilt` is a constant part of the gradient, intercept last.
    """

    cdef double[::1] q, s, delta
    cdef const double[::1] alpha, c, penalty, tilt
    cdef unsigned char[::1] active, inside
    cdef double[:, ::1] gram
    cdef double xi
    cdef readonly Py_ssize_t support

    def __init__(self, Rows rows, y, q, alpha, c, penalty, w, double b, diagonal, matrix, tilt,
                 gram, inside, *, double xi, double row_length,
                 bint fit_intercept):
        self._set_up(rows, y, w, b, diagonal, matrix, row_length, fit_intercept)
        self.q, self.alpha, self.c, self.penalty = q, alpha, c, penalty
        self.tilt = tilt
        self.gram, self.inside = gram, inside
        self.xi = xi
        self.s = np.empty(self.m)
        self.delta = np.empty(self.m)
        self.active = np.empty(self.m, dtype=np.uint8)

    @property
    def multipliers(self):
        """The next multipliers."""
        return np.asarray(self.s)

    def run(self, double tol, int max_steps):
        """Take steps until both gradient residuals are below `tol`; return how it ended."""
        cdef int status
        with nogil:
            status = self._run(tol, max_steps)
        return status

    cdef int _run(self, double tol, int max_steps) noexcept nogil:
        cdef double slope, t = 0.0
        self.steps = 0
        self.passes = 0.0
        while True:
            self._move_and_differentiate(t)
            self.passes += <double>self.support / self.m
            if fmax(self.stationarity, self.balance) <= tol:
                return _FINISHED
            if self.steps >= max_steps:
                return _OUT_OF_STEPS
            self._update_gram()
            if not self._solve():
                return _SINGULAR
            slope = self._dot(&self.gradient[0], &self.direction[0], self.n + 1)
            if not slope < 0.0:
                return _NO_DESCENT
            t = self._line_search(slope)
            self.steps += 1

    # -- gradient

    cdef void _move_and_differentiate(self, double t) noexcept nogil:
        """Move by `t` along the direction; compute multipliers, gradient and residuals there."""
        cdef Py_ssize_t j, n = self.n, side = self.partial.shape[1]
        cdef double* total = &self.partial[0, 0]
        cdef int k
        if t != 0.0:
            self._move_point(t)
        memset(total, 0, self.blocks * side * sizeof(double))
        if self.blocks == 1:
            self._gradient_block(t, 0, 0, self.m)
        else:
            for k in prange(self.blocks, num_threads=self.blocks, schedule="static", chunksize=1):
                self._gradient_block(t, k, self.m * k // self.blocks,
                                     self.m * (k + 1) // self.blocks)
            for k in range(1, self.blocks):
                for j in range(side):
                    total[j] += self.partial[k, j]
        self.interior = <Py_ssize_t>total[n + 1]
        self.support = <Py_ssize_t>total[n + 2]
        for j in range(n + 1):
            total[j] -= self.tilt[j]
        self._set_gradient(total, total[n], total[n + 3])

    cdef void _gradient_block(self, double t, int k, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
        cdef Py_ssize_t start = low, stop, n = self.n
        cdef double* sums = &self.partial[k, 0]
        while start < high:
            stop = start + CHUNK if start + CHUNK < high else high
            if t != 0.0:
                _axpy_block(&self.q[0], &self.delta[0], -t, start, stop)
            _clip_step_block(&self.q[0], &self.alpha[0], &self.c[0], &self.penalty[0], self.xi,
                             &self.s[0], &self.active[0], sums + n + 1, start, stop)
            self.rows.add_tdot(&self.y[0], &self.s[0], sums, sums + n, start, stop)
            start = stop

    # -- direction

    cdef void _update_gram(self) noexcept nogil:
        """Correct the Gram matrix by the samples that entered or left; or form it anew."""
        cdef Py_ssize_t i, changed = 0
        cdef double* gram = &self.gram[0, 0]
        for i in range(self.m):
            changed += self.active[i] != self.inside[i]
        self.passes += <double>min(changed, self.interior) / self.m
        if changed >= self.interior:
            memset(gram, 0, (self.n + 1) * (self.n + 1) * sizeof(double))
            for i in range(self.m):
                if self.active[i]:
                    self.rows.add_gram(i, self.penalty[i], gram)
                self.inside[i] = self.active[i]
        elif changed > 0:
            for i in range(self.m):
                if self.active[i] != self.inside[i]:
                    self.rows.add_gram(i, self.penalty[i] if self.active[i] else -self.penalty[i],
                                       gram)
                    self.inside[i] = self.active[i]

    cdef bint _solve(self) noexcept nogil:
        """Set the direction to minus the solution of the Newton system; False if it fails."""
        cdef Py_ssize_t a, b, order = self.n + 1 if self.fit_intercept else self.n
        for a in range(order):
            for b in range(a + 1):
                self.factor[a, b] = self.xi * self.gram[a, b]
        return self._solve_factor()

    # -- step length

    cdef double _line_search(self, double slope) noexcept nogil:
        """Find a step where the derivative along the direction has all but vanished.

        The derivative is non-decreasing and piecewise linear in the step: a Newton iteration on
        it, kept inside a bracket.
        """
        cdef double linear, square, low = 0.0, high = INFINITY, slope_low = slope, slope_high = NAN
        cdef double t = 1.0, derivative, curvature, trial, margin
        cdef double* total = &self.partial[0, 0]
        cdef int number
        # `own` holds R w from the gradient.
        linear = self._dot(&self.own[0], &self.direction[0], self.n)
        linear += self._dot(&self.tilt[0], &self.direction[0], self.n + 1)
        self._regularize(&self.direction[0], &self.own[0])
        square = self._dot(&self.own[0], &self.direction[0], self.n)
        for number in range(MOST_TRIALS):
            self._line_terms(t, number == 0)
            if number == 0:
                self.passes += 1.0
            derivative = linear + t * square - total[0]
            if fabs(derivative) <= SLOPE_REDUCTION * fabs(slope):
                break
            # Halving the other end's slope keeps false position from creeping up on one side.
            if derivative < 0.0:
                if low > 0.0:
                    slope_high *= 0.5
                low = t
                slope_low = derivative
            else:
                if not isinf(high):
                    slope_low *= 0.5
                high = t
                slope_high = derivative
            curvature = square + self.xi * total[1]
            trial = t - derivative / curvature if curvature > 0.0 else INFINITY
            if isinf(high):
                t = fmin(trial, 10.0 * t)
            elif low < trial and trial < high:
                margin = 0.01 * (high - low)
                t = fmin(fmax(trial, low + margin), high - margin)
            else:
                t = low - slope_low * (high - low) / (slope_high - slope_low)
            if not (low < t and t < high):
                t = low if low > 0.0 else 0.5 * (low + fmin(high, 1.0))
                break
        return t

    cdef void _line_terms(self, double t, bint first) noexcept nogil:
        cdef double* total = &self.partial[0, 0]
        cdef int k
        for k in range(self.blocks):
            self.partial[k, 0] = 0.0
            self.partial[k, 1] = 0.0
        if self.blocks == 1:
            self._line_block(t, first, 0, 0, self.m)
            return
        for k in prange(self.blocks, num_threads=self.blocks, schedule="static", chunksize=1):
            self._line_block(t, first, k, self.m * k // self.blocks,
                             self.m * (k + 1) // self.blocks)
        for k in range(1, self.blocks):
            total[0] += self.partial[k, 0]
            total[1] += self.partial[k, 1]

    cdef void _line_block(self, double t, bint first, int k, Py_ssize_t low,
                          Py_ssize_t high) noexcept nogil:
        cdef Py_ssize_t start = low, stop
        while start < high:
            stop = start + CHUNK if start + CHUNK < high else high
            if first:
                self.rows.dot(&self.y[0], &self.direction[0], self.direction[self.n],
                              &self.delta[0], start, stop)
            _line_terms_block(&self.q[0], &self.alpha[0], &self.c[0], &self.penalty[0],
                              &self.delta[0], self.xi, t, &self.partial[k, 0], start, stop)
            start = stop
