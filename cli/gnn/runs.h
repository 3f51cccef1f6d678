/* SPDX-License-Identifier: Apache-2.0 */
/* Several trainings of `sley gnn train --runs`: how many, and what they come to. */
#ifndef SLEY_CLI_GNN_RUNS_H
#define SLEY_CLI_GNN_RUNS_H

#include "gnn/train.h"

typedef struct cli_gnn_runs {
  const char *words; /* of --runs; NULL: there is one training, which is told epoch by epoch */
  int64_t splits, repeats;
} cli_gnn_runs;

/* words: NULL, S or SxR: splits, and trainings on each. An exit code, after one line on stderr where it is
 * not CLI_DONE. */
int cli_gnn_runs_parse(const char *words, cli_gnn_runs *out);

/* Of the trainings that have ended, `runs` of them: shares of rows of the test that are right after the epoch
 * with the best validation; runs whose test has no rows are left out. deviation: that of a sample, by
 * one less than there are; NaN of less than two. */
typedef struct cli_gnn_summary {
  int64_t runs;
  double mean, deviation, least, greatest;
  double seconds; /* mean of a run */
} cli_gnn_summary;
cli_gnn_summary cli_gnn_summarize(const cli_gnn_run *run, int64_t runs);

#endif
