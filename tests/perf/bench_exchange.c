/* SPDX-License-Identifier: Apache-2.0 */
/* Times the exchanges of the threads transport: every rank takes listed rows from every other, as a halo
 * does, into consecutive places. Prints one JSON object a line of measurement on stdout.
 *
 * From time to bandwidth: a round moves ranks x (ranks - 1) x rows x bytes; its time is the slowest rank's,
 * from begin to the return of end, after a barrier; the median of the rounds is reported. "copy" is the same
 * number of bytes gathered by one thread with the same kernel and no transport: what the exchange could reach
 * on one core.
 *
 * Usage: bench_exchange [--quick] [RANKS] */
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/memory.h"
#include "base/random.h"
#include "transport/transport_registry.h"

enum { RANKS_MOST = 64, SOURCE_ROWS = 1 << 16 };

typedef struct measurement {
  const char *link; /* what carries it */
  int ranks, workgroup, rounds;
  sl_grain grain;
  int64_t rows, bytes; /* a pair, a row */
  double *seconds;     /* of each round, the slowest rank's */
} measurement;

static int64_t listed_row(int from, int to, int64_t i) {
  return sl_below(sl_random(1, (uint64_t)(from * RANKS_MOST + to), (uint64_t)i), SOURCE_ROWS);
}

static int compare(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static int compare_seconds(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

/* Ascending rows, as halo lists are. */
static void list_rows(const measurement *m, int from, int to, int64_t *rows) {
  for (int64_t i = 0; i < m->rows; i++)
    rows[i] = listed_row(from, to, i);
  qsort(rows, (size_t)m->rows, sizeof *rows, compare);
}

static void fill_source(int64_t bytes, int rank, char *src) {
  for (int64_t row = 0; row < SOURCE_ROWS; row++)
    for (int64_t i = 0; i < bytes; i += 4) {
      uint32_t word = (uint32_t)(row * 31 + i + rank * 7);
      memcpy(src + row * bytes + i, &word, sizeof word);
    }
}

static sley_status verify(const measurement *m, int rank, const sl_row_list *recv, int recvs, int64_t *rows,
                          const char *dst) {
  for (int l = 0; l < recvs; l++) {
    list_rows(m, recv[l].peer, rank, rows);
    for (int64_t i = 0; i < m->rows; i++) {
      uint32_t got, expected = (uint32_t)(rows[i] * 31 + recv[l].peer * 7);
      memcpy(&got, dst + (recv[l].first + i) * m->bytes, sizeof got);
      if (got != expected)
        return sl_fail(SLEY_ERR_INTERNAL, "row %lld from rank %d is wrong", (long long)i, recv[l].peer);
    }
  }
  return SLEY_OK;
}

static sley_status time_rounds(sl_comm *comm, measurement *m, sl_exchange *exchange, const char *src,
                               char *dst) {
  for (int round = -2; round < m->rounds; round++) {
    SL_TRY(comm->ops->barrier(comm));
    double begin = sl_now();
    SL_TRY(comm->ops->exchange_begin(exchange, src, m->bytes, dst, m->bytes, comm->queue));
    SL_TRY(comm->ops->exchange_end(exchange, comm->queue));
    SL_TRY(sl_exchange_reclaim(exchange, comm->queue));
    int64_t nanoseconds = (int64_t)((sl_now() - begin) * 1e9);
    SL_TRY(comm->ops->allreduce(comm, SL_MAX, &nanoseconds, 1));
    if (round >= 0 && comm->rank == 0)
      m->seconds[round] = 1e-9 * (double)nanoseconds;
  }
  return SLEY_OK;
}

static sley_status measure_main(sl_comm *comm, void *arg) {
  measurement *m = arg;
  int peers = comm->size - 1, at = 0;
  sl_row_list send[RANKS_MOST], recv[RANKS_MOST];
  int64_t *rows = sl_alloc((peers + 1) * m->rows, sizeof *rows, "row lists");
  char *src = sl_alloc(SOURCE_ROWS, (size_t)m->bytes, "rows to send");
  char *dst = sl_alloc(peers * m->rows, (size_t)m->bytes, "received rows");
  sl_exchange *exchange = NULL;
  sley_status status;
  SL_TRY_GOTO(status, sl_agree(comm, rows && src && dst ? SLEY_OK : SLEY_ERR_MEMORY), done);
  fill_source(m->bytes, comm->rank, src);
  memset(dst, 0, (size_t)(peers * m->rows * m->bytes));
  for (int p = 0; p < comm->size; p++) {
    if (p == comm->rank)
      continue;
    list_rows(m, comm->rank, p, rows + at * m->rows);
    send[at] = (sl_row_list){.peer = p, .count = m->rows, .rows = rows + at * m->rows, .bytes = m->bytes};
    recv[at] = (sl_row_list){.peer = p, .count = m->rows, .first = at * m->rows, .bytes = m->bytes};
    at++;
  }
  sl_exchange_spec spec = {
      .name = m->link, .sends = at, .recvs = at, .send = send, .recv = recv, .grain = m->grain};
  SL_TRY_GOTO(status, comm->ops->exchange_create(comm, &spec, &exchange), done);
  SL_TRY_GOTO(status, time_rounds(comm, m, exchange, src, dst), done);
  status = verify(m, comm->rank, recv, at, rows + peers * m->rows, dst);
done:
  comm->ops->exchange_destroy(exchange);
  sl_free(dst);
  sl_free(src);
  sl_free(rows);
  return status;
}

/* The same rows by one rank alone. */
static sley_status copy_main(sl_comm *comm, void *arg) {
  measurement *m = arg;
  int64_t count = (int64_t)m->ranks * (m->ranks - 1) * m->rows;
  int64_t *rows = sl_alloc(count, sizeof *rows, "row lists");
  char *src = sl_alloc(SOURCE_ROWS, (size_t)m->bytes, "rows to send");
  char *dst = sl_alloc_zero(count, (size_t)m->bytes, "received rows");
  sley_status status = rows && src && dst ? SLEY_OK : SLEY_ERR_MEMORY;
  if (status == SLEY_OK) {
    fill_source(m->bytes, 0, src);
    for (int64_t pair = 0; pair < count / m->rows; pair++)
      list_rows(m, 0, 1 + (int)pair, rows + pair * m->rows);
  }
  for (int round = -2; round < m->rounds && status == SLEY_OK; round++) {
    sl_kernel_args args = {.op = SL_OP_ROWS};
    args.rows = (sl_rows_args){.count = count,
                               .bytes = m->bytes,
                               .src = src,
                               .src_stride = m->bytes,
                               .src_rows = rows,
                               .dst = dst,
                               .dst_stride = m->bytes};
    double begin = sl_now();
    status = sl_kernel_run(comm->queue, &args);
    if (round >= 0)
      m->seconds[round] = sl_now() - begin;
  }
  sl_free(dst);
  sl_free(src);
  sl_free(rows);
  return status;
}

static sley_status measure(const sl_transport_backend *backend, measurement *m) {
  SL_TRY(SL_NEW(m->seconds, m->rounds, "times"));
  bool copy = strcmp(m->link, "copy") == 0;
  sl_launch launch = {.ranks = copy ? 1 : m->ranks, .workgroup = copy ? 1 : m->workgroup, .threads = 1};
  sley_status status = backend->run(&launch, copy ? copy_main : measure_main, m);
  if (status == SLEY_OK) {
    qsort(m->seconds, (size_t)m->rounds, sizeof *m->seconds, compare_seconds);
    double median = m->seconds[m->rounds / 2];
    int64_t total_rows = (int64_t)m->ranks * (m->ranks - 1) * m->rows;
    json_t *line = json_pack("{s:s, s:i, s:i, s:I, s:I, s:f, s:f, s:f}", "link", m->link, "ranks", m->ranks,
                             "workgroup", m->workgroup, "bytes_per_row", (json_int_t)m->bytes, "bytes",
                             (json_int_t)(total_rows * m->bytes), "ms", 1e3 * median, "gbytes_per_s",
                             1e-9 * (double)(total_rows * m->bytes) / median, "ns_per_row",
                             1e9 * median / (double)total_rows);
    json_dumpf(line, stdout, JSON_REAL_PRECISION(4) | JSON_PRESERVE_ORDER);
    putchar('\n');
    json_decref(line);
  }
  sl_free(m->seconds);
  return status;
}

int main(int argc, char **argv) {
  int ranks = 4, rounds = 21;
  int64_t bytes_a_pair = 2 << 20;
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--quick") == 0) {
      rounds = 3;
      bytes_a_pair = 1 << 14;
    } else
      ranks = atoi(argv[i]);
  if (ranks < 2 || ranks > RANKS_MOST) {
    fprintf(stderr, "usage: bench_exchange [--quick] [RANKS], 2 to %d ranks\n", RANKS_MOST);
    return 2;
  }
  const sl_transport_backend *backend;
  sley_status status = sl_transport_backend_find("threads", &backend);
  static const int64_t widths[] = {4, 128, 512};
  for (size_t w = 0; w < 3 && status == SLEY_OK; w++) {
    int64_t bytes = widths[w], rows = bytes_a_pair / (bytes < 64 ? 64 : bytes);
    measurement kinds[] = {{"copy", ranks, 1, rounds, SL_GRAIN_PEER, rows, bytes, NULL},
                           {"direct", ranks, ranks, rounds, SL_GRAIN_PEER, rows, bytes, NULL},
                           {"message", ranks, 1, rounds, SL_GRAIN_PEER, rows, bytes, NULL},
                           {"message a row", ranks, 1, rounds, SL_GRAIN_ROW, rows, bytes, NULL},
                           {"one row", ranks, ranks, 10 * rounds, SL_GRAIN_PEER, 1, bytes, NULL}};
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds && status == SLEY_OK; i++)
      status = measure(backend, &kinds[i]);
  }
  if (status != SLEY_OK)
    fprintf(stderr, "bench_exchange: %s\n", sley_last_error());
  return status == SLEY_OK ? 0 : 1;
}
