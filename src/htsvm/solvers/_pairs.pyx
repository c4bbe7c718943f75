# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, nonecheck=False
"""Decomposition for the dual of a weighted hinge problem with a kernel: two samples at a time.

The dual is min s'Qs / 2 - sum(s) over 0 <= s <= c and y's = 0, Q_ij = y_i y_j K_ij. With the values
v = K (y * s) and F = y - v, a pair (i, j) of which s_i y_i may grow and s_j y_j may shrink gains as
long as F_i > F_j; the pair is the most violating i with the j of the largest second-order gain.
"""

from libc.math cimport INFINITY

# A curvature below this is taken for this: two samples that the kernel maps to the same point.
cdef double FLAT = 1e-12


def solve_pairs(const double[:, ::1] K, const Py_ssize_t[::1] rows, const signed char[::1] y,
                const double[::1] c, double[::1] s, double[::1] F, double b, double tol,
                Py_ssize_t most):
    """Improve pairs until no F_i - F_j is above `tol`; return the steps and the intercept.

    `rows` are places in K of the samples that y, c, s and F describe; s and F are changed. The
    intercept is the mean of F over the samples strictly between their bounds; where there are none,
    the nearest to `b` that the others allow.
    """
    cdef Py_ssize_t n = rows.shape[0], steps = 0, k, i, j, at_i, at_j, free
    cdef double highest, lowest, best, gain, curve, apart, t, room, own, total = 0.0
    with nogil:
        while True:
            i = j = -1
            highest, lowest = -INFINITY, INFINITY
            for k in range(n):
                if F[k] > highest and (s[k] < c[k] if y[k] > 0 else s[k] > 0.0):
                    highest = F[k]
                    i = k
                if F[k] < lowest and (s[k] > 0.0 if y[k] > 0 else s[k] < c[k]):
                    lowest = F[k]
            if i < 0 or highest - lowest <= tol or steps >= most:
                break
            best = 0.0
            at_i = rows[i]
            own = K[at_i, at_i]
            for k in range(n):
                apart = highest - F[k]
                if apart > 0.0 and (s[k] > 0.0 if y[k] > 0 else s[k] < c[k]):
                    curve = own + K[rows[k], rows[k]] - 2.0 * K[at_i, rows[k]]
                    if curve < FLAT:
                        curve = FLAT
                    gain = apart * apart / curve
                    if gain > best:
                        best = gain
                        j = k
            if j < 0:
                break
            at_j = rows[j]
            curve = own + K[at_j, at_j] - 2.0 * K[at_i, at_j]
            if curve < FLAT:
                curve = FLAT
            t = (highest - F[j]) / curve
            room = c[i] - s[i] if y[i] > 0 else s[i]
            if t >= room:
                t = room
            room = s[j] if y[j] > 0 else c[j] - s[j]
            if t >= room:
                t = room
            s[i] = _moved(s[i], y[i] * t, c[i])
            s[j] = _moved(s[j], -y[j] * t, c[j])
            for k in range(n):
                F[k] -= t * (K[at_i, rows[k]] - K[at_j, rows[k]])
            steps += 1
        free = 0
        for k in range(n):
            if s[k] > 0.0 and s[k] < c[k]:
                total += F[k]
                free += 1
    return steps, total / free if free else min(max(b, highest), lowest)


cdef inline double _moved(double s, double by, double c) noexcept nogil:
    """Return s + by, and a bound where that is within rounding of it."""
    cdef double new = s + by
    if new <= 1e-14 * c:
        return 0.0
    if new >= c * (1.0 - 1e-14):
        return c
    return new
