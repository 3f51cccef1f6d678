/* SPDX-License-Identifier: Apache-2.0 */
/* The device of the tests: environment variable SLEY_TEST_DEVICE, default cpu. */
#ifndef SLEY_TESTS_CHOSEN_DEVICE_H
#define SLEY_TESTS_CHOSEN_DEVICE_H

#include <stdbool.h>

/* Name of the device. */
const char *test_device(void);
bool test_on_cpu(void);

#endif
