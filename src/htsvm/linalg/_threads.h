/* Thread counts that also compile where the compiler has no OpenMP. */
#ifndef HTSVM_THREADS_H
#define HTSVM_THREADS_H
#ifdef _OPENMP
#include <omp.h>
static inline int htsvm_max_threads(void) { return omp_get_max_threads(); }
static inline int htsvm_has_openmp(void) { return 1; }
#else
static inline int htsvm_max_threads(void) { return 1; }
static inline int htsvm_has_openmp(void) { return 0; }
#endif
#endif
