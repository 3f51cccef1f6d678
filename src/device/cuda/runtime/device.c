/* SPDX-License-Identifier: Apache-2.0 */
/* An NVIDIA GPU as a device. A queue is a stream. Every call makes its GPU current, so any thread may call.
 * Several devices may be opened on one GPU; they share its memory. */
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"
#include "device/cuda/cuda.h"
#include "device/cuda/runtime/pool.h"

/* Lowest compute capability that the kernels are built for. */
enum { CAPABILITY_LEAST = 80 };

struct sl_event {
  sl_device *device;
  cudaEvent_t event;
};

static sl_cuda_device *of(sl_device *device) {
  return (sl_cuda_device *)device;
}

static void count_one(int64_t *counter) {
  __atomic_fetch_add(counter, 1, __ATOMIC_RELAXED);
}

/* ---------------------------------------------------------------------------------------------- the device
 */

static int version_part(int version, int part) {
  return part == 0 ? version / 1000 : version % 1000 / 10;
}

static int cuda_count(void) {
  int count = 0, driver = 0, runtime = 0;
  cudaError_t error = cudaGetDeviceCount(&count);
  if (error == cudaSuccess && count > 0)
    return count;
  (void)cudaGetLastError();
  if (cudaDriverGetVersion(&driver) != cudaSuccess)
    driver = 0;
  (void)cudaRuntimeGetVersion(&runtime);
  if (driver == 0)
    sl_fail(SLEY_ERR_UNSUPPORTED, "no NVIDIA driver is loaded: install one, or use the cpu");
  else if (error == cudaErrorInsufficientDriver)
    sl_fail(
        SLEY_ERR_UNSUPPORTED, "the NVIDIA driver is for CUDA %d.%d, older than %d.%d: install a newer one",
        version_part(driver, 0), version_part(driver, 1), version_part(runtime, 0), version_part(runtime, 1));
  else if (error == cudaErrorNoDevice || error == cudaSuccess)
    sl_fail(SLEY_ERR_UNSUPPORTED, "no GPU is visible: see nvidia-smi and CUDA_VISIBLE_DEVICES");
  else
    sl_fail(SLEY_ERR_UNSUPPORTED, "the GPUs cannot be used: %s", cudaGetErrorString(error));
  return 0;
}

/* The driver's release as the kernel reports it; "" if unknown. */
static void driver_release(char *text, size_t bytes) {
  text[0] = 0;
  FILE *file = fopen("/sys/module/nvidia/version", "re");
  if (!file)
    return;
  if (fgets(text, (int)bytes, file))
    text[strcspn(text, "\n")] = 0;
  fclose(file);
}

/* An attribute of the GPU; 0 if the driver does not know it. */
static double attribute(const sl_cuda_device *device, enum cudaDeviceAttr which) {
  int value = 0;
  if (cudaDeviceGetAttribute(&value, which, device->ordinal) != cudaSuccess)
    (void)cudaGetLastError();
  return value;
}

/* Fills the figures. Memory moves two values per pin and clock, which the driver counts in kHz. */
static void find_figures(sl_cuda_device *device, const struct cudaDeviceProp *properties) {
  const int64_t processors = properties->multiProcessorCount;
  const sl_gpu_properties gpu = {.name = properties->name,
                                 .processors = processors,
                                 .lanes = processors * properties->maxThreadsPerMultiProcessor,
                                 .cache = properties->l2CacheSize,
                                 .memory = 2 * 1e3 * attribute(device, cudaDevAttrMemoryClockRate) *
                                           attribute(device, cudaDevAttrGlobalMemoryBusWidth) / 8};
  device->base.figures = sl_figures_of_gpu(&gpu);
}

static sley_status look_at(sl_cuda_device *device) {
  struct cudaDeviceProp properties;
  SL_TRY(sl_cuda_check(cudaGetDeviceProperties(&properties, device->ordinal),
                       "asking for the GPU's properties"));
  if (10 * properties.major + properties.minor < CAPABILITY_LEAST)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "GPU %d, %s, has compute capability %d.%d: %d.%d or later is needed",
                   device->ordinal, properties.name, properties.major, properties.minor,
                   CAPABILITY_LEAST / 10, CAPABILITY_LEAST % 10);
  find_figures(device, &properties);
  char release[64];
  int driver = 0;
  driver_release(release, sizeof release);
  SL_TRY(sl_cuda_check(cudaDriverGetVersion(&driver), "asking for the driver's version"));
  snprintf(device->text, sizeof device->text, "%s, %.1f GiB, driver%s%s for CUDA %d.%d", properties.name,
           (double)properties.totalGlobalMem / (1 << 30), *release ? " " : "", release,
           version_part(driver, 0), version_part(driver, 1));
  SL_TRY(sl_cuda_check(cudaDeviceGetPCIBusId(device->place, sizeof device->place, device->ordinal),
                       "asking for the GPU's PCI address"));
  SL_TRY(sl_cuda_use(&device->base));
  return sl_cuda_check(cudaDeviceGetStreamPriorityRange(&device->least, &device->greatest),
                       "asking for the priorities of streams");
}

static sley_status cuda_open(int ordinal, int threads, sl_device **out) {
  (void)threads;
  *out = NULL;
  int count = cuda_count();
  if (count == 0)
    return SLEY_ERR_UNSUPPORTED;
  if (ordinal < 0 || ordinal >= count)
    return sl_fail(SLEY_ERR_ARG, "there %s %d GPU%s, numbered from 0: no number %d",
                   count == 1 ? "is" : "are", count, count == 1 ? "" : "s", ordinal);
  sl_cuda_device *device;
  SL_TRY(SL_NEW_ZERO(device, 1, "a cuda device"));
  device->base.ops = &sl_cuda_ops;
  device->ordinal = ordinal;
  sley_status status = look_at(device);
  if (status == SLEY_OK)
    status = sl_cuda_staging_create(&device->staging);
  if (status == SLEY_OK)
    status = sl_cuda_pool_create(ordinal, &device->pool);
  if (status != SLEY_OK) {
    sl_cuda_staging_destroy(device->staging);
    sl_free(device);
    return status;
  }
  *out = &device->base;
  return SLEY_OK;
}

static void cuda_close(sl_device *device) {
  if (cudaSetDevice(of(device)->ordinal) == cudaSuccess) {
    sl_cuda_pool_destroy(of(device)->pool);
    sl_cuda_staging_destroy(of(device)->staging);
  }
  sl_free(device);
}

static const char *cuda_describe(const sl_device *device) {
  return ((const sl_cuda_device *)device)->text;
}

static const char *cuda_place(const sl_device *device) {
  return ((const sl_cuda_device *)device)->place;
}

static sley_status cuda_memory(sl_device *device, int64_t *free, int64_t *total) {
  size_t now = 0, all = 0;
  SL_TRY(sl_cuda_use(device));
  SL_TRY(sl_cuda_check(cudaMemGetInfo(&now, &all), "asking for the GPU's memory"));
  *free = (int64_t)now + sl_cuda_pool_unused(of(device)->pool);
  *total = (int64_t)all;
  return SLEY_OK;
}

enum { ORDINALS = 64 };

/* Access is a property of an ordered pair of GPUs and stays enabled. Enabling it twice is a harmless error of
 * the runtime, so the device records which accesses it has enabled. */
static bool cuda_reach(sl_device *device, sl_device *other) {
  static bool enabled[ORDINALS][ORDINALS];
  static pthread_mutex_t enabling = PTHREAD_MUTEX_INITIALIZER;
  int mine = of(device)->ordinal, theirs = of(other)->ordinal, can = 0;
  if (device->ops != other->ops)
    return false;
  bool kept = mine < ORDINALS && theirs < ORDINALS;
  if (mine == theirs || (kept && __atomic_load_n(&enabled[mine][theirs], __ATOMIC_RELAXED)))
    return true;
  if (cudaDeviceCanAccessPeer(&can, mine, theirs) != cudaSuccess || !can ||
      cudaSetDevice(mine) != cudaSuccess) {
    (void)cudaGetLastError();
    return false;
  }
  pthread_mutex_lock(&enabling); /* ranks that share a GPU could otherwise enable the same access at once */
  cudaError_t error = cudaSuccess;
  if (!kept || !__atomic_load_n(&enabled[mine][theirs], __ATOMIC_RELAXED))
    error = cudaDeviceEnablePeerAccess(theirs, 0);
  (void)cudaGetLastError();
  bool reaches = error == cudaSuccess || error == cudaErrorPeerAccessAlreadyEnabled;
  if (kept && reaches)
    __atomic_store_n(&enabled[mine][theirs], true, __ATOMIC_RELAXED);
  pthread_mutex_unlock(&enabling);
  return reaches;
}

/* GPUs that are connected only by PCI Express do not support atomics on each other's memory. */
static bool cuda_reach_atomics(sl_device *device, sl_device *other) {
  int mine = of(device)->ordinal, theirs = of(other)->ordinal, native = 0;
  if (!cuda_reach(device, other))
    return false;
  if (mine == theirs)
    return true;
  if (cudaDeviceGetP2PAttribute(&native, cudaDevP2PAttrNativeAtomicSupported, mine, theirs) != cudaSuccess) {
    (void)cudaGetLastError();
    return false;
  }
  return native != 0;
}

static void cuda_counters(const sl_device *device, sl_device_counters *out) {
  const sl_device_counters *counted = &((const sl_cuda_device *)device)->counted;
  *out = (sl_device_counters){.allocations = __atomic_load_n(&counted->allocations, __ATOMIC_RELAXED),
                              .copies = __atomic_load_n(&counted->copies, __ATOMIC_RELAXED),
                              .waits = __atomic_load_n(&counted->waits, __ATOMIC_RELAXED),
                              .launches = __atomic_load_n(&counted->launches, __ATOMIC_RELAXED)};
}

/* ------------------------------------------------------------------------------------------------ memory */

/* Allocates a block from the pool, or if there is none from the device itself. */
static sley_status take_block(sl_cuda_pool *pool, int64_t bytes, void **out, cudaError_t *error) {
  if (pool)
    return sl_cuda_pool_take(pool, bytes, out, error);
  *error = cudaMalloc(out, (size_t)bytes);
  return SLEY_OK;
}

static sley_status alloc_of(sl_cuda_device *device, sl_cuda_pool *pool, int64_t bytes, const char *what,
                            void **out) {
  *out = NULL;
  if (bytes < 0)
    return sl_fail(SLEY_ERR_MEMORY, "%s of %lld bytes", what, (long long)bytes);
  SL_TRY(sl_cuda_use(&device->base));
  count_one(&device->counted.allocations);
  cudaError_t error;
  void *block = NULL;
  int64_t wanted = bytes > 0 ? bytes : 1;
  SL_TRY(take_block(pool, wanted, &block, &error));
  if (error == cudaErrorMemoryAllocation) { /* the pool may hold unused memory */
    (void)cudaGetLastError();
    sl_cuda_pool_trim(device->pool);
    SL_TRY(take_block(pool, wanted, &block, &error));
  }
  if (error == cudaErrorMemoryAllocation) {
    (void)cudaGetLastError();
    int64_t free = 0, total = 0;
    SL_TRY(cuda_memory(&device->base, &free, &total));
    return sl_fail(SLEY_ERR_MEMORY, "%s: %.3f GiB wanted on GPU %d, %.3f of %.3f GiB are free", what,
                   (double)bytes / (1 << 30), device->ordinal, (double)free / (1 << 30),
                   (double)total / (1 << 30));
  }
  SL_TRY(sl_cuda_check(error, what));
  *out = block;
  return SLEY_OK;
}

static sley_status cuda_alloc(sl_device *device, int64_t bytes, const char *what, void **out) {
  return alloc_of(of(device), NULL, bytes, what, out);
}

static sley_status cuda_alloc_private(sl_device *device, int64_t bytes, const char *what, void **out) {
  return alloc_of(of(device), of(device)->pool, bytes, what, out);
}

static void cuda_free(sl_device *device, void *block) {
  if (block && cudaSetDevice(of(device)->ordinal) == cudaSuccess &&
      !sl_cuda_pool_give_back(of(device)->pool, block))
    (void)cudaFree(block);
}

static sley_status cuda_share(sl_device *device, void *block, int64_t bytes, sl_shared *out) {
  cudaIpcMemHandle_t handle;
  _Static_assert(sizeof handle <= sizeof out->handle, "a name holds a handle");
  *out = (sl_shared){.process = getpid(), .ordinal = of(device)->ordinal, .bytes = bytes, .address = block};
  SL_TRY(sl_cuda_use(device));
  cudaError_t error = cudaIpcGetMemHandle(&handle, block);
  if (error != cudaSuccess) {
    (void)cudaGetLastError();
    return sl_fail(SLEY_ERR_UNSUPPORTED, "memory of GPU %d cannot be shared with other processes: %s",
                   of(device)->ordinal, cudaGetErrorString(error));
  }
  memcpy(out->handle, &handle, sizeof handle);
  return SLEY_OK;
}

/* In the owner's process the address is used directly; the runtime would not open a handle of the same
 * process. */
static sley_status open_own(sl_device *device, const sl_shared *shared, void **out) {
  sl_cuda_device owner = {.base.ops = device->ops, .ordinal = (int)shared->ordinal};
  if (!device->ops->reach(device, &owner.base))
    return sl_fail(SLEY_ERR_UNSUPPORTED, "GPU %d cannot load the memory of GPU %d", of(device)->ordinal,
                   owner.ordinal);
  *out = shared->address;
  return SLEY_OK;
}

static sley_status cuda_share_open(sl_device *device, const sl_shared *shared, void **out) {
  cudaIpcMemHandle_t handle;
  *out = NULL;
  if (shared->process == getpid())
    return open_own(device, shared, out);
  SL_TRY(sl_cuda_use(device));
  memcpy(&handle, shared->handle, sizeof handle);
  cudaError_t error = cudaIpcOpenMemHandle(out, handle, cudaIpcMemLazyEnablePeerAccess);
  if (error == cudaSuccess)
    return SLEY_OK;
  (void)cudaGetLastError();
  *out = NULL;
  return sl_fail(SLEY_ERR_UNSUPPORTED, "GPU %d cannot map the memory of another process's GPU: %s",
                 of(device)->ordinal, cudaGetErrorString(error));
}

static void cuda_share_close(sl_device *device, const sl_shared *shared, void *block) {
  if (block && shared->process != getpid() && cudaSetDevice(of(device)->ordinal) == cudaSuccess)
    (void)cudaIpcCloseMemHandle(block);
}

static sley_status cuda_host_alloc(sl_device *device, int64_t bytes, const char *what, void **out) {
  *out = NULL;
  SL_TRY(sl_cuda_use(device));
  SL_TRY(sl_cuda_check(cudaHostAlloc(out, bytes > 0 ? (size_t)bytes : 1, cudaHostAllocPortable), what));
  memset(*out, 0, bytes > 0 ? (size_t)bytes : 1);
  return SLEY_OK;
}

static void cuda_host_free(sl_device *device, void *block) {
  if (block && cudaSetDevice(of(device)->ordinal) == cudaSuccess)
    (void)cudaFreeHost(block);
}

/* ------------------------------------------------------------------------------------------------ queues */

static sley_status make_stream(int priority, cudaStream_t *out) {
  return sl_cuda_check(cudaStreamCreateWithPriority(out, cudaStreamNonBlocking, priority), "making a stream");
}

static void cuda_queue_destroy(sl_queue *base) {
  sl_cuda_queue *queue = (sl_cuda_queue *)base;
  if (!queue)
    return;
  if (cudaSetDevice(of(base->device)->ordinal) == cudaSuccess) {
    if (queue->dense)
      queue->dense_release(base);
    if (queue->spgemm)
      queue->spgemm_release(base);
    if (queue->moved)
      (void)cudaEventDestroy(queue->moved);
    if (queue->own)
      (void)cudaStreamDestroy(queue->own);
  }
  sl_free(queue);
}

static sley_status queue_make(sl_device *device, void *native, int priority, sl_queue **out) {
  *out = NULL;
  SL_TRY(sl_cuda_use(device));
  sl_cuda_queue *queue;
  SL_TRY(SL_NEW_ZERO(queue, 1, "a queue"));
  queue->base = (sl_queue){.ops = &sl_cuda_ops, .device = device};
  sley_status status =
      sl_cuda_check(cudaEventCreateWithFlags(&queue->moved, cudaEventDisableTiming), "making an event");
  if (status == SLEY_OK && !native)
    status = make_stream(priority, &queue->own);
  if (status != SLEY_OK) {
    cuda_queue_destroy(&queue->base);
    return status;
  }
  queue->stream = native ? (cudaStream_t)native : queue->own;
  *out = &queue->base;
  return SLEY_OK;
}

static sley_status cuda_queue_create(sl_device *device, void *native, sl_queue **out) {
  return queue_make(device, native, of(device)->least, out);
}

static sley_status cuda_queue_create_urgent(sl_device *device, sl_queue **out) {
  return queue_make(device, NULL, of(device)->greatest, out);
}

static sley_status cuda_queue_move(sl_queue *base, void *native) {
  sl_cuda_queue *queue = (sl_cuda_queue *)base;
  SL_TRY(sl_cuda_use(base->device));
  if (!native && !queue->own)
    SL_TRY(make_stream(of(base->device)->least, &queue->own));
  cudaStream_t next = native ? (cudaStream_t)native : queue->own;
  if (next == queue->stream)
    return SLEY_OK;
  enum cudaStreamCaptureStatus capture;
  SL_TRY(sl_cuda_check(cudaStreamIsCapturing(next, &capture), "asking whether a stream is captured"));
  if (capture != cudaStreamCaptureStatusNone) { /* a capture may not depend on earlier work */
    queue->stream = next;
    return SLEY_OK;
  }
  SL_TRY(sl_cuda_check(cudaEventRecord(queue->moved, queue->stream), "leaving a stream"));
  SL_TRY(sl_cuda_check(cudaStreamWaitEvent(next, queue->moved, 0), "moving to another stream"));
  queue->stream = next;
  return SLEY_OK;
}

static sley_status cuda_queue_wait(sl_queue *queue) {
  SL_TRY(sl_cuda_use(queue->device));
  count_one(&of(queue->device)->counted.waits);
  return sl_cuda_check(cudaStreamSynchronize(sl_cuda_stream(queue)), "waiting for the GPU");
}

static sley_status cuda_queue_query(sl_queue *queue, bool *done) {
  SL_TRY(sl_cuda_use(queue->device));
  cudaError_t state = cudaStreamQuery(sl_cuda_stream(queue));
  *done = state == cudaSuccess;
  if (state != cudaErrorNotReady)
    return sl_cuda_check(state, "waiting for the GPU");
  (void)cudaGetLastError();
  return SLEY_OK;
}

static enum cudaMemoryType memory_type(const void *address) {
  struct cudaPointerAttributes attributes;
  if (cudaPointerGetAttributes(&attributes, address) != cudaSuccess) {
    (void)cudaGetLastError();
    return cudaMemoryTypeUnregistered;
  }
  return attributes.type;
}

/* The runtime may return before it has read host memory that is not pinned, so this waits. */
static sley_status cuda_copy(sl_queue *queue, sl_copy_kind kind, void *dst, const void *src, int64_t bytes) {
  static const enum cudaMemcpyKind kinds[] = {[SL_COPY_WITHIN] = cudaMemcpyDefault,
                                              [SL_COPY_TO_DEVICE] = cudaMemcpyHostToDevice,
                                              [SL_COPY_TO_HOST] = cudaMemcpyDeviceToHost};
  if (bytes < 0)
    return sl_fail(SLEY_ERR_ARG, "a copy of %lld bytes", (long long)bytes);
  if (bytes == 0)
    return SLEY_OK;
  SL_TRY(sl_cuda_use(queue->device));
  enum cudaMemoryType from = memory_type(src), to = memory_type(dst);
  if (from != cudaMemoryTypeDevice || to != cudaMemoryTypeDevice)
    count_one(&of(queue->device)->counted.copies);
  if (from == cudaMemoryTypeUnregistered && to == cudaMemoryTypeDevice && sl_cuda_staging_suits(queue, bytes))
    return sl_cuda_staging_copy(of(queue->device)->staging, queue, dst, src, bytes);
  SL_TRY(
      sl_cuda_check(cudaMemcpyAsync(dst, src, (size_t)bytes, kinds[kind], sl_cuda_stream(queue)), "a copy"));
  bool ordinary = from == cudaMemoryTypeUnregistered || to == cudaMemoryTypeUnregistered;
  return ordinary ? cuda_queue_wait(queue) : SLEY_OK;
}

/* ------------------------------------------------------------------------------------------------ events */

static sley_status cuda_event_create(sl_device *device, sl_event **out) {
  *out = NULL;
  SL_TRY(sl_cuda_use(device));
  sl_event *event;
  SL_TRY(SL_NEW_ZERO(event, 1, "an event"));
  event->device = device;
  sley_status status =
      sl_cuda_check(cudaEventCreateWithFlags(&event->event, cudaEventDisableTiming), "making an event");
  if (status != SLEY_OK) {
    sl_free(event);
    return status;
  }
  *out = event;
  return SLEY_OK;
}

static void cuda_event_destroy(sl_event *event) {
  if (!event)
    return;
  if (cudaSetDevice(of(event->device)->ordinal) == cudaSuccess)
    (void)cudaEventDestroy(event->event);
  sl_free(event);
}

static sley_status cuda_event_record(sl_queue *queue, sl_event *event) {
  SL_TRY(sl_cuda_use(queue->device));
  return sl_cuda_check(cudaEventRecord(event->event, sl_cuda_stream(queue)), "recording an event");
}

/* The event may belong to another GPU. */
static sley_status cuda_event_wait(sl_queue *queue, sl_event *event) {
  SL_TRY(sl_cuda_use(queue->device));
  return sl_cuda_check(cudaStreamWaitEvent(sl_cuda_stream(queue), event->event, 0), "waiting for an event");
}

static sley_status cuda_event_query(sl_event *event, bool *done) {
  SL_TRY(sl_cuda_use(event->device));
  cudaError_t state = cudaEventQuery(event->event);
  *done = state == cudaSuccess;
  if (state != cudaErrorNotReady)
    return sl_cuda_check(state, "asking an event");
  (void)cudaGetLastError();
  return SLEY_OK;
}

const sl_device_ops sl_cuda_ops = {
    .name = "cuda",
    .host_addresses = false,
    .signals = true,
    .count = cuda_count,
    .open = cuda_open,
    .close = cuda_close,
    .describe = cuda_describe,
    .place = cuda_place,
    .memory = cuda_memory,
    .reach = cuda_reach,
    .counters = cuda_counters,
    .alloc = cuda_alloc,
    .alloc_private = cuda_alloc_private,
    .free = cuda_free,
    .share = cuda_share,
    .share_open = cuda_share_open,
    .share_close = cuda_share_close,
    .host_alloc = cuda_host_alloc,
    .host_free = cuda_host_free,
    .queue_create = cuda_queue_create,
    .queue_create_urgent = cuda_queue_create_urgent,
    .queue_move = cuda_queue_move,
    .queue_destroy = cuda_queue_destroy,
    .queue_wait = cuda_queue_wait,
    .queue_query = cuda_queue_query,
    .copy = cuda_copy,
    .event_create = cuda_event_create,
    .event_destroy = cuda_event_destroy,
    .event_record = cuda_event_record,
    .event_wait = cuda_event_wait,
    .event_query = cuda_event_query,
    .atomic = sl_cuda_launch_atomic,
    .reach_atomics = cuda_reach_atomics,
    .kernels = sl_cuda_kernels,
};
