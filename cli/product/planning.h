/* SPDX-License-Identifier: Apache-2.0 */
/* The plans of `sley plan`, and its tables of scaling. */
#ifndef SLEY_CLI_PRODUCT_PLANNING_H
#define SLEY_CLI_PRODUCT_PLANNING_H

#include "matrix/windows.h"
#include "output/json.h"
#include "product/ablation.h"
#include "product/measure.h"

typedef struct cli_planned {
  char algo[CLI_NAME], reason[CLI_REASON];
  sley_plan_info info; /* info of the plan; algo and reason are NULL: use the two fields above */
  cli_kernels kernels; /* set if one single plan is described */
} cli_planned;

/* Rows of minimum covers, as in sley_plan_info. */
typedef struct cli_floor {
  int64_t cover_rows, between, inside;
} cli_floor;

/* Data that the ranks share. Rank 0 writes plans, one element per name. If one single algorithm is planned,
 * rank 0 also describes it. */
typedef struct cli_planning {
  const cli_job *job;
  const cli_job_settings *settings;
  const sley_machine *machine; /* NULL: the description found for the device */
  const char *const *names;    /* count names, then NULL */
  int count;
  int64_t k;
  bool describe, ablation;
  bool floors;         /* true: count the floor */
  cli_windows windows; /* windows of the matrix */
  const char *plot;    /* file of the picture; NULL: none */
  cli_planned *plans;
  const char *device; /* device of the ranks */
  cli_floor floor;    /* with floors */
  char *text;         /* description of the single plan; freed with sley_buffer_free */
} cli_planning;

/* Plans all names with the ranks of the job. */
sley_status cli_plan_all(cli_planning *planning);

/* One algorithm's prediction as JSON. */
cli_json cli_planned_json(const cli_planned *plan);

/* Converts the planned algorithms, except auto's choice, to steps. out has room for CLI_ALGORITHMS + 1.
 * Returns their number. */
int cli_planning_steps(const cli_planning *planning, cli_step *out);

/* Draws predicted times and volumes to the file `plot`. On failure prints one line on stderr and returns
 * false. */
bool cli_planning_plot(const cli_planning *planning);

enum { CLI_SCALES = 11 }; /* most rank counts */

/* Reads a list of ascending rank counts such as "2,4,1024". If text is NULL, *count is 0. On failure prints
 * one line on stderr and returns false. */
bool cli_scales_read(const char *text, int64_t ranks[CLI_SCALES], int *count);

/* Plans for each rank count, prints tables of time, traffic, memory and messages, and writes the JSON and the
 * picture that the settings name. Divides job anew for each count. Returns the exit code. */
int cli_scale(cli_job *job, const cli_planning *planning, const int64_t *ranks, int count);

#endif
