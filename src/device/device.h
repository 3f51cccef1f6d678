/* SPDX-License-Identifier: Apache-2.0 */
/* A device: where memory lives and kernels run. Work goes through queues: in order within a queue. */
#ifndef SLEY_DEVICE_DEVICE_H
#define SLEY_DEVICE_DEVICE_H

#include "base/team.h"
#include "device/atomic.h"
#include "device/kernel.h"

typedef enum sl_copy_kind { SL_COPY_WITHIN, SL_COPY_TO_DEVICE, SL_COPY_TO_HOST } sl_copy_kind;

typedef struct sl_event sl_event;

/* What a device was asked to do since it was opened. */
typedef struct sl_device_counters {
  int64_t allocations;
  int64_t copies;   /* between host and device */
  int64_t waits;    /* of the host for the device */
  int64_t launches; /* of kernels */
} sl_device_counters;

/* A block of a device's memory as another process of the host is told of it: plain bytes to be sent. */
typedef struct sl_shared {
  int64_t process;
  int64_t ordinal; /* of the device */
  int64_t bytes;
  void *address; /* in the process it belongs to */
  unsigned char handle[64];
} sl_shared;

/* Blocks to be shared are multiples of this: then nothing else lies in what is mapped elsewhere. */
#define SL_SHARED_GRAIN (INT64_C(1) << 21)

enum { SL_PLACE_BYTES = 32 };

/* What a backend implements. Every slot is filled; an operation a backend lacks returns SLEY_ERR_UNSUPPORTED.
 */
typedef struct sl_device_ops {
  const char *name;    /* "cpu", "cuda" */
  bool host_addresses; /* whether the host may read and write the device's memory directly */
  bool signals;        /* kernels of devices that reach each other may wait for each other: see sl_board */

  /* Devices to be had, numbered from 0; with 0 the thread's last error says why there are none. */
  int (*count)(void);
  /* ordinal: which device of the kind; threads: of the CPU's team (others ignore it). */
  sley_status (*open)(int ordinal, int threads, sl_device **out);
  void (*close)(sl_device *device);
  const char *(*describe)(const sl_device *device);
  /* Where it is in its host: the same, within SL_PLACE_BYTES, for two of one host that are one fragment of
   * hardware, whatever their ordinals. */
  const char *(*place)(const sl_device *device);
  /* Bytes, now. */
  sley_status (*memory)(sl_device *device, int64_t *free, int64_t *total);
  /* Whether kernels of device may load and store other's memory from now on, other being of the same kind. */
  bool (*reach)(sl_device *device, sl_device *other);
  void (*counters)(const sl_device *device, sl_device_counters *out);

  /* *out is NULL on an error. */
  sley_status (*alloc)(sl_device *device, int64_t bytes, const char *what, void **out);
  /* Memory that no other device and no other process may reach, for what kernels of this device alone use: it
   * may come from a pool, which is quicker. */
  sley_status (*alloc_private)(sl_device *device, int64_t bytes, const char *what, void **out);
  void (*free)(sl_device *device, void *block); /* of either */
  /* Names a block of alloc to other processes of the host, and opens such a name: *out is the block's address
   * for kernels of device, until share_close, which comes before the owner frees it. In the owner's own
   * process that is the block itself. Errors: SLEY_ERR_UNSUPPORTED (no such memory, or it is out of reach).
   */
  sley_status (*share)(sl_device *device, void *block, int64_t bytes, sl_shared *out);
  sley_status (*share_open)(sl_device *device, const sl_shared *shared, void **out);
  void (*share_close)(sl_device *device, const sl_shared *shared, void *block);
  /* Memory of the host, zeroed, that kernels of every device of the kind can read and write at the same
   * address. */
  sley_status (*host_alloc)(sl_device *device, int64_t bytes, const char *what, void **out);
  void (*host_free)(sl_device *device, void *block);

  /* native: what the kind of device calls a queue (CUDA: a cudaStream_t), which stays the caller's; NULL: one
   * of its own. */
  sley_status (*queue_create)(sl_device *device, void *native, sl_queue **out);
  /* Its work goes before that of other queues where both could run: for gathers beside a long kernel. */
  sley_status (*queue_create_urgent)(sl_device *device, sl_queue **out);
  /* From now on the queue works on native (NULL: its own), after what it has been given so far, unless native
   * is being captured. The native queue it leaves must still exist. */
  sley_status (*queue_move)(sl_queue *queue, void *native);
  void (*queue_destroy)(sl_queue *queue);
  sley_status (*queue_wait)(sl_queue *queue); /* the host waits for all work so far */
  /* Whether all work so far is done, without waiting; or how it failed. */
  sley_status (*queue_query)(sl_queue *queue, bool *done);
  /* In the queue's order. Host memory that is not pinned may be used again when it returns. WITHIN:
   * wherever both lie, on another device of the kind too. */
  sley_status (*copy)(sl_queue *queue, sl_copy_kind kind, void *dst, const void *src, int64_t bytes);

  sley_status (*event_create)(sl_device *device, sl_event **out);
  void (*event_destroy)(sl_event *event);
  sley_status (*event_record)(sl_queue *queue, sl_event *event);
  sley_status (*event_wait)(sl_queue *queue, sl_event *event); /* the queue waits, not the host */
  /* Whether the queue has come to where the event was last recorded, without waiting. */
  sley_status (*event_query)(sl_event *event, bool *done);

  /* In the queue's order, atomic with those of every device and of the host: see atomic.h. */
  sley_status (*atomic)(sl_queue *queue, const sl_atomic *args);
  /* Whether atomics of device on memory of other are atomic with other's own, other being of the same kind.
   */
  bool (*reach_atomics)(sl_device *device, sl_device *other);

  /* NULL-terminated. */
  const sl_kernel *const *kernels;
} sl_device_ops;

/* Backends extend these by making them their first member. */
struct sl_device {
  const sl_device_ops *ops;
};
struct sl_queue {
  const sl_device_ops *ops;
  sl_device *device;
  sl_team *team; /* may help the calling thread with copies of host memory; NULL: nobody does */
};

/* What one allocation of so many bytes takes of a device's memory. */
static inline int64_t sl_device_bytes(int64_t bytes) {
  enum { GRAIN = 512 };
  return bytes <= 0 ? GRAIN : (bytes + GRAIN - 1) / GRAIN * GRAIN;
}

/* A copy of host memory in the memory of the queue's device, freed by the device's free; *out is NULL on an
 * error. */
sley_status sl_device_upload(sl_queue *queue, const void *host, int64_t bytes, const char *what, void **out);

/* The same in private memory: see alloc_private. */
sley_status sl_device_upload_private(sl_queue *queue, const void *host, int64_t bytes, const char *what,
                                     void **out);

/* For refill of kernels that keep the values in stored order, in the queue's device: enqueues the copy of the
 * values of a's entries from val, as refill is given it, to kept, where that of the first entry lies. */
sley_status sl_device_copy_values(sl_queue *queue, const sl_spmm_matrix *a, const void *val,
                                  sl_values_in where, void *kept);

/* The kernel that the arguments ask for, if its predicate holds; else the cheapest of the device whose
 * predicate holds. Errors: SLEY_ERR_UNSUPPORTED. */
sley_status sl_kernel_find(const sl_device *device, const sl_kernel_args *args, const sl_kernel **out);

/* Whether there is one; writes no message. */
bool sl_kernel_serves(const sl_device *device, const sl_kernel_args *args);

/* Finds and runs in one go, without preparation: for ROWS, PULL and SCALE. */
sley_status sl_kernel_run(sl_queue *queue, const sl_kernel_args *args);

/* The backend of that name: built in, or the module libsley_NAME.so. Errors: SLEY_ERR_ARG (unknown name),
 * SLEY_ERR_UNSUPPORTED (known, but not to be had: why). */
sley_status sl_device_backend(const char *name, const sl_device_ops **out);

/* The backend that ranks asked for: NULL or "cpu"; another name, if there is a device to be had; "auto": cuda
 * if there is, else cpu, and then note (of note_bytes) says why, unless no module for it is installed or the
 * machine has no GPU. Errors
 * as sl_device_backend, and SLEY_ERR_UNSUPPORTED where there is no device. */
sley_status sl_device_choose(const char *name, const sl_device_ops **out, char *note, size_t note_bytes);

/* The same, where a name such as "cuda:1" also says which of the backend's devices: *ordinal, which stays as
 * it is where the name says nothing. Errors also: SLEY_ERR_ARG (what follows the colon is no number below the
 * number of devices). */
sley_status sl_device_choose_one(const char *name, const sl_device_ops **out, int *ordinal, char *note,
                                 size_t note_bytes);

/* The names of all backends known, NULL-terminated. */
extern const char *const sl_device_names[];

/* The team behind a CPU queue. */
sl_team *sl_cpu_queue_team(sl_queue *queue);

#endif
