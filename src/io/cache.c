/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes .sley files: the CSR arrays as they are, checked when they are read. */
#include "io/cache.h"

#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/value.h"

/* A byte that no text has, the name, and line ends that a transfer as text would change. */
static const unsigned char magic[8] = {0x89, 'S', 'L', 'E', 'Y', '\r', '\n', 0x1a};
static const uint32_t order_mark = 0x01020304;
_Static_assert(sizeof(sl_cache_header) == 128, "the layout of the cache's header");

typedef struct layout {
  int64_t rowptr, col, val, end; /* bytes from the beginning */
} layout;

uint64_t sl_cache_checksum(const sl_cache_header *header) {
  uint64_t words[sizeof *header / sizeof(uint64_t)], sum = 0;
  memcpy(words, header, sizeof words);
  for (size_t w = 0; w < sizeof words / sizeof *words - 1; w++)
    sum = sl_mix(sum + words[w] + w + 1);
  return sum;
}

static bool add_array(int64_t *at, int64_t count, size_t bytes_each, int64_t *end) {
  int64_t bytes;
  *at = (*at + SL_CACHE_ALIGN - 1) / SL_CACHE_ALIGN * SL_CACHE_ALIGN;
  return !__builtin_mul_overflow(count, (int64_t)bytes_each, &bytes) &&
         !__builtin_add_overflow(*at, bytes, end) && *end < INT64_MAX - SL_CACHE_ALIGN;
}

/* Where the arrays stand; false if that overflows. */
static bool lay_out(const sl_cache_header *header, layout *out) {
  if (header->rows < 0 || header->rows == INT64_MAX || header->nnz < 0)
    return false;
  out->rowptr = sizeof *header;
  if (!add_array(&out->rowptr, header->rows + 1, sizeof(int64_t), &out->col))
    return false;
  if (!add_array(&out->col, header->nnz, sl_index_bytes((sley_index)header->index), &out->val))
    return false;
  return add_array(&out->val, header->nnz, sley_dtype_bytes((sley_dtype)header->dtype), &out->end);
}

bool sl_cache_sniff(const sl_input *input) {
  return sl_input_starts(input, magic, sizeof magic);
}

static sley_status damaged(const sl_input *input, const char *what) {
  return sl_fail(SLEY_ERR_INPUT, "%s: the .sley cache is damaged (%s); make it again with sley convert",
                 input->name, what);
}

static sley_status check_header(const sl_input *input, sl_cache_header *header, layout *place) {
  int64_t size = input->end - input->begin;
  if (size < (int64_t)sizeof *header)
    return damaged(input, "it ends within its header");
  memcpy(header, input->begin, sizeof *header);
  if (header->order == __builtin_bswap32(order_mark))
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "%s: the .sley cache is from a machine of the other byte order; make it again on this one",
                   input->name);
  if (header->order != order_mark)
    return damaged(input, "its mark of the byte order is wrong");
  if (header->version != SL_CACHE_VERSION)
    return sl_fail(
        SLEY_ERR_UNSUPPORTED,
        "%s: the .sley cache has version %u, and this Sley reads %d; make it again with sley convert",
        input->name, header->version, SL_CACHE_VERSION);
  if (header->checksum != sl_cache_checksum(header))
    return damaged(input, "its header's checksum is wrong");
  if (header->dtype > SLEY_BF16 || header->index > SLEY_I64)
    return damaged(input, "its types are unknown");
  if (header->cols < 0 || header->entries_stored < 0 || !lay_out(header, place))
    return damaged(input, "its sizes are not possible");
  if (header->file_bytes != place->end || size != place->end)
    return damaged(input, "its length does not fit its sizes");
  return SLEY_OK;
}

static sley_status check_rows(const sl_input *input, const sley_csr *csr, int64_t nnz, sl_team *team) {
  bool sorted;
  if (csr->rowptr[csr->rows] > nnz)
    return damaged(input, "its row pointers do not span its entries");
  sley_status status = sl_csr_validate(csr, team, &sorted);
  if (status == SLEY_ERR_INPUT)
    return sl_fail_prefix(status, "%s: the .sley cache is damaged: ", input->name);
  if (status == SLEY_OK && !sorted)
    return damaged(input, "columns do not ascend within a row");
  return status;
}

/* What keeps a matrix's arrays alive. */
typedef struct keeper {
  sl_input input;
  int64_t *rowptr; /* with values of another dtype than the file's, else NULL */
  void *converted;
} keeper;

static void release_keeper(sley_matrix *matrix) {
  keeper *kept = matrix->storage;
  sl_input_close(&kept->input);
  sl_free(kept->rowptr);
  sl_free(kept->converted);
  sl_free(kept);
}

typedef struct conversion {
  const char *from;
  char *to;
  sley_dtype from_dtype, to_dtype;
} conversion;

static sley_status convert_range(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  conversion *job = context;
  sl_values_convert(job->from_dtype, job->from + (size_t)begin * sley_dtype_bytes(job->from_dtype),
                    job->to_dtype, job->to + (size_t)begin * sley_dtype_bytes(job->to_dtype), end - begin);
  return sl_interrupted();
}

/* Replaces the values by those of another dtype, of these rows alone, whose pointers then start at 0. */
static sley_status convert(sley_csr *csr, sley_dtype dtype, sl_team *team, keeper *kept) {
  enum { GRAIN = 1 << 16 };
  int64_t start = csr->rowptr[0], nnz = csr->rowptr[csr->rows] - start;
  SL_TRY(SL_NEW(kept->rowptr, csr->rows + 1, "row pointers"));
  kept->converted = sl_alloc(nnz, sley_dtype_bytes(dtype), "values");
  if (!kept->converted)
    return SLEY_ERR_MEMORY;
  for (int64_t i = 0; i <= csr->rows; i++)
    kept->rowptr[i] = csr->rowptr[i] - start;
  const char *values = (const char *)csr->val + (size_t)start * sley_dtype_bytes(csr->dtype);
  conversion job = {values, kept->converted, csr->dtype, dtype};
  SL_TRY(sl_team_for(team, nnz, GRAIN, convert_range, &job));
  csr->rowptr = kept->rowptr;
  csr->col = (const char *)csr->col + (size_t)start * sl_index_bytes(csr->index);
  csr->val = kept->converted;
  csr->dtype = dtype;
  return SLEY_OK;
}

sley_status sl_cache_look(const sl_input *input, sl_cache_header *header, const int64_t **rowptr) {
  layout place;
  SL_TRY(check_header(input, header, &place));
  *rowptr = (const int64_t *)(const void *)(input->begin + place.rowptr);
  if ((*rowptr)[0] != 0 || (*rowptr)[header->rows] != header->nnz)
    return damaged(input, "its row pointers do not span its entries");
  return SLEY_OK;
}

sley_status sl_cache_read_rows(sl_input *input, int64_t first, int64_t count, sley_dtype dtype, sl_team *team,
                               sley_matrix **out) {
  sl_cache_header header;
  layout place;
  const int64_t *rowptr;
  SL_TRY(sl_cache_look(input, &header, &rowptr));
  (void)lay_out(&header, &place);
  sley_csr csr = {.rows = count,
                  .cols = header.cols,
                  .rowptr = rowptr + first,
                  .col = input->begin + place.col,
                  .val = input->begin + place.val,
                  .index = (sley_index)header.index,
                  .dtype = (sley_dtype)header.dtype};
  SL_TRY(check_rows(input, &csr, header.nnz, team));
  sley_status status;
  sley_matrix *matrix = NULL;
  keeper *kept = NULL;
  SL_TRY_GOTO(status, SL_NEW_ZERO(kept, 1, "a matrix"), fail);
  SL_TRY_GOTO(status, SL_NEW(matrix, 1, "a matrix"), fail);
  if (csr.dtype != dtype)
    SL_TRY_GOTO(status, convert(&csr, dtype, team, kept), fail);
  kept->input = *input;
  input->memory = input->mapping = NULL;
  int64_t nnz = csr.rowptr[count] - csr.rowptr[0];
  *matrix = (sley_matrix){.rows = count,
                          .cols = header.cols,
                          .nnz = nnz,
                          .entries_stored = count == header.rows ? header.entries_stored : nnz,
                          .dtype = dtype,
                          .index = csr.index,
                          .rowptr = csr.rowptr,
                          .col = csr.col,
                          .val = csr.val,
                          .release = release_keeper,
                          .storage = kept,
                          .storage_bytes = sl_csr_bytes(count, nnz, csr.index, dtype)};
  *out = matrix;
  return SLEY_OK;
fail:
  if (kept) {
    sl_free(kept->rowptr);
    sl_free(kept->converted);
  }
  sl_free(kept);
  sl_free(matrix);
  return status;
}

sley_status sl_cache_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out) {
  sl_cache_header header;
  const int64_t *rowptr;
  SL_TRY(sl_cache_look(input, &header, &rowptr));
  return sl_cache_read_rows(input, 0, header.rows, dtype, team, out);
}

/* Entry first of an array, which may be absent if the matrix has no entries. */
static const void *entry(const void *array, int64_t first, size_t bytes_each) {
  return array ? (const char *)array + (size_t)first * bytes_each : NULL;
}

/* Zeros up to the next section, then the section. */
static sley_status put_section(sl_sink *sink, int64_t *at, int64_t begin, const void *bytes, int64_t size) {
  static const char zeros[SL_CACHE_ALIGN];
  SL_TRY(sl_sink_put(sink, zeros, (size_t)(begin - *at)));
  *at = begin + size;
  return sl_sink_put(sink, bytes, (size_t)size);
}

/* The row pointers of a matrix, which may be a view, so that they start at 0. */
static sley_status put_rowptr(const sley_matrix *matrix, sl_sink *sink) {
  enum { AT_ONCE = 1 << 15 };
  int64_t *part, rows = matrix->rows + 1;
  SL_TRY(SL_NEW(part, rows < AT_ONCE ? rows : AT_ONCE, "row pointers to write"));
  sley_status status = SLEY_OK;
  for (int64_t first = 0; first < rows && status == SLEY_OK; first += AT_ONCE) {
    int64_t count = rows - first < AT_ONCE ? rows - first : AT_ONCE;
    for (int64_t i = 0; i < count; i++)
      part[i] = matrix->rowptr[first + i] - matrix->rowptr[0];
    status = sl_sink_put(sink, part, (size_t)count * sizeof *part);
  }
  sl_free(part);
  return status;
}

sley_status sl_cache_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team) {
  (void)team;
  sl_cache_header header = {.order = order_mark,
                            .version = SL_CACHE_VERSION,
                            .dtype = matrix->dtype,
                            .index = matrix->index,
                            .rows = matrix->rows,
                            .cols = matrix->cols,
                            .nnz = matrix->nnz,
                            .entries_stored = matrix->entries_stored};
  layout place;
  memcpy(header.magic, magic, sizeof magic);
  if (!lay_out(&header, &place))
    return sl_fail(SLEY_ERR_OVERFLOW, "the matrix is too large for a .sley cache");
  header.file_bytes = place.end;
  header.checksum = sl_cache_checksum(&header);
  int64_t first = matrix->rowptr[0], at = place.rowptr + (matrix->rows + 1) * (int64_t)sizeof(int64_t);
  size_t col_bytes = sl_index_bytes(matrix->index), val_bytes = sley_dtype_bytes(matrix->dtype);
  const void *col = entry(matrix->col, first, col_bytes), *val = entry(matrix->val, first, val_bytes);
  SL_TRY(sl_sink_put(sink, &header, sizeof header));
  SL_TRY(put_rowptr(matrix, sink));
  SL_TRY(put_section(sink, &at, place.col, col, matrix->nnz * (int64_t)col_bytes));
  return put_section(sink, &at, place.val, val, matrix->nnz * (int64_t)val_bytes);
}
