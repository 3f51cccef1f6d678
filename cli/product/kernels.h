/* SPDX-License-Identifier: Apache-2.0 */
/* Which kernels of a device sum the entries of a plan: collected, as text and as JSON. */
#ifndef SLEY_CLI_PRODUCT_KERNELS_H
#define SLEY_CLI_PRODUCT_KERNELS_H

#include <stdio.h>

#include "output/json.h"
#include "sley.h"

enum { CLI_KERNEL_NAME = 32, CLI_KERNEL_USES = 16 };

/* Without pointers, for memory that processes share. */
typedef struct cli_kernels {
  int count;
  char name[CLI_KERNEL_USES][CLI_KERNEL_NAME];
  sley_part_kind kind[CLI_KERNEL_USES];
  int64_t entries[CLI_KERNEL_USES], copied[CLI_KERNEL_USES];
  char layout[CLI_KERNEL_USES][CLI_KERNEL_NAME]; /* empty: none */
} cli_kernels;

/* Of a plan, over all ranks. Collective. */
sley_status cli_kernels_of(const sley_plan *plan, cli_kernels *out);

/* "kernels    NAME: local 71.2 % (bundles), halo 28.8 % of the entries" and a newline; nothing if none are
 * known. "(99.1 % bundles)": those of that part; the others are read in the rows of the matrix. */
void cli_kernels_print(const cli_kernels *kernels, FILE *stream);

/* Adds the list "kernels": kernel, part, entries and share of each, its layout and the
 * entries that are copied to that. */
void cli_kernels_json(cli_json *json, const cli_kernels *kernels);

#endif
