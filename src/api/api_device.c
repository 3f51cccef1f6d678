/* SPDX-License-Identifier: Apache-2.0 */
/* A rank's device in the public interface: argument checks. */
#include "transport/transport.h"

const char *sley_comm_device(const sley_comm *comm) {
  return comm ? comm->device->ops->name : "";
}

const char *sley_comm_device_note(const sley_comm *comm) {
  return comm && comm->note ? comm->note : "";
}

const char *sley_comm_network_note(const sley_comm *comm) {
  return comm && comm->trusts_network
             ? "the ranks have met over a network without a secret, so other processes of that network could "
               "join: set SLEY_SECRET or SLEY_SECRET_FILE for all ranks"
             : "";
}

sley_status sley_comm_alloc(sley_comm *comm, int64_t bytes, void **out) {
  if (!comm || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_comm_alloc: comm or out is NULL");
  *out = NULL;
  if (bytes < 0)
    return sl_fail(SLEY_ERR_ARG, "sley_comm_alloc: bytes is %lld: it must not be negative", (long long)bytes);
  return comm->device->ops->alloc(comm->device, bytes, "the caller's operands", out);
}

void sley_comm_free(sley_comm *comm, void *block) {
  if (comm && block)
    comm->device->ops->free(comm->device, block);
}

sley_status sley_comm_copy(sley_comm *comm, void *dst, const void *src, int64_t bytes, sley_copy kind) {
  static const sl_copy_kind kinds[] = {
      [SLEY_TO_DEVICE] = SL_COPY_TO_DEVICE, [SLEY_TO_HOST] = SL_COPY_TO_HOST, [SLEY_WITHIN] = SL_COPY_WITHIN};
  if (!comm)
    return sl_fail(SLEY_ERR_ARG, "sley_comm_copy: comm is NULL");
  if (bytes < 0 || (bytes > 0 && (!dst || !src)))
    return sl_fail(SLEY_ERR_ARG,
                   "sley_comm_copy: %lld bytes from %p to %p: the number must not be negative, and neither "
                   "address may be NULL",
                   (long long)bytes, src, dst);
  if ((unsigned)kind > SLEY_WITHIN)
    return sl_fail(SLEY_ERR_ARG, "sley_comm_copy: there is no kind of copy %d", (int)kind);
  if (comm->processes &&
      kind != SLEY_WITHIN) /* the copy may wait, but must not wait for a peer that has failed */
    SL_TRY(comm->ops->wait(comm));
  return comm->device->ops->copy(comm->queue, kinds[kind], dst, src, bytes);
}

sley_status sley_comm_wait(sley_comm *comm) {
  if (!comm)
    return sl_fail(SLEY_ERR_ARG, "sley_comm_wait: comm is NULL");
  return comm->ops->wait(comm);
}

sley_status sley_comm_set_stream(sley_comm *comm, void *stream) {
  if (!comm)
    return sl_fail(SLEY_ERR_ARG, "sley_comm_set_stream: comm is NULL");
  return comm->device->ops->queue_move(comm->queue, stream);
}
