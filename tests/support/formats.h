/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers for tests of matrix formats: reading from memory, refusals with their lines, round trips. */
#ifndef SLEY_TESTS_FORMATS_H
#define SLEY_TESTS_FORMATS_H

#include "io/format.h"
#include "support.h"

/* The value at (row, col); the sum if entries repeat, NAN if there is no entry. */
double test_value(const sley_matrix *a, int64_t row, int64_t col);

/* Asserts that a has these sizes and exactly the entries of the dense rows x cols array; NAN means no
 * entry. */
void test_is(const sley_matrix *a, int64_t rows, int64_t cols, const double *dense);

/* Opens a copy of a file's bytes in memory, decompressed; name is for messages. Ended by sl_input_close. */
sley_status test_open_memory(const char *name, const void *bytes, size_t size, sl_input *out);

/* Reads a file as the format that is detected. */
sley_status test_read_file(const char *path, sley_dtype dtype, sl_team *team, sley_matrix **out);

/* Reads a file's bytes in memory; name is for messages, and its ending is evidence like a path's. */
sley_status test_read_memory(const char *name, const void *bytes, size_t size, sley_dtype dtype, sl_team *team,
                             sley_matrix **out);

/* Reads text as a file of this name, without a team. */
sley_status test_read(const char *name, const char *text, sley_dtype dtype, sley_matrix **out);

typedef struct test_refusal {
  const char *text;
  sley_status status;
  int line;         /* line number in the message */
  const char *says; /* part of the message */
} test_refusal;

/* Asserts that each text is refused with its status, and that the message is one line with "name:line: " and
 * the words of `says`. */
void test_refusals(const char *name, const test_refusal *cases, size_t count);

/* Reads the bytes repeatedly, with a different allocation failing each time, until a read succeeds. Asserts
 * that each failure returns an error of memory and leaks nothing. */
void test_reading_short_of_memory(const char *name, const void *bytes, size_t size);

/* The same for writing to a file with this ending. */
void test_writing_short_of_memory(const sley_matrix *a, const char *ending);

/* Asserts equal sizes, types and arrays, with equal bits of values. */
void test_same(const sley_matrix *a, const sley_matrix *b);

/* A random matrix of about this density in [0, 1]. A symmetric one has an empty diagonal and whole weights,
 * as METIS requires. */
sley_matrix *test_random_matrix(uint64_t seed, int64_t rows, int64_t cols, double density, sley_dtype dtype,
                                bool symmetric);

/* Writes a to files with this ending, plain, .gz and .zst, reads them back and asserts equal matrices. */
void test_round_trip(const sley_matrix *a, const char *ending, sl_team *team);

/* A path in a temporary folder, which the first call creates. test_clean removes the folder and the files
 * with such paths. */
const char *test_path(const char *name);
int test_clean(void **state);

#endif
