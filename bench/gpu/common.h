/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the GPU benchmarks: checks that end the program, options, matrices, operands that are made and
 * verified on the GPU, statistics, JSON lines. */
#ifndef SLEY_BENCH_GPU_COMMON_H
#define SLEY_BENCH_GPU_COMMON_H

#include <cuda_runtime.h>
#include <cusparse.h>

#include <cstdio>
#include <functional>
#include <string>
#include <vector>

#include "sley.h"

/* On an error, end the program with file, line and the failed call. */
#define CUDA(call) bench_cuda((call), #call, __FILE__, __LINE__)
#define SLEY(call) bench_sley((call), #call, __FILE__, __LINE__)
void bench_cuda(cudaError_t error, const char *what, const char *file, int line);
void bench_sley(sley_status status, const char *what, const char *file, int line);
[[noreturn]] void bench_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The type of A, X and Y; sums are in f32, or in f64 for f64. */
enum bench_dtype { BENCH_F32, BENCH_F64, BENCH_F16, BENCH_BF16, BENCH_DTYPES };
extern const char *const bench_dtype_name[BENCH_DTYPES];
extern const size_t bench_dtype_bytes[BENCH_DTYPES];
extern const cudaDataType bench_cuda_type[BENCH_DTYPES];

/* The corresponding type of Sley. */
extern const sley_dtype bench_sley_dtype[BENCH_DTYPES];

/* Splits text at the characters of `at`: at commas and semicolons by default. Specs of matrices contain
 * commas, so only semicolons separate them. */
std::vector<std::string> bench_list(const char *text, const char *at = ";,");
std::vector<int> bench_numbers(const char *text);
/* The dtypes of a list, those of `known` alone. */
std::vector<bench_dtype> bench_dtypes(const char *text, std::vector<bench_dtype> known);

/* An option, --NAME VALUE. `set` stores the value. */
struct bench_option {
  const char *name, *value; /* value: its name in the usage */
  std::function<void(const char *)> set;
};
bench_option bench_number(const char *name, int *to, int least);
bench_option bench_seed(uint64_t *to);
bench_option bench_text(const char *name, const char *value, const char **to);
/* --json FILE: opens it by `mode`. */
bench_option bench_json(FILE **to, const char *mode);
/* Reads the command line; ends the program if a word is not among the options. */
void bench_options(int argc, char **argv, const std::vector<bench_option> &options);

/* A matrix in f32: read from cache/NAME.sley if that exists, else from `name` and, with a cache, stored
 * there. A name of three letters is a twin's. *seconds: the time to read it. */
sley_matrix *bench_matrix(const std::string &name, const char *cache, double *seconds);

/* Values of a matrix's entries in dtype, in host memory; the caller frees them with free(). For f16, large
 * values are scaled. */
void *bench_values(const float *values, int64_t count, bench_dtype dtype);

/* CSR on the current GPU with 32-bit numbers, as cuSPARSE requires. */
struct gpu_csr {
  int64_t rows, cols, nnz;
  int32_t *rowptr, *col;
  void *val;
  bench_dtype dtype;
};

/* Uploads a matrix; rowptr may begin above 0. *seconds: time of the copies. */
gpu_csr gpu_csr_upload(int64_t rows, int64_t cols, const int64_t *rowptr, const int32_t *col, const void *val,
                       bench_dtype dtype, double *seconds);
void gpu_csr_free(gpu_csr *csr);

/* Fills rows [first, first + rows) of X. Value (i, j) depends only on i and j and is exact in every dtype. */
void gpu_fill(void *x, int64_t first, int64_t rows, int64_t k, bench_dtype dtype, cudaStream_t stream);
double gpu_fill_value(int64_t i, int64_t j);

/* Sets every byte to 255, so that an earlier result cannot pass for a new one. */
void gpu_poison(void *y, int64_t rows, int64_t k, bench_dtype dtype, cudaStream_t stream);

/* The largest |Y - A X| / bound over all of Y, compared with sums of doubles computed on the GPU; at most 1
 * is right. bound: one rounding for every term in the type of sums, and the final one to dtype. x: all of X.
 * narrow: the sums may be rounded to dtype after every term. */
double gpu_check(const gpu_csr *a, const void *x, const void *y, int64_t k, bool narrow, cudaStream_t stream);

/* The same for a few rows on the host, from the host's A and gpu_fill_value: verifies gpu_check. */
double gpu_check_rows(int64_t rows, const int64_t *rowptr, const int32_t *col, const void *val, const void *y,
                      int64_t k, bench_dtype dtype, int samples);

struct bench_stats {
  double median, min, p95;
  int count;
};
bench_stats bench_statistics(std::vector<double> samples);
double bench_geomean(const std::vector<double> &values);
/* Ratios of all cases, and the worst, which is the least. */
struct bench_ratios {
  std::vector<double> all;
  double worst;
  std::string worst_case;
};
void bench_add_ratio(bench_ratios *ratios, double ratio, const std::string &name);
double bench_now(void); /* current time in seconds */

/* Delays the stream by this time: work enqueued meanwhile runs without gaps, however long the host takes to
 * enqueue it. */
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

/* Times contenders on a stream in turns, after warmup rounds; each is first equally often. run(c) enqueues
 * contender c, behind a kernel that waits for so many microseconds, which suffice to enqueue it, so that the
 * host's time for it is not included. Those that take no part have a count of 0. */
std::vector<bench_stats> bench_turns(const std::vector<bool> &takes_part, int warmup, int repeat,
                                     int enqueued, cudaStream_t stream, const std::function<void(int)> &run);

/* JSON lines: one object per line, written at once. If file is NULL, nothing happens. */
void json_environment(FILE *file, const char *bench);
std::string json_stats(const bench_stats &stats);
void json_line(FILE *file, const std::string &line);
std::string bench_format(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
