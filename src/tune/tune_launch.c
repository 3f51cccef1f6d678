/* SPDX-License-Identifier: Apache-2.0 */
/* The time of a kernel that does nearly nothing, on devices that enqueue work. */
#include "tune/tune_inside.h"

typedef struct move {
  sl_comm *comm;
  sl_kernel_args args;
} move;

static sley_status run_move(void *context) {
  move *m = context;
  return sl_kernel_run(m->comm->queue, &m->args);
}

sley_status sl_tune_launch(sl_comm *comm, sl_tuning *tune) {
  enum { BYTES = 16 };
  void *block;
  double seconds;
  if (!sl_tune_enqueues(comm))
    return SLEY_OK;
  sley_status status = sl_agree(comm, sl_tune_alloc(comm, 2 * BYTES, "a row", &block));
  move one = {.comm = comm,
              .args = {.op = SL_OP_ROWS,
                       .rows = {.count = 1, .bytes = BYTES, .src = block, .dst = (char *)block + BYTES}}};
  if (status == SLEY_OK)
    status = sl_tune_measure(comm, tune, &(sl_timed){.run = run_move, .context = &one}, &seconds);
  if (status == SLEY_OK && comm->rank == 0)
    tune->machine.launch = seconds;
  comm->device->ops->free(comm->device, block);
  return status;
}
