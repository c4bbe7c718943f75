/* Loops over samples, compiled for the widest vector instructions that the machine has.

   Without branches: which way they go is close to random here. Those of a smooth loss set slopes[i]
   to penalty[i] times its derivative at q[i] + t * dq[i], and sums to its total and the derivative
   of that in t; the reference is losses/rounded.py. */

#ifndef HTSVM_LOOPS_H
#define HTSVM_LOOPS_H

#include <math.h>
#include <stddef.h>
#include <stdlib.h>

/* Versions for several machines in one library need the loader of the GNU C library. */
#if defined(__GNUC__) && !defined(__clang__) && defined(__x86_64__) && defined(__GLIBC__)
#define HTSVM_CLONES __attribute__((target_clones("avx2", "default")))
#else
#define HTSVM_CLONES
#endif

/* height * (1 + u / sqrt(1 + u * u)) / 2 with u = (s - centre) / (2 * width). */
HTSVM_CLONES static void htsvm_sigmoid(
    ptrdiff_t m, const double *q, const double *dq, double t, const double *penalty,
    double *slopes, double *sums, double height, double centre, double width)
{
    double total = 0.0, along = 0.0, half = 0.5 / width, steep = 0.25 * height / width;
    for (ptrdiff_t i = 0; i < m; i++) {
        double u = half * (q[i] + t * dq[i] - centre);
        double root = 1.0 / sqrt(1.0 + u * u);
        double slope = steep * penalty[i] * root * root * root;
        total += penalty[i] * (1.0 + u * root);
        slopes[i] = slope;
        along += slope * dq[i];
    }
    sums[0] = 0.5 * height * total;
    sums[1] = along;
}

/* The total of the hybrid truncated loss at the violations 1 - t * (1 - q). On [0, 1] the loss is
   its first straight line less a parabola that starts at the knee. NaN passes through. */
HTSVM_CLONES static double htsvm_hybrid(
    ptrdiff_t m, const double *q, const double *penalty, double t, double knee, double cap)
{
    double total = 0.0, scale = t / cap, shift = (1.0 - t) / cap;
    double slope = 2.0 / (1.0 + knee), curve = 1.0 / (1.0 - knee * knee);
    for (ptrdiff_t i = 0; i < m; i++) {
        double u = shift + scale * q[i];
        u = u < 0.0 ? 0.0 : u;
        u = u > 1.0 ? 1.0 : u;
        double past = u - knee;
        past = past < 0.0 ? 0.0 : past;
        total += penalty[i] * (slope * u - curve * past * past);
    }
    return cap * total;
}

/* Multipliers alpha within the bounds of hinge losses of the given weights, one array per label,
   and sums: of alpha per label, of alpha * q per label, of the hinge losses; how many alpha are
   not -psi, and not zero. */
HTSVM_CLONES static void htsvm_dual(
    ptrdiff_t m, const double *q, const double *psi, const double *penalty, const double *weights,
    const unsigned char *bent, const signed char *y, double top, double tilt, double *down,
    double *up, double *sums)
{
    double masses[2] = {0.0, 0.0}, values[2] = {0.0, 0.0}, primal = 0.0, off = 0.0, count = 0.0;
    for (ptrdiff_t i = 0; i < m; i++) {
        double shift = tilt * penalty[i], given = -psi[i], steepest = top * penalty[i];
        double own = shift + given;
        own = own > 0.0 ? own : 0.0;
        own = own < steepest ? own : steepest;
        double weight = bent[i] ? own : weights[i];
        double alpha = given > -shift ? given : -shift;
        alpha = alpha < weight - shift ? alpha : weight - shift;
        double above = y[i] > 0 ? alpha : 0.0, below = alpha - above;
        up[i] = above;
        down[i] = below;
        masses[0] += below;
        masses[1] += above;
        values[0] += below * q[i];
        values[1] += above * q[i];
        primal += weight * (q[i] > 0.0 ? q[i] : 0.0) - shift * q[i];
        off += alpha != given ? 1.0 : 0.0;
        count += alpha != 0.0 ? 1.0 : 0.0;
    }
    sums[0] = masses[0];
    sums[1] = masses[1];
    sums[2] = values[0];
    sums[3] = values[1];
    sums[4] = primal;
    sums[5] = off;
    sums[6] = count;
}

/* A loss of slope top up to the knee that falls to zero at the cap, less tilt times the violation.
   Its kink, at minus the shift of a sample, is rounded over [-width, width] by a parabola. */
HTSVM_CLONES static void htsvm_kink(
    ptrdiff_t m, const double *q, const double *shift, const double *dq, double t,
    const double *penalty, double *slopes, double *sums, double top, double knee, double cap,
    double width, double tilt)
{
    double total = 0.0, along = 0.0, half = 0.5 / width;
    double bend = cap < HUGE_VAL ? top / (cap - knee) : 0.0, most = bend > 0.0 ? cap - knee : 0.0;
    double start = bend > 0.0 ? knee : 0.0, end = bend > 0.0 ? cap : 1e300;
    for (ptrdiff_t i = 0; i < m; i++) {
        double s = q[i] + t * dq[i], k = s + shift[i];
        double share = half * (k + width);
        share = share > 0.0 ? share : 0.0;
        share = share < 1.0 ? share : 1.0;
        double h = k > width ? k : 0.5 * (k + width) * share;
        double past = s - start;
        past = past > 0.0 ? past : 0.0;
        past = past < most ? past : most;
        double beyond = s - end;
        beyond = beyond > 0.0 ? beyond : 0.0;
        total += penalty[i] * (top * (h - beyond) - 0.5 * bend * past * past - tilt * s);
        double slope = penalty[i] * (top * share - bend * past - tilt);
        slopes[i] = slope;
        along += slope * dq[i];
    }
    sums[0] = total;
    sums[1] = along;
}

/* The positive part of the second derivatives of a sigmoid, times the penalties. */
HTSVM_CLONES static void htsvm_sigmoid_curvature(
    ptrdiff_t m, const double *q, const double *penalty, double *out, double height, double centre,
    double width)
{
    double half = 0.5 / width, scale = 1.5 * height * half * half;
    for (ptrdiff_t i = 0; i < m; i++) {
        double u = half * (centre - q[i]);
        u = u > 0.0 ? u : 0.0;
        double root = 1.0 / sqrt(1.0 + u * u), square = root * root;
        out[i] = scale * penalty[i] * u * square * square * root;
    }
}

/* Where the slope of a sample changes: 1 in the rounded kink, 2 between knee and cap, 0 elsewhere
   and without penalty. Counts the samples whose place is not the old one, and those not at 0. */
HTSVM_CLONES static void htsvm_places(
    ptrdiff_t m, const double *q, const double *shift, const double *penalty, double knee,
    double cap, double width, const unsigned char *old, unsigned char *place, ptrdiff_t *counts)
{
    ptrdiff_t changed = 0, bent = 0;
    double end = cap < HUGE_VAL ? cap : 0.0;
    for (ptrdiff_t i = 0; i < m; i++) {
        double k = q[i] + shift[i];
        int round = (k > -width) & (k < width), falls = (q[i] > knee) & (q[i] < end) & !round;
        place[i] = (unsigned char)((penalty[i] > 0.0) * (round | (falls << 1)));
    }
    for (ptrdiff_t i = 0; i < m; i++) {
        changed += place[i] != old[i];
        bent += place[i] != 0;
    }
    counts[0] = changed;
    counts[1] = bent;
}

#endif
