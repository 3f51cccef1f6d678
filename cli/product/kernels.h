/* SPDX-License-Identifier: Apache-2.0 */
/* The kernels of a device that sum the entries of a plan: collects them, and reports them as text and as
 * JSON. */
#ifndef SLEY_CLI_PRODUCT_KERNELS_H
#define SLEY_CLI_PRODUCT_KERNELS_H

#include <stdio.h>

#include "output/json.h"
#include "sley.h"

enum { CLI_KERNEL_NAME = 32, CLI_KERNEL_USES = 16 };

/* The kernels of a plan, with one element for each pair of a kernel and a kind of part. Has no pointers,
 * because processes share it. */
typedef struct cli_kernels {
  int count;
  char name[CLI_KERNEL_USES][CLI_KERNEL_NAME];
  sley_part_kind kind[CLI_KERNEL_USES];
  int64_t entries[CLI_KERNEL_USES], copied[CLI_KERNEL_USES];
  char layout[CLI_KERNEL_USES][CLI_KERNEL_NAME]; /* layout of the copied entries; empty: none */
} cli_kernels;

/* Collects the kernels of a plan over all ranks. Collective. */
sley_status cli_kernels_of(const sley_plan *plan, cli_kernels *out);

/* Prints a line such as "kernels    NAME: local 71.2 % (bundles), halo 28.8 % of the entries", or nothing if
 * no kernels are known. "(99.1 % bundles)" means that this share of the part's entries is copied to that
 * layout, and the other entries are read from the matrix. */
void cli_kernels_print(const cli_kernels *kernels, FILE *stream);

/* Adds the list "kernels": for each its name, part, entries, share, layout, and the number of entries copied
 * to that layout. */
void cli_kernels_json(cli_json *json, const cli_kernels *kernels);

#endif
