/* SPDX-License-Identifier: Apache-2.0 */
/* Machines that a test describes. */
#ifndef SLEY_TESTS_MACHINES_H
#define SLEY_TESTS_MACHINES_H

#include "sley.h"

/* Reads a description (docs/MACHINES.md), which is formatted as by printf. Ended by sley_machine_destroy. */
sley_machine *described_machine(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
