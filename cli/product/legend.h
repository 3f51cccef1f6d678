/* SPDX-License-Identifier: Apache-2.0 */
/* Explanations of the terms in reports, printed below the tables. */
#ifndef SLEY_CLI_PRODUCT_LEGEND_H
#define SLEY_CLI_PRODUCT_LEGEND_H

#include <stdbool.h>
#include <stdio.h>

/* Prints "NAME  summary" for count algorithms. name(context, i) returns the name of algorithm i, or NULL to
 * leave it out. */
void cli_legend_algorithms(const char *(*name)(const void *context, int i), const void *context, int count,
                           FILE *stream);

/* Prints the terms of `sley plan`; measured: also the terms of --measure. */
void cli_legend_plan(FILE *stream, int measured);

/* Prints the terms of `sley spmm`'s table. */
void cli_legend_spmm(FILE *stream);

/* Prints the terms of the report of products in tiles; several: also the terms of the table that compares
 * algorithms. */
void cli_legend_tiles(FILE *stream, bool several);

/* Prints the terms of `sley roofline`'s table. */
void cli_legend_roofline(FILE *stream);

#endif
