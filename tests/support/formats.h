/* SPDX-License-Identifier: Apache-2.0 */
/* What the tests of matrix formats share: reading from memory, refusals with their lines, round trips. */
#ifndef SLEY_TESTS_FORMATS_H
#define SLEY_TESTS_FORMATS_H

#include "matrix/matrix.h"
#include "support.h"

/* Value at (row, col); the sum if entries repeat, NAN if there is none. */
double test_value(const sley_matrix *a, int64_t row, int64_t col);

/* Asserts sizes and that every entry of the dense rows x cols array is there: NAN stands for no entry. */
void test_is(const sley_matrix *a, int64_t rows, int64_t cols, const double *dense);

/* Reads text as a file of this name, with no team. */
sley_status test_read(const char *name, const char *text, sley_dtype dtype, sley_matrix **out);

typedef struct test_refusal {
  const char *text;
  sley_status status;
  int line;         /* that the message names */
  const char *says; /* part of the message */
} test_refusal;

/* Asserts that each text is refused with its status, "name:line: " and its words, in one line. */
void test_refusals(const char *name, const test_refusal *cases, size_t count);

/* Reads the bytes again and again with another allocation failing each time: an error of memory and no leak,
 * until it succeeds. */
void test_reading_short_of_memory(const char *name, const void *bytes, size_t size);

/* The same for writing to a file of this ending. */
void test_writing_short_of_memory(const sley_matrix *a, const char *ending);

/* Asserts the same sizes, types and arrays, values to the bit. */
void test_same(const sley_matrix *a, const sley_matrix *b);

/* A random matrix of about this density in [0, 1]; symmetric has no diagonal, and whole weights as METIS
 * wants. */
sley_matrix *test_random_matrix(uint64_t seed, int64_t rows, int64_t cols, double density, sley_dtype dtype,
                                bool symmetric);

/* Writes to files of the ending, plain, .gz and .zst, reads back and asserts the same; file may be given a
 * name of that ending. */
void test_round_trip(const sley_matrix *a, const char *ending, sl_team *team);

/* A path in a folder that is made on the first call and removed, with the files so named, by test_clean. */
const char *test_path(const char *name);
int test_clean(void **state);

#endif
