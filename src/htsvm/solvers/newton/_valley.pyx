# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, nonecheck=False
"""Newton's method on a truncated loss with a rounded kink, in a single call.

The reference is `Steps` in `rounded.py`.
"""

import numpy as np

from cython.parallel cimport prange
from libc.math cimport INFINITY, fabs, fmax, fmin, sqrt
from libc.string cimport memset

from htsvm.linalg._rows cimport Rows, _dense_blocks
from htsvm.solvers.newton._system cimport System

cdef extern from "_loops.h" nogil:
    void htsvm_rounded(Py_ssize_t m, const double* q, const double* dq, double t,
                       const double* penalty, double* slopes, double* sums, double top,
                       double knee, double cap, double width)
    void htsvm_zones(Py_ssize_t m, const double* q, const double* penalty, double knee, double cap,
                     double width, const unsigned char* old, unsigned char* zone,
                     Py_ssize_t* counts)

# Samples at a time: 16 KB of each vector, so that a few fit into the nearest cache.
DEF CHUNK = 2048
# A line search ends after this many trials, or when the strong Wolfe conditions hold: a step gains
# this share of what the first slope promises, and the slope has fallen to this share of it.
DEF MOST_TRIALS = 12
DEF DECREASE = 1e-4
DEF CURVATURE = 0.3

# How a call ended.
FINISHED, SETTLED, MOVED, OUT_OF_STEPS, NO_DESCENT = range(5)
cdef enum:
    _FINISHED = 0
    _SETTLED = 1
    _MOVED = 2
    _OUT_OF_STEPS = 3
    _NO_DESCENT = 4

# Shares of the negative curvature that are tried until the Newton system is positive definite.
cdef double[4] SHARES = [1.0, 0.75, 0.4, 0.0]
# What a sample is in, as `htsvm_zones` says: none of these, where the kink is rounded, where the
# slope of the loss falls.
cdef enum:
    _STRAIGHT = 0
    _ROUND = 1
    _FALLING = 2


cdef struct Shape:
    # A loss of slope `top` up to `knee` that is flat from `cap` on, its kink rounded.
    double top, knee, cap, width, low, high


cdef Shape _shape(tuple shape, double reach):
    cdef Shape result
    result.top, result.knee, result.cap, result.width = shape
    result.low, result.high = -result.width - reach, result.cap + reach
    return result


cdef void _survey_block(Rows rows, const signed char* y, const double* w, double b,
                        const double* penalty, Shape shape, double* q, double* scratch,
                        unsigned char* inside, double* sums, Py_ssize_t low,
                        Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t start = low, stop, i, count = 0
    cdef double beyond = 0.0, part[2]
    while start < high:
        stop = start + CHUNK if start + CHUNK < high else high
        rows.dot(y, w, b, q, start, stop)
        for i in range(start, stop):
            q[i] = 1.0 - q[i]
        htsvm_rounded(stop - start, q + start, q + start, 0.0, penalty + start, scratch, part,
                      shape.top, shape.knee, shape.cap, shape.width)
        sums[0] += part[0]
        for i in range(start, stop):
            inside[i] = (q[i] > shape.low) & (q[i] < shape.high)
            count += inside[i]
            beyond += penalty[i] if q[i] >= shape.high else 0.0
        start = stop
    sums[1] += beyond
    sums[2] += count


def survey(Rows rows, const signed char[::1] y, const double[::1] w, double b,
           const double[::1] penalty, tuple shape, double reach, double[::1] q,
           unsigned char[::1] inside):
    """Set the violations, and mark those within `reach` of where the loss is not constant.

    Returns the total of the loss, that of the penalties beyond the cap, and the number of marks.
    """
    cdef Py_ssize_t m = q.shape[0]
    cdef int blocks = rows.blocks(), k
    cdef Shape form = _shape(shape, reach)
    cdef double[:, ::1] sums = np.zeros((blocks, 8)), scratch = np.empty((blocks, CHUNK))
    for k in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        _survey_block(rows, &y[0], &w[0], b, &penalty[0], form, &q[0], &scratch[k, 0], &inside[0],
                      &sums[k, 0], m * k // blocks, m * (k + 1) // blocks)
    total = np.asarray(sums).sum(axis=0)
    return float(total[0]), float(total[1]), int(total[2])


def slopes(const double[::1] q, const double[::1] penalty, tuple shape):
    """Return the slopes of a rounded loss times the penalties."""
    cdef Py_ssize_t m = q.shape[0], low, high
    cdef int blocks = _dense_blocks(8.0 * m), k
    cdef Shape form = _shape(shape, 0.0)
    cdef double[:, ::1] sums = np.empty((blocks, 8))
    out = np.empty(m)
    cdef double[::1] found = out
    for k in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        low, high = m * k // blocks, m * (k + 1) // blocks
        htsvm_rounded(high - low, &q[low], &q[low], 0.0, &penalty[low], &found[low], &sums[k, 0],
                      form.top, form.knee, form.cap, form.width)
    return out


cdef class ValleySteps(System):
    """Newton's method for a rounded, truncated loss: see `Steps` in `rounded.py`."""

    cdef double[::1] q, dq, slopes
    cdef const double[::1] penalty
    cdef unsigned char[::1] zone, next_zone
    cdef double[:, ::1] rounded, falling
    cdef Shape shape
    cdef double loss, base, pace
    cdef readonly double value, moved

    def __init__(self, Rows rows, y, penalty, q, w, double b, diagonal, matrix, *,
                 double row_length, bint fit_intercept):
        self._set_up(rows, y, w, b, diagonal, matrix, row_length, fit_intercept)
        self.penalty, self.q = penalty, q
        self.slopes, self.dq = np.empty(self.m), np.empty(self.m)
        self.zone = np.zeros(self.m, dtype=np.uint8)
        self.next_zone = np.empty(self.m, dtype=np.uint8)
        self.rounded = np.zeros((self.n + 1, self.n + 1))
        self.falling = np.zeros((self.n + 1, self.n + 1))

    def run(self, tuple shape, *, double base, double tol, double gain, double reach,
            int max_steps):
        """Take steps; return how it ended. The violations are those of the point there."""
        cdef int status
        self.shape = _shape(shape, reach)
        self.base = base
        with nogil:
            status = self._run(tol, gain, reach, max_steps)
        return status

    cdef int _run(self, double tol, double gain, double reach, int max_steps) noexcept nogil:
        cdef double slope, before = INFINITY, t = 0.0
        self.steps = 0
        self.passes = self.moved = 0.0
        self._evaluate(0.0)
        while True:
            self._differentiate()
            if fmax(self.stationarity, self.balance) <= tol:
                return _FINISHED
            if before - self.value <= gain * fabs(self.value):
                return _SETTLED
            if self.moved > 0.9 * reach:
                return _MOVED
            if self.steps >= max_steps:
                return _OUT_OF_STEPS
            before = self.value
            self._update_grams()
            if not self._newton_direction():
                return _NO_DESCENT
            slope = self._dot(&self.gradient[0], &self.direction[0], self.n + 1)
            if not slope < 0.0:
                return _NO_DESCENT
            t = self._line_search(slope, reach - self.moved)
            if t == 0.0:
                return _NO_DESCENT
            self._move(t)
            self.steps += 1

    cdef void _move(self, double t) noexcept nogil:
        cdef Py_ssize_t i
        self._move_point(t)
        for i in range(self.m):
            self.q[i] += t * self.dq[i]
        self.moved += t * self.pace

    # -- value and gradient

    cdef double _evaluate(self, double t) noexcept nogil:
        """Set slopes and loss after a step t; return its derivative along the direction."""
        cdef double* total = &self.partial[0, 0]
        cdef double* dq = &self.dq[0] if t != 0.0 else &self.q[0]
        cdef Py_ssize_t low, high
        cdef int k
        for k in prange(self.blocks, num_threads=self.blocks, schedule="static", chunksize=1):
            low, high = self.m * k // self.blocks, self.m * (k + 1) // self.blocks
            htsvm_rounded(high - low, &self.q[low], dq + low, t, &self.penalty[low],
                          &self.slopes[low], &self.partial[k, 0], self.shape.top, self.shape.knee,
                          self.shape.cap, self.shape.width)
        for k in range(1, self.blocks):
            total[0] += self.partial[k, 0]
            total[1] += self.partial[k, 1]
        self.loss = total[0]
        return total[1]

    cdef void _differentiate(self) noexcept nogil:
        """Set gradient, residuals and value from the slopes."""
        cdef Py_ssize_t i, j, n = self.n
        cdef double* total = &self.partial[0, 0]
        cdef double gross = 0.0
        cdef int k
        memset(total, 0, self.blocks * self.partial.shape[1] * sizeof(double))
        for k in prange(self.blocks, num_threads=self.blocks, schedule="static", chunksize=1):
            self.rows.add_tdot(&self.y[0], &self.slopes[0], &self.partial[k, 0],
                               &self.partial[k, n], self.m * k // self.blocks,
                               self.m * (k + 1) // self.blocks)
        for k in range(1, self.blocks):
            for j in range(n + 1):
                total[j] += self.partial[k, j]
        for i in range(self.m):
            gross += self.slopes[i]
        self.passes += 1.0
        self._set_gradient(total, total[n], gross)
        self.value = self.base + self.loss + 0.5 * self._dot(&self.own[0], &self.w[0], n)

    # -- direction

    cdef void _update_grams(self) noexcept nogil:
        """Correct the Gram matrices by the samples that changed their zone; or form them anew."""
        cdef Py_ssize_t i, changed, bent, side = self.n + 1
        cdef unsigned char old, new
        cdef Py_ssize_t[2] counts
        htsvm_zones(self.m, &self.q[0], &self.penalty[0], self.shape.knee, self.shape.cap,
                    self.shape.width, &self.zone[0], &self.next_zone[0], counts)
        changed, bent = counts[0], counts[1]
        self.interior = bent
        self.passes += <double>min(changed, bent) / self.m
        if changed > bent:
            memset(&self.rounded[0, 0], 0, side * side * sizeof(double))
            memset(&self.falling[0, 0], 0, side * side * sizeof(double))
            memset(&self.zone[0], 0, self.m)
        for i in range(self.m):
            old, new = self.zone[i], self.next_zone[i]
            if old == new:
                continue
            if old != _STRAIGHT:
                self.rows.add_gram(i, -self.penalty[i],
                                   &self.rounded[0, 0] if old == _ROUND else &self.falling[0, 0])
            if new != _STRAIGHT:
                self.rows.add_gram(i, self.penalty[i],
                                   &self.rounded[0, 0] if new == _ROUND else &self.falling[0, 0])
            self.zone[i] = new

    cdef bint _newton_direction(self) noexcept nogil:
        """Set the direction, with as much of the negative curvature as the system bears."""
        cdef Py_ssize_t a, b, order = self.n + 1 if self.fit_intercept else self.n
        cdef double bend = 0.5 * self.shape.top / self.shape.width, fall = 0.0
        cdef int k
        for k in range(4):
            if self.shape.cap < INFINITY:
                fall = SHARES[k] * self.shape.top / (self.shape.cap - self.shape.knee)
            for a in range(order):
                for b in range(a + 1):
                    self.factor[a, b] = bend * self.rounded[a, b] - fall * self.falling[a, b]
            if self._solve_factor():
                return True
        return False

    # -- step length

    cdef double _set_out(self) noexcept nogil:
        """Compute how the violations change along the direction; return a large change.

        That is three root mean squares: single outliers may change more.
        """
        cdef Py_ssize_t i
        cdef double squares = 0.0
        cdef int k
        self.passes += 1.0
        for k in prange(self.blocks, num_threads=self.blocks, schedule="static", chunksize=1):
            self.rows.dot(&self.y[0], &self.direction[0], self.direction[self.n], &self.dq[0],
                          self.m * k // self.blocks, self.m * (k + 1) // self.blocks)
        for i in range(self.m):
            self.dq[i] = -self.dq[i]
            squares += self.dq[i] * self.dq[i]
        self.pace = 3.0 * sqrt(squares / self.m)
        return self.pace

    cdef double _line_search(self, double slope, double reach) noexcept nogil:
        """Find a step that gains enough and where the slope has fallen; zero if none gains."""
        cdef double linear, square, low = 0.0, high = INFINITY, slope_low = slope, slope_high = 0.0
        cdef double value, derivative, best = 0.0, lowest = self.value, margin
        cdef double farthest = reach / fmax(self._set_out(), 1e-300), t = fmin(1.0, farthest)
        cdef double start = self.base + 0.5 * self._dot(&self.own[0], &self.w[0], self.n)
        cdef int number
        linear = self._dot(&self.own[0], &self.direction[0], self.n)
        self._regularize(&self.direction[0], &self.own[0])
        square = self._dot(&self.own[0], &self.direction[0], self.n)
        for number in range(MOST_TRIALS):
            derivative = self._evaluate(t) + linear + t * square
            value = start + self.loss + t * linear + 0.5 * t * t * square
            if value < lowest:
                lowest, best = value, t
            if value > self.value + DECREASE * t * slope or derivative > CURVATURE * fabs(slope):
                high, slope_high = t, derivative
            elif derivative < CURVATURE * slope and t < farthest:
                low, slope_low = t, derivative
            else:
                return t
            if high == INFINITY:
                t = fmin(3.0 * t, farthest)
                continue
            t = 0.5 * (low + high)
            if slope_high > 0.0 and slope_low < 0.0:
                margin = 0.1 * (high - low)
                t = low - slope_low * (high - low) / (slope_high - slope_low)
                t = fmin(fmax(t, low + margin), high - margin)
        self._evaluate(best)
        return best
