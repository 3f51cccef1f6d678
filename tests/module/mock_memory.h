/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of the mock devices: blocks of the host's that know which device they belong to. */
#ifndef SLEY_TESTS_MOCK_MEMORY_H
#define SLEY_TESTS_MOCK_MEMORY_H

#include "base/status.h"

/* bytes of device number `ordinal`, filled with a pattern; even an empty block has an address of its own. */
sley_status mock_memory_take(int ordinal, int64_t bytes, const char *what, void **out);
void mock_memory_give(void *block);

/* Number of the device in whose memory the address lies, or -1. */
int mock_memory_device(const void *address);

#endif
