/* SPDX-License-Identifier: Apache-2.0 */
/* A result computed with n roundings of relative size eps may differ by n eps times the sum of the absolute
 * values of its terms (Higham, Accuracy and Stability of Numerical Algorithms, 3.1). */
#include "bench/ops_check.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "bench/ops_truth.h"

enum { ROWS = 48, COLUMNS = 24, PIECE = 4096 };
/* Most terms of one check. Terms of a column: the entries of all rows that it touches, times the source
 * width; of the vector a: all entries of the rank, times the source width. */
static const double most_terms = 4e6;

static const char *const array_names[CLI_OP_ARRAYS] = {[CLI_OP_OUT] = "the result",
                                                       [CLI_OP_D_SOURCE] = "the gradient of columns",
                                                       [CLI_OP_D_VAL] = "the gradient of entries",
                                                       [CLI_OP_D_QUERY] = "the gradient of rows",
                                                       [CLI_OP_D_A] = "the gradient of a"};

static bool is_written(const cli_op_case *c, cli_pass pass, cli_op_array array) {
  return c->op->writes[pass] & (1U << array) && array_names[array];
}

void cli_op_poison(const cli_op_case *c, cli_pass pass) {
  for (int i = 0; i < CLI_OP_ARRAYS; i++)
    if (is_written(c, pass, (cli_op_array)i))
      memset(c->data[i].host, 0xff, (size_t)c->data[i].bytes);
}

/* ---- one value, one row */

static double bound(const cli_op_case *c, const cli_op_sums *sums, int64_t i) {
  const double of_sums = c->dtype == SLEY_F64 ? 0x1p-53 : 0x1p-24;
  const double of_values = c->dtype == SLEY_F16 ? 0x1p-11 : c->dtype == SLEY_BF16 ? 0x1p-8 : 0;
  const double least = c->dtype == SLEY_F16 ? 0x1p-23 : 1e-37; /* error of subnormal values */
  return (2 * (double)sums->terms * of_sums + 4 * of_values) * sums->size[i] + least;
}

/* The data type of an array; the gradient of a has the type of sums. */
static sley_dtype type_of(const cli_op_case *c, cli_op_array array) {
  return array == CLI_OP_D_A && c->dtype != SLEY_F64 ? SLEY_F32 : c->dtype;
}

/* Compares sums->count values of this rank's array, from value `first` on. number: the row or column in
 * messages. */
static sley_status compare(const cli_op_case *c, cli_op_array array, int64_t first, const cli_op_sums *sums,
                           int64_t number, cli_op_finding *out) {
  const cli_op_data *data = &c->data[array];
  double values[PIECE];
  for (int64_t begin = 0; begin < sums->count; begin += PIECE) {
    const int64_t count = sums->count - begin < PIECE ? sums->count - begin : PIECE;
    sley_status status =
        sley_convert(type_of(c, array), (const char *)data->host + (size_t)(first + begin) * data->value,
                     SLEY_F64, values, count);
    if (status != SLEY_OK)
      return status;
    for (int64_t i = 0; i < count && !out->wrong; i++) {
      const double expected = sums->value[begin + i], most = bound(c, sums, begin + i);
      out->checked++;
      if (fabs(values[i] - expected) <= most)
        continue;
      out->wrong = true;
      snprintf(out->reason, sizeof out->reason,
               "%s of %s is wrong at %s %" PRId64 ", value %" PRId64
               ": %.9g, in double precision %.9g, and rounding allows %.3g",
               array_names[array], c->op->name,
               array == CLI_OP_D_SOURCE ? "column"
               : array == CLI_OP_D_A    ? "rank"
                                        : "row",
               number, begin + i, values[i], expected, most);
    }
  }
  return SLEY_OK;
}

/* ---- values that were not written */

static bool is_nan_at(const cli_op_case *c, cli_op_array array, int64_t first, int64_t count) {
  const cli_op_data *data = &c->data[array];
  double values[PIECE];
  bool nan = sley_convert(type_of(c, array), (const char *)data->host + (size_t)first * data->value, SLEY_F64,
                          values, count) != SLEY_OK;
  const int64_t cols = data->cols, written = array == CLI_OP_D_SOURCE ? c->source_width : cols;
  for (int64_t i = 0; i < count; i++)
    nan |= (first + i) % cols < written && isnan(values[i]) != 0;
  return nan;
}

static void look_for_nan(const cli_op_case *c, cli_op_array array, cli_op_finding *out) {
  const int64_t values = c->data[array].bytes / (int64_t)c->data[array].value;
  for (int64_t first = 0; first < values && !out->wrong; first += PIECE) {
    if (!is_nan_at(c, array, first, values - first < PIECE ? values - first : PIECE))
      continue;
    out->wrong = true;
    snprintf(out->reason, sizeof out->reason,
             "%s of %s has NaN among values %" PRId64 " to %" PRId64 " of rank %d", array_names[array],
             c->op->name, first, first + PIECE - 1, sley_comm_rank(c->comm));
  }
}

/* ---- rows */

static sley_status check_row(const cli_op_case *c, cli_op_truth *t, cli_pass pass, int64_t i,
                             cli_op_finding *out) {
  static const cli_op_array of_rows[] = {CLI_OP_OUT, CLI_OP_D_QUERY, CLI_OP_D_VAL};
  for (size_t n = 0; n < sizeof of_rows / sizeof *of_rows; n++) {
    const cli_op_array array = of_rows[n];
    const cli_op_data *data = &c->data[array];
    const cli_op_sums *sums;
    if (!is_written(c, pass, array))
      continue;
    sley_status status = cli_op_truth_row(t, array, i, &sums);
    const int64_t at = (cli_op_of_entries(c->op, array) ? c->csr.rowptr[i] : i) - data->first;
    if (status == SLEY_OK)
      status = compare(c, array, at * data->cols, sums, i, out);
    if (status != SLEY_OK)
      return status;
  }
  return SLEY_OK;
}

static int64_t row_length(const cli_op_case *c, int64_t i) {
  return c->csr.rowptr[i + 1] - c->csr.rowptr[i];
}

static sley_status check_rows(const cli_op_case *c, cli_op_truth *t, cli_pass pass, cli_op_finding *out) {
  const int rank = sley_comm_rank(c->comm);
  const int64_t begin = c->row_begin[rank], end = c->row_begin[rank + 1], step = (end - begin) / ROWS + 1;
  int64_t longest = -1;
  sley_status status = SLEY_OK;
  for (int64_t i = begin; i < end; i++)
    if (cli_op_truth_takes(t, row_length(c, i)) && (longest < 0 || row_length(c, i) > row_length(c, longest)))
      longest = i;
  for (int64_t i = begin; i < end && status == SLEY_OK && !out->wrong; i += step)
    if (cli_op_truth_takes(t, row_length(c, i)))
      status = check_row(c, t, pass, i, out);
  return status == SLEY_OK && longest >= 0 && !out->wrong ? check_row(c, t, pass, longest, out) : status;
}

/* ---- columns */

/* The columns that are checked: every step-th column of the rank. */
typedef struct columns {
  int64_t first, step, count;
  int64_t begin[COLUMNS + 1]; /* index of each column's first element in entry */
  double terms[COLUMNS];
  cli_op_entry *entry;
} columns;

/* Index of the checked column that has entry e; -1: none. */
static int64_t slot_of(const cli_op_case *c, const columns *of, int64_t e) {
  const int64_t j =
      (c->csr.index == SLEY_I64 ? ((const int64_t *)c->csr.col)[e] : ((const int32_t *)c->csr.col)[e]) -
      of->first;
  return j >= 0 && j % of->step == 0 && j / of->step < of->count ? j / of->step : -1;
}

/* Counts the entries of each checked column and the terms of its check. */
static void measure_columns(const cli_op_case *c, const cli_op_truth *t, columns *of) {
  for (int64_t i = 0; i < c->csr.rows; i++)
    for (int64_t e = c->csr.rowptr[i]; e < c->csr.rowptr[i + 1]; e++) {
      const int64_t slot = slot_of(c, of, e);
      if (slot < 0)
        continue;
      of->begin[slot + 1]++;
      of->terms[slot] += cli_op_truth_takes(t, row_length(c, i))
                             ? (double)row_length(c, i) * (double)c->source_width
                             : INFINITY;
    }
  for (int64_t s = 0; s < of->count; s++)
    of->begin[s + 1] += of->begin[s];
}

static void list_entries(const cli_op_case *c, columns *of) {
  int64_t next[COLUMNS];
  memcpy(next, of->begin, sizeof next);
  for (int64_t i = 0; i < c->csr.rows; i++)
    for (int64_t e = c->csr.rowptr[i]; e < c->csr.rowptr[i + 1]; e++) {
      const int64_t slot = slot_of(c, of, e);
      if (slot >= 0)
        of->entry[next[slot]++] = (cli_op_entry){i, e - c->csr.rowptr[i]};
    }
}

static sley_status check_columns(const cli_op_case *c, cli_op_truth *t, cli_op_finding *out) {
  const int rank = sley_comm_rank(c->comm);
  const int64_t first = c->col_begin[rank], own = c->col_begin[rank + 1] - first;
  columns of = {.first = first, .step = own / COLUMNS + 1};
  void *list;
  of.count = (own + of.step - 1) / of.step;
  measure_columns(c, t, &of);
  sley_status status = sley_buffer_alloc(of.begin[of.count] * (int64_t)sizeof *of.entry, &list);
  if (status != SLEY_OK)
    return status;
  of.entry = list;
  list_entries(c, &of);
  for (int64_t s = 0; s < of.count && status == SLEY_OK && !out->wrong; s++) {
    const cli_op_sums *sums;
    if (of.terms[s] > most_terms)
      continue;
    status = cli_op_truth_column(t, of.entry + of.begin[s], of.begin[s + 1] - of.begin[s], &sums);
    if (status == SLEY_OK)
      status = compare(c, CLI_OP_D_SOURCE, s * of.step * c->source_ld, sums, first + s * of.step, out);
  }
  sley_buffer_free(list);
  return status;
}

/* Checks the gradient of GATv2's vector, to which all rows of the rank add, if these rows have few entries.
 */
static sley_status check_vector(const cli_op_case *c, cli_op_truth *t, cli_op_finding *out) {
  const int rank = sley_comm_rank(c->comm);
  const int64_t begin = c->row_begin[rank], end = c->row_begin[rank + 1];
  const cli_op_sums *sums;
  if ((double)(c->csr.rowptr[end] - c->csr.rowptr[begin]) * (double)c->source_width > most_terms)
    return SLEY_OK;
  for (int64_t i = begin; i < end; i++)
    if (!cli_op_truth_takes(t, row_length(c, i)))
      return SLEY_OK;
  sley_status status = cli_op_truth_vector(t, begin, end, &sums);
  return status == SLEY_OK ? compare(c, CLI_OP_D_A, 0, sums, rank, out) : status;
}

sley_status cli_op_check(const cli_op_case *c, cli_pass pass, cli_op_finding *out) {
  cli_op_truth t;
  *out = (cli_op_finding){0};
  for (int i = 0; i < CLI_OP_ARRAYS; i++)
    if (is_written(c, pass, (cli_op_array)i) && !out->wrong)
      look_for_nan(c, (cli_op_array)i, out);
  sley_status status = cli_op_truth_make(c, &t);
  if (status == SLEY_OK && !out->wrong)
    status = check_rows(c, &t, pass, out);
  if (status == SLEY_OK && !out->wrong && is_written(c, pass, CLI_OP_D_SOURCE))
    status = check_columns(c, &t, out);
  if (status == SLEY_OK && !out->wrong && is_written(c, pass, CLI_OP_D_A))
    status = check_vector(c, &t, out);
  cli_op_truth_free(&t);
  return status;
}
