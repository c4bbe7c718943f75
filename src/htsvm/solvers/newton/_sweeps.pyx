# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, nonecheck=False
"""Dual coordinate descent: the loop over samples of `dual_sweeps.py`."""

from htsvm.linalg._rows cimport index, real


def csr_dual_sweep(const index[::1] indptr, const index[::1] indices, const real[::1] data,
                   const signed char[::1] y, const double[::1] c, const double[::1] squares,
                   const Py_ssize_t[::1] order, double scale, double stiffness,
                   double[::1] alpha, double[::1] w, double b, double balance):
    """Improve the multipliers in `order` one after the other; return the new ``y @ alpha``.

    Coordinate descent on the dual of min w'w / (2 scale) + sum_i c_i max(0, 1 - y_i (x_i'w + b)),
    with w = scale * X'(y * alpha) kept up to date. The constraint y'alpha = 0 of the free
    intercept is left to a multiplier b and a quadratic penalty `stiffness` (zero without
    intercept): the intercept in force is ``b + stiffness * balance`` with balance = y'alpha.
    `squares` holds ``scale * x_i'x_i``.
    """
    cdef Py_ssize_t t, i
    cdef index k, start, stop
    cdef double total, curvature, old, new, change
    with nogil:
        for t in range(order.shape[0]):
            i = order[t]
            curvature = squares[i] + stiffness
            if c[i] <= 0.0 and alpha[i] == 0.0:
                continue
            start = indptr[i]
            stop = indptr[i + 1]
            total = b + stiffness * balance
            k = start
            while k < stop:
                total += data[k] * w[indices[k]]
                k += 1
            old = alpha[i]
            if curvature > 0.0:
                new = old + (1.0 - y[i] * total) / curvature
            else:
                new = c[i] if y[i] * total < 1.0 else 0.0
            if new < 0.0:
                new = 0.0
            elif new > c[i]:
                new = c[i]
            change = (new - old) * y[i]
            if change == 0.0:
                continue
            alpha[i] = new
            balance += change
            change *= scale
            k = start
            while k < stop:
                w[indices[k]] += change * data[k]
                k += 1
    return balance
