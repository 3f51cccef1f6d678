/* SPDX-License-Identifier: Apache-2.0 */
/* One GPU: Sley and every cuSPARSE product, for CSR and for blocks, on the same operands and stream, in turn.
 *
 *   bench_spmm_gpu [--matrices cyt,clj,prd,cok,slj,red] [--k 16,32,64,128,256] [--cases FILE]
 *                  [--dtype f32,f64,f16,bf16] [--rivals csr,blocks] [--repeat 20] [--warmup 3] [--cache DIR]
 *                  [--json FILE]
 *
 * --cases: instead of --matrices and --k, a file with a line for each matrix: its name, a space, its widths
 * separated by commas; bench/draw.py draws such cases. --rivals: csr alone leaves out BSR and Blocked-ELL.
 *
 * Every product that is timed is verified before: all of Y by sums of doubles on the GPU, a few rows on the
 * host too. A wrong product of Sley's: exit status 1. Rivals that are wrong, that cuSPARSE refuses or whose
 * blocks would have too many zeros are left out; this is printed and written to the JSON. For 16-bit values
 * some of cuSPARSE's products add sums that they have rounded to 16 bits before; this is printed, and they
 * count like the others. Times: CUDA events around each call on one stream, which is enqueued behind a kernel
 * that waits. inspection: time of sley_plan_create on the host, including the copy of A to the GPU; upload:
 * that copy alone, for comparison. */
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>

#include "common.h"
#include "rival.h"

/* Microseconds that suffice to enqueue a product that is timed, so that the host's time for it is not
 * included. */
enum { ENQUEUED = 40 };

struct cases {
  std::string matrix;
  std::vector<int> widths;
};

struct settings {
  std::vector<cases> all;
  std::vector<bench_dtype> dtypes;
  int repeat, warmup;
  bool blocks; /* also rivals in blocks */
  const char *cache;
  FILE *json;
};

/* Summary of all cases. */
struct summary {
  bench_ratios ratio[BENCH_DTYPES];
  std::vector<int> width[BENCH_DTYPES]; /* width of each ratio */
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

/* Contender 0 is Sley, 1 + i cuSPARSE's algorithm i. */
enum { CONTENDERS = 1 + RIVALS };

/* Operands and results for one matrix, type and width. */
struct work {
  job *j;
  sley_comm *comm;
  cudaStream_t stream;
  const host_csr *a;
  const gpu_csr *gpu;
  int64_t k;
  void *x, *y; /* gpu_block_padded rows each */
  contender sley;
  rival other;
  std::vector<bool> takes_part;
  std::string left_out[CONTENDERS]; /* why each was left out, if it was considered */
  double error[CONTENDERS];
  std::vector<bench_stats> stats;
  int best; /* cuSPARSE's fastest; 0: none */
};

static const char *name_of(int c) {
  return c > 0 ? rival_name[c - 1] : "sley";
}

static void multiply(const work *w, int c) {
  if (c == 0)
    SLEY(sley_spmm(w->sley.plan, 1, w->x, w->k, 0, w->y, w->k));
  else
    rival_run(&w->other, c - 1, false);
}

static void say(const work *w, int c, const char *verdict, double times) {
  std::printf("%s: %s on %s, k = %lld, %s: %.3g times the bound\n", verdict, name_of(c), w->a->name.c_str(),
              (long long)w->k, bench_dtype_name[w->a->dtype], times);
}

/* Returns whether a rival in f32 rounds its operands, as cuSPARSE does for Blocked-ELL: with tf32 its errors
 * are 2^13 times larger. An order of summation makes much less difference. */
static bool rounds_operands(const work *w, int c) {
  enum { DEFAULT = 1, MUCH = 32 };
  return c > DEFAULT && w->a->dtype == BENCH_F32 && w->takes_part[DEFAULT] && w->error[DEFAULT] > 0 &&
         w->error[c] > MUCH * w->error[DEFAULT];
}

/* Checks the y that contender c has computed; a contender with a wrong result is excluded, and in f32 one
 * that rounds its operands. */
static void verify(work *w, int c) {
  const host_csr *a = w->a;
  double worst = gpu_check(w->gpu, w->x, w->y, w->k, false, w->stream);
  double rows = gpu_check_rows(a->csr.rows, a->csr.rowptr, (const int32_t *)a->csr.col, a->val, w->y, w->k,
                               a->dtype, 16);
  w->error[c] = worst > rows ? worst : rows;
  if (w->error[c] <= 1) {
    if (rounds_operands(w, c)) {
      say(w, c, "rounds f32 to tf32, left out", w->error[c]);
      w->takes_part[(size_t)c] = false;
      w->left_out[c] = "it rounds f32 to tf32";
    }
    return;
  }
  bool narrow = c > 0 && bench_dtype_bytes[a->dtype] == 2;
  if (narrow && gpu_check(w->gpu, w->x, w->y, w->k, true, w->stream) <= 1) {
    say(w, c, "inaccurate", w->error[c]);
    return;
  }
  say(w, c, c > 0 ? "WRONG, left out" : "WRONG", w->error[c]);
  w->j->sum.wrong |= c == 0;
  w->takes_part[(size_t)c] = false;
  w->left_out[c] = "its result is wrong";
}

/* Makes operands and contenders, and checks each of their products once. */
static void prepare(work *w, const gpu_blocks *blocks) {
  size_t row = (size_t)w->k * bench_dtype_bytes[w->a->dtype];
  int64_t rows = w->a->csr.rows, cols = w->a->csr.cols, padded = gpu_block_padded(cols);
  SLEY(sley_comm_alloc(w->comm, gpu_block_padded(rows) * (int64_t)row, &w->y));
  SLEY(sley_comm_alloc(w->comm, padded * (int64_t)row, &w->x));
  gpu_fill(w->x, 0, cols, w->k, w->a->dtype, w->stream);
  CUDA(cudaMemsetAsync((char *)w->x + (size_t)cols * row, 0, (size_t)(padded - cols) * row, w->stream));
  w->sley = contender_create(w->comm, w->a, w->k);
  w->other = rival_create(w->gpu, blocks, w->x, w->y, w->k, w->stream);
  for (int c = 0; c < CONTENDERS; c++) {
    w->takes_part.push_back(c == 0 || w->other.ok[c - 1]);
    if (c > 0 && !w->takes_part[c])
      w->left_out[c] = w->other.why_not[c - 1];
    if (!w->takes_part[c])
      continue;
    gpu_poison(w->y, rows, w->k, w->a->dtype, w->stream);
    multiply(w, c);
    verify(w, c);
  }
}

static void take_turns(work *w) {
  const settings *set = w->j->set;
  w->stats = bench_turns(w->takes_part, set->warmup, set->repeat, ENQUEUED, w->stream,
                         [&](int c) { multiply(w, c); });
  for (int c = 1; c < CONTENDERS; c++)
    if (w->takes_part[c] && (w->best == 0 || w->stats[c].median < w->stats[w->best].median))
      w->best = c;
}

static double ratio_of(const work *w) {
  return w->best && w->takes_part[0] ? w->stats[w->best].median / w->stats[0].median : 0;
}

/* A list of the rivals that were considered and left out. */
static std::string left_out_json(const work *w) {
  std::string list;
  for (int c = 1; c < CONTENDERS; c++)
    if (!w->left_out[c].empty())
      list += bench_format("%s\"%s\": \"%s\"", list.empty() ? "" : ", ", name_of(c), w->left_out[c].c_str());
  return "{" + list + "}";
}

static std::string case_json(const work *w, double upload_ms) {
  std::string line = bench_format("{\"record\": \"case\", \"bench\": \"spmm_gpu\", \"matrix\": \"%s\", "
                                  "\"rows\": %lld, \"nnz\": %lld, \"k\": %lld, "
                                  "\"dtype\": \"%s\", \"upload_ms\": %.4f",
                                  w->a->name.c_str(), (long long)w->a->csr.rows, (long long)w->gpu->nnz,
                                  (long long)w->k, bench_dtype_name[w->a->dtype], upload_ms);
  if (w->takes_part[0])
    line += bench_format(", \"sley\": {\"ms\": %s, \"plan_ms\": %.4f, \"error\": %.4f}",
                         json_stats(w->stats[0]).c_str(), w->sley.plan_ms, w->error[0]);
  for (int c = 1; c < CONTENDERS; c++)
    if (w->takes_part[c])
      line += bench_format(
          ", \"cusparse_%s\": {\"ms\": %s, \"preprocess_ms\": %.4f, \"buffer_bytes\": %zu, \"error\": %.4f}",
          name_of(c), json_stats(w->stats[c]).c_str(), w->other.preprocess_ms[c - 1],
          w->other.buffer_bytes[c - 1], w->error[c]);
  line += ", \"left_out\": " + left_out_json(w);
  if (ratio_of(w) > 0)
    line += bench_format(", \"best\": \"%s\", \"ratio\": %.4f", name_of(w->best), ratio_of(w));
  return line + "}";
}

/* Prints the names of contenders that cuSPARSE refuses or that are wrong; the reasons are in the JSON. Blocks
 * that were not made are reported once per matrix. */
static void print_left_out(const work *w) {
  const char *before = "  without ";
  for (int c = 1; c < CONTENDERS; c++) {
    const gpu_blocks *blocks =
        c > RIVAL_CSR && w->other.blocks ? &w->other.blocks[c - 1 - RIVAL_CSR] : nullptr;
    if (w->left_out[c].empty() || (blocks && !blocks->why_not.empty()))
      continue;
    std::printf("%s%s", before, name_of(c));
    before = ", ";
  }
}

static void print_case(const work *w, double upload_ms) {
  double ms = w->stats[0].median;
  std::printf("%-6s %4lld %-5s", w->a->name.c_str(), (long long)w->k, bench_dtype_name[w->a->dtype]);
  if (w->best)
    std::printf("  cusparse %9.4f (%-7s)", w->stats[w->best].median, name_of(w->best));
  if (w->takes_part[0])
    std::printf("  sley %9.4f ms (p95 %9.4f)  %7.1f GFLOP/s  inspection %6.1f (with the copy of A %6.1f)", ms,
                w->stats[0].p95, 2 * (double)w->gpu->nnz * (double)w->k / ms / 1e6,
                (w->sley.plan_ms - upload_ms) / ms, w->sley.plan_ms / ms);
  if (ratio_of(w) > 0)
    std::printf("  ratio %.3f", ratio_of(w));
  print_left_out(w);
  std::printf("\n");
  std::fflush(stdout);
}

static void add_up(const work *w, double upload_ms) {
  summary *sum = &w->j->sum;
  bench_dtype dtype = w->a->dtype;
  double ratio = ratio_of(w), inspection = (w->sley.plan_ms - upload_ms) / w->stats[0].median;
  if (w->takes_part[0] && inspection > sum->most_inspection)
    sum->most_inspection = inspection;
  if (!(ratio > 0))
    return;
  bench_add_ratio(&sum->ratio[dtype], ratio,
                  bench_format("%s, k = %lld", w->a->name.c_str(), (long long)w->k));
  sum->width[dtype].push_back((int)w->k);
}

/* blocks: NULL, or as filled by rival_blocks_make. */
static void run_case(job *j, sley_comm *comm, cudaStream_t stream, const host_csr *a, const gpu_csr *gpu,
                     const gpu_blocks *blocks, double upload_ms, int64_t k) {
  work w = {};
  w.j = j;
  w.comm = comm;
  w.stream = stream;
  w.a = a;
  w.gpu = gpu;
  w.k = k;
  prepare(&w, blocks);
  take_turns(&w);
  print_case(&w, upload_ms);
  add_up(&w, upload_ms);
  json_line(j->set->json, case_json(&w, upload_ms));
  rival_destroy(&w.other);
  contender_destroy(&w.sley);
  sley_comm_free(comm, w.y);
  sley_comm_free(comm, w.x);
}

/* The first blocks of each form load code. */
static void start_up_blocks(const sley_csr *csr) {
  gpu_blocks blocks[RIVAL_BLOCKS];
  gpu_csr gpu = gpu_csr_upload(csr->rows, csr->cols, csr->rowptr, (const int32_t *)csr->col, csr->val,
                               BENCH_F32, nullptr);
  rival_blocks_make(&gpu, blocks);
  for (gpu_blocks &b : blocks)
    gpu_blocks_free(&b);
  gpu_csr_free(&gpu);
}

/* A first plan and product load the code, so that the first case does not include that time. */
static void start_up(sley_comm *comm, bool blocks) {
  sley_matrix *matrix;
  sley_csr csr;
  void *x, *y;
  SLEY(sley_matrix_read("er:n=1000,nnz=9000", nullptr, &matrix));
  SLEY(sley_matrix_csr(matrix, &csr));
  if (blocks)
    start_up_blocks(&csr);
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

static void run_matrix(job *j, sley_comm *comm, cudaStream_t stream, const cases &c) {
  const std::string &name = c.matrix;
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
    gpu_blocks blocks[RIVAL_BLOCKS] = {};
    if (j->set->blocks)
      rival_blocks_make(&gpu, blocks);
    for (int i = 0; i < RIVAL_BLOCKS; i++)
      if (!blocks[i].why_not.empty())
        std::printf("# without %s, %s: %s\n", rival_name[RIVAL_CSR + i], bench_dtype_name[dtype],
                    blocks[i].why_not.c_str());
    for (int k : c.widths)
      run_case(j, comm, stream, &a, &gpu, j->set->blocks ? blocks : nullptr, 1e3 * upload, k);
    for (gpu_blocks &b : blocks)
      gpu_blocks_free(&b);
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
  start_up(comm, j->set->blocks);
  for (const cases &c : j->set->all)
    run_matrix(j, comm, stream, c);
  SLEY(sley_comm_set_stream(comm, nullptr));
  CUDA(cudaStreamDestroy(stream));
  return SLEY_OK;
}

static std::vector<cases> read_cases(const char *path) {
  std::vector<cases> all;
  std::ifstream file(path);
  std::string name, widths;
  while (file >> name >> widths)
    all.push_back({name, bench_numbers(widths.c_str())});
  if (all.empty())
    bench_fail("%s names no case", path);
  return all;
}

static settings parse(int argc, char **argv) {
  settings set = {};
  const char *matrices = "cyt,clj,prd,cok,slj,red", *widths = "16,32,64,128,256", *dtypes = "f32",
             *rivals = "csr,blocks", *file = nullptr;
  set.repeat = 20;
  set.warmup = 3;
  bench_options(argc, argv,
                {bench_text("matrices", "LIST", &matrices), bench_text("k", "LIST", &widths),
                 bench_text("cases", "FILE", &file), bench_text("dtype", "LIST", &dtypes),
                 bench_text("rivals", "LIST", &rivals), bench_number("repeat", &set.repeat, 1),
                 bench_number("warmup", &set.warmup, 0), bench_text("cache", "DIR", &set.cache),
                 bench_json(&set.json, "w")});
  if (file)
    set.all = read_cases(file);
  else
    for (const std::string &name : bench_list(matrices))
      set.all.push_back({name, bench_numbers(widths)});
  set.dtypes = bench_dtypes(dtypes, {BENCH_F32, BENCH_F64, BENCH_F16, BENCH_BF16});
  for (const std::string &name : bench_list(rivals)) {
    if (name != "csr" && name != "blocks")
      bench_fail("there are no rivals %s: csr, blocks", name.c_str());
    set.blocks |= name == "blocks";
  }
  return set;
}

/* Prints the means of bands of widths, to show where Sley is slow. */
static void print_bands(const summary &sum, int dtype) {
  static const int end[] = {1, 4, 16, 64, 256, 1 << 30};
  int begin = 0;
  for (int most : end) {
    std::vector<double> some;
    for (size_t i = 0; i < sum.width[dtype].size(); i++)
      if (sum.width[dtype][i] > begin && sum.width[dtype][i] <= most)
        some.push_back(sum.ratio[dtype].all[i]);
    if (!some.empty() && some.size() < sum.width[dtype].size())
      std::printf("  k = %d to %d: %zu cases, %.3f\n", begin + 1, most, some.size(), bench_geomean(some));
    begin = most;
  }
}

int main(int argc, char **argv) {
  settings set = parse(argc, argv);
  job j = {};
  j.set = &set;
  json_environment(set.json, "spmm_gpu");
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.device = "cuda";
  SLEY(sley_run_ranks(&options, run, &j));
  for (int d = 0; d < BENCH_DTYPES; d++) {
    const bench_ratios &ratio = j.sum.ratio[d];
    if (ratio.all.empty())
      continue;
    std::printf("%s: %zu cases, geometric mean %.3f times the best cuSPARSE, worst %.3f (%s); inspection at "
                "most %.1f "
                "multiplications\n",
                bench_dtype_name[d], ratio.all.size(), bench_geomean(ratio.all), ratio.worst,
                ratio.worst_case.c_str(), j.sum.most_inspection);
    print_bands(j.sum, d);
  }
  if (set.json)
    std::fclose(set.json);
  return j.sum.wrong;
}
