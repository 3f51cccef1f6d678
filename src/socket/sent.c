/* SPDX-License-Identifier: Apache-2.0 */
#include "socket/sent.h"

#include <errno.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>

typedef struct tally {
  _Atomic int64_t messages, row_bytes, header_bytes, sends, control_bytes, control_sends;
} tally;

static tally own;
static tally *counted = &own;

sley_status sl_sent_share(void) {
  if (counted != &own)
    return SLEY_OK;
  void *block = mmap(NULL, sizeof *counted, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (block == MAP_FAILED)
    return sl_fail(SLEY_ERR_MEMORY, "no memory that ranks share: %s", strerror(errno));
  memcpy(block, &own, sizeof own);
  counted = block;
  return SLEY_OK;
}

static void add(_Atomic int64_t *to, int64_t more) {
  atomic_fetch_add_explicit(to, more, memory_order_relaxed);
}

void sl_sent_rows(int64_t header_bytes, int64_t row_bytes, bool ends) {
  add(&counted->sends, 1);
  add(&counted->header_bytes, header_bytes);
  add(&counted->row_bytes, row_bytes);
  add(&counted->messages, ends);
}

void sl_sent_control(int64_t bytes) {
  add(&counted->control_sends, 1);
  add(&counted->control_bytes, bytes > 0 ? bytes : 0);
}

void sley_sockets_counted(sley_socket_counts *out) {
  *out = (sley_socket_counts){.messages = atomic_load(&counted->messages),
                              .row_bytes = atomic_load(&counted->row_bytes),
                              .header_bytes = atomic_load(&counted->header_bytes),
                              .sends = atomic_load(&counted->sends),
                              .control_bytes = atomic_load(&counted->control_bytes),
                              .control_sends = atomic_load(&counted->control_sends)};
}
