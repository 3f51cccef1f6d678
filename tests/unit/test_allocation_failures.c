/* SPDX-License-Identifier: Apache-2.0 */
/* Every allocation of a small run is made to fail once: the run ends with an error, nothing leaks, nothing
 * hangs. */
#include <unistd.h>

#include "base/memory.h"
#include "chosen_device.h"
#include "support.h"

enum { MOST = 20000 };

/* Runs job with its 1st, 2nd, 3rd ... allocation failing, or one in test_share(), until one run needs no
 * more; each failing run must say so. */
static void fail_each(const char *what, sley_status (*job)(const void *), const void *argument) {
  assert_sley_ok(job(argument)); /* one-off allocations of libraries and thread-local state */
  int64_t before = sl_memory_now();
  int failures = 0;
  sl_memory_fail_at(0);
  assert_sley_ok(job(argument)); /* counts them */
  for (int nth = 1 + (int)test_first((uint64_t)sl_memory_count()); nth < MOST; nth += (int)test_share()) {
    alarm(60);
    sl_memory_fail_at(nth);
    sley_status status = job(argument);
    bool failed = sl_memory_count() >= nth;
    sl_memory_fail_at(0);
    if (sl_memory_now() != before)
      fail_msg("%s: allocation %d failed and %lld bytes leaked", what, nth,
               (long long)(sl_memory_now() - before));
    if (!failed) {
      assert_sley_ok(status);
      assert_true(failures > 0);
      alarm(0);
      return;
    }
    failures++;
    if (status == SLEY_OK)
      continue; /* an allocation that the library can do without */
    if (status != SLEY_ERR_MEMORY && status != SLEY_ERR_PEER)
      fail_msg("%s: allocation %d failed and the status was %s: %s", what, nth, sley_status_name(status),
               sley_last_error());
    if (!strstr(sley_last_error(), "memory"))
      fail_msg("%s: allocation %d failed and the message was: %s", what, nth, sley_last_error());
  }
  fail_msg("%s: more than %d allocations", what, MOST);
}

typedef struct product {
  const char *algo;
  int ranks, workgroup;
  bool transpose, keep_input;
  const char *wire;
  sley_update_way update;
  sley_matrix *matrix;
} product;

enum { K = 3, N = 5 };

/* An update, with its check. */
static sley_status update_rank(sley_plan *plan, const sley_matrix *block, const float *x, float *z) {
  const float w[K * N] = {1, 2, 3};
  sley_check check;
  sley_update update = SLEY_UPDATE_INIT;
  update.w = w;
  update.n = update.ldw = N;
  sley_status status = sley_spmm_update(plan, x, K, &update, z, N);
  if (status == SLEY_OK)
    status = sley_check_update(block, false, K, x, K, &update, NULL, N, z, N, 1, NULL, &check);
  return status;
}

static sley_status multiply_rank(sley_comm *comm, void *argument) {
  const product *p = argument;
  int64_t begin[9];
  float x[64 * K] = {0}, y[64 * K], z[64 * N];
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.update = p->update;
  options.algo = p->algo;
  options.transpose = p->transpose;
  options.keep_input = p->keep_input;
  options.wire = p->wire;
  sley_matrix *block = NULL;
  sley_plan *plan = NULL;
  int rank = sley_comm_rank(comm);
  sley_status status = sley_partition_rows(p->matrix, "rows", p->ranks, begin);
  if (status == SLEY_OK)
    status = sley_matrix_row_block(p->matrix, begin[rank], begin[rank + 1] - begin[rank], &block);
  if (status == SLEY_OK)
    status = sley_plan_create(comm, block, begin, begin, K, &options, &plan);
  if (status == SLEY_OK)
    status = sley_spmm(plan, 1, x, K, 0, y, K);
  if (status == SLEY_OK && p->update != SLEY_UPDATE_NONE)
    status = update_rank(plan, block, x, z);
  sley_plan_destroy(plan);
  sley_matrix_destroy(block);
  return status;
}

static sley_status multiply(const void *argument) {
  const product *p = argument;
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = p->ranks;
  options.workgroup = p->workgroup;
  options.threads = p->update && p->ranks == 1 ? 2 : 1;
  return sley_run_ranks(&options, multiply_rank, (void *)p);
}

static void products(void **state) {
  (void)state;
  product p = {.ranks = 4, .workgroup = 2};
  assert_sley_ok(sley_matrix_read("er:rows=40,cols=40,nnz=200,seed=1", NULL, &p.matrix));
  for (const char *const *algo = sley_algorithms(); *algo; algo++) {
    p.algo = *algo;
    fail_each(*algo, multiply, &p);
  }
  p.algo = "auto";
  p.ranks = 2;
  p.transpose = true;
  fail_each("auto, transposed", multiply, &p);
  p.algo = "cover"; /* in one workgroup: on the device its halo arrives in pieces */
  p.transpose = false;
  fail_each("cover in one workgroup", multiply, &p);
  sley_matrix_destroy(p.matrix);
}

/* A pair with new values, and the halo of its first plan. */
static sley_status use_pair(sley_plan *plan, sley_plan *transposed, const sley_matrix *block) {
  float x[64 * K] = {0}, y[64 * K], buffer[64 * K];
  sley_csr csr;
  sley_halo *halo = NULL;
  sley_status status = sley_matrix_csr(block, &csr);
  const float *val = (const float *)csr.val + csr.rowptr[0];
  if (status == SLEY_OK)
    status = sley_plan_set_values(plan, val);
  if (status == SLEY_OK)
    status = sley_plan_set_values(transposed, val);
  if (status == SLEY_OK)
    status = sley_spmm(transposed, 1, x, K, 0, y, K);
  if (status == SLEY_OK)
    status = sley_plan_halo(plan, &halo);
  if (status == SLEY_OK)
    status = sley_halo_gather(halo, x, K, buffer, K);
  sley_halo_destroy(halo);
  return status;
}

static sley_status pair_rank(sley_comm *comm, void *argument) {
  const product *p = argument;
  static const int64_t needed[] = {1, 25, 39};
  int64_t begin[9];
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.algo = p->algo;
  options.renewable = true;
  sley_matrix *block = NULL;
  sley_plan *plan = NULL, *transposed = NULL;
  sley_halo *halo = NULL;
  int rank = sley_comm_rank(comm);
  sley_status status = sley_partition_rows(p->matrix, "rows", p->ranks, begin);
  if (status == SLEY_OK)
    status = sley_matrix_row_block(p->matrix, begin[rank], begin[rank + 1] - begin[rank], &block);
  if (status == SLEY_OK)
    status = sley_plan_create_pair(comm, block, begin, begin, K, &options, &plan, &transposed);
  if (status == SLEY_OK)
    status = use_pair(plan, transposed, block);
  if (status == SLEY_OK)
    status = sley_halo_create(comm, needed, 3, begin, K, SLEY_F32, &halo);
  sley_halo_destroy(halo);
  sley_plan_destroy(transposed);
  sley_plan_destroy(plan);
  sley_matrix_destroy(block);
  return status;
}

static sley_status make_pair(const void *argument) {
  const product *p = argument;
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = p->ranks;
  options.threads = 1;
  return sley_run_ranks(&options, pair_rank, (void *)p);
}

static void pairs_and_halos(void **state) {
  (void)state;
  product p = {.ranks = 2, .algo = "halo"};
  assert_sley_ok(sley_matrix_read("er:rows=40,cols=40,nnz=200,seed=1", NULL, &p.matrix));
  fail_each("a pair", make_pair, &p);
  p.ranks = 1;
  fail_each("a pair of one rank", make_pair, &p);
  sley_matrix_destroy(p.matrix);
}

/* In 16 bits sums lie apart from Y. */
static void products_of_16_bits(void **state) {
  (void)state;
  static const char *const algos[] = {"bcast-1.5d", "summa-2d", "halo", "halo-pipelined", "cover"};
  product p = {.ranks = 4, .workgroup = 2};
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  options.dtype = SLEY_BF16;
  assert_sley_ok(sley_matrix_read("er:rows=40,cols=40,nnz=200,seed=1", &options, &p.matrix));
  for (size_t i = 0; i < sizeof algos / sizeof *algos; i++) {
    p.algo = algos[i];
    fail_each(algos[i], multiply, &p);
  }
  sley_matrix_destroy(p.matrix);
}

/* Fused, on a rank with two threads and on ranks that read rows in place, and apart. */
static void updates(void **state) {
  (void)state;
  product p = {.ranks = 1, .workgroup = 1, .algo = "halo", .update = SLEY_UPDATE_FUSED};
  assert_sley_ok(sley_matrix_read("er:rows=40,cols=40,nnz=200,seed=1", NULL, &p.matrix));
  fail_each("a fused update", multiply, &p);
  p.ranks = p.workgroup = 4;
  fail_each("fused updates", multiply, &p);
  p.update = SLEY_UPDATE_APART;
  fail_each("updates apart", multiply, &p);
  p.algo = "cover";
  p.workgroup = 2;
  fail_each("updates of partial sums", multiply, &p);
  sley_matrix_destroy(p.matrix);
}

/* What is changed in a plan after its builder. */
static void products_whose_values_travel_otherwise(void **state) {
  (void)state;
  static const char *const algos[] = {"bcast-1d-pipelined", "bcast-1.5d", "summa-2d", "halo-pipelined",
                                      "cover"};
  product p = {.ranks = 4, .workgroup = 2, .keep_input = true, .wire = "bf16"};
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  options.dtype = SLEY_F32;
  assert_sley_ok(sley_matrix_read("er:rows=40,cols=40,nnz=200,seed=1", &options, &p.matrix));
  for (size_t i = 0; i < sizeof algos / sizeof *algos; i++) {
    p.algo = algos[i];
    fail_each(algos[i], multiply, &p);
  }
  sley_matrix_destroy(p.matrix);
}

/* Reads, orders, permutes, transposes, writes and reads again. */
static sley_status pass_through(const void *argument) {
  const char *const *names = argument; /* a matrix, an ordering, an output path */
  const char *ending = strrchr(names[2], '.');
  int64_t perm[64];
  sley_matrix *matrix = NULL, *ordered = NULL, *transposed = NULL, *again = NULL;
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  options.threads = 2;
  options.dtype = strcmp(ending, ".npz") == 0 ? SLEY_BF16 : SLEY_F32; /* which .npz cannot hold as it is */
  sley_status status = sley_matrix_read(names[0], &options, &matrix);
  if (status == SLEY_OK)
    status = sley_order(matrix, names[1], 1, 2, perm);
  if (status == SLEY_OK)
    status = sley_matrix_permute(matrix, perm, perm, 2, &ordered);
  if (status == SLEY_OK)
    status = sley_matrix_transpose(ordered, 2, &transposed);
  if (status == SLEY_OK)
    status = sley_matrix_write(transposed, names[2]);
  if (status == SLEY_OK)
    status = sley_matrix_read(names[2], &options, &again);
  sley_matrix_destroy(again);
  sley_matrix_destroy(transposed);
  sley_matrix_destroy(ordered);
  sley_matrix_destroy(matrix);
  return status;
}

static void files_and_orderings(void **state) {
  (void)state;
  static const char *const orderings[] = {"rabbit", "rcm", "degree", "random", "loa"};
  static const char *const endings[] = {"mtx", "mtx.gz", "mtx.zst", "sley", "npz", "el", "rb"};
  char directory[] = "/tmp/sley-test-XXXXXX", path[128];
  assert_non_null(mkdtemp(directory));
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    snprintf(path, sizeof path, "%s/a.%s", directory, endings[i]);
    const char *names[] = {"rmat:scale=6,edgefactor=4,seed=2", orderings[i % 5], path};
    fail_each(endings[i], pass_through, names);
    unlink(path);
  }
  assert_int_equal(rmdir(directory), 0); /* failed writes left nothing behind */
}

/* A graph, and an operation of each kind. */
static sley_status use_graph(sley_graph *graph) {
  sley_aggregation *aggregation = NULL;
  sley_sddmm *sddmm = NULL;
  sley_attention *attention = NULL;
  sley_aggregation_options sums = SLEY_AGGREGATION_OPTIONS_INIT;
  sley_sddmm_options products = SLEY_SDDMM_OPTIONS_INIT;
  sley_attention_options heads = SLEY_ATTENTION_OPTIONS_INIT;
  sums.width = products.width = heads.width = K;
  heads.kind = SLEY_ATTENTION_GATV2;
  sley_status status = sley_aggregation_create(graph, &sums, &aggregation);
  if (status == SLEY_OK)
    status = sley_sddmm_create(graph, &products, &sddmm);
  if (status == SLEY_OK)
    status = sley_attention_create(graph, &heads, &attention);
  sley_attention_destroy(attention);
  sley_sddmm_destroy(sddmm);
  sley_aggregation_destroy(aggregation);
  return status;
}

static sley_status graph_rank(sley_comm *comm, void *argument) {
  const product *p = argument;
  const int rank = sley_comm_rank(comm);
  int64_t begin[9];
  sley_matrix *block = NULL;
  sley_graph *graph = NULL;
  sley_status status = sley_partition_rows(p->matrix, "rows", p->ranks, begin);
  if (status == SLEY_OK)
    status = sley_matrix_row_block(p->matrix, begin[rank], begin[rank + 1] - begin[rank], &block);
  if (status == SLEY_OK)
    status = sley_graph_create(comm, (const sley_matrix *const *)&block, begin, begin, NULL, &graph);
  if (status == SLEY_OK)
    status = use_graph(graph);
  sley_graph_destroy(graph);
  sley_matrix_destroy(block);
  return status;
}

static sley_status make_graph(const void *argument) {
  const product *p = argument;
  sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
  options.ranks = p->ranks;
  options.threads = 1;
  options.device = test_device();
  return sley_run_ranks(&options, graph_rank, (void *)p);
}

static void graphs(void **state) {
  (void)state;
  product p = {.ranks = 2};
  /* so few that many rows need nothing of the other rank */
  assert_sley_ok(sley_matrix_read("er:rows=40,cols=40,nnz=80,seed=1", NULL, &p.matrix));
  fail_each("a graph", make_graph, &p);
  p.ranks = 1;
  fail_each("a graph of one rank", make_graph, &p);
  sley_matrix_destroy(p.matrix);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(products),
                                     cmocka_unit_test(pairs_and_halos),
                                     cmocka_unit_test(graphs),
                                     cmocka_unit_test(products_of_16_bits),
                                     cmocka_unit_test(updates),
                                     cmocka_unit_test(products_whose_values_travel_otherwise),
                                     cmocka_unit_test(files_and_orderings)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
