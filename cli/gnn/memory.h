/* SPDX-License-Identifier: Apache-2.0 */
/* The memory that networks need on each rank's device. */
#ifndef SLEY_CLI_GNN_MEMORY_H
#define SLEY_CLI_GNN_MEMORY_H

#include <sley_gnn.h>
#include <stdio.h>

#include "output/json.h"

/* Gathers the memory of all ranks in `out` on rank 0, one element per rank; other ranks do not use `out`.
 * Collective, agreed. */
sley_status cli_gnn_memory_gather(sley_comm *comm, const sley_gnn *gnn, sley_gnn_bytes *out);

/* Prints a line about the rank that needs the most memory. way: the value of --memory. */
void cli_gnn_memory_print(const sley_gnn_bytes *of, int ranks, const char *way, FILE *stream);

/* Adds `memory_bytes`, one object per rank. */
void cli_gnn_memory_json(cli_json *to, const sley_gnn_bytes *of, int ranks);

#endif
