/* SPDX-License-Identifier: Apache-2.0 */
/* The device that tests run on: environment SLEY_TEST_DEVICE, default cpu. */
#ifndef SLEY_TESTS_CHOSEN_DEVICE_H
#define SLEY_TESTS_CHOSEN_DEVICE_H

#include <stdbool.h>

/* Its name. */
const char *test_device(void);
bool test_on_cpu(void);

#endif
