/* SPDX-License-Identifier: Apache-2.0 */
/* Runs the ranks of a test on the transport and device that the environment names. */
#include "ranks.h"

#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include "bootstrap/meet.h"
#include "socket/socket.h"
#include "mirror.h"
#include "transport/process/process.h"
#include "transport/trace/trace.h"

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

/* One rank of a transport between processes. */
typedef struct joining {
  const sl_process_backend *backend;
  const sl_launch *launch;
  sl_place place;
  sl_rank_main main;
  void *arg;
  pthread_t thread;
  sl_error error; /* error with which the rank ended; SLEY_OK: none */
} joining;

static void *join_thread(void *arg) {
  joining *j = arg;
  sl_error_take(sl_process_join(j->backend, j->launch, &j->place, j->main, j->arg), &j->error);
  return NULL;
}

/* Runs ranks of a transport between processes as threads of this process, so that they can write to memory of
 * the test. */
static sley_status run_in_threads(const sl_process_backend *backend, const sl_launch *launch,
                                  sl_rank_main main, void *arg) {
  static joining ranks[64];
  static uint64_t key;
  sl_place place = {
      .size = launch->ranks, .address = "127.0.0.1", .local = true, .timeout = 20, .key = ++key};
  SL_TRY(sl_socket_listen(0, true, &place.port, &place.listener));
  for (int r = 0; r < launch->ranks; r++) {
    ranks[r] = (joining){.backend = backend, .launch = launch, .place = place, .main = main, .arg = arg};
    ranks[r].place.rank = ranks[r].place.local_rank = r;
    if (r > 0)
      ranks[r].place.listener = -1;
    pthread_create(&ranks[r].thread, NULL, join_thread, &ranks[r]);
  }
  for (int r = 0; r < launch->ranks; r++)
    pthread_join(ranks[r].thread, NULL);
  for (int own = 1; own >= 0; own--)
    for (int r = 0; r < launch->ranks; r++)
      if (ranks[r].error.status != SLEY_OK && (!own || ranks[r].error.status != SLEY_ERR_PEER))
        return sl_error_on(r, &ranks[r].error);
  return SLEY_OK;
}

/* ---- ranks that a launcher has started as processes, each of which runs the test */

static int launched_rank, launched_size; /* 0: nobody has */
static sl_mesh *beside;                  /* mesh through which the launched ranks share results */

static void meet_beside(void) {
  const char *name;
  sl_place place;
  if (launched_size > 0 || sley_launcher(&name, &launched_rank, &launched_size) != SLEY_OK || !name)
    return;
  sley_status status = sl_place_from_variables(&place);
  place.timeout = 20;
  if (status == SLEY_OK)
    status = sl_bootstrap_meet(&place, SLEY_OK, &beside);
  if (status != SLEY_OK) {
    fprintf(stderr, "the ranks of the test do not meet: %s\n", sley_last_error());
    _exit(99);
  }
}

/* As run_in_threads: the same on all ranks. */
static sley_status run_launched(const sl_transport_backend *backend, const sl_launch *launch,
                                sl_rank_main main, void *arg) {
  static sl_error all[64];
  sl_error mine; /* error of this rank's run */
  sl_error_take(backend->run(launch, main, arg), &mine);
  SL_TRY(sl_mesh_allgather(beside, &mine, sizeof mine, all));
  for (int own = 1; own >= 0; own--)
    for (int r = 0; r < launch->ranks; r++)
      if (all[r].status != SLEY_OK && (!own || all[r].status != SLEY_ERR_PEER))
        return sl_error_on(r, &all[r]);
  return SLEY_OK;
}

bool test_launched(void) {
  return launched_size > 0;
}

void share_seen(void *seen, size_t bytes) {
  char *all = seen;
  if (test_launched())
    assert_sley_ok(sl_mesh_allgather(beside, all + (size_t)launched_rank * bytes, (int64_t)bytes, all));
}

int64_t most_seen(int64_t mine) {
  if (test_launched())
    assert_sley_ok(sl_mesh_allreduce(beside, SL_MESH_MAX, &mine, 1));
  return mine;
}

static int cases_run; /* by run_case */

sley_status run_case(const rank_case *c, sl_rank_main main, void *arg) {
  cases_run++;
  meet_beside();
  const sl_transport_backend *backend;
  SL_TRY(sl_transport_backend_find(c->transport, &backend));
  sl_launch launch = {.ranks = c->ranks,
                      .workgroup = c->workgroup,
                      .threads = c->threads,
                      .device = c->device ? c->device : test_device()};
  traced_main traced = {main, arg};
  if (backend->process && test_launched())
    return c->traced ? run_launched(backend, &launch, run_main_traced, &traced)
                     : run_launched(backend, &launch, main, arg);
  if (backend->process)
    return c->traced ? run_in_threads(backend->process, &launch, run_main_traced, &traced)
                     : run_in_threads(backend->process, &launch, main, arg);
  return c->traced ? backend->run(&launch, run_main_traced, &traced) : backend->run(&launch, main, arg);
}

static void hangs(int signal_number) {
  (void)signal_number;
  static const char text[] = "a rank hangs: the watchdog ends the test\n";
  (void)!write(STDERR_FILENO, text, sizeof text - 1);
  _exit(99);
}

enum { MOST_CASES = 40 };

/* Lists all cases in order; returns their number. */
static int list_cases(rank_case *list) {
  static const int rank_counts[] = {1, 2, 3, 4, 7, 8};
  const char *transport = getenv("SLEY_TEST_TRANSPORT");
  uint64_t seed = 0;
  int count = 0;
  for (int traced = 0; traced < 2; traced++)
    for (size_t i = 0; i < sizeof rank_counts / sizeof *rank_counts; i++) {
      int ranks = rank_counts[i], groups[] = {1, 2, 4, ranks};
      if (test_launched() && ranks != launched_size)
        continue;
      for (size_t g = 0; g < 4; g++) {
        if (groups[g] > ranks || (g < 3 && groups[g] == ranks))
          continue;
        int threads = 1 + (int)(seed % 2);
        seed++;
        list[count++] = (rank_case){
            transport ? transport : "threads", traced != 0, ranks, groups[g], threads, seed, NULL};
      }
    }
  return count;
}

void each_case(void (*body)(const rank_case *c)) {
  rank_case list[MOST_CASES];
  signal(SIGALRM, hangs);
  meet_beside();
  const int count = list_cases(list);
  const int wanted = count / (int)test_share_of((uint64_t)count);
  for (int tried = 0, run = 0; tried < count && run < wanted; tried++) {
    const int taken = tried + (wanted < count ? (int)test_draw((uint64_t)(count - tried)) : 0);
    const rank_case c = list[taken];
    const int before = cases_run;
    list[taken] = list[tried];
    alarm(WATCHDOG_SECONDS);
    body(&c);
    alarm(0);
    run += cases_run > before;
  }
}

void each_case_until(const int *found, void (*body)(const rank_case *c)) {
  enum { MOST_TRIES = 20 };
  for (int tries = 0; tries < MOST_TRIES; tries++) {
    each_case(body);
    if (*found > 0 || test_share() == 1 || test_launched())
      return;
  }
}

int count_algorithms(void) {
  int count = 0;
  while (sley_algorithms()[count])
    count++;
  return count;
}

void assert_case_ok(const rank_case *c, sley_status status) {
  if (status != SLEY_OK)
    fail_msg("%s%s, %d ranks, workgroup %d, %d threads, seed %llu: %s: %s", c->transport,
             c->traced ? "+trace" : "", c->ranks, c->workgroup, c->threads, (unsigned long long)c->seed,
             sley_status_name(status), sley_last_error());
}

bool entries_travel(const char *algo, bool reproducible, int ranks) {
  if (strcmp(algo, "bcast-1.5d") == 0)
    return ranks >= 4 && ranks % 2 == 0 && !reproducible;
  return strcmp(algo, "summa-2d") == 0 || (strcmp(algo, "cover") == 0 && !reproducible);
}

sley_status check_counted(sl_comm *comm, const sl_counters *expected) {
  sl_counters counted;
  comm->ops->counters(comm, &counted);
  int64_t sums[4 * SL_LINK_COUNT];
  for (int link = 0; link < SL_LINK_COUNT; link++) {
    sums[4 * link] = counted.bytes[link];
    sums[4 * link + 1] = expected->bytes[link];
    sums[4 * link + 2] = counted.messages[link];
    sums[4 * link + 3] = expected->messages[link];
  }
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, sums, 4 * SL_LINK_COUNT));
  for (int i = 0; i < 2 * SL_LINK_COUNT; i++)
    if (sums[2 * i] != sums[2 * i + 1])
      return sl_fail(SLEY_ERR_INTERNAL, "%s over link class %d: counted %lld, expected %lld",
                     i % 2 ? "messages" : "bytes", i / 2, (long long)sums[2 * i], (long long)sums[2 * i + 1]);
  return SLEY_OK;
}
