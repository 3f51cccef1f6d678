/* SPDX-License-Identifier: Apache-2.0 */
/* Events between the rank's queue and the comm's stream, shared by exchanges and collectives of NCCL. */
#include "transport/nccl/nccl_comm.h"

sley_status sl_nccl_events_open(const sl_nccl_comm *comm, sl_nccl_events *events) {
  sl_device *device = comm->base.base.device;
  SL_TRY(device->ops->event_create(device, &events->ready));
  return device->ops->event_create(device, &events->done);
}

void sl_nccl_events_close(sl_nccl_comm *comm, sl_nccl_events *events) {
  const sl_device_ops *ops = comm->base.base.device->ops;
  (void)sl_process_wait_for(&comm->base, comm->beside);
  if (events->ready)
    ops->event_destroy(events->ready);
  if (events->done)
    ops->event_destroy(events->done);
  *events = (sl_nccl_events){0};
}

bool sl_nccl_travels(const sl_process_exchange *exchange) {
  for (int i = 0; i < exchange->sends; i++)
    if (exchange->send[i].travels)
      return true;
  for (int i = 0; i < exchange->recvs; i++)
    if (exchange->recv[i].travels)
      return true;
  return false;
}
