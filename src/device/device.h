/* SPDX-License-Identifier: Apache-2.0 */
/* A device: where memory lives and kernels run. Work goes through queues: in order within a queue. */
#ifndef SLEY_DEVICE_DEVICE_H
#define SLEY_DEVICE_DEVICE_H

#include "base/team.h"
#include "device/atomic.h"
#include "device/figures.h"
#include "device/kernel.h"

typedef enum sl_copy_kind { SL_COPY_WITHIN, SL_COPY_TO_DEVICE, SL_COPY_TO_HOST } sl_copy_kind;

typedef struct sl_event sl_event;

/* Counts of operations on a device since it was opened. */
typedef struct sl_device_counters {
  int64_t allocations;
  int64_t copies;   /* copies between host and device */
  int64_t waits;    /* times that the host waited for the device */
  int64_t launches; /* kernel launches */
} sl_device_counters;

/* A block of a device's memory in a form in which another process of the host can open it: plain bytes that
 * can be sent. */
typedef struct sl_shared {
  int64_t process;
  int64_t ordinal; /* number of the device */
  int64_t bytes;
  void *address; /* address in the process that owns the block */
  unsigned char handle[64];
} sl_shared;

/* Sizes of blocks to be shared are multiples of this, so that no other data lies in the memory that another
 * process maps. */
#define SL_SHARED_GRAIN (INT64_C(1) << 21)

enum { SL_PLACE_BYTES = 32 };

/* The functions that a backend implements. Every slot is filled; an operation that a backend does not support
 * returns SLEY_ERR_UNSUPPORTED. */
typedef struct sl_device_ops {
  const char *name;    /* "cpu" or "cuda" */
  bool host_addresses; /* the host can read and write the device's memory directly */
  bool signals;        /* kernels of devices that reach each other may wait for each other (sl_board) */

  /* Number of devices available, which are numbered from 0. If it is 0, the thread's last error says why. */
  int (*count)(void);
  /* ordinal: number of the device; threads: size of the CPU's team, ignored by other backends. */
  sley_status (*open)(int ordinal, int threads, sl_device **out);
  void (*close)(sl_device *device);
  const char *(*describe)(const sl_device *device);
  /* Identifies the hardware in its host, in at most SL_PLACE_BYTES: two devices of one host have the same
   * place if they are the same piece of hardware, whatever their ordinals. */
  const char *(*place)(const sl_device *device);
  /* Current bytes of free and of all memory. */
  sley_status (*memory)(sl_device *device, int64_t *free, int64_t *total);
  /* Enables kernels of device to load and store other's memory, if possible; returns whether they can. other
   * is of the same kind. */
  bool (*reach)(sl_device *device, sl_device *other);
  void (*counters)(const sl_device *device, sl_device_counters *out);

  /* Allocates memory of the device. *out is NULL after an error. */
  sley_status (*alloc)(sl_device *device, int64_t bytes, const char *what, void **out);
  /* Memory for kernels of this device alone, which no other device or process may access. It may come from a
   * pool, which is faster. */
  sley_status (*alloc_private)(sl_device *device, int64_t bytes, const char *what, void **out);
  void (*free)(sl_device *device, void *block); /* frees a block that alloc or alloc_private allocated */
  /* share names a block of alloc for other processes of the host. share_open opens such a name: *out is the
   * block's address for kernels of device, until share_close, which must precede the owner's free. In the
   * owner's own process it is the block itself. Errors: SLEY_ERR_UNSUPPORTED (memory of another kind, or out
   * of reach). */
  sley_status (*share)(sl_device *device, void *block, int64_t bytes, sl_shared *out);
  sley_status (*share_open)(sl_device *device, const sl_shared *shared, void **out);
  void (*share_close)(sl_device *device, const sl_shared *shared, void *block);
  /* Zeroed host memory that kernels of every device of the kind can read and write at the same address. */
  sley_status (*host_alloc)(sl_device *device, int64_t bytes, const char *what, void **out);
  void (*host_free)(sl_device *device, void *block);

  /* native: an existing queue of the device's own kind (CUDA: a cudaStream_t), which the caller owns; NULL:
   * creates one. */
  sley_status (*queue_create)(sl_device *device, void *native, sl_queue **out);
  /* Creates a queue whose work has priority over the work of other queues, for gathers during a long kernel.
   */
  sley_status (*queue_create_urgent)(sl_device *device, sl_queue **out);
  /* Moves the queue to `native` (NULL: to its own queue), after the work enqueued so far, unless `native` is
   * being captured. The native queue that it leaves must still exist. */
  sley_status (*queue_move)(sl_queue *queue, void *native);
  void (*queue_destroy)(sl_queue *queue);
  sley_status (*queue_wait)(sl_queue *queue); /* waits, on the host, for all work so far */
  /* Reports in *done whether all work so far is complete, without waiting; returns the error of the work if
     it failed. */
  sley_status (*queue_query)(sl_queue *queue, bool *done);
  /* Copies in the queue's order. Host memory that is not pinned may be reused when it returns. WITHIN:
   * between any two addresses, also on other devices of the kind. */
  sley_status (*copy)(sl_queue *queue, sl_copy_kind kind, void *dst, const void *src, int64_t bytes);

  sley_status (*event_create)(sl_device *device, sl_event **out);
  void (*event_destroy)(sl_event *event);
  sley_status (*event_record)(sl_queue *queue, sl_event *event);
  sley_status (*event_wait)(sl_queue *queue, sl_event *event); /* the queue waits, not the host */
  /* Reports whether the queue has reached the point where the event was last recorded, without waiting. */
  sley_status (*event_query)(sl_event *event, bool *done);

  /* Runs in the queue's order; atomic with respect to operations of every device and of the host
   * (atomic.h). */
  sley_status (*atomic)(sl_queue *queue, const sl_atomic *args);
  /* Returns whether atomics of device on other's memory are atomic with respect to the atomics of other.
   * other is of the same kind. */
  bool (*reach_atomics)(sl_device *device, sl_device *other);

  /* The backend's kernels, NULL-terminated. */
  const sl_kernel *const *kernels;
} sl_device_ops;

/* Backends extend these by making them their first member. */
struct sl_device {
  const sl_device_ops *ops;
  sl_device_figures figures;
};
struct sl_queue {
  const sl_device_ops *ops;
  sl_device *device;
  sl_team *team; /* may help the calling thread to copy host memory; NULL: no help */
};

/* Bytes of device memory that an allocation of `bytes` bytes occupies. */
static inline int64_t sl_device_bytes(int64_t bytes) {
  enum { GRAIN = 512 };
  return bytes <= 0 ? GRAIN : (bytes + GRAIN - 1) / GRAIN * GRAIN;
}

/* Copies host memory to new memory of the queue's device, which the device's free frees; *out is NULL on an
 * error. */
sley_status sl_device_upload(sl_queue *queue, const void *host, int64_t bytes, const char *what, void **out);

/* The same as sl_device_upload, in private memory (alloc_private). */
sley_status sl_device_upload_private(sl_queue *queue, const void *host, int64_t bytes, const char *what,
                                     void **out);

/* For refill of kernels that keep the values in stored order in device memory: enqueues a copy of the values
 * of a's entries from val to kept. val: as in refill; kept: place of the first entry's value. */
sley_status sl_device_copy_values(sl_queue *queue, const sl_spmm_matrix *a, const void *val,
                                  sl_values_in where, void *kept);

/* Finds the kernel that the arguments request, if its predicate is true; if they request none, the device's
 * cheapest kernel whose predicate is true. Errors: SLEY_ERR_UNSUPPORTED. */
sley_status sl_kernel_find(const sl_device *device, const sl_kernel_args *args, const sl_kernel **out);

/* Returns whether there is such a kernel; writes no message. */
bool sl_kernel_serves(const sl_device *device, const sl_kernel_args *args);

/* Finds and runs a kernel, without preparation: for ROWS, PULL and SCALE. */
sley_status sl_kernel_run(sl_queue *queue, const sl_kernel_args *args);

/* Finds the backend of that name: built in, or the module libsley_NAME.so. Errors: SLEY_ERR_ARG (unknown
 * name), SLEY_ERR_UNSUPPORTED (known but not available; the message says why). */
sley_status sl_device_backend(const char *name, const sl_device_ops **out);

/* Finds the backend by the name that the ranks request. NULL or "cpu": the CPU. "auto": cuda if it has a
 * device, else the CPU; then note (of note_bytes) says why, unless no module for it is installed or the
 * machine has no GPU. Another name: that backend, if it has a device. Errors as sl_device_backend, and
 * SLEY_ERR_UNSUPPORTED if there is no device. */
sley_status sl_device_choose(const char *name, const sl_device_ops **out, char *note, size_t note_bytes);

/* The same as sl_device_choose, also for names such as "cuda:1", which state the number of the device.
 * *ordinal receives the number, and is unchanged if the name has none. Errors also: SLEY_ERR_ARG (the text
 * after the colon is not a number below the number of devices). */
sley_status sl_device_choose_one(const char *name, const sl_device_ops **out, int *ordinal, char *note,
                                 size_t note_bytes);

/* The names of all known backends, NULL-terminated. */
extern const char *const sl_device_names[];

/* The team that runs a CPU queue's work. */
sl_team *sl_cpu_queue_team(sl_queue *queue);

#endif
