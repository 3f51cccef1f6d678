/* SPDX-License-Identifier: Apache-2.0 */
/* A loadable device for the tests: three that call themselves cuda and behave as such, made of the CPU. Each
 * queue is a thread that does its work later, in order, after a pause at random; events order queues; the
 * host is told that it cannot address the memory, and a kernel that is given an address of the host's is
 * refused. So wrong lists, wrong addresses and, under ThreadSanitizer, a wait that is missing show without a
 * GPU. With SLEY_MOCK_REACH=no no device may load another's memory; with SLEY_MOCK_DEVICES=0 there is none.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "base/module.h"
#include "base/random.h"
#include "device/cpu/cpu.h"

enum { DEVICES = 3, HEADER = 64, PAUSE_ODDS = 16, PAUSE_MICROSECONDS = 200 };

typedef struct mock_device {
  sl_device base;
  int ordinal;
  struct mock_queue *queues;
  pthread_mutex_t lock; /* of the list */
  _Atomic int64_t allocations, copies, waits, launches;
} mock_device;

struct sl_event {
  _Atomic int references; /* of its owner and of work that names it */
  pthread_mutex_t lock;
  pthread_cond_t changed;
  uint64_t issued, reached;
};

typedef struct task {
  struct task *next;
  enum { RUN, COPY, RECORD, WAIT } kind;
  const sl_kernel *kernel;
  sl_kernel_args args;
  sl_spmm_matrix a;
  sl_pull_source source[SL_PULL_SOURCES];
  sl_signals signals;
  sl_lend lend[SL_PULL_SOURCES];
  void *dst;
  const void *src;
  int64_t bytes;
  sl_event *event;
  uint64_t number;
} task;

typedef struct mock_queue {
  sl_queue base;
  sl_device *cpu; /* that does its work */
  sl_queue *inner;
  struct mock_queue *next; /* of the device */
  pthread_t thread;
  pthread_mutex_t lock;
  pthread_cond_t changed;
  task *first, **last;
  int64_t issued, finished;
  bool closing;
} mock_queue;

static const sl_device_ops mock;

/* ------------------------------------------------------------------------------------------------- memory */

typedef struct header {
  struct header *next;
  int64_t bytes;
  int ordinal;
} header;

static header *blocks;
static pthread_mutex_t blocks_lock = PTHREAD_MUTEX_INITIALIZER;

static bool environment_says(const char *name, const char *value) {
  const char *given = getenv(name);
  return given && strcmp(given, value) == 0;
}

/* Number of the device in whose memory the address lies, or -1. */
static int device_of(const void *address) {
  int found = -1;
  pthread_mutex_lock(&blocks_lock);
  for (const header *h = blocks; h && found < 0; h = h->next) {
    const char *begin = (const char *)h + HEADER;
    int64_t bytes = h->bytes > 0 ? h->bytes : 1;
    if ((const char *)address >= begin && (const char *)address < begin + bytes)
      found = h->ordinal;
  }
  pthread_mutex_unlock(&blocks_lock);
  return found;
}

static sley_status check(const sl_queue *queue, const void *address, const char *what) {
  int at = device_of(address), mine = ((const mock_device *)queue->device)->ordinal;
  if (at < 0)
    return sl_fail(SLEY_ERR_INTERNAL, "a kernel was given %s in the host's memory", what);
  if (at != mine && environment_says("SLEY_MOCK_REACH", "no"))
    return sl_fail(SLEY_ERR_INTERNAL,
                   "a kernel of device %d was given %s of device %d, which it cannot reach", mine, what, at);
  return SLEY_OK;
}

static sley_status take(sl_device *device, int64_t bytes, const char *what, void **out) {
  *out = NULL;
  char *block = sl_alloc(bytes + HEADER + 1, 1, what); /* even an empty one has an address of its own */
  if (!block)
    return SLEY_ERR_MEMORY;
  ((mock_device *)device)->allocations++;
  memset(block, 0xA5, (size_t)(bytes + HEADER));
  header *h = (header *)(void *)block;
  pthread_mutex_lock(&blocks_lock);
  *h = (header){.next = blocks, .bytes = bytes, .ordinal = ((mock_device *)device)->ordinal};
  blocks = h;
  pthread_mutex_unlock(&blocks_lock);
  *out = block + HEADER;
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
static void give(sl_device *base, void *block) {
  mock_device *device = (mock_device *)base;
  if (!block)
    return;
  pthread_mutex_lock(&device->lock);
  for (mock_queue *q = device->queues; q; q = q->next)
    finish(q);
  pthread_mutex_unlock(&device->lock);
  header *h = (header *)(void *)((char *)block - HEADER);
  pthread_mutex_lock(&blocks_lock);
  header **at = &blocks;
  while (*at != h)
    at = &(*at)->next;
  *at = h->next;
  pthread_mutex_unlock(&blocks_lock);
  sl_free(h);
}

static sley_status host_take(sl_device *device, int64_t bytes, const char *what, void **out) {
  (void)device;
  *out = sl_alloc_zero(bytes, 1, what);
  return *out ? SLEY_OK : SLEY_ERR_MEMORY;
}

static void host_give(sl_device *device, void *block) {
  (void)device;
  sl_free(block);
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

static void run_kernel(mock_queue *queue, task *t) {
  if (t->args.op == SL_OP_SPMM)
    t->args.spmm.a = &t->a;
  if (t->args.op == SL_OP_PULL)
    t->args.pull.source = t->source;
  t->signals.lend = t->lend;
  if (t->args.op == SL_OP_PULL && t->args.pull.signals)
    t->args.pull.signals = &t->signals;
  if (t->args.op == SL_OP_AWAIT)
    t->args.await.signals = &t->signals;
  (void)t->kernel->run(queue->inner, &t->args);
}

static void work(mock_queue *queue, task *t) {
  switch (t->kind) {
  case RUN:
    run_kernel(queue, t);
    break;
  case COPY:
    memmove(t->dst, t->src, (size_t)t->bytes);
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
    task *t = queue->first;
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
    free(t);
    pthread_mutex_lock(&queue->lock);
    queue->finished++;
    pthread_cond_broadcast(&queue->changed);
  }
  pthread_mutex_unlock(&queue->lock);
  return NULL;
}

static sley_status add_task(sl_queue *base, const task *given) {
  mock_queue *queue = (mock_queue *)base;
  task *t = malloc(sizeof *t);
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
  SL_TRY_GOTO(status, sl_cpu_ops.open(0, 1, &queue->cpu), fail);
  SL_TRY_GOTO(status, sl_cpu_ops.queue_create(queue->cpu, NULL, &queue->inner), fail_cpu);
  pthread_mutex_init(&queue->lock, NULL);
  pthread_cond_init(&queue->changed, NULL);
  if (pthread_create(&queue->thread, NULL, serve, queue) != 0) {
    status = sl_fail(SLEY_ERR_MEMORY, "no memory for a queue's thread");
    sl_cpu_ops.queue_destroy(queue->inner);
    goto fail_cpu;
  }
  pthread_mutex_lock(&device->lock);
  queue->next = device->queues;
  device->queues = queue;
  pthread_mutex_unlock(&device->lock);
  *out = &queue->base;
  return SLEY_OK;
fail_cpu:
  sl_cpu_ops.close(queue->cpu);
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
  sl_cpu_ops.queue_destroy(queue->inner);
  sl_cpu_ops.close(queue->cpu);
  sl_free(queue);
}

static sley_status queue_wait(sl_queue *base) {
  ((mock_device *)base->device)->waits++;
  finish((mock_queue *)base);
  return SLEY_OK;
}

static sley_status event_record(sl_queue *queue, sl_event *event) {
  pthread_mutex_lock(&event->lock);
  uint64_t number = ++event->issued;
  pthread_mutex_unlock(&event->lock);
  event->references++;
  return add_task(queue, &(task){.kind = RECORD, .event = event, .number = number});
}

static sley_status event_wait(sl_queue *queue, sl_event *event) {
  pthread_mutex_lock(&event->lock);
  uint64_t number = event->issued;
  pthread_mutex_unlock(&event->lock);
  event->references++;
  return add_task(queue, &(task){.kind = WAIT, .event = event, .number = number});
}

static sley_status copy(sl_queue *queue, sl_copy_kind kind, void *dst, const void *src, int64_t bytes) {
  if (bytes < 0)
    return sl_fail(SLEY_ERR_ARG, "a copy of %lld bytes", (long long)bytes);
  if (bytes == 0)
    return SLEY_OK;
  bool from_host = device_of(src) < 0, to_host = device_of(dst) < 0;
  if (kind != SL_COPY_WITHIN &&
      (from_host != (kind == SL_COPY_TO_DEVICE) || to_host != (kind == SL_COPY_TO_HOST)))
    return sl_fail(SLEY_ERR_INTERNAL, "a copy of the wrong kind");
  SL_TRY(add_task(queue, &(task){.kind = COPY, .dst = dst, .src = src, .bytes = bytes}));
  if (!from_host && !to_host)
    return SLEY_OK;
  ((mock_device *)queue->device)->copies++;
  return queue_wait(queue);
}

/* ------------------------------------------------------------------------------------------------ kernels */

static bool kernel_ok(const sl_kernel_args *args) {
  (void)args;
  return true;
}

static double kernel_cost(const sl_kernel_args *args) {
  (void)args;
  return 0;
}

/* What is prepared is what the CPU's kernels read: the matrix in the device's memory. */
static void release(sl_device *device, void *prepared) {
  sl_spmm_matrix *a = prepared;
  if (!a)
    return;
  give(device, (void *)a->rowid);
  give(device, (void *)a->rowptr);
  give(device, (void *)a->col);
  give(device, (void *)a->val);
  sl_free(a);
}

static sley_status upload(sl_queue *queue, const void *host, int64_t bytes, const void **out) {
  void *block;
  SL_TRY(take(queue->device, bytes, "a part", &block));
  *out = block;
  return copy(queue, SL_COPY_TO_DEVICE, block, host, bytes);
}

static sley_status upload_matrix(sl_queue *queue, const sl_spmm_matrix *from, sl_spmm_matrix *a) {
  int64_t entries = from->rowptr[from->rows];
  if (from->rowid)
    SL_TRY(upload(queue, from->rowid, from->rows * 8, (const void **)&a->rowid));
  SL_TRY(upload(queue, from->rowptr, (from->rows + 1) * 8, (const void **)&a->rowptr));
  SL_TRY(upload(queue, from->col, entries * (int64_t)sl_index_bytes(from->index), &a->col));
  return upload(queue, from->val, entries * (int64_t)sley_dtype_bytes(from->dtype), &a->val);
}

static sley_status prepare(sl_device *device, sl_queue *queue, const sl_kernel_args *args, void **prepared) {
  *prepared = NULL;
  if (args->op != SL_OP_SPMM)
    return SLEY_OK;
  const sl_spmm_matrix *from = args->spmm.a;
  sl_spmm_matrix *a;
  SL_TRY(SL_NEW(a, 1, "a part"));
  *a = (sl_spmm_matrix){.rows = from->rows, .index = from->index, .dtype = from->dtype};
  sley_status status = upload_matrix(queue, from, a);
  if (status != SLEY_OK) {
    release(device, a);
    return status;
  }
  *prepared = a;
  return SLEY_OK;
}

static sley_status check_spmm(sl_queue *queue, task *t) {
  sl_spmm_args *s = &t->args.spmm;
  if (s->a->rows == 0 || s->k == 0)
    return SLEY_OK;
  t->a = s->prepared ? *(const sl_spmm_matrix *)s->prepared : *s->a;
  s->prepared = NULL;
  s->a = &t->a;
  SL_TRY(check(queue, s->x, "X"));
  SL_TRY(check(queue, s->y, "Y"));
  return check(queue, t->a.rowptr, "an array of A");
}

static sley_status check_rows(sl_queue *queue, const sl_rows_args *a) {
  if (a->count == 0 || a->bytes == 0)
    return SLEY_OK;
  SL_TRY(check(queue, a->src, "rows"));
  SL_TRY(check(queue, a->dst, "rows"));
  if (a->src_rows)
    SL_TRY(check(queue, a->src_rows, "a list"));
  return a->dst_rows ? check(queue, a->dst_rows, "a list") : SLEY_OK;
}

static sley_status check_signals(sl_queue *queue, const sl_signals *signals, task *t) {
  t->signals = *signals;
  memcpy(t->lend, signals->lend, (size_t)signals->lends * sizeof *signals->lend);
  SL_TRY(check(queue, signals->own, "a board"));
  for (int i = 0; i < signals->lends; i++)
    SL_TRY(check(queue, signals->lend[i].board, "a peer's board"));
  return SLEY_OK;
}

static sley_status check_pull(sl_queue *queue, task *t) {
  const sl_pull_args *a = &t->args.pull;
  memcpy(t->source, a->source, (size_t)a->sources * sizeof *a->source);
  if (a->signals)
    SL_TRY(check_signals(queue, a->signals, t));
  if (a->count == 0)
    return SLEY_OK;
  SL_TRY(check(queue, a->list, "a list"));
  SL_TRY(check(queue, a->dst, "rows"));
  for (int i = 0; i < a->sources; i++)
    if (a->source[i].src && a->source[i].bytes > 0)
      SL_TRY(check(queue, a->source[i].src, "rows"));
  return SLEY_OK;
}

static sley_status run(sl_queue *queue, const sl_kernel_args *args) {
  task t = {.kind = RUN, .args = *args};
  if (args->op == SL_OP_SPMM)
    SL_TRY(check_spmm(queue, &t));
  if (args->op == SL_OP_ROWS)
    SL_TRY(check_rows(queue, &args->rows));
  if (args->op == SL_OP_PULL)
    SL_TRY(check_pull(queue, &t));
  if (args->op == SL_OP_AWAIT)
    SL_TRY(check_signals(queue, args->await.signals, &t));
  if (args->op == SL_OP_SCALE && args->scale.rows > 0 && args->scale.k > 0)
    SL_TRY(check(queue, args->scale.y, "Y"));
  ((mock_device *)queue->device)->launches++;
  sl_kernel_args known = t.args; /* a kernel that can do without looking at the matrix */
  sl_spmm_matrix types = t.a;
  if (args->op == SL_OP_SPMM) {
    if (args->spmm.a->rows == 0 || args->spmm.k == 0)
      return SLEY_OK;
    types.rows = 0;
    known.spmm.a = &types;
  }
  SL_TRY(sl_kernel_find(((mock_queue *)queue)->cpu, &known, &t.kernel));
  return add_task(queue, &t);
}

#define KERNEL(kernel_name, operation)                                                                       \
  {                                                                                                          \
    .name = kernel_name, .op = operation, .ok = kernel_ok, .cost = kernel_cost, .prepare = prepare,          \
    .release = release, .run = run                                                                           \
  }
static const sl_kernel spmm = KERNEL("mock-spmm", SL_OP_SPMM), rows = KERNEL("mock-rows", SL_OP_ROWS),
                       pull = KERNEL("mock-pull", SL_OP_PULL), await = KERNEL("mock-await", SL_OP_AWAIT),
                       scale = KERNEL("mock-scale", SL_OP_SCALE);
static const sl_kernel *const kernels[] = {&spmm, &rows, &pull, &await, &scale, NULL};

/* ------------------------------------------------------------------------------------------------ devices */

static int count(void) {
  if (!environment_says("SLEY_MOCK_DEVICES", "0"))
    return DEVICES;
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
  device->base.ops = &mock;
  device->ordinal = ordinal;
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

static sley_status memory(sl_device *device, int64_t *available, int64_t *total) {
  (void)device;
  *available = *total = (int64_t)1 << 30;
  return SLEY_OK;
}

static bool reach(sl_device *device, sl_device *other) {
  return ((mock_device *)device)->ordinal == ((mock_device *)other)->ordinal ||
         !environment_says("SLEY_MOCK_REACH", "no");
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
    .memory = memory,
    .reach = reach,
    .counters = counters,
    .alloc = take,
    .free = give,
    .host_alloc = host_take,
    .host_free = host_give,
    .queue_create = queue_create,
    .queue_create_urgent = queue_create_urgent,
    .queue_move = queue_move,
    .queue_destroy = queue_destroy,
    .queue_wait = queue_wait,
    .copy = copy,
    .event_create = event_create,
    .event_destroy = event_destroy,
    .event_record = event_record,
    .event_wait = event_wait,
    .kernels = kernels,
};

const void *sl_device_module(int abi, int *built_for);

const void *sl_device_module(int abi, int *built_for) {
  *built_for = SL_MODULE_ABI;
  return abi == SL_MODULE_ABI ? &mock : NULL;
}
