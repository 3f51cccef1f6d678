/* SPDX-License-Identifier: Apache-2.0 */
/* Fuzz targets for messages over sockets. See fuzz_targets.h. */
#ifndef SLEY_TESTS_FUZZ_WIRE_H
#define SLEY_TESTS_FUZZ_WIRE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void fuzz_demand(bool true_of_any_input, const char *what);

void fuzz_header(const uint8_t *bytes, size_t size);
void fuzz_wire(const uint8_t *bytes, size_t size);
void fuzz_collective(const uint8_t *bytes, size_t size);
void fuzz_claim(const uint8_t *bytes, size_t size);
void fuzz_entries(const uint8_t *bytes, size_t size);
void fuzz_visit(const uint8_t *bytes, size_t size);

#endif
