/* SPDX-License-Identifier: Apache-2.0 */
/* The backend of the transport tcp. */
#include "transport/tcp/tcp.h"

static sley_status start(sl_process_comm *comm) {
  comm->in_place = comm->base.device->ops->host_addresses;
  sley_status status = sl_mesh_start_progress(comm->mesh);
  SL_TRY(sl_mesh_agree(comm->mesh, "a thread for messages", 0, 0, status));
  SL_TRY(sl_direct_start(comm, &sl_shared_memory));
  if (!comm->base.device->ops->host_addresses && !comm->direct)
    comm->base.workgroup = 1; /* the memory of other ranks' devices cannot be reached */
  return SLEY_OK;
}

static void stop(sl_process_comm *comm) {
  sl_direct_stop(comm);
}

static void abandon(sl_process_comm *comm) {
  (void)comm;
}

static const sl_process_backend tcp_process = {.name = "tcp",
                                               .dense_native = sl_dense_no_native,
                                               .carrier = &sl_tcp_messages,
                                               .sized = &sl_tcp_messages,
                                               .comm_bytes = sizeof(sl_process_comm),
                                               .start = start,
                                               .stop = stop,
                                               .abandon = abandon};

static sley_status run(const sl_launch *launch, sl_rank_main main, void *arg) {
  return sl_process_run(&tcp_process, launch, main, arg);
}

static const char *describe(void) {
  return "ranks are processes that exchange rows over TCP";
}

const sl_transport_backend sl_tcp_backend = {
    .name = "tcp", .run = run, .describe = describe, .process = &tcp_process};
