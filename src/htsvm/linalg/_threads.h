/* Thread counts and a clock that also compile where the compiler has no OpenMP. */
#ifndef HTSVM_THREADS_H
#define HTSVM_THREADS_H
#ifdef _OPENMP
#include <omp.h>
static inline int htsvm_max_threads(void) { return omp_get_max_threads(); }
static inline int htsvm_has_openmp(void) { return 1; }
static inline double htsvm_seconds(void) { return omp_get_wtime(); }
#else
#include <time.h>
static inline int htsvm_max_threads(void) { return 1; }
static inline int htsvm_has_openmp(void) { return 0; }
static inline double htsvm_seconds(void) {
    struct timespec now;
    timespec_get(&now, TIME_UTC);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
#endif
#endif
