/* SPDX-License-Identifier: Apache-2.0 */
/* Matrices of the public interface: argument checks, and a team of threads for the work below. */
#include <string.h>

#include "api/csr_arguments.h"
#include "api/read_options.h"
#include "base/memory.h"
#include "base/structs.h"
#include "generate/generate.h"
#include "io/io.h"
#include "matrix/matrix.h"
#include "matrix/windows.h"
#include "transport/transport.h"

/* With fewer entries, starting threads costs more time than it saves. */
enum { WORTH_THREADS = 1 << 20 };

static sley_status team_for(int threads, int64_t entries, sl_team **out) {
  *out = NULL;
  if (threads < 0)
    return sl_fail(SLEY_ERR_ARG, "%d threads: the number must be 1 or more, or 0 for all cores", threads);
  return entries < WORTH_THREADS ? SLEY_OK : sl_team_create(threads, out);
}

sley_status sl_csr_check_sizes(const sley_csr *csr) {
  if (!csr || (!csr->rowptr && !csr->rowptr32))
    return sl_fail(SLEY_ERR_ARG, "a matrix of CSR arrays needs rowptr: it is NULL");
  if (csr->rowptr && csr->rowptr32)
    return sl_fail(SLEY_ERR_ARG, "a matrix of CSR arrays has rowptr and rowptr32: one of them must be NULL");
  if (csr->rows < 0 || csr->cols < 0)
    return sl_fail(SLEY_ERR_ARG, "a matrix of %lld x %lld: sizes must not be negative", (long long)csr->rows,
                   (long long)csr->cols);
  if ((csr->index != SLEY_I32 && csr->index != SLEY_I64) || sley_dtype_bytes(csr->dtype) == 0)
    return sl_fail(SLEY_ERR_ARG, "unknown index type %d or dtype %d", (int)csr->index, (int)csr->dtype);
  return SLEY_OK;
}

sley_status sl_csr_check_entries(const sley_csr *csr) {
  if (sl_csr_pointer(csr, csr->rows) != sl_csr_pointer(csr, 0) && (!csr->col || !csr->val))
    return sl_fail(SLEY_ERR_ARG, "a matrix with entries needs col and val: %s is NULL",
                   csr->col ? "val" : "col");
  return SLEY_OK;
}

sley_status sley_matrix_from_csr(const sley_csr *csr, sley_ownership ownership, sley_matrix **out) {
  if (!out)
    return sl_fail(SLEY_ERR_ARG, "sley_matrix_from_csr: out is NULL");
  *out = NULL;
  SL_TRY(sl_csr_check_sizes(csr));
  SL_TRY(sl_csr_check_entries(csr));
  if (ownership != SLEY_COPY && ownership != SLEY_BORROW)
    return sl_fail(SLEY_ERR_ARG, "unknown ownership %d: give SLEY_COPY or SLEY_BORROW", (int)ownership);
  sl_team *team;
  SL_TRY(team_for(0, sl_csr_pointer(csr, csr->rows), &team));
  sley_status status = sl_matrix_from_csr(csr, ownership, team, out);
  sl_team_destroy(team);
  return status;
}

/* Copies items [first, first + count) of the array src in device memory to new host memory, which the caller
 * frees. */
static sley_status fetch(sley_comm *comm, const void *src, int64_t first, int64_t count, size_t item,
                         const char *what, void **out) {
  if (!(*out = sl_alloc(count, item, what)))
    return SLEY_ERR_MEMORY;
  if (count == 0)
    return SLEY_OK;
  return sley_comm_copy(comm, *out, (const char *)src + (size_t)first * item, count * (int64_t)item,
                        SLEY_TO_HOST);
}

/* Copies a matrix's arrays to host memory, which the caller frees. The copies begin with the first entry. */
static sley_status fetch_csr(sley_comm *comm, const sley_csr *csr, sley_csr *host, void *block[3]) {
  int64_t items = csr->rows < INT64_MAX ? csr->rows + 1 : csr->rows;
  SL_TRY(fetch(comm, csr->rowptr ? (const void *)csr->rowptr : csr->rowptr32, 0, items,
               csr->rowptr ? sizeof *csr->rowptr : sizeof *csr->rowptr32, "row pointers", &block[0]));
  SL_TRY(sley_comm_wait(comm));
  *host = *csr;
  host->rowptr = csr->rowptr ? block[0] : NULL;
  host->rowptr32 = csr->rowptr ? NULL : block[0];
  int64_t first = sl_csr_pointer(host, 0), count = sl_csr_pointer(host, csr->rows) - first;
  if (first < 0 || count < 0)
    return sl_fail(SLEY_ERR_INPUT, "the row pointers go from %lld to %lld: they must ascend, from 0 or more",
                   (long long)first, (long long)first + count);
  if (count > 0 && (!csr->col || !csr->val))
    return sl_fail(SLEY_ERR_ARG, "a matrix with entries needs col and val: %s is NULL",
                   csr->col ? "val" : "col");
  SL_TRY(fetch(comm, csr->col, first, count, sl_index_bytes(csr->index), "columns", &block[1]));
  SL_TRY(fetch(comm, csr->val, first, count, sley_dtype_bytes(csr->dtype), "values", &block[2]));
  for (int64_t i = 0; i < items; i++) /* unsigned, because the row pointers are not validated yet */
    if (host->rowptr)
      ((uint64_t *)block[0])[i] -= (uint64_t)first;
    else
      ((uint32_t *)block[0])[i] -= (uint32_t)first;
  host->col = block[1];
  host->val = block[2];
  return sley_comm_wait(comm);
}

sley_status sley_matrix_from_csr_on(sley_comm *comm, const sley_csr *csr, sley_matrix **out) {
  if (!comm || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_matrix_from_csr_on: %s is NULL", comm ? "out" : "comm");
  *out = NULL;
  SL_TRY(sl_csr_check_sizes(csr));
  sley_csr host;
  void *block[3] = {NULL};
  sley_status status = fetch_csr(comm, csr, &host, block);
  if (status == SLEY_OK)
    status = sl_matrix_from_csr(&host, SLEY_COPY, comm->team, out);
  for (int i = 0; i < 3; i++)
    sl_free(block[i]);
  return status;
}

sley_status sl_read_options_take(const sley_read_options *given, sley_read_options *out) {
  *out = (sley_read_options)SLEY_READ_OPTIONS_INIT;
  SL_TRY(sl_struct_take("sley_read_options", given, sizeof *out, out));
  if (sley_dtype_bytes(out->dtype) == 0)
    return sl_fail(SLEY_ERR_ARG, "unknown dtype %d: give SLEY_F32, SLEY_F64, SLEY_F16 or SLEY_BF16",
                   (int)out->dtype);
  if (out->unpack_limit < 0)
    return sl_fail(SLEY_ERR_ARG, "an unpack_limit of %lld bytes: it must not be negative",
                   (long long)out->unpack_limit);
  if (out->base < -1 || out->base > 1)
    return sl_fail(
        SLEY_ERR_ARG,
        "base is %d: it must be 0 or 1, the first number of rows and columns, or -1 to take it from the file",
        out->base);
  return sl_format_check_word(out->format);
}

sl_reading sl_reading_of(const sley_read_options *options) {
  return (sl_reading){options->dtype, options->unpack_limit, options->format, options->base + 1};
}

sley_status sl_read_options_for_file(const char *name, const sley_read_options *options) {
  if (!sl_is_generator(name) || (!options->format && options->base < 0))
    return SLEY_OK;
  return sl_fail(SLEY_ERR_ARG, "%s is a generator: format and base apply to files only", name);
}

sley_status sley_matrix_read(const char *name, const sley_read_options *options, sley_matrix **out) {
  if (!name || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_matrix_read: %s is NULL", name ? "out" : "name");
  *out = NULL;
  sley_read_options o;
  SL_TRY(sl_read_options_take(options, &o));
  SL_TRY(sl_read_options_for_file(name, &o));
  sl_team *team;
  SL_TRY(team_for(o.threads, WORTH_THREADS, &team));
  const sl_reading reading = sl_reading_of(&o);
  sley_status status = sl_is_generator(name) ? sl_generate(name, o.dtype, o.seed, team, out)
                                             : sl_matrix_read_as(name, &reading, team, out);
  sl_team_destroy(team);
  return status;
}

sley_status sley_matrix_read_npz(const char *path, const char *prefix, const sley_read_options *options,
                                 sley_matrix **out) {
  if (!path || !prefix || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_matrix_read_npz: path, prefix or out is NULL");
  *out = NULL;
  sley_read_options o;
  SL_TRY(sl_read_options_take(options, &o));
  sl_team *team;
  SL_TRY(team_for(o.threads, WORTH_THREADS, &team));
  const sley_status status = sl_npz_read_file(path, prefix, o.dtype, o.unpack_limit, team, out);
  sl_team_destroy(team);
  return status;
}

sley_status sley_matrix_write(const sley_matrix *matrix, const char *path) {
  if (!matrix || !path)
    return sl_fail(SLEY_ERR_ARG, "sley_matrix_write: %s is NULL", matrix ? "path" : "matrix");
  sl_team *team;
  SL_TRY(team_for(0, matrix->nnz, &team));
  sley_status status = sl_matrix_write_file(matrix, path, team);
  sl_team_destroy(team);
  return status;
}

sley_status sley_matrix_source_get(const sley_matrix *matrix, sley_matrix_source *out) {
  if (!matrix || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_matrix_source_get: %s is NULL", matrix ? "out" : "matrix");
  sl_source_tell(&matrix->source, out);
  return SLEY_OK;
}

const char *const *sley_formats(void) {
  return sl_format_words();
}

sley_status sley_matrix_check_ending(const char *path) {
  return path ? sl_matrix_check_ending(path)
              : sl_fail(SLEY_ERR_ARG, "sley_matrix_check_ending: path is NULL");
}

sley_status sley_matrix_info_get(const sley_matrix *matrix, sley_matrix_info *out) {
  if (!matrix || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_matrix_info_get: %s is NULL", matrix ? "out" : "matrix");
  *out = (sley_matrix_info){.rows = matrix->rows,
                            .cols = matrix->cols,
                            .nnz = matrix->nnz,
                            .entries_stored = matrix->entries_stored,
                            .max_row_nnz = sl_matrix_max_row(matrix),
                            .dtype = matrix->dtype,
                            .index = matrix->index,
                            .bytes = sl_csr_bytes(matrix->rows, matrix->nnz, matrix->index, matrix->dtype)};
  return SLEY_OK;
}

sley_status sley_matrix_csr(const sley_matrix *matrix, sley_csr *out) {
  if (!matrix || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_matrix_csr: %s is NULL", matrix ? "out" : "matrix");
  *out = sl_matrix_csr(matrix);
  return SLEY_OK;
}

typedef sley_status derive(const sley_matrix *matrix, sl_team *team, sley_matrix **out);

/* Makes *out of a matrix by a function that takes a team. */
static sley_status derive_by(const char *call, derive *make, const sley_matrix *matrix, int threads,
                             sley_matrix **out) {
  if (!matrix || !out)
    return sl_fail(SLEY_ERR_ARG, "%s: %s is NULL", call, matrix ? "out" : "matrix");
  *out = NULL;
  sl_team *team;
  SL_TRY(team_for(threads, matrix->nnz, &team));
  sley_status status = make(matrix, team, out);
  sl_team_destroy(team);
  return status;
}

sley_status sley_matrix_transpose(const sley_matrix *matrix, int threads, sley_matrix **out) {
  return derive_by("sley_matrix_transpose", sl_matrix_transpose, matrix, threads, out);
}

sley_status sley_matrix_undirected(const sley_matrix *matrix, int threads, sley_matrix **out) {
  return derive_by("sley_matrix_undirected", sl_matrix_undirected, matrix, threads, out);
}

sley_status sley_matrix_permute(const sley_matrix *matrix, const int64_t *row_perm, const int64_t *col_perm,
                                int threads, sley_matrix **out) {
  if (!matrix || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_matrix_permute: %s is NULL", matrix ? "out" : "matrix");
  *out = NULL;
  if (row_perm)
    SL_TRY(sl_permutation_check(row_perm, matrix->rows, "row_perm"));
  if (col_perm && (col_perm != row_perm || matrix->cols != matrix->rows))
    SL_TRY(sl_permutation_check(col_perm, matrix->cols, "col_perm"));
  sl_team *team;
  SL_TRY(team_for(threads, matrix->nnz, &team));
  sley_status status = sl_matrix_permute(matrix, row_perm, col_perm, team, out);
  sl_team_destroy(team);
  return status;
}

sley_status sley_matrix_windows(const sley_matrix *matrix, const int64_t *row_at, int threads,
                                sley_window_info *out) {
  if (!matrix || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_matrix_windows: %s is NULL", matrix ? "out" : "matrix");
  if (row_at)
    SL_TRY(sl_permutation_check(row_at, matrix->rows, "row_at"));
  sl_team *team;
  SL_TRY(team_for(threads, matrix->nnz, &team));
  sley_status status = sl_matrix_windows(matrix, row_at, team, out);
  sl_team_destroy(team);
  return status;
}

sley_status sley_matrix_row_block(const sley_matrix *matrix, int64_t first, int64_t count,
                                  sley_matrix **out) {
  if (!matrix || !out)
    return sl_fail(SLEY_ERR_ARG, "sley_matrix_row_block: %s is NULL", matrix ? "out" : "matrix");
  *out = NULL;
  if (first < 0 || count < 0 || first > matrix->rows || count > matrix->rows - first)
    return sl_fail(SLEY_ERR_ARG, "rows [%lld, %lld + %lld) are not within the matrix's %lld rows",
                   (long long)first, (long long)first, (long long)count, (long long)matrix->rows);
  return sl_matrix_view(matrix, first, count, out);
}

void sley_matrix_destroy(sley_matrix *matrix) {
  sl_matrix_destroy(matrix);
}
