/* SPDX-License-Identifier: Apache-2.0 */
/* A product can be captured into a CUDA graph, on one GPU and on several: the host's part of an execute takes
 * no memory, copies nothing and waits for no GPU, a replay of the graph asks nothing of Sley at all, and it
 * multiplies whatever X holds by then, with the bits of a direct execute. */
#include <cuda_runtime_api.h>

#include "mirror.h"
#include "transport/transport.h"

enum { REPLAYS = 5, RANKS_MOST = 8, VARIANTS = 5 };

#define EXPECT(condition)                                                                                    \
  do {                                                                                                       \
    if (!(condition))                                                                                        \
      return sl_fail(SLEY_ERR_INTERNAL, "%s:%d: %s does not hold", __FILE__, __LINE__, #condition);          \
  } while (0)

#define CUDA(call) SL_TRY(check_cuda((call), #call))

/* What all ranks are given. */
typedef struct capture_case {
  const sley_matrix *matrix;
  sley_dtype dtype;
  const char *algo;
  int ranks, workgroup;
  int64_t k;
  double beta;
  bool reproducible;
  int64_t begin[RANKS_MOST + 1];
} capture_case;

/* What a rank has. */
typedef struct captured {
  sley_comm *comm;
  const capture_case *c;
  sley_matrix *block;
  sley_plan *plan;
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  void *x, *start, *direct, *replayed; /* the host's: rows of X, of Y before, and of Y after */
  void *x_there, *y_there;
  int64_t first, rows, bytes;
} captured;

static sley_status check_cuda(cudaError_t error, const char *call) {
  return error == cudaSuccess ? SLEY_OK
                              : sl_fail(SLEY_ERR_INTERNAL, "%s: %s", call, cudaGetErrorString(error));
}

static sl_device_counters counted(const captured *s) {
  sl_device_counters now;
  s->comm->device->ops->counters(s->comm->device, &now);
  return now;
}

static sley_status take(int64_t bytes, void **out) {
  *out = malloc((size_t)bytes + 1);
  return *out ? SLEY_OK : sl_fail(SLEY_ERR_MEMORY, "no memory for operands");
}

static sley_status open_rank(captured *s) {
  const capture_case *c = s->c;
  int rank = sley_comm_rank(s->comm), gpus = 0;
  s->first = c->begin[rank];
  s->rows = c->begin[rank + 1] - s->first;
  s->bytes = s->rows * c->k * (int64_t)sley_dtype_bytes(c->dtype);
  CUDA(cudaGetDeviceCount(&gpus));
  CUDA(cudaSetDevice(rank % gpus));
  CUDA(cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking));
  SL_TRY(sley_comm_set_stream(s->comm, s->stream));
  SL_TRY(take(s->bytes, &s->x));
  SL_TRY(take(s->bytes, &s->start));
  SL_TRY(take(s->bytes, &s->direct));
  SL_TRY(take(s->bytes, &s->replayed));
  SL_TRY(sley_dense_random(3, s->first, s->rows, c->k, NULL, c->dtype, s->start, c->k));
  SL_TRY(sley_comm_alloc(s->comm, s->bytes, &s->x_there));
  SL_TRY(sley_comm_alloc(s->comm, s->bytes, &s->y_there));
  SL_TRY(sley_matrix_row_block(c->matrix, s->first, s->rows, &s->block));
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  options.capture = true;
  options.algo = c->algo;
  options.reproducible = c->reproducible;
  return sley_plan_create(s->comm, s->block, c->begin, c->begin, c->k, &options, &s->plan);
}

static void close_rank(captured *s) {
  if (s->ready)
    (void)cudaGraphExecDestroy(s->ready);
  if (s->graph)
    (void)cudaGraphDestroy(s->graph);
  sley_plan_destroy(s->plan);
  sley_matrix_destroy(s->block);
  sley_comm_free(s->comm, s->y_there);
  sley_comm_free(s->comm, s->x_there);
  free(s->replayed);
  free(s->direct);
  free(s->start);
  free(s->x);
  (void)sley_comm_set_stream(s->comm, NULL);
  if (s->stream) {
    (void)cudaStreamSynchronize(s->stream);
    (void)cudaStreamDestroy(s->stream);
  }
}

static sley_status multiply(captured *s) {
  return sley_spmm(s->plan, 1, s->x_there, s->c->k, s->c->beta, s->y_there, s->c->k);
}

/* X of a turn, and Y as it is before. */
static sley_status lay_out(captured *s, int turn) {
  int64_t k = s->c->k;
  SL_TRY(sley_dense_random(10 + (uint64_t)turn, s->first, s->rows, k, NULL, s->c->dtype, s->x, k));
  SL_TRY(sley_comm_copy(s->comm, s->x_there, s->x, s->bytes, SLEY_TO_DEVICE));
  return sley_comm_copy(s->comm, s->y_there, s->start, s->bytes, SLEY_TO_DEVICE);
}

static sley_status fetch(captured *s, void *y) {
  SL_TRY(sley_comm_copy(s->comm, y, s->y_there, s->bytes, SLEY_TO_HOST));
  return sley_comm_wait(s->comm);
}

static sley_status capture(captured *s) {
  CUDA(cudaStreamBeginCapture(s->stream, cudaStreamCaptureModeThreadLocal));
  sl_device_counters before = counted(s);
  sley_status status = multiply(s);
  sl_device_counters after = counted(s);
  cudaError_t ended = cudaStreamEndCapture(s->stream, &s->graph);
  SL_TRY(status);
  CUDA(ended);
  EXPECT(after.allocations == before.allocations);
  EXPECT(after.copies == before.copies);
  EXPECT(after.waits == before.waits);
  EXPECT(after.launches > before.launches || s->rows == 0);
  CUDA(cudaGraphInstantiate(&s->ready, s->graph, 0));
  return SLEY_OK;
}

static sley_status replay(captured *s, int turn) {
  SL_TRY(lay_out(s, turn));
  SL_TRY(multiply(s));
  SL_TRY(fetch(s, s->direct));
  SL_TRY(lay_out(s, turn));
  sl_device_counters before = counted(s);
  CUDA(cudaGraphLaunch(s->ready, s->stream));
  sl_device_counters after = counted(s);
  EXPECT(memcmp(&before, &after, sizeof before) == 0);
  SL_TRY(fetch(s, s->replayed));
  EXPECT(memcmp(s->direct, s->replayed, (size_t)s->bytes) == 0);
  EXPECT(s->bytes == 0 || turn == 0 || memcmp(s->direct, s->x, (size_t)s->bytes) != 0);
  return SLEY_OK;
}

/* The first product is a direct one: kernels are loaded when they are first used, which a capture forbids. */
static sley_status run_rank(captured *s) {
  SL_TRY(open_rank(s));
  SL_TRY(lay_out(s, 0));
  SL_TRY(multiply(s));
  SL_TRY(sley_comm_wait(s->comm));
  SL_TRY(capture(s));
  for (int turn = 0; turn < REPLAYS; turn++)
    SL_TRY(replay(s, turn));
  for (int turn = 0; turn < REPLAYS; turn++) /* one after the other, without a word from the host */
    CUDA(cudaGraphLaunch(s->ready, s->stream));
  SL_TRY(sley_comm_wait(s->comm));
  return sley_comm_barrier(s->comm); /* the peers' graphs still use what the plan owns */
}

static sley_status rank_main(sley_comm *comm, void *arg) {
  captured s = {.comm = comm, .c = arg};
  sley_status status = run_rank(&s);
  if (status != SLEY_OK)
    comm->ops->abort(comm, status);
  close_rank(&s);
  return status;
}

static sley_matrix *make_matrix(sley_dtype dtype) {
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  options.dtype = dtype;
  options.threads = 1;
  sley_matrix *matrix;
  assert_sley_ok(sley_matrix_read("rmat:scale=11,edgefactor=9,seed=5", &options, &matrix));
  return matrix;
}

/* matrices: of each dtype */
static void capture_algorithms(sley_matrix *const *matrices, int ranks, int workgroup) {
  static const sley_dtype dtypes[VARIANTS] = {SLEY_F32, SLEY_F32, SLEY_F32, SLEY_BF16, SLEY_F16};
  for (const char *const *algo = sley_algorithms(); *algo; algo++)
    for (int variant = 0; variant < VARIANTS; variant++) {
      const sley_matrix *matrix = matrices[dtypes[variant]];
      capture_case c = {.matrix = matrix,
                        .dtype = dtypes[variant],
                        .algo = *algo,
                        .ranks = ranks,
                        .workgroup = workgroup,
                        .k = variant == 0 ? 33 : 64,
                        .beta = variant == 1 || variant == 3 ? 0.5 : 0,
                        .reproducible = variant == 2};
      sley_rank_options options = SLEY_RANK_OPTIONS_INIT;
      options.ranks = ranks;
      options.workgroup = workgroup;
      options.threads = 1;
      options.device = "cuda";
      assert_sley_ok(sley_partition_rows(matrix, "nnz", ranks, c.begin));
      sley_status status = sley_run_ranks(&options, rank_main, &c);
      if (status != SLEY_OK)
        fail_msg("%s on %d ranks, workgroup %d, variant %d: %s", *algo, ranks, workgroup, variant,
                 sley_last_error());
    }
}

static void capture_on(int ranks) {
  int gpus = 0;
  if (cudaGetDeviceCount(&gpus) != cudaSuccess || gpus < ranks)
    skip();
  sley_matrix *matrices[] = {make_matrix(SLEY_F32), NULL, make_matrix(SLEY_F16), make_matrix(SLEY_BF16)};
  capture_algorithms(matrices, ranks, ranks);
  if (ranks > 2)
    capture_algorithms(matrices, ranks, 2);
  for (int dtype = SLEY_F32; dtype <= SLEY_BF16; dtype++)
    sley_matrix_destroy(matrices[dtype]);
}

static void test_one_rank(void **state) {
  (void)state;
  capture_on(1);
}

static void test_two_ranks(void **state) {
  (void)state;
  capture_on(2);
}

static void test_four_ranks(void **state) {
  (void)state;
  capture_on(4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_one_rank),
      cmocka_unit_test(test_two_ranks),
      cmocka_unit_test(test_four_ranks),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
