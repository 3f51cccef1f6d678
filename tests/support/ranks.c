/* SPDX-License-Identifier: Apache-2.0 */
#include "ranks.h"

#include <signal.h>
#include <unistd.h>

#include "base/memory.h"
#include "mirror.h"
#include "transport/trace/trace.h"

enum { WATCHDOG_SECONDS = 30 };

typedef struct traced_main {
  sl_rank_main main;
  void *arg;
} traced_main;

static sley_status run_main_traced(sl_comm *comm, void *arg) {
  const traced_main *inner = arg;
  sl_trace *trace;
  SL_TRY(sl_trace_create(comm->rank, &trace));
  sl_comm *traced;
  sley_status status = sl_trace_wrap(comm, trace, &traced);
  if (status == SLEY_OK) {
    status = inner->main(traced, inner->arg);
    if (status != SLEY_OK)
      traced->ops->abort(traced, status);
    traced->ops->close(traced);
  }
  sl_trace_destroy(trace);
  return status;
}

sley_status run_case(const rank_case *c, sl_rank_main main, void *arg) {
  const sl_transport_backend *backend;
  SL_TRY(sl_transport_backend_find(c->transport, &backend));
  sl_launch launch = {
      .ranks = c->ranks, .workgroup = c->workgroup, .threads = c->threads, .device = test_device()};
  traced_main traced = {main, arg};
  return c->traced ? backend->run(&launch, run_main_traced, &traced) : backend->run(&launch, main, arg);
}

static void hangs(int signal_number) {
  (void)signal_number;
  static const char text[] = "a rank hangs: the watchdog ends the test\n";
  (void)!write(STDERR_FILENO, text, sizeof text - 1);
  _exit(99);
}

void each_case(void (*body)(const rank_case *c)) {
  static const int rank_counts[] = {1, 2, 3, 4, 7, 8};
  signal(SIGALRM, hangs);
  const char *transport = getenv("SLEY_TEST_TRANSPORT");
  uint64_t seed = 0;
  for (int traced = 0; traced < 2; traced++)
    for (size_t i = 0; i < sizeof rank_counts / sizeof *rank_counts; i++) {
      int ranks = rank_counts[i], groups[] = {1, 2, 4, ranks};
      for (size_t g = 0; g < 4; g++) {
        if (groups[g] > ranks || (g < 3 && groups[g] == ranks))
          continue;
        rank_case c = {
            transport ? transport : "threads", traced != 0, ranks, groups[g], 1 + (int)(seed % 2), ++seed};
        alarm(WATCHDOG_SECONDS);
        body(&c);
        alarm(0);
      }
    }
}

void assert_case_ok(const rank_case *c, sley_status status) {
  if (status != SLEY_OK)
    fail_msg("%s%s, %d ranks, workgroup %d, %d threads, seed %llu: %s: %s", c->transport,
             c->traced ? "+trace" : "", c->ranks, c->workgroup, c->threads, (unsigned long long)c->seed,
             sley_status_name(status), sley_last_error());
}
