/* SPDX-License-Identifier: Apache-2.0 */
/* Forks the ranks and waits for them. Their results are in shared memory; the end of a rank is noticed by the
 * end of a pipe whose writing end only the rank has. */
#define _GNU_SOURCE
#include "bootstrap/spawn.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/interrupt.h"
#include "base/memory.h"
#include "socket/sent.h"
#include "socket/socket.h"

enum { SLICE_MS = 50 };
/* Seconds. GRACE_FAILED: from the first failure to SIGTERM for the other ranks (they end by themselves,
 * because they are notified), but no more than the time limit. GRACE_INTERRUPTED: to SIGTERM from an
 * interrupt, or from the end of a rank that was stopped for the time limit. GRACE_ASKED: from SIGTERM to
 * SIGKILL. A rank that is stopped cannot end by itself: it is killed at once. A rank that has not met a
 * killed rank yet waits for it without being notified: it gets SIGTERM at once. */
static const double GRACE_FAILED = 5, GRACE_INTERRUPTED = 0.5, GRACE_ASKED = 1;

/* Seconds for ranks to meet. Meanwhile this process itself notices ranks that end or are stopped. */
static const double MEETING = 60;

/* Least seconds for which a rank may be stopped, as in the pulse. */
static const double LIMIT_LEAST = 2;

/* The result of a rank, in shared memory. */
typedef struct outcome {
  int returned;   /* main has returned, so error is valid */
  atomic_int met; /* the rank has met the others */
  sl_error error; /* SLEY_OK: none */
} outcome;

typedef struct child {
  pid_t pid;            /* process; 0: none, or already waited for */
  int pipe;             /* pipe whose end of file shows that the rank has ended */
  int code;             /* exit code from waitpid */
  int stop_signal;      /* signal by which it is stopped; 0: it is not stopped */
  double stopped;       /* seconds for which it has been stopped while this process ran */
  bool given_up, ended; /* given_up: it was stopped, and this process killed it; ended: this process sent it
                           SIGTERM or SIGKILL */
  bool seen_failed;
} child;

typedef struct family {
  int ranks, started;
  outcome *outcomes;
  bool interrupted;     /* this process was interrupted */
  double timeout, seen; /* seen: sl_now() at the last look at the ranks */
  child *children;
  struct pollfd *pollers;
} family;

/* Runs a rank in its process, from start to end. */
static void live(const sl_place *place, pid_t parent, sl_spawn_main main, void *arg, outcome *out) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent)
    _exit(1);
  sl_error_take(main(place, arg), &out->error);
  out->returned = 1;
  fflush(NULL);
  _exit(0);
}

static sley_status start_one(family *f, sl_place *place, sl_spawn_main main, void *arg) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    return sl_fail(SLEY_ERR_IO, "cannot start rank %d: %s", f->started, strerror(errno));
  pid_t parent = getpid(), pid = fork();
  if (pid == 0) {
    int listener = place->listener;
    place->rank = place->local_rank = f->started;
    place->met = &f->outcomes[f->started].met;
    if (place->rank != 0) {
      close(listener);
      place->listener = -1;
    }
    live(place, parent, main, arg, &f->outcomes[f->started]);
  }
  close(ends[1]);
  if (pid < 0) {
    close(ends[0]);
    return sl_fail(SLEY_ERR_IO, "cannot start the process of rank %d: %s", f->started, strerror(errno));
  }
  f->children[f->started] = (child){.pid = pid, .pipe = ends[0]};
  f->started++;
  return SLEY_OK;
}

/* Sends a signal to all ranks; unmet: only to ranks that have not met the others and got no signal yet. */
static void signal_ranks(family *f, int number, bool unmet) {
  for (int r = 0; r < f->started; r++)
    if (f->children[r].pid > 0 && !(unmet && (f->children[r].ended || atomic_load(&f->outcomes[r].met)))) {
      f->children[r].ended = true;
      kill(f->children[r].pid, number);
    }
}

/* Records whether a rank has ended, is stopped or continues. */
static void look_after(child *c) {
  int code;
  pid_t found;
  while ((found = waitpid(c->pid, &code, WNOHANG | WUNTRACED | WCONTINUED)) > 0) {
    if (WIFSTOPPED(code) || WIFCONTINUED(code)) {
      c->stop_signal = WIFSTOPPED(code) ? WSTOPSIG(code) : 0;
      c->stopped = 0;
      continue;
    }
    c->code = code;
    break;
  }
  if (found != 0) /* it has ended, or it cannot be waited for, because another part of the program did */
    c->pid = 0;
}

/* Records the state of all ranks; returns how many still run. */
static int collect(family *f) {
  int running = 0;
  double now = sl_now(), passed = now - f->seen;
  if (passed > 10 * SLICE_MS * 1e-3) /* this process itself did not run */
    passed = 10 * SLICE_MS * 1e-3;
  f->seen = now;
  for (int r = 0; r < f->started; r++) {
    child *c = &f->children[r];
    if (c->pid > 0)
      look_after(c);
    if (c->pid > 0 && c->stop_signal != 0)
      c->stopped += passed;
    running += c->pid > 0;
  }
  return running;
}

/* Kills ranks that have been stopped for the time limit, or, once a rank has failed, all ranks that are
 * stopped. */
static void give_up_stopped(family *f, bool broken) {
  for (int r = 0; r < f->started; r++) {
    child *c = &f->children[r];
    if (c->pid > 0 && c->stop_signal != 0 && !c->given_up && (broken || c->stopped >= f->timeout)) {
      c->given_up = true;
      kill(c->pid, SIGKILL);
    }
  }
}

static bool failed(const family *f, int r) {
  return f->children[r].pid == 0 && (!f->outcomes[r].returned || f->outcomes[r].error.status != SLEY_OK);
}

/* Waits until a rank ends, SLICE_MS at most. */
static void wait_for_news(const family *f) {
  int count = 0;
  for (int r = 0; r < f->started; r++)
    if (f->children[r].pid > 0)
      f->pollers[count++] = (struct pollfd){.fd = f->children[r].pipe, .events = POLLIN};
  (void)poll(f->pollers, (nfds_t)count, SLICE_MS);
}

/* Records failures, and sets the latest time at which SIGTERM is sent to all. Returns whether a rank has
 * ended without reporting its error. */
static bool note_failures(family *f, double now, double *ask_at) {
  bool silent = false;
  for (int r = 0; r < f->started; r++) {
    child *c = &f->children[r];
    if (!failed(f, r))
      continue;
    silent = silent || !f->outcomes[r].returned;
    double grace = c->given_up ? GRACE_INTERRUPTED : f->timeout < GRACE_FAILED ? f->timeout : GRACE_FAILED;
    if (!c->seen_failed && (*ask_at < 0 || *ask_at > now + grace))
      *ask_at = now + grace;
    c->seen_failed = true;
  }
  return silent;
}

/* Waits for all ranks, and ends those that do not end by themselves. */
static void wait_for_all(family *f, bool incomplete) {
  double ask_at = incomplete ? sl_now() : -1;
  int sent = 0;
  while (collect(f) > 0) {
    double now = sl_now();
    if (sl_interrupted() == SLEY_OK) {
      bool silent = note_failures(f, now, &ask_at);
      if (silent)
        signal_ranks(f, SIGTERM, true);
    } else {
      f->interrupted = true;
      if (ask_at < 0 || ask_at > now + GRACE_INTERRUPTED)
        ask_at = now + GRACE_INTERRUPTED;
    }
    give_up_stopped(f, ask_at >= 0);
    if (ask_at >= 0 && now >= ask_at) {
      signal_ranks(f, sent == 0 ? SIGTERM : SIGKILL, false);
      sent++;
      ask_at = now + GRACE_ASKED;
    }
    wait_for_news(f);
  }
}

static sley_status tell_killed(const family *f, int rank) {
  const child *c = &f->children[rank];
  int code = c->code;
  if (c->given_up)
    return sl_fail_peer(rank, "its process was stopped by signal %d (%s)", c->stop_signal,
                        strsignal(c->stop_signal));
  if (WIFSIGNALED(code))
    return sl_fail_peer(rank, "its process was ended by signal %d (%s)", WTERMSIG(code),
                        strsignal(WTERMSIG(code)));
  return sl_fail_peer(rank, "its process ended by itself, with exit status %d", WEXITSTATUS(code));
}

/* The kinds of a rank's failure, in the order of precedence: its own error; killed; an error about another
 * rank; ended by this process; none. */
typedef enum weight { OWN, KILLED, NOTICED, ENDED_HERE, NONE } weight;

static weight weigh(const family *f, int r) {
  const outcome *out = &f->outcomes[r];
  const child *c = &f->children[r];
  sley_status status = (sley_status)out->error.status;
  if (!out->returned)
    return c->given_up || !c->ended ? KILLED : ENDED_HERE;
  if (status == SLEY_OK)
    return NONE;
  if (status == SLEY_ERR_INTERRUPTED && !f->interrupted)
    return c->ended ? ENDED_HERE : KILLED;
  return status == SLEY_ERR_PEER ? NOTICED : OWN;
}

/* Reports the failure with the highest precedence: a rank's own error, then a rank that was killed or stopped
 * from outside, then an error that a rank reports about another, then a rank that this process ended. */
static sley_status first_failure(const family *f) {
  for (weight pass = OWN; pass < NONE; pass++)
    for (int r = 0; r < f->started; r++) {
      if (weigh(f, r) != pass)
        continue;
      if (!f->outcomes[r].returned)
        return tell_killed(f, r);
      if (pass == KILLED)
        return sl_fail_peer(r, "a signal interrupted its process, but not the others");
      return sl_error_on(r, &f->outcomes[r].error);
    }
  return SLEY_OK;
}

static sley_status prepare(family *f, sl_place *place) {
  SL_TRY(SL_NEW_ZERO(f->children, f->ranks, "the ranks' processes"));
  SL_TRY(SL_NEW(f->pollers, f->ranks, "the ranks' processes"));
  void *shared = mmap(NULL, (size_t)f->ranks * sizeof *f->outcomes, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (shared == MAP_FAILED)
    return sl_fail(SLEY_ERR_MEMORY, "cannot share memory with %d ranks: %s", f->ranks, strerror(errno));
  f->outcomes = shared;
  SL_TRY(sl_sent_share());
  SL_TRY(sl_random_bytes(&place->key, sizeof place->key));
  SL_TRY(sl_secret_make(&place->secret)); /* the ranks inherit the secret by the fork */
  return sl_socket_listen(0, true, &place->port, &place->listener);
}

sley_status sl_spawn(int ranks, double timeout, sl_spawn_main main, void *arg) {
  family f = {.ranks = ranks, .timeout = timeout > LIMIT_LEAST ? timeout : LIMIT_LEAST, .seen = sl_now()};
  sl_place place = {.size = ranks,
                    .address = "127.0.0.1",
                    .listener = -1,
                    .local = true,
                    .listens = true,
                    .timeout = timeout,
                    .patience = timeout > MEETING ? timeout : MEETING};
  sley_status status = prepare(&f, &place);
  fflush(NULL); /* otherwise the ranks would write buffered output again */
  while (status == SLEY_OK && f.started < ranks)
    status = start_one(&f, &place, main, arg);
  if (place.listener >= 0)
    close(place.listener);
  sl_error error;
  sl_error_take(status, &error);
  wait_for_all(&f, status != SLEY_OK);
  if (status == SLEY_OK)
    status = first_failure(&f);
  else
    (void)sl_error_restore(&error);
  for (int r = 0; r < f.started; r++)
    close(f.children[r].pipe);
  if (f.outcomes)
    munmap(f.outcomes, (size_t)ranks * sizeof *f.outcomes);
  sl_free(f.pollers);
  sl_free(f.children);
  return status;
}
