# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: initializedcheck=False, nonecheck=False
"""Vectors over samples, and scores of several classes; each has a twin in `_numpy.py`.

Work is split into blocks of samples, and partial sums are added in their order, so a result never
depends on the timing of threads; with several classes not on their number either.
"""

import numpy as np

from cython.parallel cimport prange
from libc.math cimport sqrt

from htsvm.linalg._rows cimport _blocks, _dense_blocks

cdef extern from "_loops.h" nogil:
    double htsvm_hybrid(Py_ssize_t m, const double* q, const double* penalty, double t, double knee,
                        double cap)
    void htsvm_dual(Py_ssize_t m, const double* q, const double* psi, const double* penalty,
                    const double* weights, const unsigned char* bent, const signed char* y,
                    double top, double tilt, double* down, double* up, double* sums)

# Samples at a time: 16 KB of each vector, which stay in the nearest cache.
DEF CHUNK = 2048
# The blocks of rows that threads share out among them, where several are worth it.
DEF PARTS = 32


def hybrid_totals(const double[::1] q, const double[::1] penalty, double knee, double cap,
                  const double[::1] multiples):
    """Return the totals of the hybrid truncated loss at multiples of the point with violations q.

    The cap is finite. With the multiple one that is ``sum(penalty * loss(q))``.
    """
    cdef Py_ssize_t m = q.shape[0], count = multiples.shape[0], low, stop, high, j
    cdef int blocks = _dense_blocks(4.0 * m * count), k
    cdef double[:, ::1] sums = np.zeros((blocks, count + 8))
    if m == 0:
        return np.zeros(count)
    for k in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        low, high = m * k // blocks, m * (k + 1) // blocks
        while low < high:
            stop = low + CHUNK if low + CHUNK < high else high
            for j in range(count):
                sums[k, j] += htsvm_hybrid(stop - low, &q[low], &penalty[low], multiples[j], knee,
                                           cap)
            low = stop
    return np.asarray(sums).sum(axis=0)[:count]


def dual_sums(const double[::1] q, const double[::1] psi, const double[::1] penalty,
              const double[::1] weights, const unsigned char[::1] bent, const signed char[::1] y,
              double top, double tilt, double[::1] down, double[::1] up):
    """Set `down` and `up` to the multipliers of the labels -1 and +1, made to fit hinge losses.

    These have slopes between -tilt * penalty and weights - tilt * penalty; where `bent`, the weight
    is what makes -psi a slope, up to top * penalty. Returns seven sums: of the multipliers of both
    labels, of these times q, of the hinge losses at q, and how many are not -psi, and not zero.
    `down` and `weights` may be the same array.
    """
    cdef Py_ssize_t m = q.shape[0], low, high
    cdef int blocks = _dense_blocks(8.0 * m), k
    cdef double[:, ::1] sums = np.zeros((blocks, 8))
    if m == 0:
        return np.zeros(7)
    for k in prange(blocks, nogil=True, num_threads=blocks, schedule="static", chunksize=1):
        low, high = m * k // blocks, m * (k + 1) // blocks
        htsvm_dual(high - low, &q[low], &psi[low], &penalty[low], &weights[low], &bent[low],
                   &y[low], top, tilt, &down[low], &up[low], &sums[k, 0])
    return np.asarray(sums).sum(axis=0)[:7]


# ------------------------------------------------------------------- scores of several classes

cdef int _project(const double* v, double* out, Py_ssize_t k, double c) noexcept nogil:
    """Project v onto the simplex of size c > 0; return the number of positive entries.

    Only entries within c of the largest can stay positive. Of these, the ones below the level at
    which the rest sum to c are dropped until none is left to drop (Michelot's method). Rounding may
    bring one back, which also ends it: of entries that are equal but for rounding it would
    otherwise drop and bring back the same ones for ever.
    """
    cdef Py_ssize_t j
    cdef int number = <int> k + 1, before
    cdef double top = v[0], total = 0.0, level
    for j in range(1, k):
        if v[j] > top:
            top = v[j]
    level = top - c
    while True:
        before = number
        total = 0.0
        number = 0
        for j in range(k):
            if v[j] > level:
                total += v[j] - top
                number += 1
        if number == 0:
            # c is lost against the size of v: rounding leaves the largest entry alone.
            number = 1
            level = top - c
            break
        if number >= before:
            break
        level = top + (total - c) / number
    for j in range(k):
        out[j] = v[j] - level if v[j] > level else 0.0
        if number == 1 and out[j] > 0.0:
            out[j] = c
    return number


def simplex_step(const double[:, ::1] V, const double[::1] c, double[:, ::1] out, int[::1] counts):
    """Project the rows of V onto simplices of the sizes c, and count their positive entries."""
    cdef Py_ssize_t m = V.shape[0], k = V.shape[1], i, j
    cdef int threads = _blocks(8.0 * m * k)
    for i in prange(m, nogil=True, num_threads=threads, schedule="static"):
        if c[i] > 0.0:
            counts[i] = _project(&V[i, 0], &out[i, 0], k, c[i])
            continue
        counts[i] = 0
        for j in range(k):
            out[i, j] = 0.0


cdef void _maximum_block(const double* shift, const double* U, const double* D, double t,
                         double width, const Py_ssize_t* labels, double* out, int* counts,
                         double* h, double* along, double* v, Py_ssize_t k, Py_ssize_t low,
                         Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t i, j, at
    cdef double own, slope, moved, rise, off
    cdef double* u = v + k
    for i in range(low, high):
        at = i * k
        own = U[at + labels[i]] + t * D[at + labels[i]]
        for j in range(k):
            u[j] = U[at + j] + t * D[at + j] - own
            v[j] = shift[at + j] + u[j] / width
        counts[i] = _project(v, out + at, k, 1.0)
        rise, moved, slope = 0.0, 0.0, -D[at + labels[i]]
        for j in range(k):
            off = out[at + j] - shift[at + j]
            moved += off * off
            if out[at + j] > 0.0:
                rise += out[at + j] * u[j]
                slope += out[at + j] * D[at + j]
        h[i] = rise - 0.5 * width * moved
        along[i] = slope


def rounded_maximum(const double[:, ::1] shift, const double[:, ::1] U, const double[:, ::1] D,
                    double t, double width, const Py_ssize_t[::1] labels, double[:, ::1] out,
                    int[::1] counts, double[::1] h, double[::1] along):
    """Maximise ``a'u_i - width |a - shift_i|² / 2`` over the unit simplex, row by row.

    The levels u_i are those of ``U_i + t D_i`` less that of the own class. Sets `out` to the
    maximisers, `counts` to the number of their positive entries, `h` to the maxima and `along` to
    their derivatives in t.
    """
    cdef Py_ssize_t m = U.shape[0], k = U.shape[1]
    cdef int parts = PARTS if m >= PARTS else 1, threads = _blocks(8.0 * m * k), s
    if m == 0:
        return
    cdef double[:, ::1] scratch = np.empty((parts, 2 * k + 8))
    for s in prange(parts, nogil=True, num_threads=threads, schedule="static"):
        _maximum_block(&shift[0, 0], &U[0, 0], &D[0, 0], t, width, &labels[0], &out[0, 0],
                       &counts[0], &h[0], &along[0], &scratch[s, 0], k, m * s // parts,
                       m * (s + 1) // parts)


def top_rivals(const double[:, ::1] U, const Py_ssize_t[::1] labels, double[::1] out):
    """Set ``out[i] = max(U[i, j] over j != labels[i]) - U[i, labels[i]]``."""
    cdef Py_ssize_t m = U.shape[0], k = U.shape[1], i, j, y
    cdef double best
    with nogil:
        for i in range(m):
            y = labels[i]
            best = U[i, 0] if y else U[i, 1]
            for j in range(k):
                if j != y and U[i, j] > best:
                    best = U[i, j]
            out[i] = best - U[i, y]


def spread_products(double[:, ::1] S, const unsigned char[:, ::1] mask, const int[::1] counts,
                    const double[::1] sigma):
    """Replace each row s of S by ``sigma_i (I_A - 1 1' / |A|) s``, A the entries in `mask`."""
    cdef Py_ssize_t m = S.shape[0], k = S.shape[1], i, j
    cdef double mean
    with nogil:
        for i in range(m):
            mean = 0.0
            for j in range(k):
                if mask[i, j]:
                    mean += S[i, j]
            mean /= counts[i]
            for j in range(k):
                S[i, j] = sigma[i] * (S[i, j] - mean) if mask[i, j] else 0.0


cdef double _sigmoid(double q, const double* shape, double* slope) noexcept nogil:
    """Return ``height (1 + u / sqrt(1 + u²)) / 2`` with u = (q - centre) / (2 width)."""
    cdef double u = 0.5 * (q - shape[1]) / shape[2], root = 1.0 / sqrt(1.0 + u * u)
    slope[0] = 0.25 * shape[0] / shape[2] * root * root * root
    return 0.5 * shape[0] * (1.0 + u * root)


cdef double _rounded(double q, const double* shape, double* slope) noexcept nogil:
    """Return a loss of slope `top` up to `knee` that bends to its cap, its kink at zero rounded."""
    cdef double top = shape[0], knee = shape[1], cap = shape[2], width = shape[3]
    cdef double share = 0.5 + 0.5 * q / width, h, bent, bend
    if share <= 0.0:
        slope[0] = 0.0
        return 0.0
    if share >= 1.0:
        share = 1.0
        h = q
    else:
        h = 0.5 * (q + width) * share
    if h <= knee:
        slope[0] = top * share
        return top * h
    bend = top / (cap - knee) if cap > knee else 0.0
    bent = (h if h < cap else cap) - knee
    slope[0] = share * (top - bend * bent) if h < cap else 0.0
    return top * knee + (top - 0.5 * bend * bent) * bent


cdef double _smooth_block(const double* F, const Py_ssize_t* labels, const double* penalty,
                          double spread, int kind, const double* shape, double* out, double* v,
                          Py_ssize_t k, Py_ssize_t low, Py_ssize_t high) noexcept nogil:
    cdef Py_ssize_t i, j, at, y
    cdef double total = 0.0, q, slope, own, square, top, near
    cdef double* a = v + k
    for i in range(low, high):
        at, y = i * k, labels[i]
        for j in range(k):
            out[at + j] = 0.0
        if penalty[i] <= 0.0:
            continue
        own = F[at + y]
        top = -1e300
        for j in range(k):
            if j != y and F[at + j] > top:
                top = F[at + j]
        near = top - spread
        for j in range(k):
            # Further below, an entry has no part in the maximum.
            v[j] = F[at + j] / spread if j != y and F[at + j] > near else -1e300
        _project(v, a, k, 1.0)
        q, square = 0.0, 0.0
        for j in range(k):
            if a[j] > 0.0:
                q += a[j] * F[at + j]
                square += a[j] * a[j]
        q += 1.0 - own + 0.5 * spread * (1.0 - square)
        total += penalty[i] * (_sigmoid(q, shape, &slope) if kind else _rounded(q, shape, &slope))
        slope *= penalty[i]
        for j in range(k):
            out[at + j] = slope * a[j]
        out[at + y] = -slope
    return total


def smooth_losses(const double[:, ::1] F, const Py_ssize_t[::1] labels, const double[::1] penalty,
                  double spread, int kind, const double[::1] shape, double[:, ::1] out):
    """Return the total of a smoothed loss of scores F, and set `out` to its derivatives.

    The largest rival is rounded over `spread`. `kind` is 1 for a sigmoid, `shape` its height,
    centre and width; 0 for a loss with a rounded kink, `shape` its slope, knee, cap and width.
    """
    cdef Py_ssize_t m = F.shape[0], k = F.shape[1]
    cdef int parts = PARTS if m >= PARTS else 1, threads = _blocks(8.0 * m * k), s
    if m == 0:
        return 0.0
    cdef double[:, ::1] scratch = np.empty((parts, 2 * k + 8))
    cdef double[::1] partial = np.zeros(parts)
    for s in prange(parts, nogil=True, num_threads=threads, schedule="static"):
        partial[s] = _smooth_block(&F[0, 0], &labels[0], &penalty[0], spread, kind, &shape[0],
                                   &out[0, 0], &scratch[s, 0], k, m * s // parts,
                                   m * (s + 1) // parts)
    return float(np.sum(partial))
