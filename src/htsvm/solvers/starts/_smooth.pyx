# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, nonecheck=False
"""Minimise a smoothed loss by a quasi-Newton method, in a single call.

The same as `minimise` in `solvers/starts/quasi_newton.py`, which is the reference.
On small data the calls of a search in Python would take longer than its arithmetic.
"""

import numpy as np

from cython.parallel cimport prange
from libc.math cimport fabs, fmax
from libc.string cimport memset

from htsvm.linalg._rows cimport Rows

# The pairs that limited-memory BFGS keeps, the trials of a line search, and the two constants of the
# Wolfe conditions in their usual values.
DEF MEMORY = 8
DEF MOST_TRIALS = 20
DEF DECREASE = 1e-4
DEF CURVATURE = 0.9

cdef enum:
    _SQUARES = 0
    _SIGMOID = 1
    _ROUNDED = 2


cdef extern from "_loops.h" nogil:
    void htsvm_squares(Py_ssize_t m, const double* q, const double* dq, double t,
                       const double* penalty, double* slopes, double* sums)
    void htsvm_sigmoid(Py_ssize_t m, const double* q, const double* dq, double t,
                       const double* penalty, double* slopes, double* sums, double height,
                       double centre, double width)
    void htsvm_rounded(Py_ssize_t m, const double* q, const double* dq, double t,
                       const double* penalty, double* slopes, double* sums, double top,
                       double knee, double cap, double width)


cdef class Smooth:
    """A smoothed problem: rows, labels, penalties, a regulariser and a smoothed loss.

    `diagonal` is that of the regulariser, or `matrix` all of it (else of shape (0, 0)). `scale`
    estimates the inverse of the diagonal of the Hessian, up to a factor. The loss is ``q² / 2``
    after `squares`, ``height * sigmoid((q - centre) / width)`` after `sigmoid`, and after `rounded`
    the loss itself with the kink at zero rounded over ``[-width, width]``.
    """

    cdef Rows rows
    cdef const signed char[::1] y
    cdef const double[::1] penalty, diagonal, scale
    cdef const double[:, ::1] matrix
    cdef double[::1] q, dq, slopes, z, grad, grad_new, direction, rho, alpha
    cdef double[:, ::1] S, Y
    cdef bint fit_intercept
    cdef int kind
    cdef double height, centre, width, top, knee, cap
    cdef Py_ssize_t m, n
    # Rows are split into one block per thread, whose sums are added in their order.
    cdef int blocks
    cdef double[:, ::1] partial
    cdef readonly long steps

    def __init__(self, Rows rows, y, penalty, diagonal, matrix, scale, bint fit_intercept):
        self.rows, self.y, self.penalty = rows, y, penalty
        self.diagonal, self.matrix, self.scale = diagonal, matrix, scale
        self.fit_intercept = fit_intercept
        self.m, self.n = rows.m, rows.n
        self.q, self.dq, self.slopes = np.empty(self.m), np.empty(self.m), np.empty(self.m)
        self.z, self.grad = np.zeros(self.n + 1), np.empty(self.n + 1)
        self.grad_new, self.direction = np.empty(self.n + 1), np.empty(self.n + 1)
        self.rho, self.alpha = np.empty(MEMORY), np.empty(MEMORY)
        self.S, self.Y = np.empty((MEMORY, self.n + 1)), np.empty((MEMORY, self.n + 1))
        self.blocks = rows.blocks()
        if self.blocks * (self.n + 1) > self.m:
            self.blocks = 1
        self.partial = np.empty((self.blocks, self.n + 8))
        self.steps = 0

    def set_penalty(self, penalty):
        """Take other penalties."""
        self.penalty = penalty

    def squares(self):
        """Minimise half the squares of the violations from now on."""
        self.kind = _SQUARES

    def sigmoid(self, double height, double centre, double width):
        """Minimise a sigmoid from now on."""
        self.kind = _SIGMOID
        self.height, self.centre, self.width = height, centre, width

    def rounded(self, double top, double knee, double cap, double width):
        """Minimise the loss from now on, its kink at zero rounded.

        Its profile has the slope `top` up to `knee`, then bends to the flat part, which begins at
        `cap`.
        """
        self.kind = _ROUNDED
        self.top, self.knee, self.cap, self.width = top, knee, cap, width

    def minimise(self, double[::1] z, long max_steps, double tol):
        """Minimise from z, which becomes the end point; return the value there.

        Stop after `max_steps`, or when a step lowers the value by a share of less than `tol`.
        """
        cdef double value
        with nogil:
            value = self._minimise(z, max_steps, tol)
        return value

    cdef double _minimise(self, double[::1] z, long max_steps, double tol) noexcept nogil:
        cdef Py_ssize_t j, side = self.n + 1
        cdef long step, stored = 0, newest = -1
        cdef double value, lower, t, curvature, length
        self.z[:] = z
        self._violations(self.z, 1.0, self.q)
        value = self._value_and_slope(0.0, NULL) + self._energy(self.z)
        self._gradient(self.z, self.grad)
        for step in range(max_steps):
            if not self._descent_direction(stored, newest):
                stored, newest = 0, -1
                if not self._descent_direction(0, -1):
                    break
            self._violations(self.direction, 0.0, self.dq)
            lower = self._line_search(value, stored == 0, &t)
            self.steps += 1
            if not lower < value:
                if stored == 0:
                    break
                stored, newest = 0, -1
                continue
            for j in range(side):
                self.z[j] += t * self.direction[j]
            for j in range(self.m):
                self.q[j] += t * self.dq[j]
            self._gradient(self.z, self.grad_new)
            newest = (newest + 1) % MEMORY
            curvature = 0.0
            length = 0.0
            for j in range(side):
                self.S[newest, j] = t * self.direction[j]
                self.Y[newest, j] = self.grad_new[j] - self.grad[j]
                curvature += self.S[newest, j] * self.Y[newest, j]
                length += self.Y[newest, j] * self.Y[newest, j]
                self.grad[j] = self.grad_new[j]
            if curvature > 1e-10 * length and curvature > 0.0:
                self.rho[newest] = 1.0 / curvature
                stored = min(stored + 1, MEMORY)
            else:
                # The place of the oldest pair has been written over.
                newest = (newest + MEMORY - 1) % MEMORY
                stored = min(stored, MEMORY - 1)
            if value - lower <= tol * fabs(value):
                value = lower
                break
            value = lower
        z[:] = self.z
        return value

    cdef void _violations(self, double[::1] z, double one, double[::1] out) noexcept nogil:
        """Set out to ``one - y (X w + b)``."""
        cdef int k
        for k in prange(self.blocks, num_threads=self.blocks, schedule="static", chunksize=1):
            self._block_violations(&z[0], one, &out[0], self.m * k // self.blocks,
                                   self.m * (k + 1) // self.blocks)

    cdef void _block_violations(self, const double* z, double one, double* out, Py_ssize_t low,
                                Py_ssize_t high) noexcept nogil:
        cdef Py_ssize_t i
        self.rows.dot(&self.y[0], z, z[self.n], out, low, high)
        for i in range(low, high):
            out[i] = one - out[i]

    cdef double _energy(self, double[::1] z) noexcept nogil:
        cdef Py_ssize_t j
        cdef double total = 0.0
        for j in range(self.n):
            total += z[j] * self._smoothed(z, j)
        return 0.5 * total

    cdef double _smoothed(self, double[::1] z, Py_ssize_t j) noexcept nogil:
        """Return entry j of R w."""
        cdef Py_ssize_t k
        cdef double total = 0.0
        if self.matrix.shape[0] == 0:
            return self.diagonal[j] * z[j]
        for k in range(self.n):
            total += self.matrix[j, k] * z[k]
        return total

    cdef double _value_and_slope(self, double t, double* along) noexcept nogil:
        """Return the loss at ``q + t dq``, keep its slopes, set its slope along dq."""
        cdef double total = 0.0, slope = 0.0
        cdef int k
        # There may be no direction yet.
        cdef const double* dq = &self.dq[0] if along != NULL else &self.q[0]
        for k in prange(self.blocks, num_threads=self.blocks, schedule="static", chunksize=1):
            self._block_value(t if along != NULL else 0.0, dq, &self.partial[k, 0],
                              self.m * k // self.blocks, self.m * (k + 1) // self.blocks)
        for k in range(self.blocks):
            total += self.partial[k, 0]
            slope += self.partial[k, 1]
        if along != NULL:
            along[0] = slope
        return total

    cdef void _block_value(self, double t, const double* dq, double* sums, Py_ssize_t low,
                           Py_ssize_t high) noexcept nogil:
        cdef const double* penalty = &self.penalty[low]
        cdef double* q = &self.q[low]
        cdef double* slopes = &self.slopes[low]
        if self.kind == _SQUARES:
            htsvm_squares(high - low, q, dq + low, t, penalty, slopes, sums)
        elif self.kind == _SIGMOID:
            htsvm_sigmoid(high - low, q, dq + low, t, penalty, slopes, sums, self.height,
                          self.centre, self.width)
        else:
            htsvm_rounded(high - low, q, dq + low, t, penalty, slopes, sums, self.top, self.knee,
                          self.cap, self.width)

    cdef void _gradient(self, double[::1] z, double[::1] out) noexcept nogil:
        """Set out to the gradient, from the slopes."""
        cdef Py_ssize_t j
        cdef int k
        cdef double* total = &self.partial[0, 0]
        memset(total, 0, self.blocks * self.partial.shape[1] * sizeof(double))
        for k in prange(self.blocks, num_threads=self.blocks, schedule="static", chunksize=1):
            self.rows.add_tdot(&self.y[0], &self.slopes[0], &self.partial[k, 0],
                               &self.partial[k, self.n], self.m * k // self.blocks,
                               self.m * (k + 1) // self.blocks)
        for k in range(1, self.blocks):
            for j in range(self.n + 1):
                total[j] += self.partial[k, j]
        for j in range(self.n):
            out[j] = self._smoothed(z, j) - total[j]
        out[self.n] = -total[self.n] if self.fit_intercept else 0.0

    cdef bint _descent_direction(self, long stored, long newest) noexcept nogil:
        """Set the direction of limited-memory BFGS; return whether it leads down."""
        cdef Py_ssize_t j, side = self.n + 1
        cdef long k, at
        cdef double product, scale, slope = 0.0
        for j in range(side):
            self.direction[j] = -self.grad[j]
        for k in range(stored):
            at = (newest - k + MEMORY) % MEMORY
            product = 0.0
            for j in range(side):
                product += self.S[at, j] * self.direction[j]
            self.alpha[at] = self.rho[at] * product
            for j in range(side):
                self.direction[j] -= self.alpha[at] * self.Y[at, j]
        scale = 1.0
        if stored > 0:
            product = 0.0
            for j in range(side):
                product += self.scale[j] * self.Y[newest, j] * self.Y[newest, j]
            scale = 1.0 / (self.rho[newest] * product)
        for j in range(side):
            self.direction[j] *= scale * self.scale[j]
        for k in range(stored - 1, -1, -1):
            at = (newest - k + MEMORY) % MEMORY
            product = 0.0
            for j in range(side):
                product += self.Y[at, j] * self.direction[j]
            product *= self.rho[at]
            for j in range(side):
                self.direction[j] += (self.alpha[at] - product) * self.S[at, j]
        for j in range(side):
            slope += self.direction[j] * self.grad[j]
        return slope < 0.0

    cdef double _line_search(self, double start, bint first, double* step) noexcept nogil:
        """Find a step that satisfies the weak Wolfe conditions by doubling and halving."""
        cdef Py_ssize_t j
        cdef double low = 0.0, high = 0.0, t = 1.0, value, slope = 0.0, along = 0.0
        cdef double energy, linear = 0.0, square = 0.0, length = 0.0, largest = 0.0
        cdef double best = start, best_t = 0.0
        cdef long trial
        for j in range(self.n + 1):
            slope += self.grad[j] * self.direction[j]
        for j in range(self.n):
            linear += self.direction[j] * self._smoothed(self.z, j)
            square += self.direction[j] * self._smoothed(self.direction, j)
        energy = self._energy(self.z)
        if first:
            # No violation of a sample that counts changes by more than one.
            for j in range(self.m):
                if self.penalty[j] > 0.0:
                    largest = fmax(largest, fabs(self.dq[j]))
            t = 1.0 / fmax(largest, 1e-300)
            if square > 0.0 and -slope / square < t:
                t = -slope / square
        for trial in range(MOST_TRIALS):
            value = self._value_and_slope(t, &along)
            value += energy + t * linear + 0.5 * t * t * square
            along += linear + t * square
            if value < best:
                best, best_t = value, t
            if not value <= start + DECREASE * t * slope:
                high = t
            elif along < CURVATURE * slope:
                low = t
            else:
                best, best_t = value, t
                break
            t = 0.5 * (low + high) if high > 0.0 else 2.0 * t
        step[0] = best_t
        if best_t != t and best_t > 0.0:
            self._value_and_slope(best_t, &along)
        return best
