/* SPDX-License-Identifier: Apache-2.0 */
/* Generated matrices. The same specification and seed produce the same matrix on any number of threads. */
#ifndef SLEY_GENERATE_GENERATE_H
#define SLEY_GENERATE_GENERATE_H

#include "generate/edges.h"

/* Returns whether text names a generator ("er:", "rmat:", "twin:" ...), whatever follows the colon. */
bool sl_is_generator(const char *text);

/* Makes the matrix of a specification; seed is used if the specification has none. Errors: SLEY_ERR_ARG (key
 * or range), SLEY_ERR_MEMORY. */
sley_status sl_generate(const char *text, sley_dtype dtype, uint64_t seed, sl_team *team, sley_matrix **out);

/* The same as sl_generate, except that `build` makes the matrix from the edges after the specification is
   parsed. */
typedef sley_status (*sl_edge_builder)(void *context, const sl_edge_source *source, sley_dtype dtype,
                                       sl_team *team, sley_matrix **out);
sley_status sl_generate_by(const char *text, sley_dtype dtype, uint64_t seed, sl_team *team,
                           sl_edge_builder build, void *context, sley_matrix **out);

/* Fills rows x cols values in [-1, 1) with leading dimension ld. Each depends only on the seed, its column
 * and its row's name: row_names[i], or first + i if that is NULL. An f32 value is the f64 value cut to 24
 * bits. */
void sl_generate_values(uint64_t seed, int64_t first, int64_t rows, int64_t cols, const int64_t *row_names,
                        sley_dtype dtype, void *data, int64_t ld);

#endif
