/* SPDX-License-Identifier: Apache-2.0 */
/* `--algo cola`: what each technique of CoLa's ablation (its section 6.3.1) brings, step by step. */
#ifndef SLEY_CLI_PRODUCT_ABLATION_H
#define SLEY_CLI_PRODUCT_ABLATION_H

#include <stdio.h>

#include "product/algos.h"
#include "sley.h"

/* The algorithms that are the steps, in order: rowwise (the basic method), halo (RF), halo-fused (RF+CF),
 * halo-coalesced (RF+CF+RC), halo-pipelined (RF+CF+RC+PP), and Sley's own cover after them. */
void cli_ablation_names(cli_algos *out);

/* One step; what is not possible has no time. */
typedef struct cli_step {
  const char *algo;
  double ms; /* 0: not possible */
  sley_traffic traffic;
  int64_t plan; /* a number that differs from that of a step whose plan is another */
} cli_step;

/* The table: time, bytes over links, messages; times the step before and the first one over it, and below it
 * which steps this run cannot show, and why. what: "median ms" or "predicted ms". transport: its name; NULL:
 * threads. */
void cli_ablation_print(const cli_step *steps, int count, const char *what, const char *transport,
                        FILE *stream);

/* The idea of a step that the table names, and why this run cannot show it: NULL: it can. Static. */
const char *cli_ablation_idea(const cli_step *step);
const char *cli_ablation_not_shown(const cli_step *steps, int index);

/* For cli_step.plan: a plan's description (sley_plan_describe), without the line of its name; at most 2^40.
 */
int64_t cli_plan_number(const char *description);

#endif
