/* SPDX-License-Identifier: Apache-2.0 */
/* The CPU as a device. A queue runs its work at once on the device's team, so all work is in order, nothing
 * is ever queued, and events have nothing to wait for. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/cores.h"
#include "base/memory.h"
#include "device/cpu/cpu.h"

typedef struct cpu_device {
  sl_device base;
  sl_team *team;
  _Atomic int64_t allocations;
  char text[256];
} cpu_device;

struct sl_event {
  bool recorded;
};

static char model_name[96] = "unnamed processor";
static pthread_once_t named = PTHREAD_ONCE_INIT;

/* Reads the processor's name from the system, which queries every processor. */
static void find_model_name(void) {
  FILE *file = fopen("/proc/cpuinfo", "re");
  if (!file)
    return;
  char line[256];
  while (fgets(line, sizeof line, file)) {
    char *value = strchr(line, ':');
    if (strncmp(line, "model name", 10) != 0 || !value)
      continue;
    value += 1 + (value[1] == ' ');
    value[strcspn(value, "\n")] = 0;
    snprintf(model_name, sizeof model_name, "%s", value);
    break;
  }
  fclose(file);
}

static int cpu_count(void) {
  return 1;
}

/* Describes the cores that ranks share, and the machine's other cores if ranks do not have them all. */
static void describe_processors(char *out, size_t room) {
  const sl_processors *p = sl_processors_here();
  char more[96] = "";
  size_t used = 0;
  if (p->hardware > p->physical)
    used += (size_t)snprintf(more, sizeof more, " of %d hardware threads", p->hardware);
  if (p->quota > 0)
    used += (size_t)snprintf(more + used, sizeof more - used, " by a quota of %.3g", p->quota);
  if (p->numa_nodes > 1)
    snprintf(more + used, sizeof more - used, " on %d NUMA nodes", p->numa_nodes);
  snprintf(out, room, "%s, %d core%s%s, %s", model_name, p->cores, p->cores == 1 ? "" : "s", more,
           sl_cpu_isa_name());
}

static sley_status cpu_open(int ordinal, int threads, sl_device **out) {
  *out = NULL;
  if (ordinal != 0)
    return sl_fail(SLEY_ERR_ARG, "there is one cpu device, number 0, not %d", ordinal);
  cpu_device *device;
  SL_TRY(SL_NEW_ZERO(device, 1, "a cpu device"));
  device->base = (sl_device){.ops = &sl_cpu_ops, .figures = sl_figures_cores};
  sley_status status = sl_team_create(threads, &device->team);
  if (status != SLEY_OK) {
    sl_free(device);
    return status;
  }
  device->base.figures.processors = device->base.figures.lanes = sl_team_size(device->team);
  pthread_once(&named, find_model_name);
  describe_processors(device->text, sizeof device->text);
  *out = &device->base;
  return SLEY_OK;
}

static void cpu_close(sl_device *device) {
  if (!device)
    return;
  sl_team_destroy(((cpu_device *)device)->team);
  sl_free(device);
}

static const char *cpu_describe(const sl_device *device) {
  return ((const cpu_device *)device)->text;
}

static const char *cpu_place(const sl_device *device) {
  (void)device;
  return "cpu";
}

/* Bytes that can be allocated without swapping: Linux's estimate, else the memory that is unused. */
static int64_t available(int64_t unused) {
  char line[128];
  long long kib = -1;
  FILE *file = fopen("/proc/meminfo", "re");
  while (file && kib < 0 && fgets(line, sizeof line, file))
    if (sscanf(line, "MemAvailable: %lld kB", &kib) != 1)
      kib = -1;
  if (file)
    fclose(file);
  return kib >= 0 ? kib * 1024 : unused;
}

static sley_status cpu_memory(sl_device *device, int64_t *free, int64_t *total) {
  (void)device;
  int64_t page = sysconf(_SC_PAGESIZE), pages = sysconf(_SC_AVPHYS_PAGES), all = sysconf(_SC_PHYS_PAGES);
  if (page <= 0 || pages < 0 || all < 0)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "the system does not say how much memory it has");
  *free = available(page * pages);
  *total = page * all;
  return SLEY_OK;
}

static bool cpu_reach(sl_device *device, sl_device *other) {
  return device->ops == other->ops;
}

/* All counters stay 0: there are no transfers between host and device, and work of a team is not a launch. */
static void cpu_counters(const sl_device *device, sl_device_counters *out) {
  *out = (sl_device_counters){.allocations = ((const cpu_device *)device)->allocations};
}

static sley_status cpu_alloc(sl_device *device, int64_t bytes, const char *what, void **out) {
  ((cpu_device *)device)->allocations++;
  *out = sl_alloc(bytes, 1, what);
  return *out ? SLEY_OK : SLEY_ERR_MEMORY;
}

static void cpu_free(sl_device *device, void *block) {
  (void)device;
  sl_free(block);
}

static sley_status cpu_host_alloc(sl_device *device, int64_t bytes, const char *what, void **out) {
  (void)device;
  *out = sl_alloc_zero(bytes, 1, what);
  return *out ? SLEY_OK : SLEY_ERR_MEMORY;
}

static sley_status cpu_queue_create(sl_device *device, void *native, sl_queue **out) {
  *out = NULL;
  if (native)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "the device cpu has no streams: pass NULL");
  sl_queue *queue;
  SL_TRY(SL_NEW(queue, 1, "a queue"));
  *queue = (sl_queue){.ops = &sl_cpu_ops, .device = device};
  *out = queue;
  return SLEY_OK;
}

static sley_status cpu_queue_create_urgent(sl_device *device, sl_queue **out) {
  return cpu_queue_create(device, NULL, out);
}

static sley_status cpu_queue_move(sl_queue *queue, void *native) {
  (void)queue;
  return native ? sl_fail(SLEY_ERR_UNSUPPORTED, "the device cpu has no streams: pass NULL") : SLEY_OK;
}

static void cpu_queue_destroy(sl_queue *queue) {
  sl_free(queue);
}

static sley_status cpu_queue_wait(sl_queue *queue) {
  (void)queue;
  return SLEY_OK;
}

/* Copies one row of `bytes` bytes by the rows kernel, which splits long copies over the team. */
static sley_status cpu_copy(sl_queue *queue, sl_copy_kind kind, void *dst, const void *src, int64_t bytes) {
  (void)kind;
  if (bytes < 0)
    return sl_fail(SLEY_ERR_ARG, "a copy of %lld bytes", (long long)bytes);
  sl_kernel_args args = {.op = SL_OP_ROWS};
  args.rows =
      (sl_rows_args){.count = bytes, .bytes = 1, .src = src, .src_stride = 1, .dst = dst, .dst_stride = 1};
  return sl_cpu_rows.run(queue, &args);
}

static sley_status cpu_event_create(sl_device *device, sl_event **out) {
  (void)device;
  return SL_NEW_ZERO(*out, 1, "an event");
}

static void cpu_event_destroy(sl_event *event) {
  sl_free(event);
}

static sley_status cpu_event_record(sl_queue *queue, sl_event *event) {
  (void)queue;
  event->recorded = true;
  return SLEY_OK;
}

static sley_status cpu_event_wait(sl_queue *queue, sl_event *event) {
  (void)queue;
  (void)event;
  return SLEY_OK;
}

static sley_status cpu_event_query(sl_event *event, bool *done) {
  (void)event;
  *done = true;
  return SLEY_OK;
}

static sley_status cpu_atomic(sl_queue *queue, const sl_atomic *args) {
  (void)queue;
  *args->old = sl_atomic_on_host(args->op, args->word, args->value, args->expected);
  return SLEY_OK;
}

sl_team *sl_cpu_queue_team(sl_queue *queue) {
  return ((cpu_device *)queue->device)->team;
}

/* Not supported, because ranks that are processes share the host's memory as files instead. */
static sley_status cpu_share(sl_device *device, void *block, int64_t bytes, sl_shared *out) {
  (void)device, (void)block, (void)bytes, (void)out;
  return sl_fail(SLEY_ERR_UNSUPPORTED, "blocks of the CPU's memory cannot be named to other processes");
}

static sley_status cpu_share_open(sl_device *device, const sl_shared *shared, void **out) {
  *out = NULL;
  return cpu_share(device, NULL, shared->bytes, NULL);
}

static void cpu_share_close(sl_device *device, const sl_shared *shared, void *block) {
  (void)device, (void)shared, (void)block;
}

static sley_status cpu_queue_query(sl_queue *queue, bool *done) {
  (void)queue;
  *done = true;
  return SLEY_OK;
}

const sl_device_ops sl_cpu_ops = {
    .name = "cpu",
    .host_addresses = true,
    .count = cpu_count,
    .open = cpu_open,
    .close = cpu_close,
    .describe = cpu_describe,
    .place = cpu_place,
    .memory = cpu_memory,
    .reach = cpu_reach,
    .counters = cpu_counters,
    .alloc = cpu_alloc,
    .alloc_private = cpu_alloc,
    .free = cpu_free,
    .share = cpu_share,
    .share_open = cpu_share_open,
    .share_close = cpu_share_close,
    .host_alloc = cpu_host_alloc,
    .host_free = cpu_free,
    .queue_create = cpu_queue_create,
    .queue_create_urgent = cpu_queue_create_urgent,
    .queue_move = cpu_queue_move,
    .queue_destroy = cpu_queue_destroy,
    .queue_wait = cpu_queue_wait,
    .queue_query = cpu_queue_query,
    .copy = cpu_copy,
    .event_create = cpu_event_create,
    .event_destroy = cpu_event_destroy,
    .event_record = cpu_event_record,
    .event_wait = cpu_event_wait,
    .event_query = cpu_event_query,
    .atomic = cpu_atomic,
    .reach_atomics = cpu_reach,
    .kernels = sl_cpu_kernels,
};
