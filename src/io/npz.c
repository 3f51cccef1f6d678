/* SPDX-License-Identifier: Apache-2.0 */
/* Reader of scipy.sparse.save_npz: a zip archive of NumPy arrays that store a matrix as CSR, CSC or COO.
 * Keys: format (csr, csc or coo), shape, data, and indices, indptr or row, col. Archives of graph collections
 * put a prefix before the keys and leave out format: adj_data, adj_indices, adj_indptr, adj_shape. */
#include <inttypes.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "io/bytes/archive.h"
#include "io/io.h"

typedef sl_archive_member member;

typedef struct archive {
  sl_archive of;
  int64_t most_lines; /* maximum number of rows that may be declared without an array of that length */
  const char *prefix; /* prefix of the keys */
  sl_team *team;
} archive;

bool sl_npz_banner(const sl_input *input) {
  return sl_input_starts(input, "PK\3\4", 4) || sl_input_starts(input, "PK\5\6", 4);
}

static const uint8_t *elements(const member *m) {
  return sl_archive_elements(m);
}

static bool has_key(const archive *in, const char *prefix, const char *key) {
  char name[64];
  snprintf(name, sizeof name, "%s%s.npy", prefix, key);
  return sl_archive_has(&in->of, name);
}

static sley_status read_member(archive *in, const char *key, member *out) {
  char name[64];
  snprintf(name, sizeof name, "%s%s.npy", in->prefix, key);
  return sl_archive_read(&in->of, name, out);
}

/* Reads a one-dimensional array of numbers; whole: of whole numbers. */
static sley_status read_vector(archive *in, const char *key, bool whole, member *out) {
  SL_TRY(read_member(in, key, out));
  bool fits = out->array.dims == 1 && (whole ? sl_npy_is_whole(&out->array) : sl_npy_is_number(&out->array));
  if (fits)
    return SLEY_OK;
  sl_archive_member_free(out);
  return sl_fail(SLEY_ERR_INPUT, "%s%s.npy: must be one-dimensional and of %s numbers", in->prefix, key,
                 whole ? "whole" : "real");
}

static sley_status read_shape(archive *in, int64_t *rows, int64_t *cols) {
  member shape = {0};
  SL_TRY(read_vector(in, "shape", true, &shape));
  sley_status status = SLEY_OK;
  if (shape.array.count == 2) {
    *rows = sl_npy_int(&shape.array, elements(&shape), 0);
    *cols = sl_npy_int(&shape.array, elements(&shape), 1);
    if (*rows < 0 || *cols < 0)
      status = sl_fail(SLEY_ERR_INPUT, "%sshape.npy: a negative size", in->prefix);
  } else {
    status = sl_fail(SLEY_ERR_INPUT, "%sshape.npy: %" PRId64 " sizes; a matrix has 2", in->prefix,
                     shape.array.count);
  }
  sl_archive_member_free(&shape);
  return status;
}

/* Reads the word in format.npy, which has bytes or UCS-4 characters; csr if there is no such array. */
static sley_status read_format(archive *in, char word[8]) {
  strcpy(word, has_key(in, in->prefix, "indptr") ? "csr" : "coo");
  if (!has_key(in, in->prefix, "format"))
    return SLEY_OK;
  member format = {0};
  SL_TRY(read_member(in, "format", &format));
  const sl_npy_array *array = &format.array;
  int64_t unit = array->kind == 'U' ? 4 : 1;
  memset(word, 0, 8);
  if ((array->kind == 'S' || array->kind == 'U') && array->count == 1)
    for (int64_t i = 0; i < 7 && i * unit < array->bytes_each; i++)
      for (int64_t b = 0; b < unit; b++) /* the nonzero byte of a letter, in either byte order */
        word[i] |= (char)elements(&format)[i * unit + b];
  sl_archive_member_free(&format);
  if (strcmp(word, "csr") == 0 || strcmp(word, "csc") == 0 || strcmp(word, "coo") == 0)
    return SLEY_OK;
  return sl_fail(SLEY_ERR_UNSUPPORTED,
                 "sparse format '%s' is not read; convert it with .tocsr() before saving",
                 strspn(word, "abcdefghijklmnopqrstuvwxyz") == strlen(word) ? word : "?");
}

/* Refuses more lines than the input may declare without an array of that length. */
static sley_status check_lines(const archive *in, int64_t lines) {
  if (lines <= in->most_lines)
    return SLEY_OK;
  return sl_fail(SLEY_ERR_INPUT,
                 "%" PRId64 " rows or columns are more than a file of %" PRId64
                 " bytes can mean; correct the shape",
                 lines, in->of.size);
}

enum { ELEMENTS_AT_ONCE = 1 << 16 };

/* The conversion of a member's elements. */
typedef struct conversion {
  const member *from;
  int64_t limit; /* of indices */
  sley_index index;
  sley_dtype dtype;
  void *to;
  _Atomic int64_t wrong; /* first element that is refused; INT64_MAX: none is */
} conversion;

static int64_t int_at(const conversion *c, int64_t i) {
  return sl_npy_int(&c->from->array, elements(c->from), i);
}

static void refuse(conversion *c, int64_t i) {
  int64_t wrong = atomic_load(&c->wrong);
  while (i < wrong && !atomic_compare_exchange_weak(&c->wrong, &wrong, i)) {
  }
}

/* Converts positions, which ascend from 0. */
static sley_status convert_positions(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  conversion *c = context;
  int64_t before = begin > 0 ? int_at(c, begin - 1) : 0;
  for (int64_t i = begin; i < end; i++) {
    const int64_t at = int_at(c, i);
    if (at < before || (i == 0 && at != 0)) {
      refuse(c, i);
      break;
    }
    ((int64_t *)c->to)[i] = before = at;
  }
  return sl_interrupted();
}

/* Converts indices, which are in [0, limit). */
static sley_status convert_indices(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  conversion *c = context;
  for (int64_t i = begin; i < end; i++) {
    const int64_t at = int_at(c, i);
    if (at < 0 || at >= c->limit) {
      refuse(c, i);
      break;
    }
    sl_index_set(c->to, c->index, i, at);
  }
  return sl_interrupted();
}

static sley_status convert_values(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const conversion *c = context;
  const sl_npy_array *array = &c->from->array;
  SL_TRY(sl_interrupted());
  return sl_npy_values("data.npy", array, elements(c->from) + begin * array->bytes_each, begin, end - begin,
                       c->dtype, (char *)c->to + (size_t)begin * sley_dtype_bytes(c->dtype));
}

/* Fills rowptr of the arrays from indptr: lines + 1 positions that ascend from 0. A number of positions that
 * does not match the shape is an error, so nothing is allocated beyond what the file contains. */
static sley_status fill_pointers(archive *in, int64_t lines, sl_csr_arrays *arrays) {
  member indptr = {0};
  SL_TRY(read_vector(in, "indptr", true, &indptr));
  conversion c = {.from = &indptr, .wrong = INT64_MAX};
  sley_status status = SLEY_OK;
  if (indptr.array.count - 1 != lines) {
    status = sl_fail(SLEY_ERR_INPUT, "%sindptr.npy: %" PRId64 " positions, but the shape needs %" PRId64,
                     in->prefix, indptr.array.count, lines + 1);
    goto done;
  }
  SL_TRY_GOTO(status, SL_NEW(arrays->rowptr, lines + 1, "row pointers"), done);
  c.to = arrays->rowptr;
  SL_TRY_GOTO(status, sl_team_for(in->team, lines + 1, ELEMENTS_AT_ONCE, convert_positions, &c), done);
  if (c.wrong < INT64_MAX)
    status =
        sl_fail(SLEY_ERR_INPUT, "%sindptr.npy: position %" PRId64 " is %" PRId64 "; positions ascend from 0",
                in->prefix, c.wrong, int_at(&c, c.wrong));
done:
  sl_archive_member_free(&indptr);
  return status;
}

/* Reads the indices of key to out, each in [0, limit), as type index. At least count indices are required;
 * *have: number that was read. */
static sley_status fill_indices(archive *in, const char *key, int64_t count, int64_t limit, sley_index index,
                                void **out, int64_t *have) {
  member indices = {0};
  SL_TRY(read_vector(in, key, true, &indices));
  conversion c = {.from = &indices, .limit = limit, .index = index, .wrong = INT64_MAX};
  sley_status status = SLEY_OK;
  *have = indices.array.count;
  if (indices.array.count < count) {
    status = sl_fail(SLEY_ERR_INPUT, "%s%s.npy: %" PRId64 " indices, but %" PRId64 " are needed", in->prefix,
                     key, indices.array.count, count);
    goto done;
  }
  c.to = *out = sl_alloc(count, sl_index_bytes(index), "indices");
  if (!*out) {
    status = SLEY_ERR_MEMORY;
    goto done;
  }
  SL_TRY_GOTO(status, sl_team_for(in->team, count, ELEMENTS_AT_ONCE, convert_indices, &c), done);
  if (c.wrong < INT64_MAX)
    status = sl_fail(SLEY_ERR_INPUT, "%s%s.npy: index %" PRId64 " is %" PRId64 ", outside 0 .. %" PRId64,
                     in->prefix, key, (int64_t)c.wrong, int_at(&c, c.wrong), limit - 1);
done:
  sl_archive_member_free(&indices);
  return status;
}

/* Reads the values of data; *have: number that was read; count < 0: all values. */
static sley_status fill_values(archive *in, int64_t count, sley_dtype dtype, void **out, int64_t *have) {
  member data = {0};
  SL_TRY(read_vector(in, "data", false, &data));
  conversion c = {.from = &data, .dtype = dtype};
  sley_status status = SLEY_OK;
  *have = data.array.count;
  count = count < 0 ? *have : count;
  if (*have < count) {
    status = sl_fail(SLEY_ERR_INPUT, "%sdata.npy: %" PRId64 " values, but %" PRId64 " are needed", in->prefix,
                     *have, count);
    goto done;
  }
  c.to = *out = sl_alloc(count, sley_dtype_bytes(dtype), "values");
  status = *out ? sl_team_for(in->team, count, ELEMENTS_AT_ONCE, convert_values, &c) : SLEY_ERR_MEMORY;
  if (status == SLEY_ERR_INPUT) /* one thread finds the first wrong value */
    status = convert_values(&c, 0, count, 0);
done:
  sl_archive_member_free(&data);
  return status;
}

/* Checks that there are as many indices as values; scipy allows both to continue after the last row. */
static sley_status check_counts(const archive *in, const char *key, int64_t indices, int64_t values) {
  return indices == values
             ? SLEY_OK
             : sl_fail(SLEY_ERR_INPUT, "%s%s.npy: %" PRId64 " indices, but %sdata.npy has %" PRId64 " values",
                       in->prefix, key, indices, in->prefix, values);
}

/* Reads CSR of lines x across; CSC is the CSR of the transpose. */
static sley_status read_compressed(archive *in, int64_t lines, int64_t across, sley_dtype dtype,
                                   sl_team *team, sley_matrix **out) {
  sl_csr_arrays arrays = {0};
  sley_index index = sl_index_for(across);
  sley_status status;
  int64_t nnz, indices, values;
  SL_TRY_GOTO(status, fill_pointers(in, lines, &arrays), failed);
  nnz = arrays.rowptr[lines];
  SL_TRY_GOTO(status, fill_indices(in, "indices", nnz, across, index, &arrays.col, &indices), failed);
  SL_TRY_GOTO(status, fill_values(in, nnz, dtype, &arrays.val, &values), failed);
  SL_TRY_GOTO(status, check_counts(in, "indices", indices, values), failed);
  SL_TRY_GOTO(status, sl_csr_sort_rows(lines, arrays.rowptr, index, arrays.col, dtype, arrays.val, team),
              failed);
  SL_TRY_GOTO(status, sl_csr_merge_repeats(lines, index, dtype, SL_SUM_REPEATS, team, &arrays), failed);
  return sl_matrix_adopt(lines, across, index, dtype, arrays, nnz, out);
failed:
  sl_csr_arrays_free(&arrays);
  return status;
}

static sley_status read_triplets(archive *in, int64_t rows, int64_t cols, sley_dtype dtype, sl_team *team,
                                 sley_matrix **out) {
  sl_coo coo = {.rows = rows, .cols = cols, .dtype = dtype, .index = sl_index_for(rows > cols ? rows : cols)};
  sley_status status;
  int64_t have;
  SL_TRY_GOTO(status, fill_values(in, -1, dtype, &coo.val, &coo.count), done);
  SL_TRY_GOTO(status, check_lines(in, rows), done);
  SL_TRY_GOTO(status, fill_indices(in, "row", coo.count, rows, coo.index, &coo.row, &have), done);
  SL_TRY_GOTO(status, check_counts(in, "row", have, coo.count), done);
  SL_TRY_GOTO(status, fill_indices(in, "col", coo.count, cols, coo.index, &coo.col, &have), done);
  SL_TRY_GOTO(status, check_counts(in, "col", have, coo.count), done);
  status = sl_coo_to_csr(&coo, SL_GENERAL, SL_SUM_REPEATS, team, out);
done:
  sl_coo_free(&coo);
  return status;
}

/* Returns the first usual prefix for which the archive has keys; NULL if there is none. */
static const char *usual_prefix(const archive *in) {
  static const char *const prefixes[] = {"", "adj_"};
  for (size_t p = 0; p < sizeof prefixes / sizeof *prefixes; p++)
    if (has_key(in, prefixes[p], "shape"))
      return prefixes[p];
  return NULL;
}

static sley_status read_matrix(archive *in, sley_dtype dtype, sl_team *team, sley_matrix **out) {
  char format[8];
  int64_t rows = 0, cols = 0;
  SL_TRY(read_format(in, format));
  SL_TRY(read_shape(in, &rows, &cols));
  if (strcmp(format, "coo") == 0)
    return read_triplets(in, rows, cols, dtype, team, out);
  if (strcmp(format, "csr") == 0)
    return read_compressed(in, rows, cols, dtype, team, out);
  sley_matrix *transposed;
  SL_TRY(check_lines(in, rows));
  SL_TRY(read_compressed(in, cols, rows, dtype, team, &transposed));
  sley_status status = sl_matrix_transpose(transposed, team, out);
  sl_matrix_destroy(transposed);
  return status;
}

/* Reads the matrix of an archive; prefix NULL: a usual prefix. */
static sley_status read_input(const sl_input *input, const char *prefix, sley_dtype dtype, sl_team *team,
                              sley_matrix **out) {
  archive in = {.most_lines = input->most_rows, .team = team};
  sley_status status = sl_archive_open(input, &in.of);
  if (status == SLEY_OK)
    in.prefix = prefix ? prefix : usual_prefix(&in);
  if (status == SLEY_OK && !in.prefix)
    status = sl_fail(SLEY_ERR_INPUT,
                     "the archive holds no sparse matrix: neither shape.npy nor adj_shape.npy is in it");
  if (status == SLEY_OK)
    status = read_matrix(&in, dtype, team, out);
  sl_archive_close(&in.of);
  return status == SLEY_OK ? SLEY_OK : sl_fail_prefix(status, "%s: ", input->name);
}

sley_status sl_npz_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out) {
  return read_input(input, NULL, dtype, team, out);
}

sley_status sl_npz_read_file(const char *path, const char *prefix, sley_dtype dtype, int64_t limit,
                             sl_team *team, sley_matrix **out) {
  enum { MOST_PREFIX = 32 }; /* limited, so that no key is cut */
  sl_input input;
  if (strlen(prefix) > MOST_PREFIX)
    return sl_fail(SLEY_ERR_ARG, "a prefix of keys has at most %d bytes", MOST_PREFIX);
  SL_TRY(sl_input_open_within(path, limit, &input));
  const sley_status status = sl_npz_banner(&input) ? read_input(&input, prefix, dtype, team, out)
                                                   : sl_fail(SLEY_ERR_INPUT, "%s: not a .npz", path);
  sl_input_close(&input);
  return status;
}
