/* SPDX-License-Identifier: Apache-2.0 */
/* Several GPUs in one process: Sley, and NCCL broadcasts with cuSPARSE products, on the same operands.
 *
 *   bench_ranks_gpu [--gpus 1,2,4] [--matrices cyt,clj,prd] [--k 32,64,128] [--algo auto] [--repeat 20]
 *                   [--warmup 3] [--dtype f32] [--partition nnz] [--unified 0] [--cache DIR] [--json FILE]
 *
 * --unified 1: also with X in unified memory, which needs memory for another X and is slow.
 *
 * ms: time of the slowest rank from a barrier on, by CUDA events on each rank's stream, median over
 * repetitions. steady_ms: time per product of `repeat` products enqueued one after the other. Also printed:
 * the plan's local parts alone, all ranks at once, and the plan's exchange alone, until each rank has its
 * halo. The row blocks have equal numbers of entries, or with --partition rows of rows. Every product is
 * verified; exit status 1 if one is wrong. */
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <string>

#include "broadcast.h"
#include "gather.h"

struct settings {
  std::vector<std::string> matrices;
  std::vector<int> gpus, widths;
  const char *algo, *cache, *partition;
  int repeat, warmup;
  bench_dtype dtype;
  bool unified;
  FILE *json;
};

/* Shared by the ranks of one run. Each writes its own entry; barriers separate writing from reading. */
struct shared {
  const settings *set;
  std::string name;
  sley_matrix *matrix;
  sley_csr csr;
  int ranks;
  std::vector<int64_t> begin;
  std::vector<ncclComm_t> nccl;
  std::vector<std::vector<double>> samples; /* times of each rank */
  std::vector<double> value;                /* a number of each rank */
  void *unified;                            /* all of X, or NULL */
  bool wrong;
};

struct rank_state {
  sley_comm *comm;
  shared *all;
  int rank;
  cudaStream_t stream;
  int64_t rows, k;
  char *x, *y; /* x: all of X; own: the rank's rows in it */
  char *own;
};

static double largest(rank_state *s, double mine) {
  s->all->value[(size_t)s->rank] = mine;
  SLEY(sley_comm_barrier(s->comm));
  double most = *std::max_element(s->all->value.begin(), s->all->value.end());
  SLEY(sley_comm_barrier(s->comm));
  return most;
}

static double total(rank_state *s, double mine) {
  s->all->value[(size_t)s->rank] = mine;
  SLEY(sley_comm_barrier(s->comm));
  double sum = 0;
  for (double value : s->all->value)
    sum += value;
  SLEY(sley_comm_barrier(s->comm));
  return sum;
}

struct timing {
  bench_stats ms;
  double steady_ms;
  double own_ms; /* this rank's median */
};

/* `after` is enqueued too; it is not included when a product is timed alone. */
static timing measure(
    rank_state *s, int repeat, const std::function<void()> &enqueue,
    const std::function<void()> &after = [] {}) {
  timing t = {};
  for (int i = 0; i < s->all->set->warmup; i++) {
    enqueue();
    after();
  }
  SLEY(sley_comm_wait(s->comm));
  gpu_timer one = gpu_timer_create(repeat), many = gpu_timer_create(1);
  for (int i = 0; i < repeat; i++) {
    SLEY(sley_comm_barrier(s->comm));
    gpu_timer_begin(&one, s->stream);
    enqueue();
    gpu_timer_end(&one, s->stream);
    after();
    CUDA(cudaStreamSynchronize(s->stream));
  }
  std::vector<double> mine = gpu_timer_ms(&one);
  t.own_ms = bench_statistics(mine).median;
  s->all->samples[(size_t)s->rank] = mine;
  SLEY(sley_comm_barrier(s->comm));
  for (const std::vector<double> &other : s->all->samples)
    for (size_t i = 0; i < mine.size(); i++)
      mine[i] = std::max(mine[i], other[i]);
  t.ms = bench_statistics(mine);
  SLEY(sley_comm_barrier(s->comm));
  gpu_timer_begin(&many, s->stream);
  for (int i = 0; i < repeat; i++) {
    enqueue();
    after();
  }
  gpu_timer_end(&many, s->stream);
  CUDA(cudaStreamSynchronize(s->stream));
  t.steady_ms = largest(s, gpu_timer_ms(&many)[0] / repeat);
  gpu_timer_destroy(&many);
  gpu_timer_destroy(&one);
  return t;
}

/* Verifies this rank's rows of Y; needs all of X. narrow: as in gpu_check. */
static double verify(rank_state *s, const gpu_csr *block, const char *who, bool narrow) {
  double worst = gpu_check(block, s->x, s->y, s->k, narrow, s->stream);
  if (!(worst <= 1)) {
    std::printf("WRONG: %s, rank %d of %d on %s, k = %lld: %.3g times the bound\n", who, s->rank,
                s->all->ranks, s->all->name.c_str(), (long long)s->k, worst);
    s->all->wrong = true;
  }
  gpu_poison(s->y, s->rows, s->k, s->all->set->dtype, s->stream);
  return largest(s, worst);
}

/* The entries of the rank's rows whose columns are its own rows of X; column numbers are unchanged. */
struct local_part {
  std::vector<int64_t> rowptr;
  std::vector<int32_t> col;
  std::vector<char> val;
  sley_matrix *matrix;
};

static void local_part_make(const shared *all, int rank, local_part *out) {
  int64_t first = all->begin[(size_t)rank], last = all->begin[(size_t)rank + 1];
  const int32_t *cols = (const int32_t *)all->csr.col;
  const size_t bytes = bench_dtype_bytes[all->set->dtype];
  out->rowptr.push_back(0);
  for (int64_t i = first; i < last; i++) {
    for (int64_t e = all->csr.rowptr[i]; e < all->csr.rowptr[i + 1]; e++)
      if (cols[e] >= first && cols[e] < last) {
        out->col.push_back(cols[e]);
        const char *value = (const char *)all->csr.val + (size_t)e * bytes;
        out->val.insert(out->val.end(), value, value + bytes);
      }
    out->rowptr.push_back((int64_t)out->col.size());
  }
  sley_csr csr = all->csr;
  csr.rows = last - first;
  csr.rowptr = out->rowptr.data();
  csr.col = out->col.data();
  csr.val = out->val.data();
  SLEY(sley_matrix_from_csr(&csr, SLEY_BORROW, &out->matrix));
}

static sley_plan *make_plan(rank_state *s, const sley_matrix *block, const char *algo, double *ms) {
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = algo;
  sley_plan *plan;
  SLEY(sley_comm_barrier(s->comm));
  double begin = bench_now();
  SLEY(sley_plan_create(s->comm, block, s->all->begin.data(), s->all->begin.data(), s->k, &options, &plan));
  SLEY(sley_comm_wait(s->comm));
  if (ms)
    *ms = largest(s, 1e3 * (bench_now() - begin));
  return plan;
}

static std::string json_timing(const timing &t) {
  return bench_format("{\"ms\": %s, \"steady_ms\": %.6f}", json_stats(t.ms).c_str(), t.steady_ms);
}

/* The rival: runs every way and algorithm briefly, then the fastest in full. */
static std::string run_broadcast(rank_state *s, broadcast *rival, timing *best, std::string *best_name) {
  const settings *set = s->all->set;
  int best_way = -1, best_algorithm = 0;
  double best_ms = INFINITY;
  std::string line;
  for (int way = 0; way < (s->all->ranks > 1 ? BROADCAST_WAYS : 1); way++)
    for (int a = 0; a < RIVALS; a++) {
      if (largest(s, broadcast_serves(rival, way, a) ? 0 : 1) > 0)
        continue;
      timing t = measure(s, std::min(set->repeat, 7), [&] { broadcast_run(rival, way, a); });
      line += bench_format("%s\"%s_%s\": %.6f", line.empty() ? "" : ", ", broadcast_name[way], rival_name[a],
                           t.ms.median);
      if (t.ms.median < best_ms) {
        best_ms = t.ms.median;
        best_way = way;
        best_algorithm = a;
      }
    }
  if (best_way < 0)
    bench_fail("cuSPARSE serves no algorithm on %s", s->all->name.c_str());
  *best = measure(s, set->repeat, [&] { broadcast_run(rival, best_way, best_algorithm); });
  *best_name = bench_format("%s_%s", broadcast_name[best_way], rival_name[best_algorithm]);
  gpu_poison(s->y, s->rows, s->k, s->all->set->dtype, s->stream);
  broadcast_run(rival, best_way, best_algorithm);
  verify(s, &rival->block, best_name->c_str(), bench_dtype_bytes[set->dtype] == 2);
  return line;
}

static void run_width(rank_state *s, const sley_matrix *block, const sley_matrix *local, broadcast *rival) {
  shared *all = s->all;
  const settings *set = all->set;
  const int64_t cols = all->csr.cols, k = s->k, row_bytes = k * (int64_t)bench_dtype_bytes[set->dtype];
  SLEY(sley_comm_alloc(s->comm, cols * row_bytes, (void **)&s->x));
  SLEY(sley_comm_alloc(s->comm, s->rows * row_bytes, (void **)&s->y));
  s->own = s->x + all->begin[(size_t)s->rank] * row_bytes;
  gpu_poison(s->x, cols, k, set->dtype, s->stream);
  gpu_fill(s->own, all->begin[(size_t)s->rank], s->rows, k, set->dtype, s->stream);
  gpu_poison(s->y, s->rows, k, set->dtype, s->stream);
  CUDA(cudaStreamSynchronize(s->stream));

  double plan_ms;
  sley_plan *plan = make_plan(s, block, set->algo, &plan_ms);
  sley_plan_info info;
  SLEY(sley_plan_info_get(plan, &info));
  timing sley = measure(s, set->repeat, [&] { SLEY(sley_spmm(plan, 1, s->own, k, 0, s->y, k)); });

  /* For the check all of X is sent by the rival's broadcasts, so that the check covers these too. */
  if (set->unified && all->ranks > 1 && s->rank == 0)
    CUDA(cudaMallocManaged(&all->unified, (size_t)(cols * row_bytes)));
  SLEY(sley_comm_barrier(s->comm));
  broadcast_prepare(rival, k, s->x, s->y, all->unified);
  timing other;
  std::string other_name, tried = run_broadcast(s, rival, &other, &other_name);
  SLEY(sley_spmm(plan, 1, s->own, k, 0, s->y, k));
  double error = verify(s, &rival->block, "sley", false);
  broadcast_release(rival);
  SLEY(sley_comm_barrier(s->comm));
  if (s->rank == 0) {
    CUDA(cudaFree(all->unified));
    all->unified = nullptr;
  }

  sley_plan *halo = make_plan(s, block, "halo", nullptr);
  bench_gather *gather;
  int64_t bytes;
  SLEY(bench_gather_create(s->comm, halo, &gather, &bytes));
  timing gathered = {};
  double slowest_rate = 0, halo_bytes = total(s, (double)bytes);
  if (halo_bytes > 0) {
    gathered = measure(
        s, set->repeat, [&] { SLEY(bench_gather_take(gather, s->own)); },
        [&] { SLEY(bench_gather_return(gather)); });
    slowest_rate = -largest(s, -(double)bytes / gathered.own_ms / 1e6);
  }
  bench_gather_destroy(gather);
  sley_plan_destroy(halo);

  sley_plan *alone = make_plan(s, local, "halo", nullptr);
  timing local_time = measure(s, set->repeat, [&] { SLEY(sley_spmm(alone, 1, s->own, k, 0, s->y, k)); });
  sley_plan_destroy(alone);

  if (s->rank == 0) {
    double floor_ms = std::max(local_time.ms.median, gathered.ms.median);
    json_line(
        set->json,
        bench_format(
            "{\"record\": \"case\", \"bench\": \"ranks_gpu\", \"matrix\": \"%s\", \"rows\": %lld, \"nnz\": "
            "%lld, \"dtype\": \"%s\", "
            "\"k\": %lld, \"gpus\": %d, \"partition\": \"%s\", \"algo\": \"%s\", \"sley\": %s, \"plan_ms\": "
            "%.4f, \"error\": %.4f, "
            "\"local\": %s, \"gather\": %s, \"gather_gb_s\": %.2f, \"halo_bytes\": %.0f, \"rival\": \"%s\", "
            "\"broadcast\": %s, \"tried_ms\": {%s}}",
            all->name.c_str(), (long long)all->csr.rows, (long long)all->csr.rowptr[all->csr.rows],
            bench_dtype_name[set->dtype], (long long)k, all->ranks, set->partition, info.algo,
            json_timing(sley).c_str(), plan_ms, error, json_timing(local_time).c_str(),
            json_timing(gathered).c_str(), slowest_rate, halo_bytes, other_name.c_str(),
            json_timing(other).c_str(), tried.c_str()));
    std::printf("%-4s k %4lld  %d GPUs  sley %8.4f ms (steady %8.4f, %s)  local %8.4f  gather %8.4f (%5.1f "
                "GB/s)  time / max "
                "%5.2f  %s %8.4f  ratio %5.2f\n",
                all->name.c_str(), (long long)k, all->ranks, sley.ms.median, sley.steady_ms, info.algo,
                local_time.ms.median, gathered.ms.median, slowest_rate, sley.ms.median / floor_ms,
                other_name.c_str(), other.ms.median, other.ms.median / sley.ms.median);
    std::fflush(stdout);
  }
  sley_plan_destroy(plan);
  sley_comm_free(s->comm, s->y);
  sley_comm_free(s->comm, s->x);
}

static sley_status run(sley_comm *comm, void *arg) {
  rank_state s = {};
  s.comm = comm;
  s.all = (shared *)arg;
  s.rank = sley_comm_rank(comm);
  CUDA(cudaSetDevice(s.rank));
  CUDA(cudaStreamCreateWithFlags(&s.stream, cudaStreamNonBlocking));
  SLEY(sley_comm_set_stream(comm, s.stream));
  s.rows = s.all->begin[(size_t)s.rank + 1] - s.all->begin[(size_t)s.rank];
  sley_matrix *block;
  local_part local;
  SLEY(sley_matrix_row_block(s.all->matrix, s.all->begin[(size_t)s.rank], s.rows, &block));
  local_part_make(s.all, s.rank, &local);
  broadcast *rival = broadcast_create(s.all->nccl[(size_t)s.rank], s.rank, s.all->ranks, s.all->begin.data(),
                                      &s.all->csr, s.all->set->dtype, s.stream);
  for (int k : s.all->set->widths) {
    s.k = k;
    run_width(&s, block, local.matrix, rival);
  }
  broadcast_destroy(rival);
  sley_matrix_destroy(local.matrix);
  sley_matrix_destroy(block);
  SLEY(sley_comm_set_stream(comm, nullptr));
  CUDA(cudaStreamDestroy(s.stream));
  return SLEY_OK;
}

static bool run_matrix(const settings *set, const std::string &name,
                       const std::vector<std::vector<ncclComm_t>> &comms) {
  shared all = {};
  double seconds;
  all.set = set;
  all.name = name;
  sley_matrix *f32 = bench_matrix(name, set->cache, &seconds);
  SLEY(sley_matrix_csr(f32, &all.csr));
  void *values = bench_values((const float *)all.csr.val, all.csr.rowptr[all.csr.rows], set->dtype);
  all.csr.val = values;
  all.csr.dtype = bench_sley_dtype[set->dtype];
  SLEY(sley_matrix_from_csr(&all.csr, SLEY_BORROW, &all.matrix));
  if (all.csr.index != SLEY_I32 || all.csr.rows != all.csr.cols)
    bench_fail("%s: a square matrix with 32-bit columns is needed", name.c_str());
  std::printf("# %s: ready after %.1f s\n", name.c_str(), seconds);
  for (size_t g = 0; g < set->gpus.size(); g++) {
    all.ranks = set->gpus[g];
    all.nccl = comms[g];
    all.begin.resize((size_t)all.ranks + 1);
    all.samples.resize((size_t)all.ranks);
    all.value.resize((size_t)all.ranks);
    SLEY(sley_partition_rows(all.matrix, set->partition, all.ranks, all.begin.data()));
    sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
    options.ranks = all.ranks;
    options.device = "cuda";
    SLEY(sley_run_ranks(&options, run, &all));
  }
  sley_matrix_destroy(all.matrix);
  free(values);
  sley_matrix_destroy(f32);
  return !all.wrong;
}

static settings parse(int argc, char **argv) {
  settings set = {};
  const char *matrices = "cyt,clj,prd", *widths = "32,64,128", *gpus = "1,2,4", *dtype = "f32";
  int unified = 0, there = 0;
  set.algo = "auto";
  set.partition = "nnz";
  set.repeat = 20;
  set.warmup = 3;
  bench_options(argc, argv,
                {bench_text("gpus", "LIST", &gpus), bench_text("matrices", "LIST", &matrices),
                 bench_text("k", "LIST", &widths), bench_text("algo", "NAME", &set.algo),
                 bench_number("repeat", &set.repeat, 1), bench_number("warmup", &set.warmup, 0),
                 bench_text("dtype", "T", &dtype), bench_text("partition", "NAME", &set.partition),
                 bench_number("unified", &unified, 0), bench_text("cache", "DIR", &set.cache),
                 bench_json(&set.json, "w")});
  set.matrices = bench_list(matrices, std::strchr(matrices, ':') ? ";" : ";,");
  set.widths = bench_numbers(widths);
  set.unified = unified != 0;
  set.dtype = bench_dtypes(dtype, {BENCH_F32, BENCH_F64, BENCH_F16, BENCH_BF16}).at(0);
  CUDA(cudaGetDeviceCount(&there));
  for (int count : bench_numbers(gpus))
    if (count <= there)
      set.gpus.push_back(count);
  if (set.gpus.empty())
    bench_fail("--gpus: at most the %d that are there", there);
  return set;
}

int main(int argc, char **argv) {
  settings set = parse(argc, argv);
  json_environment(set.json, "ranks_gpu");
  int version = 0;
  ncclGetVersion(&version);
  json_line(set.json, bench_format("{\"record\": \"nccl\", \"version\": %d}", version));
  std::vector<std::vector<ncclComm_t>> comms;
  for (int count : set.gpus) {
    comms.emplace_back((size_t)count);
    ncclResult_t result = ncclCommInitAll(comms.back().data(), count, nullptr);
    if (result != ncclSuccess)
      bench_fail("NCCL cannot start on %d GPUs: %s", count, ncclGetErrorString(result));
  }
  bool right = true;
  for (const std::string &name : set.matrices)
    right = run_matrix(&set, name, comms) && right;
  for (const std::vector<ncclComm_t> &group : comms)
    for (ncclComm_t comm : group)
      ncclCommDestroy(comm);
  if (set.json)
    std::fclose(set.json);
  return !right;
}
