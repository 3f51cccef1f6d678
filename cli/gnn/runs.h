/* SPDX-License-Identifier: Apache-2.0 */
/* Several trainings by `sley gnn train --runs`: their number, and statistics of their results. */
#ifndef SLEY_CLI_GNN_RUNS_H
#define SLEY_CLI_GNN_RUNS_H

#include "gnn/train.h"

typedef struct cli_gnn_runs {
  const char *words; /* value of --runs; NULL: one training, which is reported epoch by epoch */
  int64_t splits, repeats;
} cli_gnn_runs;

/* Reads NULL, S or SxR: S splits, and R trainings on each. Returns an exit code; if it is not CLI_DONE, one
 * line has been printed on stderr. */
int cli_gnn_runs_parse(const char *words, cli_gnn_runs *out);

/* Statistics of the `runs` trainings that have ended, over the share of correctly classified test rows after
 * the epoch with the best validation. Runs without test rows are left out. deviation: of a sample, with
 * divisor count - 1; NaN for fewer than two. */
typedef struct cli_gnn_summary {
  int64_t runs;
  double mean, deviation, least, greatest;
  double seconds; /* mean time of a run */
} cli_gnn_summary;
cli_gnn_summary cli_gnn_summarize(const cli_gnn_run *run, int64_t runs);

#endif
