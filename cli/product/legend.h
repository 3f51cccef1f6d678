/* SPDX-License-Identifier: Apache-2.0 */
/* What the terms of the reports mean, printed under their tables. */
#ifndef SLEY_CLI_PRODUCT_LEGEND_H
#define SLEY_CLI_PRODUCT_LEGEND_H

#include <stdio.h>

/* "NAME  what it does" of count algorithms; name(context, i) is one's name, NULL to leave it out. */
void cli_legend_algorithms(const char *(*name)(const void *context, int i), const void *context, int count,
                           FILE *stream);

/* The terms of `sley plan`; measured: also those of --measure. */
void cli_legend_plan(FILE *stream, int measured);

/* The terms of `sley spmm`'s table. */
void cli_legend_spmm(FILE *stream);

#endif
