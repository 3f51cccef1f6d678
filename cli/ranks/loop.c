/* SPDX-License-Identifier: Apache-2.0 */
/* Loops on all cores, by ranks that are threads. */
#include "ranks/loop.h"

#include <stdatomic.h>
#include <unistd.h>

enum { MOST_THREADS = 256 };

typedef struct loop {
  _Atomic int64_t next;
  int64_t count, grain;
  cli_loop_body body;
  void *context;
} loop;

static sley_status claim(sley_comm *comm, void *arg) {
  loop *l = arg;
  (void)comm;
  for (;;) {
    const int64_t begin = atomic_fetch_add(&l->next, l->grain);
    if (begin >= l->count)
      return SLEY_OK;
    const int64_t end = l->count - begin < l->grain ? l->count : begin + l->grain;
    const sley_status status = l->body(l->context, begin, end);
    if (status != SLEY_OK)
      return status;
  }
}

sley_status cli_loop(int64_t threads, int64_t count, int64_t grain, cli_loop_body body, void *context) {
  loop l = {.count = count, .grain = grain, .body = body, .context = context};
  sley_rank_options ranks = SLEY_RANK_OPTIONS_INIT;
  if (threads == 0)
    threads = sysconf(_SC_NPROCESSORS_ONLN);
  if (threads > (count + grain - 1) / grain)
    threads = (count + grain - 1) / grain;
  if (threads <= 1)
    return count > 0 ? body(context, 0, count) : SLEY_OK;
  ranks.ranks = threads < MOST_THREADS ? (int)threads : MOST_THREADS;
  ranks.threads = 1;
  return sley_run_ranks(&ranks, claim, &l);
}
