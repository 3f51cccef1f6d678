/* SPDX-License-Identifier: Apache-2.0 */
/* `--algo cola`: what each technique of CoLa's ablation (its section 6.3.1) brings, step by step. */
#ifndef SLEY_CLI_ABLATION_H
#define SLEY_CLI_ABLATION_H

#include <stdio.h>

#include "job.h"

/* The algorithms that are the steps, in order: rowwise (the basic method), halo (RF), halo-fused (RF+CF),
 * halo-coalesced (RF+CF+RC), halo-pipelined (RF+CF+RC+PP), and Sley's own cover after them. */
void cli_ablation_names(cli_algos *out);

/* One step; what is not possible has no time. */
typedef struct cli_step {
  const char *algo;
  double ms; /* 0: not possible */
  sley_traffic traffic;
} cli_step;

/* The table: time, bytes over links, messages; times the step before and the first one over it. what: "median
 * ms" or "predicted ms". */
void cli_ablation_print(const cli_step *steps, int count, const char *what, FILE *stream);

#endif
