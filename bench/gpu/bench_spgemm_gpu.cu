/* SPDX-License-Identifier: Apache-2.0 */
/* One GPU: the sparse product A A by Sley and by each of cuSPARSE's algorithms, on the same operands, in
 * turn.
 *
 *   bench_spgemm_gpu [--seed S] [--cases N] [--matrices LIST] [--dtype f32,f64] [--repeat 5] [--verify 0|1]
 *                    [--gpus G] [--cache FOLDER] [--json FILE]
 *
 * LIST: matrices, separated by semicolons. Without --matrices: R-MAT 16 and 18 with 8 entries per row, a band
 * of 9 diagonals over 10^6 rows, and N more drawn by the seed: R-MAT, bands, uniform matrices and the twins
 * of known graphs. The seed is printed; without --seed it comes from the clock.
 *
 * A call's time is measured on the host, from operands in the GPU's memory to C there, including all
 * allocations: each side calls the device's allocation for itself. Its memory is the larger of what the
 * kernel counted, including C, and what a watch saw on the whole GPU while it ran once more; operands are not
 * included. All results must have the same row pointers, or the program ends with status 1; whether columns
 * are equal, and how much values differ, is printed. --verify 1: Sley's product is also compared with float64
 * sums on the host. Ratios are cuSPARSE's best time, or the memory of that algorithm, divided by Sley's;
 * cases that cuSPARSE refuses are listed and not in the means. --gpus: also measures G GPUs, each of which
 * has A and computes a run of C's rows; the time includes the division of rows on the host. */
#include <algorithm>
#include <atomic>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <random>
#include <thread>

#include "common.h"
#include "sparse_product.h"

enum { CONTENDERS = 4 };
static const char *const contender[CONTENDERS] = {nullptr, "cusparse", "cusparse-alg2", "cusparse-alg3"};

struct settings {
  uint64_t seed;
  int cases, repeat, gpus;
  bool verify;
  std::vector<std::string> matrices;
  std::vector<bench_dtype> dtypes;
  const char *cache;
  FILE *json;
};

/* Measurements of a contender. */
struct outcome {
  bool ok;
  std::string why_not;
  bench_stats ms;
  double bytes;
  int64_t nnz, products;
  bool same_columns;
  double apart; /* largest difference of values, relative to the larger of 1 and the value */
};

struct totals {
  bench_ratios time, memory;
  int refused;
  std::vector<double> together; /* one GPU's time over that of several */
};

struct bench {
  const settings *set;
  std::vector<sparse_product_place *> places; /* one per GPU */
  sparse_product_place *place;                /* the first GPU's */
  totals sum[BENCH_DTYPES];
  bool wrong;
};

/* ---- products */

static void *copy_to_gpu(const void *host, int64_t bytes) {
  void *there;
  CUDA(cudaMalloc(&there, (size_t)bytes + 1));
  CUDA(cudaMemcpy(there, host, (size_t)bytes, cudaMemcpyHostToDevice));
  return there;
}

static sley_csr upload(const sley_csr &host, const void *val, bench_dtype dtype) {
  const int64_t entries = host.rowptr[host.rows];
  sley_csr there = host;
  there.rowptr = (const int64_t *)copy_to_gpu(host.rowptr, (host.rows + 1) * 8);
  there.col = copy_to_gpu(host.col, entries * 4);
  there.val = copy_to_gpu(val, entries * (int64_t)bench_dtype_bytes[dtype]);
  there.dtype = bench_sley_dtype[dtype];
  return there;
}

static void drop(const sley_csr &there) {
  CUDA(cudaFree((void *)there.rowptr));
  CUDA(cudaFree((void *)there.col));
  CUDA(cudaFree((void *)there.val));
}

static sley_status multiply(const bench *b, const sley_csr &a, int c, sparse_product *out) {
  return sparse_product_make(b->place, &a, contender[c], out);
}

static size_t free_bytes() {
  size_t now, total;
  CUDA(cudaMemGetInfo(&now, &total));
  return now;
}

/* Most bytes allocated on the GPU while a contender ran once, beyond those before. */
static double watched_bytes(const bench *b, const sley_csr &a, int c) {
  const size_t before = free_bytes();
  size_t least = before;
  sparse_product made;
  std::atomic<bool> ends(false);
  std::thread watch([&] {
    while (!ends.load())
      least = std::min(least, free_bytes());
  });
  const sley_status status = multiply(b, a, c, &made);
  ends.store(true);
  watch.join();
  if (status == SLEY_OK)
    sparse_product_free(b->place, &made);
  return (double)(before - least);
}

/* ---- comparison */

struct difference {
  unsigned long long pointers, columns;
  unsigned long long apart; /* bits of a double */
};

static __device__ int64_t number_of_thread() {
  return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __global__ void compare_pointers(int64_t count, const int64_t *x, const int64_t *y, difference *d) {
  const int64_t i = number_of_thread();
  if (i < count && x[i] != y[i])
    atomicAdd(&d->pointers, 1ull);
}

template <class T>
__global__ void compare_entries(int64_t count, const int32_t *x_col, const T *x, const int32_t *y_col,
                                const T *y, difference *d) {
  const int64_t i = number_of_thread();
  if (i >= count)
    return;
  if (x_col[i] != y_col[i])
    atomicAdd(&d->columns, 1ull);
  const double a = (double)x[i], b = (double)y[i];
  atomicMax(&d->apart, (unsigned long long)__double_as_longlong(fabs(a - b) / fmax(1.0, fabs(a))));
}

static difference compare(int64_t rows, bench_dtype dtype, const sparse_product &x, const sparse_product &y) {
  enum { BLOCK = 256 };
  difference *d, out;
  CUDA(cudaMalloc(&d, sizeof *d));
  CUDA(cudaMemset(d, 0, sizeof *d));
  compare_pointers<<<(unsigned)((rows + BLOCK) / BLOCK), BLOCK>>>(rows + 1, x.rowptr, y.rowptr, d);
  const unsigned blocks = (unsigned)((x.nnz + BLOCK - 1) / BLOCK);
  if (x.nnz == y.nnz && x.nnz > 0 && dtype == BENCH_F64)
    compare_entries<<<blocks, BLOCK>>>(x.nnz, (const int32_t *)x.col, (const double *)x.val,
                                       (const int32_t *)y.col, (const double *)y.val, d);
  else if (x.nnz == y.nnz && x.nnz > 0)
    compare_entries<<<blocks, BLOCK>>>(x.nnz, (const int32_t *)x.col, (const float *)x.val,
                                       (const int32_t *)y.col, (const float *)y.val, d);
  CUDA(cudaMemcpy(&out, d, sizeof out, cudaMemcpyDeviceToHost));
  CUDA(cudaFree(d));
  return out;
}

/* ---- a case */

/* The first run, which loads code, is not timed; its result is compared with Sley's. */
static void try_out(bench *b, const sley_csr &a, bench_dtype dtype, int c, const sparse_product &own,
                    outcome *o) {
  sparse_product made;
  *o = outcome{};
  if (multiply(b, a, c, &made) != SLEY_OK) {
    o->why_not = sley_last_error();
    return;
  }
  const difference d = compare(a.rows, dtype, own, made);
  o->ok = true;
  o->nnz = made.nnz;
  o->products = made.products;
  o->bytes = (double)made.peak;
  o->same_columns = d.columns == 0;
  std::memcpy(&o->apart, &d.apart, sizeof o->apart);
  if (made.nnz != own.nnz || d.pointers > 0) {
    std::printf("WRONG: %s has %lld entries, Sley %lld; %llu row pointers differ\n", contender[c],
                (long long)made.nnz, (long long)own.nnz, d.pointers);
    b->wrong = true;
  }
  sparse_product_free(b->place, &made);
}

static void time_all(const bench *b, const sley_csr &a, outcome *o) {
  std::vector<double> ms[CONTENDERS];
  for (int r = 0; r < b->set->repeat; r++)
    for (int turn = 0; turn < CONTENDERS;
         turn++) { /* each is first equally often, because earlier frees affect the next run */
      const int c = (turn + r) % CONTENDERS;
      sparse_product made;
      if (!o[c].ok)
        continue;
      CUDA(cudaDeviceSynchronize());
      const double begin = bench_now();
      const sley_status status = multiply(b, a, c, &made);
      ms[c].push_back(1e3 * (bench_now() - begin));
      SLEY(status);
      sparse_product_free(b->place, &made);
    }
  for (int c = 0; c < CONTENDERS; c++)
    if (o[c].ok) {
      o[c].ms = bench_statistics(ms[c]);
      o[c].bytes = std::max(o[c].bytes, watched_bytes(b, a, c));
    }
}

static void report(bench *b, const std::string &name, const sley_csr &a, bench_dtype dtype,
                   const outcome *o) {
  int best = 0;
  std::printf("%s %s: %lld rows, %lld products, %lld entries of C\n", name.c_str(), bench_dtype_name[dtype],
              (long long)a.rows, (long long)o[0].products, (long long)o[0].nnz);
  for (int c = 0; c < CONTENDERS; c++) {
    const char *who = c == 0 ? "sley" : contender[c];
    if (!o[c].ok) {
      std::printf("  %-14s refuses: %s\n", who, o[c].why_not.c_str());
      continue;
    }
    std::printf("  %-14s %10.3f ms (least %.3f)  %8.3f GiB  columns %s, values within %.1e\n", who,
                o[c].ms.median, o[c].ms.min, o[c].bytes / (1 << 30), o[c].same_columns ? "same" : "DIFFER",
                o[c].apart);
    json_line(
        b->set->json,
        bench_format("{\"record\": \"product\", \"bench\": \"spgemm_gpu\", \"matrix\": \"%s\", \"dtype\": "
                     "\"%s\", \"by\": \"%s\", \"products\": %lld, \"nnz\": %lld, \"ms\": %.5f, \"least_ms\": "
                     "%.5f, \"bytes\": %.0f}",
                     name.c_str(), bench_dtype_name[dtype], who, (long long)o[c].products,
                     (long long)o[c].nnz, o[c].ms.median, o[c].ms.min, o[c].bytes));
    if (c > 0 && (best == 0 || o[c].ms.median < o[best].ms.median))
      best = c;
  }
  totals *t = &b->sum[dtype];
  t->refused += best == 0;
  if (best == 0)
    return;
  bench_add_ratio(&t->time, o[best].ms.median / o[0].ms.median, name);
  bench_add_ratio(&t->memory, o[best].bytes / o[0].bytes, name);
}

static void verify(bench *b, const sley_csr &host, const std::string &name) {
  sley_spgemm_options options = SLEY_SPGEMM_OPTIONS_INIT;
  sley_matrix *a, *c;
  sley_check check;
  options.device = "cuda";
  SLEY(sley_matrix_from_csr(&host, SLEY_BORROW, &a));
  SLEY(sley_spgemm(a, a, &options, &c, nullptr));
  SLEY(sley_check_spgemm(a, a, &options, c, &check));
  if (!check.ok) {
    std::printf("WRONG: %s at row %lld, column %lld\n", name.c_str(), (long long)check.row,
                (long long)check.col);
    b->wrong = true;
  }
  sley_matrix_destroy(c);
  sley_matrix_destroy(a);
}

/* Compares several GPUs with one. */
static void run_together(bench *b, const std::string &name, const sley_csr &host, void *val,
                         bench_dtype dtype, const outcome &one) {
  const int gpus = b->set->gpus;
  std::vector<sley_csr> there;
  std::vector<sparse_product> made((size_t)gpus);
  std::vector<double> ms;
  double bytes = 0;
  for (int g = 0; g < gpus; g++) {
    CUDA(cudaSetDevice(g));
    there.push_back(upload(host, val, dtype));
    CUDA(cudaDeviceSynchronize());
  }
  for (int r = -1; r < b->set->repeat; r++) { /* the first run is not counted */
    int64_t nnz = 0;
    const double begin = bench_now();
    SLEY(sparse_product_make_together(b->places.data(), gpus, &host, there.data(), made.data()));
    if (r >= 0)
      ms.push_back(1e3 * (bench_now() - begin));
    for (int g = 0; g < gpus; g++) {
      nnz += made[(size_t)g].nnz;
      bytes = std::max(bytes, (double)made[(size_t)g].peak);
      sparse_product_free(b->places[(size_t)g], &made[(size_t)g]);
    }
    if (nnz != one.nnz) {
      std::printf("WRONG: %d GPUs made %lld entries, one %lld\n", gpus, (long long)nnz, (long long)one.nnz);
      b->wrong = true;
    }
  }
  for (int g = 0; g < gpus; g++) {
    CUDA(cudaSetDevice(g));
    drop(there[(size_t)g]);
  }
  CUDA(cudaSetDevice(0));
  const bench_stats t = bench_statistics(ms);
  std::printf("  sley on %d GPUs  %8.3f ms (least %.3f)  %8.3f GiB  %.2f times as fast as one\n", gpus,
              t.median, t.min, bytes / (1 << 30), one.ms.median / t.median);
  b->sum[dtype].together.push_back(one.ms.median / t.median);
  json_line(
      b->set->json,
      bench_format("{\"record\": \"together\", \"bench\": \"spgemm_gpu\", \"matrix\": \"%s\", \"dtype\": "
                   "\"%s\", \"gpus\": %d, \"ms\": %.5f, \"least_ms\": %.5f, \"bytes\": %.0f, "
                   "\"one_ms\": %.5f}",
                   name.c_str(), bench_dtype_name[dtype], gpus, t.median, t.min, bytes, one.ms.median));
}

static void run_case(bench *b, const std::string &name, const sley_csr &host, bench_dtype dtype) {
  outcome o[CONTENDERS];
  sparse_product own;
  void *val = bench_values((const float *)host.val, host.rowptr[host.rows], dtype);
  const sley_csr a = upload(host, val, dtype);
  if (multiply(b, a, 0, &own) != SLEY_OK)
    bench_fail("%s: %s", name.c_str(), sley_last_error());
  for (int c = 0; c < CONTENDERS; c++)
    try_out(b, a, dtype, c, own, &o[c]);
  sparse_product_free(b->place, &own);
  time_all(b, a, o);
  report(b, name, a, dtype, o);
  drop(a);
  if (b->set->gpus > 1) {
    sley_csr whole = host;
    whole.dtype = bench_sley_dtype[dtype];
    run_together(b, name, whole, val, dtype, o[0]);
  }
  if (b->set->verify) {
    sley_csr whole = host;
    whole.val = val;
    whole.dtype = bench_sley_dtype[dtype];
    verify(b, whole, name);
  }
  std::free(val);
}

static void run_matrix(bench *b, const std::string &name) {
  double seconds;
  sley_csr host;
  sley_matrix *matrix = bench_matrix(name, b->set->cache, &seconds);
  SLEY(sley_matrix_csr(matrix, &host));
  if (host.rows == host.cols && host.index == SLEY_I32)
    for (bench_dtype dtype : b->set->dtypes)
      run_case(b, name, host, dtype);
  else
    std::printf("%s is not square, or too wide: left out\n", name.c_str());
  sley_matrix_destroy(matrix);
}

/* ---- the program */

static std::string draw_matrix(std::mt19937_64 &draw) {
  const int seed = (int)(draw() % 1000000);
  switch (draw() % 4) {
  case 0:
    return bench_format("rmat:scale=%d,edgefactor=%d,seed=%d", 13 + (int)(draw() % 5), 2 + (int)(draw() % 11),
                        seed);
  case 1:
    return bench_format("band:n=%d,width=%d", 20000 + (int)(draw() % 1000000), 1 + (int)(draw() % 12));
  case 2: {
    const int n = 20000 + (int)(draw() % 1000000);
    return bench_format("er:n=%d,nnz=%lld,seed=%d", n, (long long)n * (2 + (int)(draw() % 15)), seed);
  }
  default: {
    static const char *const twins[] = {"cyt", "clj", "prd"};
    static const double scales[] = {0.1, 0.03, 0.02};
    const int twin = (int)(draw() % 3);
    return bench_format("twin:%s:scale=%.3f", twins[twin],
                        scales[twin] * (0.3 + 0.7 * (double)(draw() % 100) / 100));
  }
  }
}

static std::vector<std::string> names_of(const settings &set) {
  if (!set.matrices.empty())
    return set.matrices;
  std::vector<std::string> names = {"rmat:scale=16,edgefactor=8", "rmat:scale=18,edgefactor=8",
                                    "band:n=1000000,width=4"};
  std::mt19937_64 draw(set.seed);
  for (int i = 0; i < set.cases; i++)
    names.push_back(draw_matrix(draw));
  return names;
}

static settings parse(int argc, char **argv) {
  settings set = {};
  const char *dtypes = "f32", *matrices = "";
  int verify = 0;
  set.seed = std::random_device()();
  set.cases = 12;
  set.repeat = 5;
  bench_options(argc, argv,
                {bench_seed(&set.seed), bench_number("cases", &set.cases, 0),
                 bench_text("matrices", "LIST", &matrices), bench_text("dtype", "LIST", &dtypes),
                 bench_number("repeat", &set.repeat, 1), bench_number("verify", &verify, 0),
                 bench_number("gpus", &set.gpus, 0), bench_text("cache", "FOLDER", &set.cache),
                 bench_json(&set.json, "a")});
  set.matrices = bench_list(matrices, ";");
  set.dtypes = bench_dtypes(dtypes, {BENCH_F32, BENCH_F64});
  set.verify = verify != 0;
  return set;
}

static void summarise(const bench &b, bench_dtype dtype) {
  const totals &t = b.sum[dtype];
  if (t.time.all.empty())
    return;
  std::printf(
      "# %s, %zu cases, %d more that cuSPARSE refuses: cuSPARSE's best / Sley: time geomean %.3f, worst %.3f "
      "(%s); memory geomean %.3f, worst %.3f (%s)\n",
      bench_dtype_name[dtype], t.time.all.size(), t.refused, bench_geomean(t.time.all), t.time.worst,
      t.time.worst_case.c_str(), bench_geomean(t.memory.all), t.memory.worst, t.memory.worst_case.c_str());
  if (!t.together.empty())
    std::printf("# %s on %d GPUs: times as fast as one: geomean %.3f, worst %.3f\n", bench_dtype_name[dtype],
                b.set->gpus, bench_geomean(t.together),
                *std::min_element(t.together.begin(), t.together.end()));
  json_line(
      b.set->json,
      bench_format("{\"record\": \"summary\", \"bench\": \"spgemm_gpu\", \"seed\": %llu, \"dtype\": \"%s\", "
                   "\"cases\": %zu, \"refused\": %d, \"time_ratio\": %.4f, \"worst_time_ratio\": %.4f, "
                   "\"memory_ratio\": %.4f, \"worst_memory_ratio\": %.4f}",
                   (unsigned long long)b.set->seed, bench_dtype_name[dtype], t.time.all.size(), t.refused,
                   bench_geomean(t.time.all), t.time.worst, bench_geomean(t.memory.all), t.memory.worst));
}

int main(int argc, char **argv) {
  const settings set = parse(argc, argv);
  bench b = {};
  b.set = &set;
  b.places.resize((size_t)std::max(set.gpus, 1));
  for (size_t g = 0; g < b.places.size(); g++)
    SLEY(sparse_product_open((int)g, &b.places[g]));
  b.place = b.places[0];
  CUDA(cudaSetDevice(0));
  std::printf("# seed %llu\n", (unsigned long long)set.seed);
  json_environment(set.json, "spgemm_gpu");
  for (const std::string &name : names_of(set))
    run_matrix(&b, name);
  for (bench_dtype dtype : set.dtypes)
    summarise(b, dtype);
  for (sparse_product_place *place : b.places)
    sparse_product_close(place);
  if (set.json)
    std::fclose(set.json);
  return b.wrong ? 1 : 0;
}
