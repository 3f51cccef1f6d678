/* SPDX-License-Identifier: Apache-2.0 */
/* One GPU: the update Z = (A X) W, fused, by Sley in two steps, and by the fastest available product followed
 * by cuBLAS, on the same operands and stream, in turn.
 *
 *   bench_update_gpu [--seed S] [--cases N] [--matrices LIST] [--k LIST] [--n LIST] [--dtype f32,f16,bf16]
 *                    [--repeat 20] [--warmup 3] [--json FILE]
 *
 * LIST: matrices, separated by semicolons. Without --matrices, N cases are drawn: matrices from R-MAT, bands
 * and the twins of known graphs, k and n from 32 to 128. The seed is printed; without --seed it comes from
 * the clock. With --matrices, all k and n of the lists.
 *
 * Every result that is timed is verified before: all of Z by sums of doubles on the GPU. A wrong result of
 * Sley's: exit status 1. apart: a plan whose update is not fused. rival: sley_spmm or cuSPARSE's product for
 * CSR into Y of the dtype, whichever is faster, then cublasGemmEx with sums in f32. Ratios are times apart
 * divided by times fused. */
#include <cublas_v2.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "common.h"
#include "rival.h"

enum { ENQUEUED = 60 /* microseconds that suffice to enqueue what is timed */ };

struct settings {
  uint64_t seed;
  int cases, repeat, warmup;
  std::vector<std::string> matrices;
  std::vector<int> widths, results;
  std::vector<bench_dtype> dtypes;
  FILE *json;
};

/* Contenders: 0 fused, 1 apart, 2 sley_spmm + cuBLAS, 3 + i cuSPARSE's algorithm i + cuBLAS. */
enum { FUSED, APART, PRODUCT, CUSPARSE, CONTENDERS = CUSPARSE + RIVAL_MATRIX };

struct totals {
  bench_ratios apart, rival;
};

struct job {
  const settings *set;
  totals sum[BENCH_DTYPES];
  bool wrong;
};

struct work {
  job *j;
  sley_comm *comm;
  cudaStream_t stream;
  cublasHandle_t cublas;
  std::string name;
  const sley_csr *csr;
  const gpu_csr *gpu;
  bench_dtype dtype;
  int64_t k, n;
  void *x, *w, *y, *z;
  sley_matrix *matrix;
  sley_plan *fused, *apart, *product;
  rival other;
  bool really_fused;
  std::vector<bool> takes_part;
  double error[CONTENDERS];
  std::vector<bench_stats> stats;
};

/* ---- a check in doubles */

template <typename T> __device__ double wide(T v) {
  return (double)(float)v;
}

/* T = A X and |A||X| in doubles, one thread per value. */
template <typename T>
__global__ void exact_rows(gpu_csr a, const T *x, int64_t first, int64_t rows, int64_t k, double *t,
                           double *size) {
  const int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= rows * k)
    return;
  const int64_t row = first + at / k, l = at % k;
  double sum = 0, magnitude = 0;
  for (int32_t e = a.rowptr[row]; e < a.rowptr[row + 1]; e++) {
    const double term = wide(((const T *)a.val)[e]) * wide(x[(int64_t)a.col[e] * k + l]);
    sum += term;
    magnitude += fabs(term);
  }
  t[at] = sum;
  size[at] = magnitude;
}

/* Largest error of Z in units of its bound. y_rounding: rounding of T to the dtype. */
template <typename T>
__global__ void compare_rows(gpu_csr a, const T *w, const T *z, int64_t first, int64_t rows, int64_t k,
                             int64_t n, const double *t, const double *size, double z_rounding,
                             double y_rounding, double least, unsigned long long *worst) {
  const int64_t at = (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= rows * n)
    return;
  const int64_t row = at / n, j = at % n;
  double sum = 0, magnitude = 0;
  for (int64_t l = 0; l < k; l++) {
    sum += t[row * k + l] * wide(w[l * n + j]);
    magnitude += size[row * k + l] * fabs(wide(w[l * n + j]));
  }
  const double terms = a.rowptr[first + row + 1] - a.rowptr[first + row] + k + 8;
  const double bound = ((4 * terms + 16) * 0x1p-24 + y_rounding) * magnitude;
  const double error = fabs(wide(z[(first + row) * n + j]) - sum),
               allowed = bound + z_rounding * (fabs(sum) + bound) + least;
  const double units = error <= allowed ? error / (allowed + 1e-300)
                       : error > 0      ? 1 + error / (allowed + 1e-300)
                                        : 1e30; /* NaN */
  atomicMax(worst, __double_as_longlong(units));
}

template <typename T> static double check(const work *w, bool narrow_y, double rounding) {
  enum { BLOCK = 256, AT_ONCE = 1 << 26 };
  const int64_t rows = std::max<int64_t>(1, AT_ONCE / w->k);
  double *t, *size, value;
  unsigned long long *worst, bits;
  CUDA(cudaMalloc(&t, (size_t)(rows * w->k) * sizeof *t));
  CUDA(cudaMalloc(&size, (size_t)(rows * w->k) * sizeof *size));
  CUDA(cudaMalloc(&worst, sizeof *worst));
  CUDA(cudaMemsetAsync(worst, 0, sizeof *worst, w->stream));
  for (int64_t first = 0; first < w->gpu->rows; first += rows) {
    const int64_t here = std::min(rows, w->gpu->rows - first);
    exact_rows<T><<<(unsigned)((here * w->k + BLOCK - 1) / BLOCK), BLOCK, 0, w->stream>>>(
        *w->gpu, (const T *)w->x, first, here, w->k, t, size);
    compare_rows<T><<<(unsigned)((here * w->n + BLOCK - 1) / BLOCK), BLOCK, 0, w->stream>>>(
        *w->gpu, (const T *)w->w, (const T *)w->z, first, here, w->k, w->n, t, size, rounding,
        narrow_y ? rounding : 0, sizeof(T) == 2 ? 0x1p-24 * (double)w->k : 0, worst);
  }
  CUDA(cudaMemcpyAsync(&bits, worst, sizeof bits, cudaMemcpyDeviceToHost, w->stream));
  CUDA(cudaStreamSynchronize(w->stream));
  CUDA(cudaFree(worst));
  CUDA(cudaFree(size));
  CUDA(cudaFree(t));
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

static double verify(const work *w, bool narrow_y) {
  if (w->dtype == BENCH_F32)
    return check<float>(w, narrow_y, 0);
  return w->dtype == BENCH_F16 ? check<__half>(w, narrow_y, 0x1p-11)
                               : check<__nv_bfloat16>(w, narrow_y, 0x1p-8);
}

/* ---- contenders */

static std::string name_of(int c) {
  return c == FUSED     ? "fused"
         : c == APART   ? "apart"
         : c == PRODUCT ? "sley_spmm+cublas"
                        : std::string("cusparse_") + rival_name[c - CUSPARSE] + "+cublas";
}

/* Z = Y W, row-major: the transposes multiply column-major. */
static void multiply_dense(const work *w) {
  const float one = 1, zero = 0;
  const cudaDataType type = bench_cuda_type[w->dtype];
  cublasStatus_t status = cublasGemmEx(w->cublas, CUBLAS_OP_N, CUBLAS_OP_N, (int)w->n, (int)w->gpu->rows,
                                       (int)w->k, &one, w->w, type, (int)w->n, w->y, type, (int)w->k, &zero,
                                       w->z, type, (int)w->n, CUBLAS_COMPUTE_32F, CUBLAS_GEMM_DEFAULT);
  if (status != CUBLAS_STATUS_SUCCESS)
    bench_fail("cuBLAS refuses: %s", cublasGetStatusString(status));
}

static void run(const work *w, int c) {
  if (c <= APART) {
    sley_update update = SLEY_UPDATE_INIT;
    update.w = w->w;
    update.n = update.ldw = w->n;
    SLEY(sley_spmm_update(c == FUSED ? w->fused : w->apart, w->x, w->k, &update, w->z, w->n));
    return;
  }
  if (c == PRODUCT)
    SLEY(sley_spmm(w->product, 1, w->x, w->k, 0, w->y, w->k));
  else
    rival_run(&w->other, c - CUSPARSE, false);
  multiply_dense(w);
}

static sley_plan *make_plan(const work *w, sley_update_way way) {
  int64_t rows[2] = {0, w->csr->rows}, cols[2] = {0, w->csr->cols};
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  sley_plan *plan;
  options.update = way;
  SLEY(sley_plan_create(w->comm, w->matrix, rows, cols, w->k, &options, &plan));
  return plan;
}

static void prepare(work *w) {
  const size_t value = bench_dtype_bytes[w->dtype];
  sley_plan_info info;
  SLEY(sley_comm_alloc(w->comm, w->csr->cols * w->k * (int64_t)value, &w->x));
  SLEY(sley_comm_alloc(w->comm, w->k * w->n * (int64_t)value, &w->w));
  SLEY(sley_comm_alloc(w->comm, w->csr->rows * w->k * (int64_t)value, &w->y));
  SLEY(sley_comm_alloc(w->comm, w->csr->rows * w->n * (int64_t)value, &w->z));
  gpu_fill(w->x, 0, w->csr->cols, w->k, w->dtype, w->stream);
  gpu_fill(w->w, 0, w->k, w->n, w->dtype, w->stream);
  w->fused = make_plan(w, SLEY_UPDATE_FUSED);
  w->apart = make_plan(w, SLEY_UPDATE_APART);
  w->product = make_plan(w, SLEY_UPDATE_NONE);
  w->other = rival_create(w->gpu, nullptr, w->x, w->y, w->k, w->stream);
  SLEY(sley_plan_info_get(w->fused, &info));
  w->really_fused = info.update_fused;
  for (int c = 0; c < CONTENDERS; c++) {
    w->takes_part.push_back(c < CUSPARSE || w->other.ok[c - CUSPARSE]);
    if (!w->takes_part[c])
      continue;
    gpu_poison(w->z, w->csr->rows, w->n, w->dtype, w->stream);
    run(w, c);
    w->error[c] = verify(w, c > APART);
    if (w->error[c] <= 1)
      continue;
    std::printf("%s: %s on %s, k %lld, n %lld, %s: %.3g times the bound\n",
                c > APART ? "inaccurate, left out" : "WRONG", name_of(c).c_str(), w->name.c_str(),
                (long long)w->k, (long long)w->n, bench_dtype_name[w->dtype], w->error[c]);
    w->takes_part[c] = c == PRODUCT; /* cuBLAS may sum in 16 bits; it is timed nevertheless */
    w->j->wrong |= c <= APART;
  }
}

static void report(work *w) {
  totals *sum = &w->j->sum[w->dtype];
  int best = 0;
  for (int c = PRODUCT; c < CONTENDERS; c++)
    if (w->takes_part[c] && (best == 0 || w->stats[c].median < w->stats[best].median))
      best = c;
  const double fused = w->stats[FUSED].median, apart = w->stats[APART].median,
               rival = best ? w->stats[best].median : 0;
  const std::string what =
      bench_format("%s, k %lld, n %lld", w->name.c_str(), (long long)w->k, (long long)w->n);
  std::printf("%-34s %8lld %9lld %4lld %4lld %-4s %s fused %8.4f apart %8.4f rival %8.4f (%s)  %.3f %.3f\n",
              w->name.c_str(), (long long)w->gpu->rows, (long long)w->gpu->nnz, (long long)w->k,
              (long long)w->n, bench_dtype_name[w->dtype], w->really_fused ? " " : "NOT", fused, apart, rival,
              best ? name_of(best).c_str() : "none", apart / fused, rival / fused);
  std::fflush(stdout);
  std::string line = bench_format(
      "{\"record\": \"case\", \"bench\": \"update_gpu\", \"matrix\": \"%s\", \"rows\": %lld, \"nnz\": %lld, "
      "\"k\": %lld, \"n\": %lld, \"dtype\": \"%s\", \"is_fused\": %s, \"best\": \"%s\"",
      w->name.c_str(), (long long)w->gpu->rows, (long long)w->gpu->nnz, (long long)w->k, (long long)w->n,
      bench_dtype_name[w->dtype], w->really_fused ? "true" : "false", best ? name_of(best).c_str() : "");
  for (int c = 0; c < CONTENDERS; c++)
    if (w->takes_part[c])
      line += bench_format(", \"%s\": {\"ms\": %s, \"error\": %.4f}", name_of(c).c_str(),
                           json_stats(w->stats[c]).c_str(), w->error[c]);
  json_line(w->j->set->json, line + bench_format(", \"apart_over_fused\": %.4f, \"rival_over_fused\": %.4f}",
                                                 apart / fused, rival / fused));
  bench_add_ratio(&sum->apart, apart / fused, what);
  if (best)
    bench_add_ratio(&sum->rival, rival / fused, what);
}

static void run_case(work *w) {
  prepare(w);
  const settings *set = w->j->set;
  w->stats =
      bench_turns(w->takes_part, set->warmup, set->repeat, ENQUEUED, w->stream, [&](int c) { run(w, c); });
  report(w);
  rival_destroy(&w->other);
  sley_plan_destroy(w->fused);
  sley_plan_destroy(w->apart);
  sley_plan_destroy(w->product);
  for (void *block : {w->x, w->w, w->y, w->z})
    sley_comm_free(w->comm, block);
}

static void run_matrix(work base, const std::string &name, const std::vector<std::pair<int, int>> &shapes) {
  double seconds;
  sley_matrix *read = bench_matrix(name, nullptr, &seconds);
  sley_csr csr;
  SLEY(sley_matrix_csr(read, &csr));
  for (bench_dtype dtype : base.j->set->dtypes) {
    work w = base;
    void *values =
        dtype == BENCH_F32 ? nullptr : bench_values((const float *)csr.val, csr.rowptr[csr.rows], dtype);
    sley_csr typed = csr;
    typed.dtype = bench_sley_dtype[dtype];
    typed.val = values ? values : csr.val;
    gpu_csr gpu =
        gpu_csr_upload(csr.rows, csr.cols, csr.rowptr, (const int32_t *)csr.col, typed.val, dtype, nullptr);
    SLEY(sley_matrix_from_csr(&typed, SLEY_BORROW, &w.matrix));
    w.name = name;
    w.csr = &typed;
    w.gpu = &gpu;
    w.dtype = dtype;
    for (const auto &shape : shapes) {
      w.k = shape.first;
      w.n = shape.second;
      run_case(&w);
    }
    sley_matrix_destroy(w.matrix);
    gpu_csr_free(&gpu);
    std::free(values);
  }
  sley_matrix_destroy(read);
}

/* Draws a matrix of some kind. Most widths are multiples of 4 or powers of 2, as in layers. */
static std::string draw_matrix(std::mt19937_64 &draw) {
  const int seed = (int)(draw() % 1000000);
  switch (draw() % 4) {
  case 0:
    return bench_format("rmat:scale=%d,edgefactor=%d,seed=%d", 15 + (int)(draw() % 5), 2 + (int)(draw() % 15),
                        seed);
  case 1:
    return bench_format("band:n=%d,width=%d", 20000 + (int)(draw() % 1000000), 1 + (int)(draw() % 8));
  default: {
    static const char *const twins[] = {"cyt", "clj", "prd", "cok", "slj"};
    static const double scales[] = {0.5, 0.2, 0.15, 0.2, 0.1};
    const int twin = (int)(draw() % 5);
    return bench_format("twin:%s:scale=%.3f", twins[twin],
                        scales[twin] * (0.2 + 0.8 * (double)(draw() % 100) / 100));
  }
  }
}

static int draw_width(std::mt19937_64 &draw) {
  const int width = 32 + (int)(draw() % 97);
  switch (draw() % 4) {
  case 0:
    return width;
  case 1:
    return (width + 3) / 4 * 4;
  default:
    return 32 << draw() % 3;
  }
}

static sley_status rank_main(sley_comm *comm, void *arg) {
  job *j = (job *)arg;
  const settings *set = j->set;
  work w = {};
  w.j = j;
  w.comm = comm;
  CUDA(cudaStreamCreateWithFlags(&w.stream, cudaStreamNonBlocking));
  SLEY(sley_comm_set_stream(comm, w.stream));
  if (cublasCreate(&w.cublas) != CUBLAS_STATUS_SUCCESS ||
      cublasSetStream(w.cublas, w.stream) != CUBLAS_STATUS_SUCCESS)
    bench_fail("cuBLAS cannot be used");
  std::printf("# matrix, rows, entries, k, n, dtype, ms, apart / fused, rival / fused\n");
  std::vector<std::pair<int, int>> shapes;
  for (int k : set->widths)
    for (int n : set->results)
      shapes.push_back({k, n});
  for (const std::string &name : set->matrices)
    run_matrix(w, name, shapes);
  std::mt19937_64 draw(set->seed);
  for (int i = 0; i < set->cases && set->matrices.empty(); i++) {
    const std::string name = draw_matrix(draw);
    const int k = draw_width(draw), n = draw_width(draw);
    run_matrix(w, name, {{k, n}});
  }
  cublasDestroy(w.cublas);
  SLEY(sley_comm_set_stream(comm, nullptr));
  CUDA(cudaStreamDestroy(w.stream));
  return SLEY_OK;
}

static settings parse(int argc, char **argv) {
  settings set = {};
  const char *widths = "32,64,128", *results = "32,64,128", *dtypes = "f32", *matrices = "";
  set.seed = std::random_device()();
  set.cases = 20;
  set.repeat = 20;
  set.warmup = 3;
  bench_options(argc, argv,
                {bench_seed(&set.seed), bench_number("cases", &set.cases, 0),
                 bench_text("matrices", "LIST", &matrices), bench_text("k", "LIST", &widths),
                 bench_text("n", "LIST", &results), bench_text("dtype", "LIST", &dtypes),
                 bench_number("repeat", &set.repeat, 1), bench_number("warmup", &set.warmup, 0),
                 bench_json(&set.json, "a")});
  set.matrices = bench_list(matrices, ";");
  set.widths = bench_numbers(widths);
  set.results = bench_numbers(results);
  set.dtypes = bench_dtypes(dtypes, {BENCH_F32, BENCH_F16, BENCH_BF16});
  return set;
}

int main(int argc, char **argv) {
  settings set = parse(argc, argv);
  job j = {};
  j.set = &set;
  std::printf("# seed %llu\n", (unsigned long long)set.seed);
  json_environment(set.json, "update_gpu");
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.device = "cuda";
  SLEY(sley_run_ranks(&options, rank_main, &j));
  for (bench_dtype dtype : set.dtypes) {
    const totals &t = j.sum[dtype];
    if (t.apart.all.empty())
      continue;
    std::printf("# %s, %zu cases: apart / fused geomean %.3f, worst %.3f (%s)", bench_dtype_name[dtype],
                t.apart.all.size(), bench_geomean(t.apart.all), t.apart.worst, t.apart.worst_case.c_str());
    if (!t.rival.all.empty())
      std::printf("; rival / fused geomean %.3f, worst %.3f (%s)", bench_geomean(t.rival.all), t.rival.worst,
                  t.rival.worst_case.c_str());
    std::printf("\n");
    json_line(set.json,
              bench_format("{\"record\": \"summary\", \"bench\": \"update_gpu\", \"seed\": %llu, \"dtype\": "
                           "\"%s\", \"cases\": %zu, \"apart_over_fused\": %.4f, \"rival_over_fused\": %.4f}",
                           (unsigned long long)set.seed, bench_dtype_name[dtype], t.apart.all.size(),
                           bench_geomean(t.apart.all), bench_geomean(t.rival.all)));
  }
  if (set.json)
    std::fclose(set.json);
  return j.wrong ? 1 : 0;
}
