/* SPDX-License-Identifier: Apache-2.0 */
/* Maximum matchings of remote blocks, by single augmenting paths: an oracle for the covers of the library,
 * which has other code (matrix/cover.c). */
#ifndef SLEY_TESTS_MATCHING_H
#define SLEY_TESTS_MATCHING_H

#include "matrix/matrix.h"

/* Returns the sum, over all pairs of different blocks (p, q), of the edges of a maximum matching between the
 * rows of block p and the columns of block q; edges are the entries of a square matrix. block[i]: block of
 * row and column i, 0 .. blocks - 1. within: NULL, or a number for each block: pairs of blocks with different
 * numbers are left out. */
int64_t matching_edges(const sley_matrix *matrix, const int *block, int blocks, const int *within);

#endif
