# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, nonecheck=False
"""Newton's method for a smooth loss, all steps in a single call.

The reference, step by step, is `NewtonSteps` in `newton.py`.
"""

import numpy as np
from scipy.linalg import cython_lapack

from cpython.pycapsule cimport PyCapsule_GetName, PyCapsule_GetPointer
from cython.parallel cimport prange
from libc.math cimport INFINITY, fabs, fmax, fmin, isfinite, sqrt
from libc.string cimport memset

from htsvm.linalg._rows cimport Rows, _dense_blocks

cdef extern from "_loops.h" nogil:
    void htsvm_kink(Py_ssize_t m, const double* q, const double* shift, const double* dq, double t,
                    const double* penalty, double* slopes, double* sums, double top, double knee,
                    double cap, double width, double tilt)
    void htsvm_sigmoid(Py_ssize_t m, const double* q, const double* dq, double t,
                       const double* penalty, double* slopes, double* sums, double height,
                       double centre, double width)
    void htsvm_sigmoid_curvature(Py_ssize_t m, const double* q, const double* penalty, double* out,
                                 double height, double centre, double width)
    void htsvm_places(Py_ssize_t m, const double* q, const double* shift, const double* penalty,
                      double knee, double cap, double width, const unsigned char* old,
                      unsigned char* place, Py_ssize_t* counts)

DEF MAX_THREADS = 64
# Samples at a time: 16 KB of each vector, so that a few fit into the nearest cache.
DEF CHUNK = 2048
# The units of residuals as in optimality/residuals.py: four machine epsilons, and a share.
DEF SUM_ROUNDING = 8.881784197001252e-16
DEF GROSS_SHARE = 1e-6
# Strong Wolfe conditions: a step gains the first share of what the slope promises, and the slope
# falls to the second (Nocedal and Wright, 2006, section 3.1).
DEF MOST_TRIALS = 30
DEF DECREASE = 1e-4
DEF CURVATURE = 0.3
# Values that differ by less than this share are the same: then the slope alone decides.
DEF LOST = 1e-13

# Shares of the negative curvature, and ridges as a share of the diagonal, that are tried in turn
# until the Newton system is positive definite.
cdef double[4] SHARES = [1.0, 0.75, 0.4, 0.0]
cdef double[4] RIDGES = [0.0, 1e-10, 1e-6, 1e-2]
# Where the slope of a sample changes, as `htsvm_places` says: nowhere, in the kink, as it falls.
cdef enum:
    _STRAIGHT = 0
    _ROUND = 1

# LAPACK as SciPy carries it, without a second copy and without SciPy at build time.
ctypedef void (*dpotrf_t)(char*, int*, double*, int*, int*) noexcept nogil
ctypedef void (*dpotrs_t)(char*, int*, int*, double*, int*, double*, int*, int*) noexcept nogil


cdef void* _lapack(str name) except NULL:
    capsule = cython_lapack.__pyx_capi__[name]
    return PyCapsule_GetPointer(capsule, PyCapsule_GetName(capsule))


cdef dpotrf_t dpotrf = <dpotrf_t>_lapack("dpotrf")
cdef dpotrs_t dpotrs = <dpotrs_t>_lapack("dpotrs")


cdef struct Form:
    # A rounded loss, or a sigmoid of height `top` with its centre at `knee`.
    bint sigmoid
    double top, knee, cap, width, tilt


cdef Form _form(object stage):
    cdef Form form
    form.sigmoid = len(stage) == 3
    form.cap, form.tilt = INFINITY, 0.0
    if form.sigmoid:
        form.top, form.knee, form.width = stage
    else:
        form.top, form.knee, form.cap, form.width, form.tilt = stage
    return form


cdef inline void _losses(const Form* form, Py_ssize_t m, const double* q, const double* shift,
                         const double* dq, double t, const double* penalty, double* slopes,
                         double* sums) noexcept nogil:
    if form.sigmoid:
        htsvm_sigmoid(m, q, dq, t, penalty, slopes, sums, form.top, form.knee, form.width)
    else:
        htsvm_kink(m, q, shift, dq, t, penalty, slopes, sums, form.top, form.knee, form.cap,
                   form.width, form.tilt)


cdef void _survey_block(Rows rows, const signed char* y, const double* w, double b,
                        const double* penalty, const Form* form, double reach,
                        const double* shift, double* q, double* slopes, unsigned char* near,
                        double* sums, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t start = low, stop, i
    cdef double part[2]
    cdef double rest = 0.0, gross = 0.0, count = 0.0, kink = 2.0 * form.width + reach
    cdef bint inside
    while start < high:
        stop = start + CHUNK if start + CHUNK < high else high
        rows.dot(y, w, b, q, start, stop)
        for i in range(start, stop):
            q[i] = 1.0 - q[i]
        _losses(form, stop - start, q + start, shift + start, q + start, 0.0, penalty + start,
                slopes + start, part)
        sums[0] += part[0]
        for i in range(start, stop):
            inside = (fabs(q[i]) < kink) | ((q[i] > form.knee - reach) & (q[i] < form.cap + reach))
            near[i] = inside
            count += inside
            slopes[i] = 0.0 if inside else slopes[i]
            gross += slopes[i]
        start = stop
    sums[1] += gross
    sums[2] += count


def survey(Rows rows, const signed char[::1] y, const double[::1] w, double b,
           const double[::1] penalty, stage, double reach, const double[::1] shift,
           double[::1] q, double[::1] slopes, unsigned char[::1] near):
    """Set violations, marks of rows within `reach` of a bend, and the slopes of all others.

    Returns the total of the loss, the sum of these slopes, and the number of marks.
    """
    cdef Py_ssize_t m = q.shape[0]
    cdef int blocks = rows.blocks(), k
    cdef Form form = _form(stage)
    cdef double[:, ::1] sums = np.zeros((blocks, 8))
    for k in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        _survey_block(rows, &y[0], &w[0], b, &penalty[0], &form, reach, &shift[0], &q[0],
                      &slopes[0], &near[0], &sums[k, 0], m * k // blocks, m * (k + 1) // blocks)
    total = np.asarray(sums).sum(axis=0)
    return float(total[0]), float(total[1]), int(total[2])


cdef class Steps:
    """Newton's method for a smooth loss on some rows: see `NewtonSteps` in `newton.py`."""

    cdef Rows rows
    cdef const signed char[::1] y
    cdef const double[::1] penalty, shift, linear, diagonal, metric
    cdef const double[:, ::1] matrix
    cdef double[::1] w, own, gradient, direction, q, dq, slopes, bends
    cdef double[:, ::1] factor, rounded, falling, partial
    cdef unsigned char[::1] place, next_place
    cdef Py_ssize_t m, n
    cdef int blocks, most_share
    cdef bint full, fit_intercept
    cdef double row_length, loss, base, rest, pace, b
    cdef Form form
    cdef readonly int steps
    cdef readonly double value, moved, stationarity, balance, passes
    cdef object none

    def __init__(self, Rows rows, y, penalty, diagonal, matrix, *, double row_length,
                 bint fit_intercept):
        self.rows, self.y = rows, y
        self.m, self.n = rows.m, rows.n
        self.full = matrix is not None
        self.diagonal = diagonal
        # As `Quadratic.metric`.
        plain = self.full or self.n == 0 or not np.all(diagonal > 0.0)
        self.metric = np.ones(self.n) if plain else np.mean(diagonal) / diagonal
        self.matrix = matrix if self.full else np.zeros((0, 0))
        self.row_length, self.fit_intercept = row_length, fit_intercept
        side = self.n + 1
        self.direction, self.gradient, self.own = np.empty(side), np.empty(side), np.empty(self.n)
        self.factor = np.empty((side, side))
        self.rounded, self.falling = np.zeros((side, side)), np.zeros((side, side))
        self.q, self.dq, self.slopes = np.empty(self.m), np.empty(self.m), np.empty(self.m)
        self.place = np.zeros(self.m, dtype=np.uint8)
        self.next_place = np.empty(self.m, dtype=np.uint8)
        self.blocks = min(rows.blocks(), MAX_THREADS)
        if self.blocks * side > self.m:
            self.blocks = 1
        self.partial = np.empty((self.blocks, self.n + 8))
        self.none, self.bends = np.zeros(self.m), np.empty(0)
        self.weigh(penalty)

    def weigh(self, penalty):
        """Give the samples other penalties."""
        self.penalty = penalty
        self._forget()

    def run(self, z, stage, *, q=None, shift=None, double base=0.0, linear=None, double rest=0.0,
            double tol, double gain, double reach, int most, bint bending):
        """Take steps from z, which is changed; return whether it ended for moving by `reach`.

        `base` and `linear` are what other rows add to value and gradient, `rest` the sum of their
        slopes; q are the violations at z if they are known. With `bending` negative curvature
        counts too.
        """
        cdef bint moved
        self.form, self.base, self.rest = _form(stage), base, rest
        self.shift = self.none if shift is None else shift
        self.linear = np.zeros(self.n + 1) if linear is None else linear
        self.w, self.b = np.array(z[:self.n]), float(z[self.n])
        self.most_share = 0 if bending and not self.form.sigmoid else 3
        if self.form.sigmoid and self.bends.shape[0] == 0:
            self.bends = np.empty(self.m)
        if q is not None:
            np.copyto(np.asarray(self.q), q)
        else:
            self._violations()
        with nogil:
            moved = self._run(tol, gain, reach, most)
        z[:self.n] = self.w
        z[self.n] = self.b
        return moved

    def violations(self):
        """Return the violations at the point where the last call ended."""
        return np.array(self.q)

    cdef void _violations(self):
        cdef int k
        cdef Py_ssize_t i
        for k in prange(self.blocks, nogil=True, num_threads=self.blocks, schedule="static",
                        chunksize=1):
            self.rows.dot(&self.y[0], &self.w[0], self.b, &self.q[0], self.m * k // self.blocks,
                          self.m * (k + 1) // self.blocks)
        for i in range(self.m):
            self.q[i] = 1.0 - self.q[i]

    cdef bint _run(self, double tol, double gain, double reach, int most) noexcept nogil:
        cdef double slope, before = INFINITY, t = 0.0
        self.steps = 0
        self.passes = self.moved = 0.0
        self._evaluate(0.0)
        while True:
            self._differentiate()
            if fmax(self.stationarity, self.balance) <= tol:
                return False
            if before - self.value <= gain * fabs(self.value):
                return False
            if self.moved > 0.9 * reach:
                return True
            if self.steps >= most:
                return False
            before = self.value
            self._update_grams()
            if not self._newton_direction():
                return False
            slope = self._dot(&self.gradient[0], &self.direction[0], self.n + 1)
            if not slope < 0.0:
                return False
            t = self._line_search(slope, reach - self.moved)
            if t == 0.0:
                return False
            self._move(t)
            self.steps += 1

    cdef void _move(self, double t) noexcept nogil:
        cdef Py_ssize_t i
        for i in range(self.n):
            self.w[i] += t * self.direction[i]
        self.b += t * self.direction[self.n]
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
            _losses(&self.form, high - low, &self.q[low], &self.shift[low], dq + low, t,
                    &self.penalty[low], &self.slopes[low], &self.partial[k, 0])
        for k in range(1, self.blocks):
            total[0] += self.partial[k, 0]
            total[1] += self.partial[k, 1]
        self.loss = total[0]
        return total[1]

    cdef void _differentiate(self) noexcept nogil:
        """Set gradient, residuals and value from the slopes."""
        cdef Py_ssize_t i, j, n = self.n
        cdef double* total = &self.partial[0, 0]
        cdef double gross = self.rest, norm = 0.0, own = 0.0, pulled = 0.0, unit, pull
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
            gross += fabs(self.slopes[i])
        self.passes += 1.0
        self._regularize(&self.w[0], &self.own[0])
        for j in range(n):
            pull = total[j] - self.linear[j]
            self.gradient[j] = self.own[j] - pull
            norm += self.metric[j] * self.gradient[j] * self.gradient[j]
            own += self.metric[j] * self.own[j] * self.own[j]
            pulled += self.metric[j] * pull * pull
        self.gradient[n] = self.linear[n] - total[n] if self.fit_intercept else 0.0
        norm = fmax(sqrt(norm) - SUM_ROUNDING * gross * self.row_length, 0.0)
        unit = fmax(sqrt(own) + sqrt(pulled), GROSS_SHARE * gross * self.row_length)
        self.stationarity = norm / unit if unit > 0.0 else 0.0
        norm = fmax(fabs(self.gradient[n]) - SUM_ROUNDING * gross, 0.0)
        self.balance = norm / gross if gross > 0.0 else 0.0
        self.value = self._outside() + self.loss

    cdef double _outside(self) noexcept nogil:
        """Return what regulariser and other rows add to the value."""
        return (self.base + self._dot(&self.linear[0], &self.w[0], self.n)
                + self.linear[self.n] * self.b
                + 0.5 * self._dot(&self.own[0], &self.w[0], self.n))

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

    # -- direction

    cdef void _forget(self):
        """Form the Gram matrices anew next time."""
        self.rounded[:], self.falling[:], self.place[:] = 0.0, 0.0, 0

    cdef void _update_grams(self) noexcept nogil:
        """Correct the Gram matrices by the samples that changed their place; or form them anew."""
        cdef Py_ssize_t i, side = self.n + 1
        cdef unsigned char old, new
        cdef Py_ssize_t[2] counts
        if self.form.sigmoid:
            self._sigmoid_gram()
            return
        htsvm_places(self.m, &self.q[0], &self.shift[0], &self.penalty[0], self.form.knee,
                     self.form.cap, self.form.width, &self.place[0], &self.next_place[0], counts)
        self.passes += <double>min(counts[0], counts[1]) / self.m
        if counts[0] >= counts[1]:
            memset(&self.rounded[0, 0], 0, side * side * sizeof(double))
            memset(&self.falling[0, 0], 0, side * side * sizeof(double))
            memset(&self.place[0], 0, self.m)
        for i in range(self.m):
            old, new = self.place[i], self.next_place[i]
            if old == new:
                continue
            if old != _STRAIGHT:
                self.rows.add_gram(i, -self.penalty[i],
                                   &self.rounded[0, 0] if old == _ROUND else &self.falling[0, 0])
            if new != _STRAIGHT:
                self.rows.add_gram(i, self.penalty[i],
                                   &self.rounded[0, 0] if new == _ROUND else &self.falling[0, 0])
            self.place[i] = new

    cdef void _sigmoid_gram(self) noexcept nogil:
        cdef Py_ssize_t i, side = self.n + 1
        memset(&self.rounded[0, 0], 0, side * side * sizeof(double))
        # The matrix belongs to no places: the next rounded loss forms its own.
        memset(&self.place[0], 3, self.m)
        htsvm_sigmoid_curvature(self.m, &self.q[0], &self.penalty[0], &self.bends[0],
                                self.form.top, self.form.knee, self.form.width)
        self.passes += 1.0
        for i in range(self.m):
            if self.bends[i] > 0.0:
                self.rows.add_gram(i, self.bends[i], &self.rounded[0, 0])

    cdef bint _newton_direction(self) noexcept nogil:
        """Set the direction, with as much of the negative curvature as the system bears."""
        cdef Py_ssize_t a, b, side = self.n + 1
        cdef double bend = 1.0 if self.form.sigmoid else 0.5 * self.form.top / self.form.width
        cdef double fall = 0.0
        cdef int k
        if self.form.cap < INFINITY:
            fall = self.form.top / (self.form.cap - self.form.knee)
        for k in range(self.most_share, 7):
            for a in range(side):
                for b in range(a + 1):
                    self.factor[a, b] = bend * self.rounded[a, b]
                    if k < 3:
                        self.factor[a, b] -= SHARES[k] * fall * self.falling[a, b]
            if self._solve_factor(RIDGES[k - 3] if k > 3 else 0.0):
                return True
        return False

    cdef bint _solve_factor(self, double ridge) noexcept nogil:
        """Set the direction to minus the solution of the Newton system; False if it fails.

        The lower triangle of `factor` holds the matrix without the regulariser, and is lost.
        """
        cdef Py_ssize_t a, b, n = self.n
        cdef int side = <int>(n + 1), order = <int>(n + 1 if self.fit_intercept else n)
        cdef int one = 1, info = 0
        cdef char upper = b"U"
        cdef double mass, trace = 0.0
        for a in range(n):
            if self.full:
                for b in range(a + 1):
                    self.factor[a, b] += self.matrix[a, b]
            else:
                self.factor[a, a] += self.diagonal[a]
            trace += self.factor[a, a]
        for a in range(n):
            # Where neither R nor a sample curves, a share of the mean diagonal does.
            self.factor[a, a] += ridge * (self.factor[a, a] + trace / n)
        if self.fit_intercept:
            mass = self.factor[n, n]
            # Where no sample curves, the intercept moves by one, the unit of the violations.
            if mass == 0.0:
                mass = 1e10 * (fabs(self.gradient[n]) if self.gradient[n] != 0.0 else 1.0)
            self.factor[n, n] += fmax(1e-10, ridge) * mass
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

    # -- step length

    cdef void _set_out(self) noexcept nogil:
        """Compute how the violations change along the direction.

        The pace is three root mean squares: single outliers may change more.
        """
        cdef Py_ssize_t i
        cdef double squares = 0.0, mass = 0.0
        cdef int k
        self.passes += 1.0
        for k in prange(self.blocks, num_threads=self.blocks, schedule="static", chunksize=1):
            self.rows.dot(&self.y[0], &self.direction[0], self.direction[self.n], &self.dq[0],
                          self.m * k // self.blocks, self.m * (k + 1) // self.blocks)
        for i in range(self.m):
            self.dq[i] = -self.dq[i]
            squares += self.penalty[i] * self.dq[i] * self.dq[i]
            mass += self.penalty[i]
        self.pace = 3.0 * sqrt(squares / mass) if mass > 0.0 else 0.0

    cdef double _line_search(self, double slope, double reach) noexcept nogil:
        """Find a step that gains enough and where the slope has fallen; zero if none gains."""
        cdef double linear, square, low = 0.0, high = INFINITY, slope_low = slope, slope_high = 0.0
        cdef double value, derivative, best = 0.0, lowest = self.value, margin, farthest, t, start
        cdef int number
        cdef bint above
        self._set_out()
        farthest = reach / fmax(self.pace, 1e-300)
        t = fmin(1.0, farthest)
        start = self._outside()
        linear = (self._dot(&self.own[0], &self.direction[0], self.n)
                  + self._dot(&self.linear[0], &self.direction[0], self.n + 1))
        self._regularize(&self.direction[0], &self.own[0])
        square = self._dot(&self.own[0], &self.direction[0], self.n)
        for number in range(MOST_TRIALS):
            derivative = self._evaluate(t) + linear + t * square
            value = start + self.loss + t * linear + 0.5 * t * t * square
            if value < lowest:
                lowest, best = value, t
            above = value > self.value + DECREASE * t * slope + LOST * fabs(self.value)
            if above or derivative > CURVATURE * fabs(slope):
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
                # What is too high is not a little too far: the bracket is halved at least.
                t = fmin(fmax(t, low + margin), 0.5 * (low + high) if above else high - margin)
        self._evaluate(best)
        return best
