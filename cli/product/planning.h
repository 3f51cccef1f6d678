/* SPDX-License-Identifier: Apache-2.0 */
/* What `sley plan` finds out, and its scaling tables. */
#ifndef SLEY_CLI_PRODUCT_PLANNING_H
#define SLEY_CLI_PRODUCT_PLANNING_H

#include "matrix/windows.h"
#include "output/json.h"
#include "product/ablation.h"
#include "product/measure.h"

typedef struct cli_planned {
  char algo[CLI_NAME], reason[CLI_REASON];
  sley_plan_info info; /* its texts are not valid any more */
  cli_kernels kernels; /* of the one that is described */
} cli_planned;

/* What the ranks share. Rank 0 writes plans, one for each name, and describes the single one asked for. */
typedef struct cli_planning {
  const cli_job *job;
  const cli_job_settings *settings;
  const sley_machine *machine; /* NULL: the one found for the device */
  const char *const *names;    /* count of them, and NULL */
  int count;
  int64_t k;
  bool describe, ablation;
  cli_windows windows; /* of the matrix */
  const char *plot;    /* a file to draw to; NULL: none */
  cli_planned *plans;
  const char *device; /* that the ranks have */
  char *text;         /* freed by sley_buffer_free */
} cli_planning;

/* Plans all names for the ranks of the job. */
sley_status cli_plan_all(cli_planning *planning);

/* One algorithm's prediction as JSON. */
cli_json cli_planned_json(const cli_planned *plan);

/* The algorithms that were planned, without auto's, as steps: fills at most CLI_ALGORITHMS + 1 and returns
 * their number. */
int cli_planning_steps(const cli_planning *planning, cli_step *out);

/* Draws predicted times and volumes to the file of `plot`. False after one line on stderr. */
bool cli_planning_plot(const cli_planning *planning);

enum { CLI_SCALES = 11 }; /* rank counts at most */

/* Reads "2,4,1024": rank counts that ascend. *count 0 with text NULL. False after one line on stderr. */
bool cli_scales_read(const char *text, int64_t ranks[CLI_SCALES], int *count);

/* Plans for each rank count in turn, prints tables of time, traffic, memory and messages, and writes the
 * settings' JSON and plot. job is divided anew for each. Returns the exit code. */
int cli_scale(cli_job *job, const cli_planning *planning, const int64_t *ranks, int count);

#endif
