/* Loops over samples, compiled for the widest vector instructions that the machine has.

   Each sets slopes[i] to penalty[i] times the derivative of a smooth loss at q[i] + t * dq[i], and
   sums to the total of the loss and the derivative of that total in t. Without branches: which way
   they go is close to random here. The references are in solvers/starts/smoothing.py. */

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

/* Half the squares. */
HTSVM_CLONES static void htsvm_squares(
    ptrdiff_t m, const double *q, const double *dq, double t, const double *penalty,
    double *slopes, double *sums)
{
    double total = 0.0, along = 0.0;
    for (ptrdiff_t i = 0; i < m; i++) {
        double s = q[i] + t * dq[i];
        double slope = penalty[i] * s;
        slopes[i] = slope;
        total += 0.5 * slope * s;
        along += slope * dq[i];
    }
    sums[0] = total;
    sums[1] = along;
}

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

/* g(h) with slope top up to the knee, falling to zero at the cap; h is max(s, 0) with its kink
   rounded over [-width, width] by a parabola. */
HTSVM_CLONES static void htsvm_rounded(
    ptrdiff_t m, const double *q, const double *dq, double t, const double *penalty,
    double *slopes, double *sums, double top, double knee, double cap, double width)
{
    double total = 0.0, along = 0.0, half = 0.5 / width;
    double bend = cap > knee ? top / (cap - knee) : 0.0;
    for (ptrdiff_t i = 0; i < m; i++) {
        double s = q[i] + t * dq[i];
        double share = half * (s + width);
        share = share > 0.0 ? share : 0.0;
        share = share < 1.0 ? share : 1.0;
        double h = s > width ? s : 0.5 * (s + width) * share;
        double bent = (h < cap ? h : cap) - knee;
        bent = bent > 0.0 ? bent : 0.0;
        total += penalty[i] * (top * (h < knee ? h : knee) + (top - 0.5 * bend * bent) * bent);
        share = h < cap ? share : 0.0;
        double slope = penalty[i] * share * (top - bend * bent);
        slopes[i] = slope;
        along += slope * dq[i];
    }
    sums[0] = total;
    sums[1] = along;
}

#endif
