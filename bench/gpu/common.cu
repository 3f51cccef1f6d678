/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the GPU benchmarks: operands, checks, timing with events, JSON lines. */
#include "common.h"

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include <algorithm>
#include <cctype>
#include <chrono>
#include <cmath>
#include <cstdarg>
#include <cstdlib>
#include <cstring>
#include <thread>

#include <sys/stat.h>

const char *const bench_dtype_name[BENCH_DTYPES] = {"f32", "f64", "f16", "bf16"};
const size_t bench_dtype_bytes[BENCH_DTYPES] = {4, 8, 2, 2};
const cudaDataType bench_cuda_type[BENCH_DTYPES] = {CUDA_R_32F, CUDA_R_64F, CUDA_R_16F, CUDA_R_16BF};

const sley_dtype bench_sley_dtype[BENCH_DTYPES] = {SLEY_F32, SLEY_F64, SLEY_F16, SLEY_BF16};

void bench_fail(const char *format, ...) {
  va_list list;
  va_start(list, format);
  std::vfprintf(stderr, format, list);
  va_end(list);
  std::fputc('\n', stderr);
  std::fflush(nullptr);
  std::_Exit(1); /* other ranks' threads may still be working */
}

void bench_cuda(cudaError_t error, const char *what, const char *file, int line) {
  if (error != cudaSuccess)
    bench_fail("%s:%d: %s: %s", file, line, what, cudaGetErrorString(error));
}

void bench_sley(sley_status status, const char *what, const char *file, int line) {
  if (status != SLEY_OK)
    bench_fail("%s:%d: %s: %s", file, line, what, sley_last_error());
}

std::string bench_format(const char *format, ...) {
  char text[4096];
  va_list list;
  va_start(list, format);
  int length = std::vsnprintf(text, sizeof text, format, list);
  va_end(list);
  if (length < 0 || (size_t)length >= sizeof text)
    bench_fail("a line is too long");
  return text;
}

/* ---------------------------------------------------------------------------------------------- matrices */

std::vector<std::string> bench_list(const char *text, const char *at) {
  std::vector<std::string> parts;
  while (*text) {
    size_t length = std::strcspn(text, at);
    if (length)
      parts.emplace_back(text, length);
    text += length + (text[length] != 0);
  }
  return parts;
}

std::vector<int> bench_numbers(const char *text) {
  std::vector<int> numbers;
  for (const std::string &part : bench_list(text)) {
    int value = std::atoi(part.c_str());
    if (value <= 0)
      bench_fail("\"%s\" is not a list of positive numbers", text);
    numbers.push_back(value);
  }
  return numbers;
}

std::vector<bench_dtype> bench_dtypes(const char *text, std::vector<bench_dtype> known) {
  std::vector<bench_dtype> found;
  for (const std::string &name : bench_list(text)) {
    auto is_named = [&](bench_dtype dtype) { return name == bench_dtype_name[dtype]; };
    auto dtype = std::find_if(known.begin(), known.end(), is_named);
    if (dtype == known.end())
      bench_fail("--dtype: %s is not measured here", name.c_str());
    found.push_back(*dtype);
  }
  return found;
}

bench_option bench_number(const char *name, int *to, int least) {
  return {name, "N", [=](const char *value) {
            *to = std::atoi(value);
            if (*to < least)
              bench_fail("--%s is %s: it must be %d or more", name, value, least);
          }};
}

bench_option bench_seed(uint64_t *to) {
  return {"seed", "S", [=](const char *value) { *to = std::strtoull(value, nullptr, 10); }};
}

bench_option bench_text(const char *name, const char *value, const char **to) {
  return {name, value, [=](const char *text) { *to = text; }};
}

bench_option bench_json(FILE **to, const char *mode) {
  return {"json", "FILE", [=](const char *value) {
            if (!(*to = std::fopen(value, mode)))
              bench_fail("%s cannot be written", value);
          }};
}

void bench_options(int argc, char **argv, const std::vector<bench_option> &options) {
  std::string usage = std::string("usage: ") + argv[0];
  for (const bench_option &option : options)
    usage += std::string(" [--") + option.name + " " + option.value + "]";
  for (int i = 1; i < argc; i += 2) {
    auto is_named = [&](const bench_option &option) { return std::string("--") + option.name == argv[i]; };
    auto option = std::find_if(options.begin(), options.end(), is_named);
    if (option == options.end() || i + 1 == argc)
      bench_fail("%s", usage.c_str());
    option->set(argv[i + 1]);
  }
}

sley_matrix *bench_matrix(const std::string &name, const char *cache, double *seconds) {
  double begin = bench_now();
  std::string spec = name.size() == 3 ? "twin:" + name : name;
  sley_matrix *matrix = nullptr;
  std::string file;
  if (cache) {
    mkdir(cache, 0777);
    file = spec;
    for (char &c : file)
      if (!std::isalnum((unsigned char)c) && c != '.')
        c = '_';
    file = std::string(cache) + "/" + file + ".sley";
  }
  struct stat found;
  if (cache && stat(file.c_str(), &found) == 0) {
    SLEY(sley_matrix_read(file.c_str(), nullptr, &matrix));
  } else {
    SLEY(sley_matrix_read(spec.c_str(), nullptr, &matrix));
    if (cache)
      SLEY(sley_matrix_write(matrix, file.c_str()));
  }
  *seconds = bench_now() - begin;
  return matrix;
}

template <typename T> static T narrow(float value);
template <> __half narrow<__half>(float value) {
  return __float2half_rn(value);
}
template <> __nv_bfloat16 narrow<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}
template <> double narrow<double>(float value) {
  return value;
}
template <> float narrow<float>(float value) {
  return value;
}

/* Calls function with a null pointer to values of the dtype. */
template <typename F> static auto with_type(bench_dtype dtype, F function) {
  switch (dtype) {
  case BENCH_F32:
    return function((float *)nullptr);
  case BENCH_F64:
    return function((double *)nullptr);
  case BENCH_F16:
    return function((__half *)nullptr);
  default:
    return function((__nv_bfloat16 *)nullptr);
  }
}

template <typename T> static void convert(const float *values, int64_t begin, int64_t end, T *out) {
  for (int64_t i = begin; i < end; i++)
    out[i] = narrow<T>(values[i]);
}

/* A power of two by which f16 values are multiplied, so that their sums are finite. */
static float scale_of(const float *values, int64_t count, bench_dtype dtype) {
  enum { LARGE = 64 };
  float most = 0;
  for (int64_t i = 0; i < count && dtype == BENCH_F16; i++)
    most = std::max(most, std::fabs(values[i]));
  return most > LARGE && std::isfinite(most) ? std::exp2(-std::ceil(std::log2(most))) : 1;
}

void *bench_values(const float *values, int64_t count, bench_dtype dtype) {
  const float scale = scale_of(values, count, dtype);
  std::vector<float> scaled;
  if (scale != 1) {
    scaled.assign(values, values + count);
    for (float &value : scaled)
      value *= scale;
    values = scaled.data();
  }
  void *out = std::malloc((size_t)count * bench_dtype_bytes[dtype] + 1);
  if (!out)
    bench_fail("out of memory");
  int64_t threads = std::max(1u, std::thread::hardware_concurrency());
  std::vector<std::thread> team;
  for (int64_t t = 0; t < threads; t++)
    team.emplace_back([=] {
      with_type(dtype, [&](auto *type) {
        convert(values, count * t / threads, count * (t + 1) / threads, (decltype(type))out);
      });
    });
  for (std::thread &thread : team)
    thread.join();
  return out;
}

static void *upload(const void *source, size_t bytes) {
  void *block;
  CUDA(cudaMalloc(&block, bytes + 16));
  CUDA(cudaMemcpy(block, source, bytes, cudaMemcpyHostToDevice));
  return block;
}

gpu_csr gpu_csr_upload(int64_t rows, int64_t cols, const int64_t *rowptr, const int32_t *col, const void *val,
                       bench_dtype dtype, double *seconds) {
  gpu_csr csr = {};
  csr.rows = rows;
  csr.cols = cols;
  csr.nnz = rowptr[rows] - rowptr[0];
  csr.dtype = dtype;
  if (csr.nnz > INT32_MAX)
    bench_fail("a matrix of %lld entries is too large for cuSPARSE's 32-bit numbers", (long long)csr.nnz);
  std::vector<int32_t> narrow_rowptr((size_t)rows + 1);
  for (int64_t i = 0; i <= rows; i++)
    narrow_rowptr[(size_t)i] = (int32_t)(rowptr[i] - rowptr[0]);
  double begin = bench_now();
  csr.rowptr = (int32_t *)upload(narrow_rowptr.data(), ((size_t)rows + 1) * sizeof(int32_t));
  csr.col = (int32_t *)upload(col + rowptr[0], (size_t)csr.nnz * sizeof(int32_t));
  csr.val = upload((const char *)val + (size_t)rowptr[0] * bench_dtype_bytes[dtype],
                   (size_t)csr.nnz * bench_dtype_bytes[dtype]);
  if (seconds)
    *seconds = bench_now() - begin;
  return csr;
}

void gpu_csr_free(gpu_csr *csr) {
  CUDA(cudaFree(csr->rowptr));
  CUDA(cudaFree(csr->col));
  CUDA(cudaFree(csr->val));
}

/* ------------------------------------------------------------------------------------- operands on the GPU
 */

/* One of 256 values in [-1, 1), each exact in 8 bits of significand. */
static __host__ __device__ float operand_value(int64_t i, int64_t j) {
  uint64_t h =
      (uint64_t)i * UINT64_C(0x9e3779b97f4a7c15) + (uint64_t)j * UINT64_C(0xbf58476d1ce4e5b9) + 12345;
  h = (h ^ (h >> 31)) * UINT64_C(0x94d049bb133111eb);
  return (float)((int)(h >> 56) - 128) / 128.0f;
}

double gpu_fill_value(int64_t i, int64_t j) {
  return operand_value(i, j);
}

template <typename T> static __global__ void fill(T *x, int64_t first, int64_t rows, int64_t k) {
  int64_t step = (int64_t)gridDim.x * blockDim.x;
  for (int64_t e = (int64_t)blockIdx.x * blockDim.x + threadIdx.x; e < rows * k; e += step)
    x[e] = (T)operand_value(first + e / k, e % k);
}

void gpu_fill(void *x, int64_t first, int64_t rows, int64_t k, bench_dtype dtype, cudaStream_t stream) {
  with_type(dtype, [&](auto *type) { fill<<<1024, 256, 0, stream>>>((decltype(type))x, first, rows, k); });
  CUDA(cudaGetLastError());
}

void gpu_poison(void *y, int64_t rows, int64_t k, bench_dtype dtype, cudaStream_t stream) {
  CUDA(cudaMemsetAsync(y, 255, (size_t)(rows * k) * bench_dtype_bytes[dtype], stream));
}

/* Relative rounding of sums and of results, twice the unit roundoff; and the absolute error of results that
 * are too small for their type's full precision. */
struct rounding {
  double sum, result, least;
};
static const rounding roundings[BENCH_DTYPES] = {
    {0x1p-23, 0x1p-23, 0}, {0x1p-52, 0x1p-52, 0}, {0x1p-23, 0x1p-10, 0x1p-25}, {0x1p-23, 0x1p-7, 0}};

/* Error divided by the allowed error; infinite if y is NaN. */
static __host__ __device__ double excess(double y, double sum, double magnitude, int64_t terms,
                                         const rounding &r) {
  double bound = (double)(terms + 2) * r.sum * magnitude + r.result * fabs(sum) + r.least;
  double error = fabs(y - sum);
  if (!(error <= bound))
    return bound > 0 && error == error ? error / bound : INFINITY;
  return bound > 0 ? error / bound : 0;
}

/* A warp processes 32 columns of a row at a time. */
template <typename T>
static __global__ void check(int64_t rows, const int32_t *rowptr, const int32_t *col, const T *val,
                             const T *x, const T *y, int64_t k, const rounding r, unsigned long long *worst) {
  int64_t strips = (k + 31) / 32, warps = (int64_t)gridDim.x * blockDim.x / 32;
  double most = 0;
  for (int64_t w = ((int64_t)blockIdx.x * blockDim.x + threadIdx.x) / 32; w < rows * strips; w += warps) {
    int64_t row = w / strips, j = w % strips * 32 + threadIdx.x % 32;
    if (j >= k)
      continue;
    double sum = 0, magnitude = 0;
    for (int32_t e = rowptr[row]; e < rowptr[row + 1]; e++) {
      double term = (double)(float)val[e] * (double)(float)x[col[e] * k + j];
      if (sizeof(T) == 8)
        term = (double)val[e] * (double)x[col[e] * k + j];
      sum += term;
      magnitude += fabs(term);
    }
    double got = sizeof(T) == 8 ? (double)y[row * k + j] : (double)(float)y[row * k + j];
    double over = excess(got, sum, magnitude, rowptr[row + 1] - rowptr[row], r);
    most = over > most ? over : most;
  }
  /* Nonnegative doubles have the same order as their bits. */
  if (most > 0)
    atomicMax(worst, (unsigned long long)__double_as_longlong(most));
}

double gpu_check(const gpu_csr *a, const void *x, const void *y, int64_t k, bool narrow,
                 cudaStream_t stream) {
  unsigned long long *worst, bits;
  CUDA(cudaMalloc(&worst, sizeof *worst));
  CUDA(cudaMemsetAsync(worst, 0, sizeof *worst, stream));
  rounding r = roundings[a->dtype];
  r.sum = narrow ? r.result : r.sum;
  with_type(a->dtype, [&](auto *type) {
    using values = decltype(type);
    check<<<4096, 256, 0, stream>>>(a->rows, a->rowptr, a->col, (values)a->val, (values)x, (values)y, k, r,
                                    worst);
  });
  CUDA(cudaGetLastError());
  CUDA(cudaMemcpyAsync(&bits, worst, sizeof bits, cudaMemcpyDeviceToHost, stream));
  CUDA(cudaStreamSynchronize(stream));
  CUDA(cudaFree(worst));
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

static double host_value(const void *values, int64_t at, bench_dtype dtype) {
  return with_type(dtype, [&](auto *type) -> double {
    auto value = ((decltype(type))values)[at];
    if constexpr (sizeof value == 8)
      return value;
    else
      return (double)(float)value;
  });
}

double gpu_check_rows(int64_t rows, const int64_t *rowptr, const int32_t *col, const void *val, const void *y,
                      int64_t k, bench_dtype dtype, int samples) {
  std::vector<char> got((size_t)k * bench_dtype_bytes[dtype]);
  double most = 0;
  for (int s = 0; s < samples && rows > 0; s++) {
    int64_t row = s == 0   ? 0
                  : s == 1 ? rows - 1
                           : (int64_t)((uint64_t)s * UINT64_C(0x9e3779b97f4a7c15) % (uint64_t)rows);
    CUDA(cudaMemcpy(got.data(), (const char *)y + (size_t)row * got.size(), got.size(),
                    cudaMemcpyDeviceToHost));
    for (int64_t j = 0; j < k; j++) {
      double sum = 0, magnitude = 0;
      for (int64_t e = rowptr[row]; e < rowptr[row + 1]; e++) {
        double term = host_value(val, e, dtype) * gpu_fill_value(col[e], j);
        sum += term;
        magnitude += std::fabs(term);
      }
      most = std::max(most, excess(host_value(got.data(), j, dtype), sum, magnitude,
                                   rowptr[row + 1] - rowptr[row], roundings[dtype]));
    }
  }
  return most;
}

/* --------------------------------------------------------------------------------------- times and output */

double bench_now(void) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

bench_stats bench_statistics(std::vector<double> samples) {
  bench_stats stats = {};
  stats.count = (int)samples.size();
  if (samples.empty())
    return stats;
  std::sort(samples.begin(), samples.end());
  size_t n = samples.size();
  stats.median = n % 2 ? samples[n / 2] : (samples[n / 2 - 1] + samples[n / 2]) / 2;
  stats.min = samples[0];
  stats.p95 = samples[std::min(n - 1, (size_t)std::ceil(0.95 * (double)n) - 1)];
  return stats;
}

double bench_geomean(const std::vector<double> &values) {
  double sum = 0;
  for (double value : values)
    sum += std::log(value);
  return values.empty() ? 0 : std::exp(sum / (double)values.size());
}

void bench_add_ratio(bench_ratios *ratios, double ratio, const std::string &name) {
  if (ratios->all.empty() || ratio < ratios->worst) {
    ratios->worst = ratio;
    ratios->worst_case = name;
  }
  ratios->all.push_back(ratio);
}

gpu_timer gpu_timer_create(int count) {
  gpu_timer timer = {};
  timer.begin.resize((size_t)count);
  timer.end.resize((size_t)count);
  for (int i = 0; i < count; i++) {
    CUDA(cudaEventCreate(&timer.begin[(size_t)i]));
    CUDA(cudaEventCreate(&timer.end[(size_t)i]));
  }
  return timer;
}

static __global__ void delay(unsigned nanoseconds) {
  unsigned long long begin, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(begin));
  do
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  while (now - begin < nanoseconds);
}

void gpu_delay(int microseconds, cudaStream_t stream) {
  delay<<<1, 1, 0, stream>>>((unsigned)microseconds * 1000);
  CUDA(cudaGetLastError());
}

void gpu_timer_begin(gpu_timer *timer, cudaStream_t stream) {
  CUDA(cudaEventRecord(timer->begin[(size_t)timer->used], stream));
}

void gpu_timer_end(gpu_timer *timer, cudaStream_t stream) {
  CUDA(cudaEventRecord(timer->end[(size_t)timer->used++], stream));
}

std::vector<double> gpu_timer_ms(const gpu_timer *timer) {
  std::vector<double> samples;
  for (int i = 0; i < timer->used; i++) {
    float ms;
    CUDA(cudaEventSynchronize(timer->end[(size_t)i]));
    CUDA(cudaEventElapsedTime(&ms, timer->begin[(size_t)i], timer->end[(size_t)i]));
    samples.push_back(ms);
  }
  return samples;
}

void gpu_timer_destroy(gpu_timer *timer) {
  for (size_t i = 0; i < timer->begin.size(); i++) {
    CUDA(cudaEventDestroy(timer->begin[i]));
    CUDA(cudaEventDestroy(timer->end[i]));
  }
  *timer = gpu_timer{};
}

std::vector<bench_stats> bench_turns(const std::vector<bool> &takes_part, int warmup, int repeat,
                                     int enqueued, cudaStream_t stream, const std::function<void(int)> &run) {
  const int contenders = (int)takes_part.size();
  std::vector<gpu_timer> timer;
  std::vector<bench_stats> stats;
  for (int c = 0; c < contenders; c++)
    timer.push_back(gpu_timer_create(repeat));
  for (int round = -warmup; round < repeat; round++)
    for (int turn = 0; turn < contenders; turn++) {
      const int c = (turn + round + warmup) % contenders;
      if (!takes_part[(size_t)c])
        continue;
      if (round >= 0) {
        gpu_delay(enqueued, stream);
        gpu_timer_begin(&timer[(size_t)c], stream);
      }
      run(c);
      if (round >= 0)
        gpu_timer_end(&timer[(size_t)c], stream);
    }
  CUDA(cudaStreamSynchronize(stream));
  for (gpu_timer &one : timer) {
    stats.push_back(bench_statistics(gpu_timer_ms(&one)));
    gpu_timer_destroy(&one);
  }
  return stats;
}

void json_line(FILE *file, const std::string &line) {
  if (!file)
    return;
  std::fprintf(file, "%s\n", line.c_str());
  std::fflush(file);
}

std::string json_stats(const bench_stats &s) {
  return bench_format("{\"median\": %.6f, \"min\": %.6f, \"p95\": %.6f, \"repeats\": %d}", s.median, s.min,
                      s.p95, s.count);
}

void json_environment(FILE *file, const char *bench) {
  cudaDeviceProp prop;
  int driver = 0, runtime = 0, gpus = 0;
  CUDA(cudaGetDeviceCount(&gpus));
  CUDA(cudaGetDeviceProperties(&prop, 0));
  CUDA(cudaDriverGetVersion(&driver));
  CUDA(cudaRuntimeGetVersion(&runtime));
  cusparseHandle_t handle;
  int cusparse = 0;
  if (cusparseCreate(&handle) != CUSPARSE_STATUS_SUCCESS ||
      cusparseGetVersion(handle, &cusparse) != CUSPARSE_STATUS_SUCCESS)
    bench_fail("cuSPARSE cannot be started");
  cusparseDestroy(handle);
  const char *commit = std::getenv("SLEY_COMMIT");
  json_line(file, bench_format("{\"record\": \"environment\", \"bench\": \"%s\", \"gpu\": \"%s\", \"gpus\": "
                               "%d, \"driver_cuda\": %d, "
                               "\"cuda\": %d, \"cusparse\": %d, \"sley\": \"%s\", \"commit\": \"%s\"}",
                               bench, prop.name, gpus, driver, runtime, cusparse, sley_version(),
                               commit ? commit : "unknown"));
}
