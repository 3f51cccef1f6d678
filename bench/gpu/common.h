/* SPDX-License-Identifier: Apache-2.0 */
/* What the GPU benchmarks share: checks that end the program, options, matrices, operands that are made and
 * verified on the GPU, statistics, JSON lines. */
#ifndef SLEY_BENCH_GPU_COMMON_H
#define SLEY_BENCH_GPU_COMMON_H

#include <cuda_runtime.h>
#include <cusparse.h>

#include <cstdio>
#include <string>
#include <vector>

#include "sley.h"

/* End the program with file, line and what was refused. */
#define CUDA(call) bench_cuda((call), #call, __FILE__, __LINE__)
#define SLEY(call) bench_sley((call), #call, __FILE__, __LINE__)
void bench_cuda(cudaError_t error, const char *what, const char *file, int line);
void bench_sley(sley_status status, const char *what, const char *file, int line);
[[noreturn]] void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* A type of values: of A, X and Y; sums are taken in f32, or in f64 for f64. */
enum bench_dtype { BENCH_F32, BENCH_F64, BENCH_F16, BENCH_BF16, BENCH_DTYPES };
extern const char *const bench_dtype_name[BENCH_DTYPES];
extern const size_t bench_dtype_bytes[BENCH_DTYPES];
extern const cudaDataType bench_cuda_type[BENCH_DTYPES];

/* Sley's name for it. */
extern const sley_dtype bench_sley_dtype[BENCH_DTYPES];

/* "a,b,c" as parts; the word all as everything in `known` where that is given. */
std::vector<std::string> bench_list(const char *text);
std::vector<int> bench_numbers(const char *text);

/* A matrix in f32: read from cache/NAME.sley if that is there, else from `name` and, with a cache, kept. A
 * name of three letters is a twin's. *seconds: what it took. */
sley_matrix *bench_matrix(const std::string &name, const char *cache, double *seconds);

/* Values of a matrix's entries in dtype, on the host; to be freed by free(). Large ones are scaled for f16. */
void *bench_values(const float *values, int64_t count, bench_dtype dtype);

/* CSR on the current GPU, all 32-bit numbers: what cuSPARSE takes. */
struct gpu_csr {
  int64_t rows, cols, nnz;
  int32_t *rowptr, *col;
  void *val;
  bench_dtype dtype;
};

/* Uploads; rowptr may begin above 0. *seconds: that the copies took. */
gpu_csr gpu_csr_upload(int64_t rows, int64_t cols, const int64_t *rowptr, const int32_t *col, const void *val,
                       bench_dtype dtype, double *seconds);
void gpu_csr_free(gpu_csr *csr);

/* Rows first .. first + rows of X, whose value (i, j) depends on i and j alone and is exact in every dtype.
 */
void gpu_fill(void *x, int64_t first, int64_t rows, int64_t k, bench_dtype dtype, cudaStream_t stream);
double gpu_fill_value(int64_t i, int64_t j);

/* Every byte becomes 255, so that nothing left from before can pass for a result. */
void gpu_poison(void *y, int64_t rows, int64_t k, bench_dtype dtype, cudaStream_t stream);

/* The largest |Y - A X| / bound over all of Y, against sums of doubles made on the GPU; bound: a rounding for
 * every term in the type of sums, and the last one into dtype. At most 1 is right. x: all of X. narrow: the
 * sums may be rounded to dtype after every term. */
double gpu_check(const gpu_csr *a, const void *x, const void *y, int64_t k, bool narrow, cudaStream_t stream);

/* The same for a few rows, on the host, from the host's A and gpu_fill_value: a check of the check. */
double gpu_check_rows(int64_t rows, const int64_t *rowptr, const int32_t *col, const void *val, const void *y,
                      int64_t k, bench_dtype dtype, int samples);

struct bench_stats {
  double median, min, p95;
  int count;
};
bench_stats bench_statistics(std::vector<double> samples);
double bench_geomean(const std::vector<double> &values);
double bench_now(void); /* seconds */

/* The stream does nothing for so long: what is enqueued meanwhile follows without a gap, however long the host
 * takes to enqueue it. */
void gpu_delay(int microseconds, cudaStream_t stream);

/* Events around work on a stream; times are read after the stream is done. */
struct gpu_timer {
  std::vector<cudaEvent_t> begin, end;
  int used;
};
gpu_timer gpu_timer_create(int count);
void gpu_timer_begin(gpu_timer *timer, cudaStream_t stream);
void gpu_timer_end(gpu_timer *timer, cudaStream_t stream);
std::vector<double> gpu_timer_ms(const gpu_timer *timer);
void gpu_timer_destroy(gpu_timer *timer);

/* JSON lines: one object a line, written out at once. NULL file: nothing happens. */
void json_environment(FILE *file, const char *bench);
std::string json_stats(const bench_stats &stats);
void json_line(FILE *file, const std::string &line);
std::string bench_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
