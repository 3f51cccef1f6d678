/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of the mock devices: blocks of the host's that know which device they belong to. */
#ifndef SLEY_TESTS_MOCK_MEMORY_H
#define SLEY_TESTS_MOCK_MEMORY_H

#include "device/device.h"

enum { MOCK_DEVICES = 3 };

/* A number of the environment. */
int64_t mock_number(const char *name, int64_t otherwise);

/* Bytes that each device has (SLEY_MOCK_MEMORY), and that one has left, as sl_device_bytes counts them. */
int64_t mock_memory_of_one(void);
int64_t mock_memory_free(int ordinal);

/* bytes of device number `ordinal`, filled with a pattern; even an empty block has an address of its own.
 * Errors: SLEY_ERR_MEMORY. */
sley_status mock_memory_take(int ordinal, int64_t bytes, const char *what, void **out);
void mock_memory_give(void *block);

/* Memory of the host that is pinned, zeroed; and whether an address lies in such. Errors: SLEY_ERR_MEMORY. */
sley_status mock_memory_pin(int64_t bytes, const char *what, void **out);
void mock_memory_unpin(void *block);
bool mock_memory_is_pinned(const void *address);

/* Number of the device in whose memory the address lies, or -1. */
int mock_memory_device(const void *address);

#endif
