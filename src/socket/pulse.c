/* SPDX-License-Identifier: Apache-2.0 */
/* The pulse: a thread that signals to the neighbours in the ring of ranks that this rank is alive. */
#include "socket/pulse.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/memory.h"
#include "socket/sent.h"

enum { BEATS_A_LIMIT = 8, WASTE = 64, READS = 16 };
static const double LIMIT_LEAST = 2, BEAT_MOST = 1; /* seconds */

struct sl_pulse {
  pthread_t thread;
  int wake[2]; /* pipe to the thread: a byte announces a new socket; closing the pipe ends the thread */
  _Atomic int socket[2];
  int peer[2];
  double limit, beat; /* seconds */
  _Atomic int silent;
};

/* Reads from a pulse connection. Returns 1 if data has come; 0 if none has; -1 if the connection was closed
 * or the peer's process has ended, which the peer's other connections report; -2 if the network has ended the
 * connection. */
static int listen_to(int socket) {
  char waste[WASTE];
  int heard = 0;
  for (int i = 0; i < READS; i++) { /* a limited number of reads, because a peer that sends without end is
                                       alive */
    ssize_t got = recv(socket, waste, sizeof waste, MSG_DONTWAIT);
    if (got > 0)
      heard = 1;
    else if (got == 0 || errno == ECONNRESET || errno == EPIPE)
      return -1;
    else if (errno == EAGAIN || errno == EWOULDBLOCK)
      return heard;
    else if (errno != EINTR)
      return -2;
  }
  return heard;
}

/* Seconds until the next event: a beat, or the end of a peer's time limit. */
static double until_next(const sl_pulse *pulse, const double quiet[2], const int socket[2], double to_beat) {
  for (int i = 0; i < 2; i++)
    if (socket[i] >= 0 && pulse->limit - quiet[i] < to_beat)
      to_beat = pulse->limit - quiet[i];
  return to_beat > 0 ? to_beat : 0;
}

static void *beat(void *arg) {
  sl_pulse *pulse = arg;
  double quiet[2] = {0, 0}, last = sl_now(), next = last;
  bool over[2] = {false, false};
  for (;;) {
    double now = sl_now();
    int socket[2];
    for (int i = 0; i < 2; i++) {
      socket[i] = over[i] ? -1 : atomic_load(&pulse->socket[i]);
      if (now >= next && socket[i] >= 0)
        sl_sent_control(send(socket[i], "", 1, MSG_NOSIGNAL | MSG_DONTWAIT)); /* a failure is noticed when the
                                                                                 socket is read below */
    }
    if (now >= next)
      next = now + pulse->beat;
    struct pollfd pollers[3] = {{.fd = pulse->wake[0], .events = POLLIN},
                                {.fd = socket[0], .events = POLLIN},
                                {.fd = socket[1], .events = POLLIN}};
    (void)poll(pollers, 3, (int)(until_next(pulse, quiet, socket, next - now) * 1e3) + 1);
    char byte;
    if (pollers[0].revents != 0) {
      if (read(pulse->wake[0], &byte, 1) != 1)
        return NULL;
      next = 0; /* send a beat at once, for the new peer */
    }
    now = sl_now();
    /* If much more time has passed than the thread waited, this process itself was stopped. */
    double passed = now - last < 2 * pulse->beat ? now - last : 2 * pulse->beat;
    last = now;
    for (int i = 0; i < 2; i++) {
      int heard = socket[i] >= 0 ? listen_to(socket[i]) : 1;
      quiet[i] = heard == 0 ? quiet[i] + passed : 0;
      if (heard == -2 || quiet[i] >= pulse->limit) {
        int none = -1;
        atomic_compare_exchange_strong(&pulse->silent, &none, pulse->peer[i]);
        over[i] = true;
      }
      if (heard < 0)
        over[i] = true;
    }
  }
}

sley_status sl_pulse_start(const int socket[2], const int peer[2], double timeout, sl_pulse **out) {
  sl_pulse *pulse;
  SL_TRY(SL_NEW_ZERO(pulse, 1, "a pulse"));
  pulse->limit = timeout > LIMIT_LEAST ? timeout : LIMIT_LEAST;
  pulse->beat = pulse->limit / BEATS_A_LIMIT < BEAT_MOST ? pulse->limit / BEATS_A_LIMIT : BEAT_MOST;
  for (int i = 0; i < 2; i++)
    atomic_init(&pulse->socket[i], socket[i]);
  memcpy(pulse->peer, peer, sizeof pulse->peer);
  atomic_init(&pulse->silent, -1);
  if (pipe(pulse->wake) != 0) {
    sley_status status = sl_fail(SLEY_ERR_IO, "cannot start a thread's pipe: %s", strerror(errno));
    sl_free(pulse);
    return status;
  }
  sigset_t all, before; /* signal masks; only the caller's threads receive signals */
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  int code = pthread_create(&pulse->thread, NULL, beat, pulse);
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  if (code != 0) {
    close(pulse->wake[0]);
    close(pulse->wake[1]);
    sl_free(pulse);
    return sl_fail(SLEY_ERR_IO, "cannot start a thread: %s", strerror(code));
  }
  *out = pulse;
  return SLEY_OK;
}

void sl_pulse_add(sl_pulse *pulse, int i, int socket) {
  atomic_store(&pulse->socket[i], socket);
  (void)!write(pulse->wake[1], "", 1);
}

int sl_pulse_silent(const sl_pulse *pulse) {
  return pulse ? atomic_load(&pulse->silent) : -1;
}

void sl_pulse_stop(sl_pulse *pulse) {
  if (!pulse)
    return;
  close(pulse->wake[1]);
  pthread_join(pulse->thread, NULL);
  close(pulse->wake[0]);
  sl_free(pulse);
}
