/* SPDX-License-Identifier: Apache-2.0 */
/* Ranks that meet over sockets: the launcher's variables, ports in use, ranks that do not come or are wrong,
 * ranks that die, and the local launcher. tests/conform tests the collectives. */
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "socket/mesh.h"
#include "socket/socket.h"
#include "bootstrap/meet.h"
#include "bootstrap/spawn.h"
#include "support.h"

enum { RANKS = 8 };

/* ---- variables */

static void set_variables(const char *rank, const char *size, const char *address, const char *port) {
  const char *const names[] = {"RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};
  const char *const values[] = {rank, size, address, port};
  for (int i = 0; i < 4; i++)
    if (values[i])
      setenv(names[i], values[i], 1);
    else
      unsetenv(names[i]);
}

static void assert_refused(const char *what) {
  sl_place place;
  assert_int_equal(sl_place_from_variables(&place), SLEY_ERR_ARG);
  if (!strstr(sley_last_error(), what) || strchr(sley_last_error(), '\n'))
    fail_msg("\"%s\" does not say \"%s\" in one line", sley_last_error(), what);
}

static void test_variables(void **state) {
  (void)state;
  sl_place place;
  unsetenv("LOCAL_RANK");
  set_variables(NULL, NULL, NULL, NULL);
  assert_false(sl_place_launched());
  set_variables("1", NULL, "localhost", "29500");
  assert_true(sl_place_launched());
  assert_refused("WORLD_SIZE is not set");
  set_variables(NULL, "2", "localhost", "29500");
  assert_refused("RANK is not set");
  set_variables("2", "2", "localhost", "29500");
  assert_refused("RANK is 2, but WORLD_SIZE is 2");
  set_variables("x", "2", "localhost", "29500");
  assert_refused("RANK is \"x\"");
  set_variables("0", "-1", "localhost", "29500");
  assert_refused("WORLD_SIZE is \"-1\"");
  set_variables("0", "2", "localhost", NULL);
  assert_refused("MASTER_PORT is not set");
  set_variables("0", "2", "localhost", "70000");
  assert_refused("MASTER_PORT is \"70000\"");
  set_variables("0", "2", NULL, "29500");
  assert_refused("MASTER_ADDR is not set");
  set_variables("1", "2", "localhost", "29500");
  setenv("LOCAL_RANK", "7", 1);
  assert_refused("LOCAL_RANK is 7, but RANK is 1");
  setenv("LOCAL_RANK", "0", 1);
  assert_sley_ok(sl_place_from_variables(&place));
  assert_int_equal(place.local_rank, 0);
  assert_int_equal(place.rank, 1);
  unsetenv("LOCAL_RANK");
  set_variables("0", "1", NULL, NULL); /* alone: nobody to meet */
  assert_sley_ok(sl_place_from_variables(&place));
  set_variables(NULL, NULL, NULL, NULL);

  double seconds;
  setenv("SLEY_TIMEOUT", "soon", 1);
  assert_int_equal(sl_timeout(0, &seconds), SLEY_ERR_ARG);
  setenv("SLEY_TIMEOUT", "7.5", 1);
  assert_sley_ok(sl_timeout(0, &seconds));
  assert_true(seconds == 7.5);
  assert_sley_ok(sl_timeout(3, &seconds));
  assert_true(seconds == 3);
  unsetenv("SLEY_TIMEOUT");
  assert_sley_ok(sl_timeout(0, &seconds));
  assert_true(seconds == 60);
  assert_int_equal(sl_timeout(-1, &seconds), SLEY_ERR_ARG);
}

/* Without MASTER_ADDR rank 0 is on the first host of SLURM's list. */
static void test_first_host(void **state) {
  (void)state;
  static const char *const variables[][2] = {{"SLURM_PROCID", "2"},  {"SLURM_STEP_NUM_TASKS", "4"},
                                             {"SLURM_LOCALID", "0"}, {"SLURM_STEP_TASKS_PER_NODE", "2(x2)"},
                                             {"SLURM_JOB_ID", "7"},  {"SLURM_STEP_ID", "0"}};
  static const char *const lists[][2] = {
      {"node[07-09,12]-a,gpu1", "node07-a"}, {"node[3,5-9]", "node3"}, {"c1,c2", "c1"}, {"gpu-1", "gpu-1"}};
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    setenv(variables[i][0], variables[i][1], 1);
  for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
    sl_place place;
    setenv("SLURM_STEP_NODELIST", lists[i][0], 1);
    assert_sley_ok(sl_place_from_variables(&place));
    assert_string_equal(place.address, lists[i][1]);
  }
  unsetenv("SLURM_STEP_NODELIST");
  for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
    unsetenv(variables[i][0]);
}

/* ---- meeting, ranks as threads */

typedef struct rank_state {
  sl_place place;
  sley_status mine, status;
  char message[1024];
  pthread_t thread;
  bool started;
} rank_state;

static void *meet_thread(void *arg) {
  rank_state *r = arg;
  sl_mesh *mesh = NULL;
  if (r->mine != SLEY_OK)
    (void)sl_fail(r->mine, "no disk");
  r->status = sl_bootstrap_meet(&r->place, r->mine, &mesh);
  if (r->status == SLEY_OK) {
    int64_t sum = r->place.rank + 1;
    r->status = sl_mesh_allreduce(mesh, SL_MESH_SUM, &sum, 1);
    if (r->status == SLEY_OK && sum != r->place.size * (r->place.size + 1) / 2)
      r->status = sl_fail(SLEY_ERR_INTERNAL, "the sum is %lld", (long long)sum);
    if (r->status == SLEY_OK && sl_mesh_block(mesh, r->place.size) != r->place.size)
      r->status = sl_fail(SLEY_ERR_INTERNAL, "ranks of one host are taken for ranks of several");
    char word[16];
    snprintf(word, sizeof word, "%s", r->place.rank == r->place.size - 1 ? "hello" : "");
    if (r->status == SLEY_OK)
      r->status = sl_mesh_broadcast(mesh, r->place.size - 1, word, sizeof word);
    if (r->status == SLEY_OK && strcmp(word, "hello") != 0)
      r->status = sl_fail(SLEY_ERR_INTERNAL, "the broadcast brings \"%s\"", word);
    sl_mesh_close(mesh);
  }
  snprintf(r->message, sizeof r->message, "%s", r->status == SLEY_OK ? "" : sley_last_error());
  return NULL;
}

/* A port that was free a moment ago. */
static int free_port(void) {
  int port, fd;
  assert_sley_ok(sl_socket_listen(0, false, &port, &fd));
  close(fd);
  return port;
}

static void prepare(rank_state *ranks, int size, double timeout) {
  int port = free_port();
  memset(ranks, 0, (size_t)size * sizeof *ranks);
  for (int r = 0; r < size; r++)
    ranks[r].place = (sl_place){.rank = r,
                                .size = size,
                                .local_rank = -1,
                                .address = "localhost",
                                .port = port,
                                .listener = -1,
                                .timeout = timeout,
                                .key = 42};
}

/* Starts ranks from the last to the first, so that the others wait for rank 0. skip: who does not come. */
static void run_meeting(rank_state *ranks, int size, int skip) {
  for (int r = size - 1; r >= 0; r--)
    if (r != skip) {
      ranks[r].started = pthread_create(&ranks[r].thread, NULL, meet_thread, &ranks[r]) == 0;
      assert_true(ranks[r].started);
    }
  for (int r = 0; r < size; r++)
    if (ranks[r].started)
      pthread_join(ranks[r].thread, NULL);
}

static void test_meeting(void **state) {
  (void)state;
  rank_state ranks[RANKS];
  for (int size = 1; size <= RANKS; size++) {
    prepare(ranks, size, 20);
    run_meeting(ranks, size, -1);
    for (int r = 0; r < size; r++)
      if (ranks[r].status != SLEY_OK)
        fail_msg("%d ranks, rank %d: %s", size, r, ranks[r].message);
  }
}

/* The launcher itself, say, listens at the port, and says nothing. */
static void test_port_in_use(void **state) {
  (void)state;
  rank_state ranks[3];
  prepare(ranks, 3, 20);
  int port, fd;
  assert_sley_ok(sl_socket_listen(ranks[0].place.port, false, &port, &fd));
  run_meeting(ranks, 3, -1);
  close(fd);
  for (int r = 0; r < 3; r++)
    if (ranks[r].status != SLEY_OK)
      fail_msg("rank %d: %s", r, ranks[r].message);
}

/* Others have connected to rank 0 before the ranks come, and say nothing, or half of something. */
static void test_silent_strangers(void **state) {
  (void)state;
  enum { STRANGERS = 3 };
  rank_state ranks[3];
  int strangers[STRANGERS];
  prepare(ranks, 3, 1.5); /* less than a stranger is waited for */
  assert_sley_ok(
      sl_socket_listen(ranks[0].place.port, false, &ranks[0].place.port, &ranks[0].place.listener));
  for (int i = 0; i < STRANGERS; i++) {
    assert_sley_ok(sl_socket_begin_connect("127.0.0.1", ranks[0].place.port, &strangers[i]));
    assert_sley_ok(sl_socket_write(strangers[i], "GET /", (size_t)i, sl_now() + 5));
  }
  run_meeting(ranks, 3, -1);
  for (int i = 0; i < STRANGERS; i++)
    close(strangers[i]);
  for (int r = 0; r < 3; r++)
    if (ranks[r].status != SLEY_OK)
      fail_msg("rank %d: %s", r, ranks[r].message);
}

static void test_rank_that_does_not_come(void **state) {
  (void)state;
  rank_state ranks[3];
  prepare(ranks, 3, 0.5);
  run_meeting(ranks, 3, 2);
  for (int r = 0; r < 2; r++) {
    assert_int_equal(ranks[r].status, SLEY_ERR_PEER);
    assert_non_null(strstr(ranks[r].message, "rank 2 of 3 did not connect"));
  }
  prepare(ranks, 3, 0.5);
  run_meeting(ranks, 3, 0);
  for (int r = 1; r < 3; r++) {
    assert_int_equal(ranks[r].status, SLEY_ERR_PEER);
    assert_non_null(strstr(ranks[r].message, "cannot reach rank 0 at localhost"));
  }
}

static void give_secret(rank_state *ranks, int size, const char *text) {
  for (int r = 0; r < size; r++)
    assert_sley_ok(sl_secret_of_text(text, strlen(text), &ranks[r].place.secret));
}

static void test_ranks_that_disagree(void **state) {
  (void)state;
  rank_state ranks[3];
  prepare(ranks, 3, 5);
  give_secret(ranks, 3, "the secret of a test");
  ranks[2].place.size = 4;
  run_meeting(ranks, 3, -1);
  for (int r = 0; r < 3; r++) {
    assert_int_equal(ranks[r].status, SLEY_ERR_ARG);
    assert_non_null(strstr(ranks[r].message, "rank 2 was started as one of 4 ranks, but rank 0 as one of 3"));
  }
  prepare(ranks, 3, 5);
  give_secret(ranks, 3, "the secret of a test");
  ranks[2].place.rank = 1;
  run_meeting(ranks, 3, -1);
  for (int r = 0; r < 3; r++) {
    assert_int_equal(ranks[r].status, SLEY_ERR_ARG);
    assert_non_null(strstr(ranks[r].message, "two processes have rank 1"));
  }
}

/* Without a secret whoever comes may be a stranger: it is told, and sent away, and the others wait on. */
static void test_one_that_does_not_fit_and_has_no_secret(void **state) {
  (void)state;
  static const char *const told[] = {"rank 2 was started as one of 4 ranks, but rank 0 as one of 3",
                                     "two processes have rank 1"};
  for (int i = 0; i < 2; i++) {
    rank_state ranks[3];
    prepare(ranks, 3, 1);
    ranks[2].place.size += i == 0;
    ranks[2].place.rank -= i;
    run_meeting(ranks, 3, -1);
    int sent_away = 0;
    for (int r = 0; r < 3; r++) {
      bool away = r > 0 && ranks[r].status == SLEY_ERR_ARG;
      sent_away += away;
      assert_int_equal(ranks[r].status, away ? SLEY_ERR_ARG : SLEY_ERR_PEER);
      assert_non_null(strstr(ranks[r].message, told[i]));
      if (!away)
        assert_non_null(strstr(ranks[r].message, "rank 2 of 3 did not connect"));
    }
    assert_int_equal(sent_away, 1);
  }
}

static void test_secrets(void **state) {
  (void)state;
  rank_state ranks[3];
  prepare(ranks, 3, 20);
  give_secret(ranks, 3, "the secret of a test");
  run_meeting(ranks, 3, -1);
  for (int r = 0; r < 3; r++)
    if (ranks[r].status != SLEY_OK)
      fail_msg("rank %d: %s", r, ranks[r].message);
  for (int none = 0; none < 2; none++) { /* another secret, or none */
    prepare(ranks, 3, 1);
    give_secret(ranks, none ? 2 : 3, "the secret of a test");
    if (!none)
      give_secret(&ranks[2], 1, "the secret of another");
    run_meeting(ranks, 3, -1);
    for (int r = 0; r < 3; r++)
      assert_int_equal(ranks[r].status, SLEY_ERR_PEER);
    assert_non_null(strstr(ranks[0].message, "rank 2 of 3 did not connect"));
    assert_non_null(strstr(ranks[0].message, "did not know the secret"));
    assert_non_null(strstr(ranks[2].message, "SLEY_SECRET"));
  }
}

static void assert_no_secret(sley_status expected, const char *what) {
  sl_secret secret;
  assert_int_equal(sl_secret_from_environment(&secret), expected);
  assert_non_null(strstr(sley_last_error(), what));
}

static void test_secret_from_environment(void **state) {
  (void)state;
  sl_secret text, file;
  char name[] = "/tmp/sley_secret_XXXXXX";
  static const char words[] = "0123456789abcdef";
  int fd = mkstemp(name);
  assert_true(fd >= 0);
  assert_sley_ok(sl_secret_from_environment(&text));
  assert_false(text.given);
  setenv("SLEY_SECRET", "short", 1);
  assert_no_secret(SLEY_ERR_ARG, "SLEY_SECRET has 5 bytes");
  setenv("SLEY_SECRET", words, 1);
  assert_sley_ok(sl_secret_from_environment(&text));
  assert_true(text.given);
  setenv("SLEY_SECRET_FILE", name, 1);
  assert_no_secret(SLEY_ERR_ARG, "both set");
  unsetenv("SLEY_SECRET");
  assert_no_secret(SLEY_ERR_ARG, "has 0 bytes");
  assert_int_equal(dprintf(fd, "%s\n", words), (int)strlen(words) + 1);
  assert_sley_ok(sl_secret_from_environment(&file));
  assert_memory_equal(file.key, text.key, sizeof file.key);
  fchmod(fd, 0640);
  assert_no_secret(SLEY_ERR_ARG, "chmod 600");
  close(fd);
  unlink(name);
  assert_no_secret(SLEY_ERR_IO, "No such file");
  unsetenv("SLEY_SECRET_FILE");
}

static void test_rank_that_failed_before(void **state) {
  (void)state;
  for (int who = 0; who < 3; who++) {
    rank_state ranks[3];
    char expected[64];
    prepare(ranks, 3, 5);
    ranks[who].mine = SLEY_ERR_IO;
    run_meeting(ranks, 3, -1);
    snprintf(expected, sizeof expected, "rank %d failed: no disk", who);
    for (int r = 0; r < 3; r++) {
      assert_int_equal(ranks[r].status, r == who ? SLEY_ERR_IO : SLEY_ERR_PEER);
      assert_string_equal(ranks[r].message, r == who ? "no disk" : expected);
    }
  }
}

/* ---- the local launcher */

typedef struct spawned {
  int scenario, ranks;
  double seconds; /* that a survivor waited; in shared memory */
  int survivors;
} spawned;

enum { WELL, RETURNS_ERROR, KILLED, EXITS, HANGS, LEAVES };

/* The last rank leaves and is killed; who has not noticed, and asks it for something, gets no answer. */
static sley_status ask_who_left(const sl_place *place, sl_mesh *mesh, int last) {
  int64_t word = 0;
  if (place->rank == last) {
    ualarm(100 * 1000, 0);
    return SLEY_OK;
  }
  usleep(400 * 1000);
  SL_TRY(sl_mesh_access(mesh, last, SL_MESH_FREE, 1, 0, NULL, 0));
  SL_TRY(sl_mesh_access(mesh, last, SL_MESH_FREE, 2, 0, NULL, 0));
  return sl_mesh_access(mesh, last, SL_MESH_GET, 1, 0, &word, sizeof word);
}

static sley_status spawned_main(const sl_place *place, void *arg) {
  spawned *s = arg;
  sl_mesh *mesh;
  SL_TRY(sl_bootstrap_meet(place, SLEY_OK, &mesh));
  sley_status status = sl_mesh_barrier(mesh);
  int last = s->ranks - 1;
  if (status == SLEY_OK && s->scenario == LEAVES) {
    status = ask_who_left(place, mesh, last);
  } else if (status == SLEY_OK && place->rank == last && s->scenario != WELL) {
    if (s->scenario == KILLED)
      raise(SIGKILL);
    if (s->scenario == EXITS)
      _exit(3);
    if (s->scenario == HANGS)
      for (;;)
        pause();
    status = sl_fail(SLEY_ERR_IO, "no disk");
    sl_mesh_abort(mesh, status);
  }
  if (status == SLEY_OK && s->scenario != LEAVES) {
    double start = sl_now();
    status = sl_mesh_barrier(mesh);
    if (place->rank == 0)
      s->seconds = sl_now() - start;
  }
  if (status == SLEY_ERR_PEER)
    __atomic_fetch_add(&s->survivors, 1, __ATOMIC_SEQ_CST);
  sl_mesh_close(mesh);
  return status;
}

static void run_spawned(spawned *s, int scenario, int ranks, sley_status expected, const char *message) {
  *s = (spawned){.scenario = scenario, .ranks = ranks};
  assert_int_equal(sl_spawn(ranks, 20, spawned_main, s), expected);
  if (expected != SLEY_OK)
    assert_string_equal(sley_last_error(), message);
  assert_int_equal(waitpid(-1, NULL, WNOHANG), -1); /* no rank is left behind */
}

static void test_spawn(void **state) {
  (void)state;
  spawned *s = mmap(NULL, sizeof *s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  assert_true(s != MAP_FAILED);
  for (int ranks = 1; ranks <= RANKS; ranks++)
    run_spawned(s, WELL, ranks, SLEY_OK, "");
  run_spawned(s, RETURNS_ERROR, 4, SLEY_ERR_IO, "rank 3: no disk");
  assert_int_equal(s->survivors, 3);
  run_spawned(s, KILLED, 4, SLEY_ERR_PEER, "rank 3 failed: its process was ended by signal 9 (Killed)");
  assert_int_equal(s->survivors, 3);
  run_spawned(s, EXITS, 3, SLEY_ERR_PEER, "rank 2 failed: its process ended by itself, with exit status 3");
  assert_int_equal(s->survivors, 2);
  run_spawned(s, LEAVES, 2, SLEY_ERR_PEER, "rank 1 failed: its process was ended by signal 14 (Alarm clock)");
  assert_int_equal(s->survivors, 1);
  munmap(s, sizeof *s);
}

/* The launcher is interrupted while a rank hangs for good, or is killed itself: nobody stays. */
static void test_spawn_ends_with_its_parent(void **state) {
  (void)state;
  for (int killed = 0; killed < 2; killed++) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
      close(ends[0]); /* the writing end stays open in every rank */
      spawned s = {.scenario = HANGS, .ranks = 3};
      if (!killed) {
        signal(SIGALRM, (void (*)(int))(void (*)(void))sley_interrupt);
        alarm(1);
      }
      sley_status status = sl_spawn(3, 20, spawned_main, &s);
      _exit(status == SLEY_ERR_INTERRUPTED || status == SLEY_ERR_PEER ? 0 : 1);
    }
    close(ends[1]);
    if (killed) {
      usleep(300 * 1000);
      kill(child, SIGKILL);
    }
    char byte;
    assert_int_equal(read(ends[0], &byte, 1), 0); /* all who could write have ended */
    close(ends[0]);
    int code;
    assert_int_equal(waitpid(child, &code, 0), child);
    assert_true(killed ? WIFSIGNALED(code) : WIFEXITED(code) && WEXITSTATUS(code) == 0);
  }
}

int main(void) {
  alarm(120);
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_variables),
      cmocka_unit_test(test_first_host),
      cmocka_unit_test(test_meeting),
      cmocka_unit_test(test_port_in_use),
      cmocka_unit_test(test_silent_strangers),
      cmocka_unit_test(test_rank_that_does_not_come),
      cmocka_unit_test(test_ranks_that_disagree),
      cmocka_unit_test(test_one_that_does_not_fit_and_has_no_secret),
      cmocka_unit_test(test_secrets),
      cmocka_unit_test(test_secret_from_environment),
      cmocka_unit_test(test_rank_that_failed_before),
      cmocka_unit_test(test_spawn),
      cmocka_unit_test(test_spawn_ends_with_its_parent),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
