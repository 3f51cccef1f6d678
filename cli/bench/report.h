/* SPDX-License-Identifier: Apache-2.0 */
/* What `sley bench` prints: a line a case, the means over all cases and over bands of widths, and JSON. */
#ifndef SLEY_CLI_BENCH_REPORT_H
#define SLEY_CLI_BENCH_REPORT_H

#include <stdio.h>

#include "bench/bench.h"

/* What was asked for, for those who read the report. */
typedef struct cli_bench_words {
  const char *data; /* NULL: no folder */
  int64_t matrices, widths, widest, least;
  const char *mkl;    /* the library, or NULL */
  const char *no_mkl; /* why there is none */
} cli_bench_words;

/* Who is compared and how, and the headings of the lines. */
void cli_bench_print_start(const cli_bench *bench, const cli_bench_words *words, FILE *stream);
void cli_bench_print_case(const cli_bench *bench, const cli_case *one, FILE *stream);

/* Geometric means and worst cases, for auto, of the fastest rival's time by auto's, of the fastest kernel's,
 * and of each contender's. */
void cli_bench_print_end(const cli_bench *bench, const cli_case *cases, int count, FILE *stream);

json_t *cli_bench_json(const cli_bench *bench, const cli_bench_words *words, const cli_case *cases,
                       int count);

#endif
