/* SPDX-License-Identifier: Apache-2.0 */
/* What networks take of the memory of each rank's device. */
#ifndef SLEY_CLI_GNN_MEMORY_H
#define SLEY_CLI_GNN_MEMORY_H

#include <sley_gnn.h>
#include <stdio.h>

#include "output/json.h"

/* Of all ranks' parts, a place for each in `out`, which rank 0 fills; others do not look at it. Collective,
 * agreed. */
sley_status cli_gnn_memory_gather(sley_comm *comm, const sley_gnn *gnn, sley_gnn_bytes *out);

/* A line: of the rank that takes most. way: the word of --memory. */
void cli_gnn_memory_print(const sley_gnn_bytes *of, int ranks, const char *way, FILE *stream);

/* Adds `memory_bytes`, an object for each rank. */
void cli_gnn_memory_json(cli_json *to, const sley_gnn_bytes *of, int ranks);

#endif
