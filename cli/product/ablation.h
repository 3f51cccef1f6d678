/* SPDX-License-Identifier: Apache-2.0 */
/* `--algo cola`: the ablation of CoLa (its section 6.3.1), which shows the effect of each technique, step by
 * step. */
#ifndef SLEY_CLI_PRODUCT_ABLATION_H
#define SLEY_CLI_PRODUCT_ABLATION_H

#include <stdio.h>

#include "product/algos.h"
#include "sley.h"

/* Lists the algorithms of the steps, in order: rowwise (the basic method), halo (RF), halo-fused (RF+CF),
 * halo-coalesced (RF+CF+RC), halo-pipelined (RF+CF+RC+PP), and then Sley's own cover. */
void cli_ablation_names(cli_algos *out);

/* One step of the ablation. */
typedef struct cli_step {
  const char *algo;
  double ms; /* time; 0: the algorithm is not possible here */
  sley_traffic traffic;
  int64_t plan; /* number of the plan; steps with the same plan have the same number */
} cli_step;

/* Prints a table with time, bytes over links, messages, and the speedups over the previous step and over the
 * first one. Below it, prints which steps this run cannot show, and why. what: "median ms" or "predicted ms".
 * transport: its name; NULL: threads. */
void cli_ablation_print(const cli_step *steps, int count, const char *what, const char *transport,
                        FILE *stream);

/* The first function returns the idea of a step, "" if the table has no such step. The second returns why
 * this run cannot show the effect of the step, or NULL if it can. Both return static text. */
const char *cli_ablation_idea(const cli_step *step);
const char *cli_ablation_not_shown(const cli_step *steps, int index);

/* The number for cli_step.plan: a hash of a plan's description (sley_plan_describe) without its first line,
 * which has the algorithm's name; less than 2^40. */
int64_t cli_plan_number(const char *description);

#endif
