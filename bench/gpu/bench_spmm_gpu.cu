/* SPDX-License-Identifier: Apache-2.0 */
/* One GPU: Sley beside every cuSPARSE CSR algorithm, on the same operands and stream, turn by turn.
 *
 *   bench_spmm_gpu [--matrices cyt,clj,prd,cok,slj,red] [--k 16,32,64,128,256] [--dtype f32,f64,f16,bf16]
 *                  [--repeat 20] [--warmup 3] [--cache DIR] [--json FILE]
 *
 * Every product that is timed is verified: all of Y by sums of doubles on the GPU, a few rows on the host
 * too. Exit 1 if one is wrong; but where values have 16 bits some of cuSPARSE's algorithms add sums that they
 * have rounded to 16 bits before, which is said, and they count as its others do. Times: CUDA events around
 * each call on one stream. inspection: sley_plan_create as seen by the host, with the copy of A to the GPU in
 * it; upload: that copy alone, for comparison. */
#include <cmath>
#include <cstdlib>
#include <cstring>

#include "common.h"
#include "rival.h"

struct settings {
  std::vector<std::string> matrices;
  std::vector<int> widths;
  std::vector<bench_dtype> dtypes;
  int repeat, warmup;
  const char *cache;
  FILE *json;
};

/* What all cases add up to. */
struct summary {
  std::vector<double> ratio[BENCH_DTYPES];
  std::string worst_case[BENCH_DTYPES];
  double worst[BENCH_DTYPES];
  double most_inspection;
  bool wrong;
};

struct job {
  const settings *set;
  summary sum;
};

struct host_csr {
  std::string name;
  sley_csr csr;
  bench_dtype dtype;
  const void *val;
};

/* Sley's side of a case. */
struct contender {
  sley_matrix *matrix;
  sley_plan *plan;
  double plan_ms;
};

static sley_plan *make_plan(sley_comm *comm, const sley_matrix *matrix, const sley_csr *csr, int64_t k) {
  int64_t rows[2] = {0, csr->rows}, cols[2] = {0, csr->cols};
  sley_plan *plan;
  SLEY(sley_plan_create(comm, matrix, rows, cols, k, nullptr, &plan));
  return plan;
}

static contender contender_create(sley_comm *comm, const host_csr *a, int64_t k) {
  contender c = {};
  sley_csr csr = a->csr;
  csr.dtype = bench_sley_dtype[a->dtype];
  csr.val = a->val;
  SLEY(sley_matrix_from_csr(&csr, SLEY_BORROW, &c.matrix));
  SLEY(sley_comm_wait(comm));
  double begin = bench_now();
  c.plan = make_plan(comm, c.matrix, &csr, k);
  SLEY(sley_comm_wait(comm));
  c.plan_ms = 1e3 * (bench_now() - begin);
  return c;
}

static void contender_destroy(contender *c) {
  sley_plan_destroy(c->plan);
  sley_matrix_destroy(c->matrix);
}

/* Verifies what is in y, which contender c computed. */
static double verified(job *j, int c, const host_csr *a, const gpu_csr *gpu, const void *x, const void *y,
                       int64_t k, cudaStream_t stream) {
  double worst = gpu_check(gpu, x, y, k, stream);
  double rows =
      gpu_check_rows(a->csr.rows, a->csr.rowptr, (const int32_t *)a->csr.col, a->val, y, k, a->dtype, 16);
  worst = worst > rows ? worst : rows;
  bool lax = c > 0 && bench_dtype_bytes[a->dtype] == 2;
  if (!(worst <= 1))
    std::printf("%s: %s on %s, k = %lld, %s: %.3g times the bound\n", lax ? "inaccurate" : "WRONG",
                c ? rival_name[c - 1] : "sley", a->name.c_str(), (long long)k, bench_dtype_name[a->dtype],
                worst);
  if (!(worst <= 1) && (!lax || std::isnan(worst)))
    j->sum.wrong = true;
  return worst;
}

static void run_case(job *j, sley_comm *comm, cudaStream_t stream, const host_csr *a, const gpu_csr *gpu,
                     double upload_ms, int64_t k) {
  const settings *set = j->set;
  size_t value = bench_dtype_bytes[a->dtype];
  void *x, *y;
  SLEY(sley_comm_alloc(comm, (int64_t)((size_t)(a->csr.cols * k) * value), &x));
  SLEY(sley_comm_alloc(comm, (int64_t)((size_t)(a->csr.rows * k) * value), &y));
  gpu_fill(x, 0, a->csr.cols, k, a->dtype, stream);
  contender sley = contender_create(comm, a, k);
  rival other = rival_create(gpu, x, y, k, stream);

  /* Contender 0 is Sley, 1 + i cuSPARSE's algorithm i. */
  enum { CONTENDERS = 1 + RIVALS };
  bool takes_part[CONTENDERS];
  double error[CONTENDERS] = {};
  gpu_timer timer[CONTENDERS];
  for (int c = 0; c < CONTENDERS; c++) {
    takes_part[c] = c == 0 ? sley.plan != nullptr : other.ok[c - 1];
    timer[c] = gpu_timer_create(set->repeat);
  }
  auto multiply = [&](int c) {
    if (c == 0)
      SLEY(sley_spmm(sley.plan, 1, x, k, 0, y, k));
    else
      rival_run(&other, c - 1, false);
  };
  for (int c = 0; c < CONTENDERS; c++) {
    if (!takes_part[c])
      continue;
    gpu_poison(y, a->csr.rows, k, a->dtype, stream);
    multiply(c);
    error[c] = verified(j, c, a, gpu, x, y, k, stream);
  }
  for (int round = -set->warmup; round < set->repeat; round++)
    for (int turn = 0; turn < CONTENDERS; turn++) {
      int c = (turn + round + set->warmup) % CONTENDERS;
      if (!takes_part[c])
        continue;
      if (round >= 0)
        gpu_timer_begin(&timer[c], stream);
      multiply(c);
      if (round >= 0)
        gpu_timer_end(&timer[c], stream);
    }
  CUDA(cudaStreamSynchronize(stream));

  bench_stats stats[CONTENDERS];
  int best = 0;
  for (int c = 0; c < CONTENDERS; c++) {
    stats[c] = bench_statistics(gpu_timer_ms(&timer[c]));
    gpu_timer_destroy(&timer[c]);
    if (c > 0 && takes_part[c] && (best == 0 || stats[c].median < stats[best].median))
      best = c;
  }
  double nnz = (double)gpu->nnz;
  std::string line = bench_format("{\"record\": \"case\", \"bench\": \"spmm_gpu\", \"matrix\": \"%s\", "
                                  "\"rows\": %lld, \"nnz\": %lld, \"k\": %lld, "
                                  "\"dtype\": \"%s\", \"upload_ms\": %.4f",
                                  a->name.c_str(), (long long)a->csr.rows, (long long)gpu->nnz, (long long)k,
                                  bench_dtype_name[a->dtype], upload_ms);
  if (takes_part[0])
    line += bench_format(", \"sley\": {\"ms\": %s, \"plan_ms\": %.4f, \"error\": %.4f}",
                         json_stats(stats[0]).c_str(), sley.plan_ms, error[0]);
  for (int c = 1; c < CONTENDERS; c++)
    if (takes_part[c])
      line += bench_format(
          ", \"cusparse_%s\": {\"ms\": %s, \"preprocess_ms\": %.4f, \"buffer_bytes\": %zu, \"error\": %.4f}",
          rival_name[c - 1], json_stats(stats[c]).c_str(), other.preprocess_ms[c - 1],
          other.buffer_bytes[c - 1], error[c]);
  std::printf("%-6s %4lld %-5s", a->name.c_str(), (long long)k, bench_dtype_name[a->dtype]);
  if (best)
    std::printf("  cusparse %9.4f (%-7s)", stats[best].median, rival_name[best - 1]);
  if (takes_part[0]) {
    double inspection = (sley.plan_ms - upload_ms) / stats[0].median;
    std::printf("  sley %9.4f ms (p95 %9.4f)  %7.1f GFLOP/s  inspection %6.1f (with the copy of A %6.1f)",
                stats[0].median, stats[0].p95, 2 * nnz * (double)k / stats[0].median / 1e6, inspection,
                sley.plan_ms / stats[0].median);
    j->sum.most_inspection = inspection > j->sum.most_inspection ? inspection : j->sum.most_inspection;
  }
  if (best && takes_part[0]) {
    double ratio = stats[best].median / stats[0].median;
    line += bench_format(", \"best\": \"%s\", \"ratio\": %.4f", rival_name[best - 1], ratio);
    std::printf("  ratio %.3f", ratio);
    std::vector<double> *all = &j->sum.ratio[a->dtype];
    if (all->empty() || ratio < j->sum.worst[a->dtype]) {
      j->sum.worst[a->dtype] = ratio;
      j->sum.worst_case[a->dtype] = bench_format("%s, k = %lld", a->name.c_str(), (long long)k);
    }
    all->push_back(ratio);
  }
  std::printf("\n");
  std::fflush(stdout);
  json_line(set->json, line + "}");
  rival_destroy(&other);
  contender_destroy(&sley);
  sley_comm_free(comm, y);
  sley_comm_free(comm, x);
}

/* A first plan and product load the code, which the first case is not to pay for. */
static void start_up(sley_comm *comm) {
  sley_matrix *matrix;
  sley_csr csr;
  void *x, *y;
  SLEY(sley_matrix_read("er:n=1000,nnz=9000", nullptr, &matrix));
  SLEY(sley_matrix_csr(matrix, &csr));
  SLEY(sley_comm_alloc(comm, 1000 * 32 * 4, &x));
  SLEY(sley_comm_alloc(comm, 1000 * 32 * 4, &y));
  gpu_fill(x, 0, 1000, 32, BENCH_F32, nullptr);
  CUDA(cudaDeviceSynchronize());
  sley_plan *plan = make_plan(comm, matrix, &csr, 32);
  SLEY(sley_spmm(plan, 1, x, 32, 0, y, 32));
  SLEY(sley_comm_wait(comm));
  sley_plan_destroy(plan);
  sley_comm_free(comm, y);
  sley_comm_free(comm, x);
  sley_matrix_destroy(matrix);
}

static void run_matrix(job *j, sley_comm *comm, cudaStream_t stream, const std::string &name) {
  double seconds;
  sley_matrix *matrix = bench_matrix(name, j->set->cache, &seconds);
  host_csr a = {};
  a.name = name;
  SLEY(sley_matrix_csr(matrix, &a.csr));
  if (a.csr.index != SLEY_I32)
    bench_fail("%s: its columns need 64 bits, which cuSPARSE's products here do not take", name.c_str());
  std::printf("# %s: %lld rows, %lld nonzeros, ready after %.1f s\n", name.c_str(), (long long)a.csr.rows,
              (long long)a.csr.rowptr[a.csr.rows], seconds);
  for (bench_dtype dtype : j->set->dtypes) {
    a.dtype = dtype;
    void *values = nullptr;
    a.val = a.csr.val;
    if (dtype != BENCH_F32)
      a.val = values = bench_values((const float *)a.csr.val, a.csr.rowptr[a.csr.rows], dtype);
    double upload = 0;
    gpu_csr gpu = gpu_csr_upload(a.csr.rows, a.csr.cols, a.csr.rowptr, (const int32_t *)a.csr.col, a.val,
                                 dtype, &upload);
    for (int k : j->set->widths)
      run_case(j, comm, stream, &a, &gpu, 1e3 * upload, k);
    gpu_csr_free(&gpu);
    std::free(values);
  }
  sley_matrix_destroy(matrix);
}

static sley_status run(sley_comm *comm, void *arg) {
  job *j = (job *)arg;
  cudaStream_t stream;
  CUDA(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  SLEY(sley_comm_set_stream(comm, stream));
  start_up(comm);
  for (const std::string &name : j->set->matrices)
    run_matrix(j, comm, stream, name);
  SLEY(sley_comm_set_stream(comm, nullptr));
  CUDA(cudaStreamDestroy(stream));
  return SLEY_OK;
}

static settings parse(int argc, char **argv) {
  settings set = {};
  const char *matrices = "cyt,clj,prd,cok,slj,red", *widths = "16,32,64,128,256", *dtypes = "f32",
             *json = nullptr;
  set.repeat = 20;
  set.warmup = 3;
  for (int i = 1; i < argc; i++) {
    const char *value = i + 1 < argc ? argv[i + 1] : nullptr;
    if (!value || std::strncmp(argv[i], "--", 2) != 0)
      bench_fail("usage: %s [--matrices LIST] [--k LIST] [--dtype LIST] [--repeat N] [--warmup N] [--cache "
                 "DIR] [--json FILE]",
                 argv[0]);
    std::string name = argv[i++];
    if (name == "--matrices")
      matrices = value;
    else if (name == "--k")
      widths = value;
    else if (name == "--dtype")
      dtypes = value;
    else if (name == "--repeat")
      set.repeat = std::atoi(value);
    else if (name == "--warmup")
      set.warmup = std::atoi(value);
    else if (name == "--cache")
      set.cache = value;
    else if (name == "--json")
      json = value;
    else
      bench_fail("there is no option %s", name.c_str());
  }
  set.matrices = bench_list(matrices);
  set.widths = bench_numbers(widths);
  for (const std::string &name : bench_list(dtypes)) {
    int dtype = 0;
    while (dtype < BENCH_DTYPES && name != bench_dtype_name[dtype])
      dtype++;
    if (dtype == BENCH_DTYPES)
      bench_fail("there is no dtype %s: f32, f64, f16, bf16", name.c_str());
    set.dtypes.push_back((bench_dtype)dtype);
  }
  if (set.repeat < 1 || set.warmup < 0)
    bench_fail("--repeat is at least 1, --warmup at least 0");
  if (json && !(set.json = std::fopen(json, "w")))
    bench_fail("%s cannot be written", json);
  return set;
}

int main(int argc, char **argv) {
  settings set = parse(argc, argv);
  job j = {};
  j.set = &set;
  json_environment(set.json, "spmm_gpu");
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.device = "cuda";
  SLEY(sley_run_ranks(&options, run, &j));
  for (int d = 0; d < BENCH_DTYPES; d++)
    if (!j.sum.ratio[d].empty())
      std::printf("%s: %zu cases, geometric mean %.3f times the best cuSPARSE, worst %.3f (%s); inspection "
                  "at most %.1f "
                  "multiplications\n",
                  bench_dtype_name[d], j.sum.ratio[d].size(), bench_geomean(j.sum.ratio[d]), j.sum.worst[d],
                  j.sum.worst_case[d].c_str(), j.sum.most_inspection);
  if (set.json)
    std::fclose(set.json);
  return j.sum.wrong;
}
