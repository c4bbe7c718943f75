/* Rows of a dense array seen as (x - mean) * scale. Each row is centred by itself: what a correction
   of sums would leave of columns far from zero is rounding. */

#ifndef HTSVM_SCALED_ROWS_H
#define HTSVM_SCALED_ROWS_H

#include <stddef.h>

#define HTSVM_SCALED_ROWS(real)                                                                    \
    static void htsvm_scaled_dot_##real(                                                           \
        const real *X, ptrdiff_t n, const double *mean, const double *scale,                       \
        const signed char *y, const double *w, double b, double *out, ptrdiff_t low,               \
        ptrdiff_t high)                                                                            \
    {                                                                                              \
        for (ptrdiff_t i = low; i < high; i++) {                                                   \
            const real *row = X + i * n;                                                           \
            double total = 0.0;                                                                    \
            for (ptrdiff_t j = 0; j < n; j++)                                                      \
                total += (row[j] - mean[j]) * (scale[j] * w[j]);                                   \
            out[i] = y[i] * (total + b);                                                           \
        }                                                                                          \
    }                                                                                              \
    static void htsvm_scaled_tdot_##real(                                                          \
        const real *X, ptrdiff_t n, const double *mean, const double *scale,                       \
        const signed char *y, const double *v, double *out, double *total, ptrdiff_t low,          \
        ptrdiff_t high)                                                                            \
    {                                                                                              \
        for (ptrdiff_t i = low; i < high; i++) {                                                   \
            const real *row = X + i * n;                                                           \
            double own = y[i] * v[i];                                                              \
            if (own == 0.0)                                                                        \
                continue;                                                                          \
            *total += own;                                                                         \
            for (ptrdiff_t j = 0; j < n; j++)                                                      \
                out[j] += own * ((row[j] - mean[j]) * scale[j]);                                   \
        }                                                                                          \
    }                                                                                              \
    /* Add weight * (x, 1)(x, 1)' to the lower triangle of `out`. */                               \
    static void htsvm_scaled_gram_##real(                                                          \
        const real *x, ptrdiff_t n, const double *mean, const double *scale, double weight,        \
        double *out)                                                                               \
    {                                                                                              \
        double *last = out + n * (n + 1);                                                          \
        for (ptrdiff_t a = 0; a < n; a++) {                                                        \
            double own = weight * ((x[a] - mean[a]) * scale[a]);                                   \
            double *target = out + a * (n + 1);                                                    \
            for (ptrdiff_t b = 0; b <= a; b++)                                                     \
                target[b] += own * ((x[b] - mean[b]) * scale[b]);                                  \
            last[a] += own;                                                                        \
        }                                                                                          \
        last[n] += weight;                                                                         \
    }

HTSVM_SCALED_ROWS(float)
HTSVM_SCALED_ROWS(double)

#define HTSVM_BY_TYPE(name, X, ...)                                                                \
    (single ? name##_float((const float *)(X), __VA_ARGS__)                                        \
            : name##_double((const double *)(X), __VA_ARGS__))

static void htsvm_scaled_dot(
    const void *X, int single, ptrdiff_t n, const double *mean, const double *scale,
    const signed char *y, const double *w, double b, double *out, ptrdiff_t low, ptrdiff_t high)
{
    HTSVM_BY_TYPE(htsvm_scaled_dot, X, n, mean, scale, y, w, b, out, low, high);
}

static void htsvm_scaled_tdot(
    const void *X, int single, ptrdiff_t n, const double *mean, const double *scale,
    const signed char *y, const double *v, double *out, double *total, ptrdiff_t low,
    ptrdiff_t high)
{
    HTSVM_BY_TYPE(htsvm_scaled_tdot, X, n, mean, scale, y, v, out, total, low, high);
}

static void htsvm_scaled_gram(
    const void *X, int single, ptrdiff_t n, const double *mean, const double *scale, ptrdiff_t i,
    double weight, double *out)
{
    if (single)
        htsvm_scaled_gram_float((const float *)X + i * n, n, mean, scale, weight, out);
    else
        htsvm_scaled_gram_double((const double *)X + i * n, n, mean, scale, weight, out);
}

#endif
