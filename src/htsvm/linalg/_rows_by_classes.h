/* Products of one row with weights stored by features, a block of `k` numbers (a multiple of four)
   per feature. Compiled for the widest vector instructions that the machine has. */

#ifndef HTSVM_ROWS_BY_CLASSES_H
#define HTSVM_ROWS_BY_CLASSES_H

#include <stddef.h>

#include "_loops.h"

/* v += x' WT, four features at a time: fewer sums wait for each other. */
#define HTSVM_ADD_SCORES(name, real)                                                              \
    HTSVM_CLONES static void name(                                                                \
        ptrdiff_t n, ptrdiff_t k, const real *restrict x, const double *restrict WT,              \
        double *restrict v)                                                                       \
    {                                                                                             \
        ptrdiff_t f = 0;                                                                          \
        for (; f + 4 <= n; f += 4) {                                                              \
            const double *a = WT + f * k, *b = a + k, *c = b + k, *d = c + k;                     \
            double p = x[f], q = x[f + 1], r = x[f + 2], s = x[f + 3];                            \
            for (ptrdiff_t j = 0; j < k; j++)                                                     \
                v[j] += (p * a[j] + q * b[j]) + (r * c[j] + s * d[j]);                            \
        }                                                                                         \
        for (; f < n; f++) {                                                                      \
            double p = x[f];                                                                      \
            const double *a = WT + f * k;                                                         \
            for (ptrdiff_t j = 0; j < k; j++)                                                     \
                v[j] += p * a[j];                                                                 \
        }                                                                                         \
    }

/* WT -= x d', for all classes. */
#define HTSVM_TAKE_OFF(name, real)                                                                \
    HTSVM_CLONES static void name(                                                                \
        ptrdiff_t n, ptrdiff_t k, const real *restrict x, double *restrict WT,                    \
        const double *restrict d)                                                                 \
    {                                                                                             \
        for (ptrdiff_t f = 0; f < n; f++) {                                                       \
            double p = x[f];                                                                      \
            double *a = WT + f * k;                                                               \
            for (ptrdiff_t j = 0; j < k; j++)                                                     \
                a[j] -= p * d[j];                                                                 \
        }                                                                                         \
    }

HTSVM_ADD_SCORES(htsvm_add_scores_double, double)
HTSVM_ADD_SCORES(htsvm_add_scores_float, float)
HTSVM_TAKE_OFF(htsvm_take_off_double, double)
HTSVM_TAKE_OFF(htsvm_take_off_float, float)

#endif
