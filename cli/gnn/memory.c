/* SPDX-License-Identifier: Apache-2.0 */
/* Gathers and reports the memory of networks, rank by rank. */
#include "gnn/memory.h"

#include <stdlib.h>

#include "ranks/agree.h"

enum { ROWS, PARAMETERS, PLANS, NUMBERS };

static sley_status own(const sley_gnn *gnn, int64_t *number) {
  sley_gnn_bytes bytes;
  const sley_status status = number ? sley_gnn_bytes_get(gnn, &bytes) : SLEY_ERR_MEMORY;
  if (status == SLEY_OK) {
    number[ROWS] = bytes.rows;
    number[PARAMETERS] = bytes.parameters;
    number[PLANS] = bytes.plans;
  }
  return status;
}

sley_status cli_gnn_memory_gather(sley_comm *comm, const sley_gnn *gnn, sley_gnn_bytes *out) {
  const int ranks = sley_comm_size(comm), rank = sley_comm_rank(comm);
  int64_t *all = calloc((size_t)ranks * NUMBERS, sizeof *all);
  sley_status status = cli_agree_status(comm, own(gnn, all ? all + rank * NUMBERS : NULL));
  if (status == SLEY_OK)
    status = sley_comm_allreduce(comm, SLEY_SUM, all, ranks * NUMBERS);
  for (int i = 0; i < ranks && rank == 0 && status == SLEY_OK; i++) {
    const int64_t *number = all + i * NUMBERS;
    out[i] = (sley_gnn_bytes){.rows = number[ROWS], .parameters = number[PARAMETERS], .plans = number[PLANS]};
  }
  free(all);
  return status;
}

static int64_t sum_of(const sley_gnn_bytes *bytes) {
  return bytes->rows + bytes->parameters + bytes->plans;
}

static double mib(int64_t bytes) {
  return (double)bytes / (1 << 20);
}

void cli_gnn_memory_print(const sley_gnn_bytes *of, int ranks, const char *way, FILE *stream) {
  int most = 0;
  for (int i = 1; i < ranks; i++)
    most = sum_of(&of[i]) > sum_of(&of[most]) ? i : most;
  fprintf(stream, "memory     %s: %.3f MiB of rows, %.3f of parameters, %.3f of plans", way,
          mib(of[most].rows), mib(of[most].parameters), mib(of[most].plans));
  if (ranks > 1)
    fprintf(stream, " on rank %d, which takes most", most);
  fprintf(stream, "\n");
}

void cli_gnn_memory_json(cli_json *to, const sley_gnn_bytes *of, int ranks) {
  cli_json *list = malloc((size_t)ranks * sizeof *list);
  for (int i = 0; i < ranks && list; i++) {
    list[i] = cli_json_start();
    cli_json_int(&list[i], "rows", of[i].rows);
    cli_json_int(&list[i], "parameters", of[i].parameters);
    cli_json_int(&list[i], "plans", of[i].plans);
  }
  if (list)
    cli_json_list(to, "memory_bytes", list, ranks);
  else
    to->whole = false;
  free(list);
}
