/* SPDX-License-Identifier: Apache-2.0 */
/* A loadable device for the tests: three that call themselves cuda and behave as such, made of the CPU. Each
 * queue is a thread that does its work later, in order, after a pause at random; events order queues; the
 * host is told that it cannot address the memory, and a kernel that is given an address of the host's is
 * refused. So wrong lists, wrong addresses and, under ThreadSanitizer, a wait that is missing show without a
 * GPU. With SLEY_MOCK_REACH=no no device may load another's memory; with SLEY_MOCK_DEVICES=0 there is none,
 * with 1 or 2 so many. SLEY_MOCK_MEMORY: bytes that each device has. With SLEY_MOCK_WRONG=yes products are
 * wrong in their first value. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/module.h"
#include "base/random.h"
#include "mock.h"
#include "mock_memory.h"

enum { DEVICES = MOCK_DEVICES, PAUSE_ODDS = 16, PAUSE_MICROSECONDS = 200 };

static const sl_device_ops mock;

/* ------------------------------------------------------------------------------------------------- memory */

const sl_device_ops *mock_cpu(void) {
  const sl_device_ops *ops;
  return sl_device_backend("cpu", &ops) == SLEY_OK ? ops : NULL;
}

bool mock_environment_says(const char *name, const char *value) {
  const char *given = getenv(name);
  return given && strcmp(given, value) == 0;
}

sley_status mock_take(sl_device *base, int64_t bytes, const char *what, void **out) {
  mock_device *device = (mock_device *)base;
  SL_TRY(mock_memory_take(device->ordinal, bytes, what, out));
  device->allocations++;
  return SLEY_OK;
}

static void finish(mock_queue *queue) {
  pthread_mutex_lock(&queue->lock);
  int64_t all = queue->issued;
  while (queue->finished < all)
    pthread_cond_wait(&queue->changed, &queue->lock);
  pthread_mutex_unlock(&queue->lock);
}

/* As cudaFree: after all that the device has been given. */
void mock_give(sl_device *base, void *block) {
  mock_device *device = (mock_device *)base;
  if (!block)
    return;
  pthread_mutex_lock(&device->lock);
  for (mock_queue *q = device->queues; q; q = q->next)
    finish(q);
  pthread_mutex_unlock(&device->lock);
  mock_memory_give(block);
}

/* Every rank is in this process: a name is the address. */
static sley_status share(sl_device *device, void *block, int64_t bytes, sl_shared *out) {
  *out = (sl_shared){
      .process = getpid(), .ordinal = ((mock_device *)device)->ordinal, .bytes = bytes, .address = block};
  return mock_environment_says("SLEY_MOCK_SHARE", "no")
             ? sl_fail(SLEY_ERR_UNSUPPORTED, "the mock device was told not to share")
             : SLEY_OK;
}

static sley_status share_open(sl_device *device, const sl_shared *shared, void **out) {
  *out = NULL;
  if (shared->process != getpid() ||
      (shared->ordinal != ((mock_device *)device)->ordinal && mock_environment_says("SLEY_MOCK_REACH", "no")))
    return sl_fail(SLEY_ERR_UNSUPPORTED, "the memory is out of reach");
  *out = shared->address;
  return SLEY_OK;
}

static void share_close(sl_device *device, const sl_shared *shared, void *block) {
  (void)device, (void)shared, (void)block;
}

static sley_status host_take(sl_device *device, int64_t bytes, const char *what, void **out) {
  (void)device;
  return mock_memory_pin(bytes, what, out);
}

static void host_give(sl_device *device, void *block) {
  (void)device;
  mock_memory_unpin(block);
}

/* ------------------------------------------------------------------------------------------------- events */

static sley_status event_create(sl_device *device, sl_event **out) {
  (void)device;
  SL_TRY(SL_NEW_ZERO(*out, 1, "an event"));
  atomic_init(&(*out)->references, 1);
  pthread_mutex_init(&(*out)->lock, NULL);
  pthread_cond_init(&(*out)->changed, NULL);
  return SLEY_OK;
}

static void event_destroy(sl_event *event) {
  if (!event || atomic_fetch_sub(&event->references, 1) > 1)
    return;
  pthread_cond_destroy(&event->changed);
  pthread_mutex_destroy(&event->lock);
  sl_free(event);
}

static void reach_event(sl_event *event, uint64_t number) {
  pthread_mutex_lock(&event->lock);
  event->reached = number > event->reached ? number : event->reached;
  pthread_cond_broadcast(&event->changed);
  pthread_mutex_unlock(&event->lock);
}

static void await_event(sl_event *event, uint64_t number) {
  pthread_mutex_lock(&event->lock);
  while (event->reached < number)
    pthread_cond_wait(&event->changed, &event->lock);
  pthread_mutex_unlock(&event->lock);
}

/* ------------------------------------------------------------------------------------------------- queues */

static void run_spmm(mock_queue *queue, const mock_task *t, sl_kernel_args args) {
  void *joined = NULL;
  sl_spmm_problem problem = *args.spmm.problem;
  args.spmm.problem = &problem;
  if (problem.far_rows == 0 || mock_join_x(&args.spmm, &problem, &joined) == SLEY_OK)
    (void)t->kernel->run(queue->inner, &args);
  if (mock_environment_says("SLEY_MOCK_WRONG", "yes") && problem.a->rows > 0 && problem.k > 0)
    ((unsigned char *)args.spmm.y)[sley_dtype_bytes(problem.a->dtype) - 1] ^= 0x40;
  free(joined);
}

/* Rows as soon as what they need has arrived. */
static void run_in_pieces(mock_queue *queue, mock_task *t) {
  size_t value = sley_dtype_bytes(t->a.dtype), y_bytes = t->problem.wide_y && value == 2 ? 4 : value;
  int64_t first = 0;
  for (int s = 0; s < t->pieces; s++) {
    sl_kernel_args later = {.op = SL_OP_ARRIVE, .arrive = {(sl_piece_words *)t->args.spmm.arrivals, s}};
    if (s > 0)
      (void)sl_kernel_run(queue->inner, &later);
    sl_kernel_args args = t->args;
    sl_spmm_matrix some = t->a;
    sl_spmm_problem problem = t->problem;
    problem.a = &some;
    args.spmm.problem = &problem;
    some.rows = t->piece_end[s] - first;
    some.rowptr += first;
    if (some.rowid)
      some.rowid += first;
    else
      args.spmm.y = (char *)args.spmm.y + (size_t)(first * args.spmm.ldy) * y_bytes;
    if (some.rows > 0)
      run_spmm(queue, t, args);
    first = t->piece_end[s];
  }
}

static void run_kernel(mock_queue *queue, mock_task *t) {
  if (mock_is_product(&t->args)) {
    t->problem.a = &t->a;
    t->problem.pages = t->pages;
    t->args.spmm.problem = &t->problem;
  }
  if (t->args.op == SL_OP_PULL) {
    t->args.pull.source = t->source;
    t->args.pull.piece_end = t->piece_end;
  }
  t->signals.lend = t->lend;
  if (t->args.op == SL_OP_PULL && t->args.pull.signals)
    t->args.pull.signals = &t->signals;
  if (t->args.op == SL_OP_AWAIT)
    t->args.await.signals = &t->signals;
  if (t->args.op == SL_OP_SPMM && t->args.spmm.arrivals)
    run_in_pieces(queue, t);
  else if (mock_is_product(&t->args))
    run_spmm(queue, t, t->args);
  else
    (void)t->kernel->run(queue->inner, &t->args);
}

static void work(mock_queue *queue, mock_task *t) {
  switch (t->kind) {
  case RUN:
    run_kernel(queue, t);
    break;
  case COPY:
    if (t->bytes == sizeof(uint64_t) && ((uintptr_t)t->dst | (uintptr_t)t->src) % sizeof(uint64_t) == 0)
      __atomic_store_n((uint64_t *)t->dst, __atomic_load_n((const uint64_t *)t->src, __ATOMIC_ACQUIRE),
                       __ATOMIC_RELEASE); /* a word that kernels may be waiting for */
    else
      memmove(t->dst, t->src, (size_t)t->bytes);
    break;
  case ATOMIC:
    *t->atomic.old = sl_atomic_on_host(t->atomic.op, t->atomic.word, t->atomic.value, t->atomic.expected);
    break;
  case RECORD:
    reach_event(t->event, t->number);
    event_destroy(t->event);
    break;
  case WAIT:
    await_event(t->event, t->number);
    event_destroy(t->event);
    break;
  }
}

static void *serve(void *argument) {
  mock_queue *queue = argument;
  uint64_t draws = 0;
  pthread_mutex_lock(&queue->lock);
  for (;;) {
    while (!queue->first && !queue->closing)
      pthread_cond_wait(&queue->changed, &queue->lock);
    mock_task *t = queue->first;
    if (!t)
      break;
    queue->first = t->next;
    if (!queue->first)
      queue->last = &queue->first;
    pthread_mutex_unlock(&queue->lock);
    uint64_t bits = sl_random((uint64_t)(uintptr_t)queue, draws++, 0);
    if (bits % PAUSE_ODDS == 0)
      usleep((unsigned)(bits / PAUSE_ODDS % PAUSE_MICROSECONDS));
    work(queue, t);
    free(t->pages);
    free(t->arrays);
    free(t);
    pthread_mutex_lock(&queue->lock);
    queue->finished++;
    pthread_cond_broadcast(&queue->changed);
  }
  pthread_mutex_unlock(&queue->lock);
  return NULL;
}

sley_status mock_add_task(sl_queue *base, const mock_task *given) {
  mock_queue *queue = (mock_queue *)base;
  mock_task *t = malloc(sizeof *t);
  if (!t) {
    free(given->pages);
    free(given->arrays);
  }
  if (!t)
    return sl_fail(SLEY_ERR_MEMORY, "no memory for work of the mock device");
  *t = *given;
  t->next = NULL;
  pthread_mutex_lock(&queue->lock);
  *queue->last = t;
  queue->last = &t->next;
  queue->issued++;
  pthread_cond_broadcast(&queue->changed);
  pthread_mutex_unlock(&queue->lock);
  return SLEY_OK;
}

static sley_status queue_create(sl_device *base, void *native, sl_queue **out) {
  mock_device *device = (mock_device *)base;
  mock_queue *queue;
  *out = NULL;
  if (native)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "the mock device knows no streams");
  SL_TRY(SL_NEW_ZERO(queue, 1, "a queue"));
  queue->base = (sl_queue){.ops = &mock, .device = base};
  queue->last = &queue->first;
  sley_status status;
  SL_TRY_GOTO(status, mock_cpu()->open(0, 1, &queue->cpu), fail);
  SL_TRY_GOTO(status, mock_cpu()->queue_create(queue->cpu, NULL, &queue->inner), fail_cpu);
  pthread_mutex_init(&queue->lock, NULL);
  pthread_cond_init(&queue->changed, NULL);
  if (pthread_create(&queue->thread, NULL, serve, queue) != 0) {
    status = sl_fail(SLEY_ERR_MEMORY, "no memory for a queue's thread");
    mock_cpu()->queue_destroy(queue->inner);
    goto fail_cpu;
  }
  pthread_mutex_lock(&device->lock);
  queue->next = device->queues;
  device->queues = queue;
  pthread_mutex_unlock(&device->lock);
  *out = &queue->base;
  return SLEY_OK;
fail_cpu:
  mock_cpu()->close(queue->cpu);
fail:
  sl_free(queue);
  return status;
}

static sley_status queue_create_urgent(sl_device *device, sl_queue **out) {
  return queue_create(device, NULL, out);
}

static void queue_destroy(sl_queue *base) {
  mock_queue *queue = (mock_queue *)base;
  if (!queue)
    return;
  mock_device *device = (mock_device *)base->device;
  pthread_mutex_lock(&device->lock);
  mock_queue **at = &device->queues;
  while (*at != queue)
    at = &(*at)->next;
  *at = queue->next;
  pthread_mutex_unlock(&device->lock);
  pthread_mutex_lock(&queue->lock);
  queue->closing = true;
  pthread_cond_broadcast(&queue->changed);
  pthread_mutex_unlock(&queue->lock);
  pthread_join(queue->thread, NULL);
  pthread_cond_destroy(&queue->changed);
  pthread_mutex_destroy(&queue->lock);
  mock_cpu()->queue_destroy(queue->inner);
  mock_cpu()->close(queue->cpu);
  sl_free(queue);
}

sley_status mock_queue_wait(sl_queue *base) {
  ((mock_device *)base->device)->waits++;
  finish((mock_queue *)base);
  return SLEY_OK;
}

static sley_status queue_query(sl_queue *base, bool *done) {
  mock_queue *queue = (mock_queue *)base;
  pthread_mutex_lock(&queue->lock);
  *done = queue->finished == queue->issued;
  pthread_mutex_unlock(&queue->lock);
  return SLEY_OK;
}

static sley_status event_record(sl_queue *queue, sl_event *event) {
  pthread_mutex_lock(&event->lock);
  uint64_t number = ++event->issued;
  pthread_mutex_unlock(&event->lock);
  event->references++;
  return mock_add_task(queue, &(mock_task){.kind = RECORD, .event = event, .number = number});
}

static sley_status event_wait(sl_queue *queue, sl_event *event) {
  pthread_mutex_lock(&event->lock);
  uint64_t number = event->issued;
  pthread_mutex_unlock(&event->lock);
  event->references++;
  return mock_add_task(queue, &(mock_task){.kind = WAIT, .event = event, .number = number});
}

static sley_status event_query(sl_event *event, bool *done) {
  pthread_mutex_lock(&event->lock);
  *done = event->reached >= event->issued;
  pthread_mutex_unlock(&event->lock);
  return SLEY_OK;
}

static sley_status atomic_word(sl_queue *queue, const sl_atomic *args) {
  int at = mock_memory_device(args->word), mine = ((mock_device *)queue->device)->ordinal;
  if (at < 0 || mock_memory_device(args->old) >= 0)
    return sl_fail(SLEY_ERR_INTERNAL,
                   "an atomic was given a word of the host's, or a result of the device's");
  if (at != mine && mock_environment_says("SLEY_MOCK_REACH", "no"))
    return sl_fail(SLEY_ERR_INTERNAL, "an atomic of device %d was given a word of device %d", mine, at);
  ((mock_device *)queue->device)->launches++;
  return mock_add_task(queue, &(mock_task){.kind = ATOMIC, .atomic = *args});
}

sley_status mock_copy(sl_queue *queue, sl_copy_kind kind, void *dst, const void *src, int64_t bytes) {
  if (bytes < 0)
    return sl_fail(SLEY_ERR_ARG, "a copy of %lld bytes", (long long)bytes);
  if (bytes == 0)
    return SLEY_OK;
  bool from_host = mock_memory_device(src) < 0, to_host = mock_memory_device(dst) < 0;
  if (kind != SL_COPY_WITHIN &&
      (from_host != (kind == SL_COPY_TO_DEVICE) || to_host != (kind == SL_COPY_TO_HOST)))
    return sl_fail(SLEY_ERR_INTERNAL, "a copy of the wrong kind");
  SL_TRY(mock_add_task(queue, &(mock_task){.kind = COPY, .dst = dst, .src = src, .bytes = bytes}));
  if (!from_host && !to_host)
    return SLEY_OK;
  ((mock_device *)queue->device)->copies++;
  bool pinned = (!from_host || mock_memory_is_pinned(src)) && (!to_host || mock_memory_is_pinned(dst));
  return pinned ? SLEY_OK : mock_queue_wait(queue);
}

/* ------------------------------------------------------------------------------------------------ devices */

static int count(void) {
  int64_t devices = mock_number("SLEY_MOCK_DEVICES", DEVICES);
  if (devices > 0)
    return devices < DEVICES ? (int)devices : DEVICES;
  sl_fail(SLEY_ERR_UNSUPPORTED, "no GPU is visible");
  return 0;
}

static sley_status open_one(int ordinal, int threads, sl_device **out) {
  (void)threads;
  *out = NULL;
  int devices = count();
  if (devices == 0)
    return SLEY_ERR_UNSUPPORTED;
  if (ordinal < 0 || ordinal >= devices)
    return sl_fail(SLEY_ERR_ARG, "there is no device %d", ordinal);
  mock_device *device;
  SL_TRY(SL_NEW_ZERO(device, 1, "a device"));
  device->base = (sl_device){.ops = &mock, .figures = sl_figures_hopper};
  device->base.figures.cores = sl_figures_cores.cores; /* the CPU does the work */
  device->ordinal = ordinal;
  snprintf(device->place, sizeof device->place, "mock %d", ordinal);
  pthread_mutex_init(&device->lock, NULL);
  *out = &device->base;
  return SLEY_OK;
}

static void close_one(sl_device *device) {
  if (!device)
    return;
  pthread_mutex_destroy(&((mock_device *)device)->lock);
  sl_free(device);
}

static const char *describe(const sl_device *device) {
  (void)device;
  return "a mock";
}

static const char *place(const sl_device *device) {
  return ((const mock_device *)device)->place;
}

static sley_status memory(sl_device *device, int64_t *available, int64_t *total) {
  *total = mock_memory_of_one();
  *available = mock_memory_free(((mock_device *)device)->ordinal);
  return SLEY_OK;
}

static bool reach(sl_device *device, sl_device *other) {
  return ((mock_device *)device)->ordinal == ((mock_device *)other)->ordinal ||
         !mock_environment_says("SLEY_MOCK_REACH", "no");
}

static void counters(const sl_device *base, sl_device_counters *out) {
  mock_device *device = (mock_device *)base;
  *out = (sl_device_counters){device->allocations, device->copies, device->waits, device->launches};
}

static sley_status queue_move(sl_queue *queue, void *native) {
  (void)queue;
  return native ? sl_fail(SLEY_ERR_UNSUPPORTED, "the mock device knows no streams") : SLEY_OK;
}

static const sl_device_ops mock = {
    .name = "cuda",
    .host_addresses = false,
    .signals = true,
    .count = count,
    .open = open_one,
    .close = close_one,
    .describe = describe,
    .place = place,
    .memory = memory,
    .reach = reach,
    .counters = counters,
    .alloc = mock_take,
    .alloc_private = mock_take,
    .free = mock_give,
    .share = share,
    .share_open = share_open,
    .share_close = share_close,
    .host_alloc = host_take,
    .host_free = host_give,
    .queue_create = queue_create,
    .queue_create_urgent = queue_create_urgent,
    .queue_move = queue_move,
    .queue_destroy = queue_destroy,
    .queue_wait = mock_queue_wait,
    .queue_query = queue_query,
    .copy = mock_copy,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .event_query = event_query,
    .atomic = atomic_word,
    .reach_atomics = reach,
    .kernels = mock_kernels,
};

const void *sl_device_module(int abi, int *built_for);

const void *sl_device_module(int abi, int *built_for) {
  *built_for = SL_MODULE_ABI;
  return abi == SL_MODULE_ABI ? &mock : NULL;
}
