/* SPDX-License-Identifier: Apache-2.0 */
/* Mirrors of host memory in device memory. */
#include "mirror.h"

#include "transport/transport.h"

bool test_one_sided(const sley_comm *comm) {
  const unsigned wanted = SL_ONE_SIDED_GET | SL_ONE_SIDED_ATOMICS;
  return (comm->one_sided & wanted) == wanted;
}

sley_status mirror_open(sley_comm *comm, const void *host, int64_t bytes, mirror *out) {
  *out = (mirror){.comm = comm, .host = (void *)host, .here = (void *)host, .bytes = bytes};
  if (test_on_cpu())
    return SLEY_OK;
  sley_status status = sley_comm_alloc(comm, bytes, &out->here);
  return status == SLEY_OK ? mirror_send(out) : status;
}

sley_status mirror_send(const mirror *m) {
  return m->here == m->host ? SLEY_OK : sley_comm_copy(m->comm, m->here, m->host, m->bytes, SLEY_TO_DEVICE);
}

sley_status mirror_fetch(const mirror *m) {
  if (m->here == m->host)
    return sley_comm_wait(m->comm);
  sley_status status = sley_comm_copy(m->comm, m->host, m->here, m->bytes, SLEY_TO_HOST);
  return status == SLEY_OK ? sley_comm_wait(m->comm) : status;
}

void mirror_close(mirror *m) {
  if (m->here != m->host)
    sley_comm_free(m->comm, m->here);
  *m = (mirror){0};
}
