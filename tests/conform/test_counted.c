/* SPDX-License-Identifier: Apache-2.0 */
/* The counted traffic of a product equals its plan's prediction, for every algorithm on every transport. It
 * differs as soon as the transport moves something else: one more message, fewer bytes per row, or nothing
 * instead of an exchange. So the two figures are independent. */
#include <string.h>

#include "ranks.h"

enum { ROWS = 90, K = 5 };

typedef enum change { SOUND, ONE_MORE, FEWER_BYTES, NOT_SENT, CHANGES } change;

/* The comm's original operations, and the modified table; per rank, which is a thread. */
static _Thread_local const sl_transport_ops *sound;
static _Thread_local sl_transport_ops changed;

/* An additional exchange: rank 0 sends rank 1 one row of one byte. */
static _Thread_local sl_exchange *extra;
static _Thread_local bool adds_one;
static _Thread_local char *extra_bytes; /* two bytes of device memory */

static sley_status open_extra(sl_comm *comm) {
  const sl_row_list list = {.peer = !comm->rank, .count = 1, .bytes = 1};
  sl_exchange_spec spec = {.name = "one more",
                           .sends = comm->rank == 0,
                           .recvs = comm->rank == 1,
                           .send = &list,
                           .recv = &list,
                           .dtype = SLEY_F32};
  return sound->exchange_create(comm, &spec, &extra);
}

/* Runs before a product's first exchange, on every rank. */
static sley_status begin_one_more(sl_exchange *exchange, const void *src, int64_t src_stride, void *dst,
                                  int64_t dst_stride, sl_queue *queue) {
  if (adds_one) {
    adds_one = false;
    SL_TRY(sound->exchange_begin(extra, extra_bytes, 1, extra_bytes + 1, 1, queue));
    SL_TRY(sound->exchange_end(extra, queue));
  }
  return sound->exchange_begin(exchange, src, src_stride, dst, dst_stride, queue);
}

/* Sends each row without its last byte. */
static sley_status create_narrower(sl_comm *comm, const sl_exchange_spec *spec, sl_exchange **out) {
  sl_exchange_spec narrow = *spec;
  sl_row_list lists[2][16];
  for (int i = 0; i < spec->sends; i++) {
    lists[0][i] = spec->send[i];
    lists[0][i].bytes--;
  }
  for (int i = 0; i < spec->recvs; i++) {
    lists[1][i] = spec->recv[i];
    lists[1][i].bytes--;
  }
  narrow.send = lists[0];
  narrow.recv = lists[1];
  return sound->exchange_create(comm, &narrow, out);
}

static sley_status begin_nothing(sl_exchange *exchange, const void *src, int64_t src_stride, void *dst,
                                 int64_t dst_stride, sl_queue *queue) {
  (void)exchange, (void)src, (void)src_stride, (void)dst, (void)dst_stride, (void)queue;
  return SLEY_OK;
}

static sley_status end_nothing(sl_exchange *exchange, sl_queue *queue) {
  (void)exchange, (void)queue;
  return SLEY_OK;
}

static sley_status arrive_at_once(sl_exchange *exchange, sl_queue *queue, const sl_piece_words **words) {
  (void)exchange, (void)queue;
  *words = NULL;
  return SLEY_OK;
}

static void replace(sl_comm *comm, change what) {
  sound = comm->ops;
  changed = *sound;
  if (what == ONE_MORE)
    changed.exchange_begin = begin_one_more;
  if (what == FEWER_BYTES)
    changed.exchange_create = create_narrower;
  if (what == NOT_SENT) {
    changed.exchange_begin = begin_nothing;
    changed.exchange_arrive = arrive_at_once;
    changed.exchange_end = changed.exchange_reclaim = end_nothing;
  }
  comm->ops = &changed;
}

typedef struct job {
  const sley_matrix *matrix;
  int64_t begin[16];
  const char *algo;
  change what;
} job;

static bool same(const sley_traffic *a, const sley_traffic *b) {
  return a->direct_bytes == b->direct_bytes && a->direct_messages == b->direct_messages &&
         a->message_bytes == b->message_bytes && a->message_messages == b->message_messages &&
         a->self_bytes == b->self_bytes && a->self_messages == b->self_messages;
}

static sley_status judge(const job *j, const sley_plan *plan, const sley_traffic *counted) {
  sley_plan_info info;
  SL_TRY(sley_plan_info_get(plan, &info));
  const sley_traffic *p = &info.predicted;
  if (j->what != SOUND && p->direct_bytes + p->message_bytes == 0)
    return SLEY_OK;
  if (same(counted, p) == (j->what == SOUND))
    return SLEY_OK;
  return sl_fail(
      SLEY_ERR_INTERNAL,
      "%s, change %d: predicted %lld bytes in %lld messages direct and %lld in %lld, counted %lld in "
      "%lld and %lld in %lld",
      j->algo, (int)j->what, (long long)p->direct_bytes, (long long)p->direct_messages,
      (long long)p->message_bytes, (long long)p->message_messages, (long long)counted->direct_bytes,
      (long long)counted->direct_messages, (long long)counted->message_bytes,
      (long long)counted->message_messages);
}

static sley_status multiply(sl_comm *comm, const job *j, const sley_matrix *block, void *x, void *y) {
  sley_plan_options options = SLEY_PLAN_OPTIONS_INIT;
  sley_plan *plan = NULL;
  sley_traffic counted;
  options.algo = j->algo;
  sley_status status = sley_plan_create(comm, block, j->begin, j->begin, K, &options, &plan);
  for (int i = 0; i < 2 && status == SLEY_OK; i++) { /* counters are of the last product */
    adds_one = j->what == ONE_MORE;
    status = sley_spmm(plan, 1, x, K, 0, y, K);
  }
  adds_one = false;
  if (status == SLEY_OK)
    status = sley_plan_counted(plan, &counted);
  if (status == SLEY_OK)
    status = judge(j, plan, &counted);
  sley_plan_destroy(plan);
  return status;
}

static sley_status rank_main(sl_comm *comm, void *arg) {
  const job *j = arg;
  sley_matrix *block = NULL;
  void *x = NULL, *y = NULL, *bytes = NULL;
  int64_t rows = j->begin[comm->rank + 1] - j->begin[comm->rank];
  sley_status status = SLEY_OK;
  extra = NULL;
  /* Rows that are read in place cannot be replaced. */
  if (j->what == NOT_SENT && comm->zero_copy && comm->workgroup > 1)
    return SLEY_OK;
  replace(comm, j->what);
  TRY(sley_matrix_row_block(j->matrix, j->begin[comm->rank], rows, &block));
  TRY(sley_comm_alloc(comm, rows * K * 4, &x));
  TRY(sley_comm_alloc(comm, rows * K * 4, &y));
  TRY(sley_comm_alloc(comm, 2, &bytes));
  extra_bytes = bytes;
  if (j->what == ONE_MORE)
    TRY(open_extra(comm));
  TRY(multiply(comm, j, block, x, y));
done:
  if (status != SLEY_OK)
    comm->ops->abort(comm, status);
  if (extra)
    sound->exchange_destroy(extra);
  comm->ops = sound;
  sley_comm_free(comm, bytes);
  sley_comm_free(comm, x);
  sley_comm_free(comm, y);
  sley_matrix_destroy(block);
  return status;
}

static void run_job(const rank_case *c, job *j, const char *algo, change what) {
  j->algo = algo;
  j->what = what;
  assert_case_ok(c, run_case(c, rank_main, j));
}

/* Cases take the algorithms in turn, and each case makes all changes. */
static void body(const rank_case *c) {
  char text[80];
  job j = {0};
  sley_matrix *matrix;
  const int count = count_algorithms();
  snprintf(text, sizeof text, "er:n=%d,nnz=%d,seed=%d", ROWS, 3 * ROWS, (int)(c->seed % 1000));
  assert_sley_ok(sley_matrix_read(text, NULL, &matrix));
  assert_sley_ok(sley_partition_rows(matrix, "rows", c->ranks, j.begin));
  j.matrix = matrix;
  for (int i = 0; i < count; i++)
    if (i % 3 == (int)(c->seed % 3) && (c->ranks > 1 || strcmp(sley_algorithms()[i], "halo") == 0))
      run_job(c, &j, sley_algorithms()[i], SOUND);
  for (change what = ONE_MORE; what < CHANGES && c->ranks > 1; what++)
    run_job(c, &j, "halo", what);
  sley_matrix_destroy(matrix);
}

static void counted_beside_predicted(void **state) {
  (void)state;
  each_case(body);
}

int main(void) {
  const struct CMUnitTest tests[] = {cmocka_unit_test(counted_beside_predicted)};
  return cmocka_run_group_tests(tests, NULL, NULL);
}
