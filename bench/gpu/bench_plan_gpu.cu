/* SPDX-License-Identifier: Apache-2.0 */
/* Times of plans and products on GPUs, with ranks as threads of this process:
 *
 *   bench_plan_gpu [--matrices LIST] [--gpus 1,2,4] [--k 32,128] [--algo auto,halo] [--plans 7] [--repeat 20]
 *                  [--cache DIR] [--json FILE]
 *
 * LIST: matrices, separated by semicolons. copy_ms: copy of the rank's columns, values and row pointers from
 * ordinary memory to its GPU. plan_ms: time of a plan. Both are medians of the slowest rank over --plans. ms:
 * time per product of --repeat products in a row. f32, equal row blocks. Plans are destroyed in between; the
 * first plan, which loads modules, does not count. FILE receives a line of JSON for each line that is
 * printed. */
#include <algorithm>

#include "common.h"

struct settings {
  std::vector<std::string> matrices, algos;
  std::vector<int> gpus, widths;
  int plans, repeat;
  const char *cache;
  FILE *json;
};

/* Shared by all ranks of a run. */
struct shared {
  const settings *set;
  std::string name;
  int ranks;
  const sley_matrix *matrix;
  sley_matrix_info info;
  std::vector<int64_t> begin;
};

/* The slowest rank's milliseconds since begin. Collective. */
static double slowest(sley_comm *comm, double begin) {
  int64_t microseconds = (int64_t)(1e6 * (bench_now() - begin));
  SLEY(sley_comm_allreduce(comm, SLEY_MAX, &microseconds, 1));
  return 1e-3 * (double)microseconds;
}

/* Milliseconds of the slowest rank for calls of function, each from a barrier on. Collective. */
static std::vector<double> time_each(sley_comm *comm, int count, const std::function<void(int)> &function) {
  std::vector<double> ms;
  for (int i = 0; i < count; i++) {
    SLEY(sley_comm_barrier(comm));
    double begin = bench_now();
    function(i);
    ms.push_back(slowest(comm, begin));
  }
  return ms;
}

/* Prints and writes a line of times, on rank 0. */
static void report(sley_comm *comm, const shared *all, const char *record, std::vector<double> ms,
                   const std::string &what, const std::string &more) {
  if (sley_comm_rank(comm) > 0)
    return;
  std::sort(ms.begin(), ms.end());
  const double median = ms[ms.size() / 2];
  std::printf("%d GPUs%s: %s_ms %.2f (least %.2f)\n", all->ranks, what.c_str(), record, median, ms[0]);
  std::fflush(stdout);
  json_line(
      all->set->json,
      bench_format(
          "{\"record\": \"%s\", \"bench\": \"plan_gpu\", \"matrix\": \"%s\", \"rows\": %lld, \"nnz\": %lld, "
          "\"ranks\": %d, \"plans\": %d, \"%s_ms\": {\"median\": %.4f, \"min\": %.4f, \"max\": %.4f}%s}",
          record, all->name.c_str(), (long long)all->info.rows, (long long)all->info.nnz, all->ranks,
          all->set->plans, record, median, ms[0], ms.back(), more.c_str()));
}

static void time_copy(sley_comm *comm, const shared *all, const sley_matrix *block) {
  sley_csr csr;
  sley_matrix_info info;
  SLEY(sley_matrix_csr(block, &csr));
  SLEY(sley_matrix_info_get(block, &info));
  const int64_t first = 4 * csr.rowptr[0];
  const void *from[3] = {csr.rowptr, (const char *)csr.col + first, (const char *)csr.val + first};
  const int64_t bytes[3] = {(info.rows + 1) * 8, info.nnz * 4, info.nnz * 4};
  std::vector<double> ms = time_each(comm, all->set->plans, [&](int) {
    void *at[3];
    for (int i = 0; i < 3; i++) {
      SLEY(sley_comm_alloc(comm, bytes[i], &at[i]));
      SLEY(sley_comm_copy(comm, at[i], from[i], bytes[i], SLEY_TO_DEVICE));
    }
    SLEY(sley_comm_wait(comm));
    for (void *each : at)
      sley_comm_free(comm, each);
  });
  report(comm, all, "copy", ms, "", "");
}

/* Milliseconds per product of products in a row. */
static double time_products(sley_comm *comm, const shared *all, sley_plan *plan, int64_t k) {
  const int rank = sley_comm_rank(comm), repeat = all->set->repeat;
  const int64_t rows = all->begin[(size_t)rank + 1] - all->begin[(size_t)rank];
  void *x, *y;
  SLEY(sley_comm_alloc(comm, rows * k * 4, &x));
  SLEY(sley_comm_alloc(comm, rows * k * 4, &y));
  auto multiply = [&](int times) {
    for (int i = 0; i < times; i++)
      SLEY(sley_spmm(plan, 1, x, k, 0, y, k));
    SLEY(sley_comm_wait(comm));
  };
  multiply(3);
  const double ms = time_each(comm, 1, [&](int) { multiply(repeat); })[0] / repeat;
  sley_comm_free(comm, y);
  sley_comm_free(comm, x);
  return ms;
}

static void time_plans(sley_comm *comm, const shared *all, const sley_matrix *block, const std::string &algo,
                       int64_t k) {
  const int plans = all->set->plans;
  std::string ran;
  sley_plan *plan = nullptr;
  std::vector<double> ms = time_each(comm, plans + 1, [&](int i) {
    sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
    options.algo = algo.c_str();
    SLEY(sley_plan_create(comm, block, all->begin.data(), all->begin.data(), k, &options, &plan));
    if (i < plans)
      sley_plan_destroy(plan);
  });
  sley_plan_info info;
  SLEY(sley_plan_info_get(plan, &info));
  const double product = time_products(comm, all, plan, k);
  ran = info.algo;
  sley_plan_destroy(plan);
  ms.erase(ms.begin()); /* it loads modules */
  report(comm, all, "plan", ms,
         bench_format(", k %lld, %s (%s), product %.3f ms", (long long)k, algo.c_str(), ran.c_str(), product),
         bench_format(", \"k\": %lld, \"asked\": \"%s\", \"algo\": \"%s\", \"ms\": %.6f", (long long)k,
                      algo.c_str(), ran.c_str(), product));
}

static sley_status rank_main(sley_comm *comm, void *argument) {
  const shared *all = (const shared *)argument;
  const size_t rank = (size_t)sley_comm_rank(comm);
  sley_matrix *block;
  SLEY(sley_matrix_row_block(all->matrix, all->begin[rank], all->begin[rank + 1] - all->begin[rank], &block));
  time_copy(comm, all, block);
  for (const std::string &algo : all->set->algos)
    for (int k : all->set->widths)
      time_plans(comm, all, block, algo, k);
  sley_matrix_destroy(block);
  return SLEY_OK;
}

int main(int argc, char **argv) {
  settings set = {};
  const char *matrices = "twin:cyt;twin:clj;twin:prd", *gpus = "1", *widths = "32", *algos = "auto";
  set.plans = 7;
  set.repeat = 20;
  bench_options(argc, argv,
                {bench_text("matrices", "LIST", &matrices), bench_text("gpus", "LIST", &gpus),
                 bench_text("k", "LIST", &widths), bench_text("algo", "LIST", &algos),
                 bench_number("plans", &set.plans, 1), bench_number("repeat", &set.repeat, 1),
                 bench_text("cache", "DIR", &set.cache), bench_json(&set.json, "w")});
  set.gpus = bench_numbers(gpus);
  set.widths = bench_numbers(widths);
  set.algos = bench_list(algos, ",");
  for (const std::string &name : bench_list(matrices, ";")) {
    shared all = {};
    double seconds;
    sley_matrix *matrix = bench_matrix(name, set.cache, &seconds);
    all.set = &set;
    all.name = name;
    all.matrix = matrix;
    SLEY(sley_matrix_info_get(matrix, &all.info));
    std::printf("%s: %lld rows, %lld entries\n", name.c_str(), (long long)all.info.rows,
                (long long)all.info.nnz);
    for (int ranks : set.gpus) {
      sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
      options.ranks = all.ranks = ranks;
      options.device = "cuda";
      all.begin.resize((size_t)ranks + 1);
      SLEY(sley_partition_equal(all.info.rows, ranks, all.begin.data()));
      SLEY(sley_run_ranks(&options, rank_main, &all));
    }
    sley_matrix_destroy(matrix);
  }
  if (set.json)
    std::fclose(set.json);
  return 0;
}
