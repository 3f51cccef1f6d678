/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and writes .sley files: the CSR arrays as they are, validated on reading. */
#include "io/cache.h"

#include <stdatomic.h>
#include <string.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/random.h"
#include "base/value.h"

/* A byte that no text contains, the name, and line ends that a transfer as text would change. */
static const unsigned char magic[8] = {0x89, 'S', 'L', 'E', 'Y', '\r', '\n', 0x1a};
static const uint32_t order_mark = 0x01020304;
_Static_assert(sizeof(sl_cache_header) == 128, "the layout of the cache's header");

typedef struct layout {
  int64_t rowptr, col, val, end; /* offsets in bytes */
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

/* Computes the offsets of the arrays; returns false on overflow. */
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

bool sl_cache_banner(const sl_input *input) {
  return sl_input_starts(input, magic, sizeof magic);
}

static sley_status damaged(const sl_file *file, const char *what) {
  return sl_fail(SLEY_ERR_INPUT, "%s: the .sley cache is damaged (%s); make it again with sley convert",
                 file->name, what);
}

sley_status sl_cache_is(const sl_file *file, bool *out) {
  unsigned char start[sizeof magic];
  *out = false;
  if (file->size < (int64_t)sizeof start)
    return SLEY_OK;
  SL_TRY(sl_file_read(file, 0, sizeof start, start, NULL));
  *out = memcmp(start, magic, sizeof magic) == 0;
  return SLEY_OK;
}

static sley_status check_header(const sl_file *file, const sl_cache_header *header, layout *place) {
  if (header->order == __builtin_bswap32(order_mark))
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "%s: the .sley cache is from a machine of the other byte order; make it again on this one",
                   file->name);
  if (header->order != order_mark)
    return damaged(file, "its mark of the byte order is wrong");
  if (header->version != SL_CACHE_VERSION)
    return sl_fail(
        SLEY_ERR_UNSUPPORTED,
        "%s: the .sley cache has version %u, and this Sley reads %d; make it again with sley convert",
        file->name, header->version, SL_CACHE_VERSION);
  if (header->checksum != sl_cache_checksum(header))
    return damaged(file, "its header's checksum is wrong");
  if (header->dtype > SLEY_BF16 || header->index > SLEY_I64)
    return damaged(file, "its types are unknown");
  if (header->cols < 0 || header->entries_stored < 0 || !lay_out(header, place))
    return damaged(file, "its sizes are not possible");
  if (header->index == SLEY_I32 && header->cols > (int64_t)INT32_MAX + 1)
    return damaged(file, "it has more columns than its indices of 32 bits reach");
  if (header->file_bytes != place->end || file->size != place->end)
    return damaged(file, "its length does not fit its sizes");
  return SLEY_OK;
}

sley_status sl_cache_look(const sl_file *file, sl_cache_header *header) {
  layout place;
  int64_t ends[2];
  if (file->size < (int64_t)sizeof *header)
    return damaged(file, "it ends within its header");
  SL_TRY(sl_file_read(file, 0, sizeof *header, header, NULL));
  SL_TRY(check_header(file, header, &place));
  SL_TRY(sl_cache_pointers(file, 0, 0, NULL, &ends[0]));
  SL_TRY(sl_cache_pointers(file, header->rows, 0, NULL, &ends[1]));
  if (ends[0] != 0 || ends[1] != header->nnz)
    return damaged(file, "its row pointers do not span its entries");
  return SLEY_OK;
}

sley_status sl_cache_pointers(const sl_file *file, int64_t first, int64_t count, sl_team *team,
                              int64_t *rowptr) {
  int64_t each = sizeof *rowptr;
  return sl_file_read(file, (int64_t)sizeof(sl_cache_header) + first * each, (count + 1) * each, rowptr,
                      team);
}

/* A conversion of the file's values to another dtype, piece by piece. */
typedef struct conversion {
  const sl_file *file;
  int64_t at, count;
  sley_dtype from, to;
  char *out;
} conversion;

enum { PIECE = 1 << 16 }; /* values of a piece */

static sley_status convert_pieces(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  const conversion *job = context;
  size_t from = sley_dtype_bytes(job->from), to = sley_dtype_bytes(job->to);
  char *room;
  SL_TRY(SL_NEW(room, PIECE * (int64_t)sizeof(double), "values to convert"));
  sley_status status = SLEY_OK;
  for (int64_t first = begin * PIECE; first < end * PIECE && first < job->count && status == SLEY_OK;
       first += PIECE) {
    int64_t some = job->count - first < PIECE ? job->count - first : PIECE;
    status = sl_file_read(job->file, job->at + first * (int64_t)from, some * (int64_t)from, room, NULL);
    int64_t beyond = status == SLEY_OK ? sl_values_beyond(job->from, room, job->to, some) : -1;
    if (beyond >= 0)
      status = sl_fail(SLEY_ERR_INPUT, "%s: the value %.9g %s", job->file->name,
                       sl_value_at(room, job->from, beyond), sl_dtype_beyond(job->to));
    if (status == SLEY_OK)
      sl_values_convert(job->from, room, job->to, job->out + (size_t)first * to, some);
  }
  sl_free(room);
  return status;
}

/* Reads count values of the file, starting at byte at, as dtype. */
static sley_status read_values(const sl_file *file, int64_t at, int64_t count, sley_dtype from, sley_dtype to,
                               sl_team *team, void *out) {
  if (from == to)
    return sl_file_read(file, at, count * (int64_t)sley_dtype_bytes(from), out, team);
  conversion job = {file, at, count, from, to, out};
  return sl_team_for(team, count / PIECE + (count % PIECE != 0), 1, convert_pieces, &job);
}

/* Reads the rows' pointers, shifted to start at 0, and *start, the position of their first entry in the
 * file. */
static sley_status take_pointers(const sl_file *file, const sl_cache_header *header, int64_t first,
                                 int64_t count, sl_team *team, int64_t *rowptr, int64_t *start) {
  SL_TRY(sl_cache_pointers(file, first, count, team, rowptr));
  *start = rowptr[0];
  if (rowptr[0] < 0 || rowptr[count] > header->nnz)
    return damaged(file, "its row pointers do not span its entries");
  for (int64_t i = 0; i < count; i++)
    if (rowptr[i] > rowptr[i + 1])
      return sl_fail(SLEY_ERR_INPUT,
                     "%s: the .sley cache is damaged: row %lld: rowptr descends from %lld to %lld",
                     file->name, (long long)i, (long long)rowptr[i], (long long)rowptr[i + 1]);
  for (int64_t i = 0; i <= count; i++)
    rowptr[i] -= *start;
  return SLEY_OK;
}

static sley_status check_columns(const sl_file *file, const sley_csr *csr, sl_team *team) {
  bool sorted;
  sley_status status = sl_csr_validate(csr, team, &sorted);
  if (status == SLEY_ERR_INPUT)
    return sl_fail_prefix(status, "%s: the .sley cache is damaged: ", file->name);
  if (status == SLEY_OK && !sorted)
    return damaged(file, "columns do not ascend within a row");
  return status;
}

typedef struct search {
  const int64_t *rowptr;
  const void *col;
  sley_index index;
  atomic_bool found;
} search;

static sley_status find_repeats(void *context, int64_t begin, int64_t end, int thread) {
  (void)thread;
  search *s = context;
  bool found = false;
  for (int64_t i = begin; i < end; i++)
    for (int64_t e = s->rowptr[i] + 1; e < s->rowptr[i + 1]; e++)
      found |= sl_index_at(s->col, s->index, e) == sl_index_at(s->col, s->index, e - 1);
  if (found)
    atomic_store(&s->found, true);
  return sl_interrupted();
}

/* Sums repeated entries; a matrix that Sley has read has no repeated entries. */
static sley_status merge(const sl_cache_header *header, int64_t count, sley_dtype dtype, sl_team *team,
                         sl_csr_arrays *arrays) {
  enum { GRAIN = 4096 };
  search s = {.rowptr = arrays->rowptr, .col = arrays->col, .index = (sley_index)header->index};
  atomic_init(&s.found, false);
  SL_TRY(sl_team_for(team, count, GRAIN, find_repeats, &s));
  return atomic_load(&s.found) ? sl_csr_merge_repeats(count, s.index, dtype, SL_SUM_REPEATS, team, arrays)
                               : SLEY_OK;
}

static sley_status fill(const sl_file *file, const sl_cache_header *header, int64_t first, int64_t count,
                        sley_dtype dtype, sl_team *team, sl_csr_arrays *arrays) {
  layout place;
  int64_t start, nnz;
  sley_index index = (sley_index)header->index;
  (void)lay_out(header, &place);
  sl_team_begin_work(team, "reading", 6);
  SL_TRY(SL_NEW(arrays->rowptr, count + 1, "row pointers"));
  SL_TRY(take_pointers(file, header, first, count, team, arrays->rowptr, &start));
  nnz = arrays->rowptr[count];
  int64_t col_bytes = (int64_t)sl_index_bytes(index);
  arrays->col = sl_alloc(nnz, sl_index_bytes(index), "columns");
  arrays->val = arrays->col ? sl_alloc(nnz, sley_dtype_bytes(dtype), "values") : NULL;
  if (!arrays->val)
    return SLEY_ERR_MEMORY;
  SL_TRY(sl_file_read(file, place.col + start * col_bytes, nnz * col_bytes, arrays->col, team));
  sley_csr csr = {.rows = count,
                  .cols = header->cols,
                  .rowptr = arrays->rowptr,
                  .col = arrays->col,
                  .index = index,
                  .dtype = dtype};
  SL_TRY(check_columns(file, &csr, team));
  int64_t at = place.val + start * (int64_t)sley_dtype_bytes((sley_dtype)header->dtype);
  SL_TRY(read_values(file, at, nnz, (sley_dtype)header->dtype, dtype, team, arrays->val));
  SL_TRY(sl_file_check_unchanged(file));
  return merge(header, count, dtype, team, arrays);
}

sley_status sl_cache_read_rows(const sl_file *file, const sl_cache_header *header, int64_t first,
                               int64_t count, sley_dtype dtype, sl_team *team, sley_matrix **out) {
  sl_csr_arrays arrays = {0};
  sley_status status = fill(file, header, first, count, dtype, team, &arrays);
  if (status != SLEY_OK) {
    sl_csr_arrays_free(&arrays);
    return status;
  }
  return sl_matrix_adopt(count, header->cols, (sley_index)header->index, dtype, arrays,
                         count == header->rows ? header->entries_stored : -1, out);
}

sley_status sl_cache_read_file(const sl_file *file, sley_dtype dtype, sl_team *team, sley_matrix **out) {
  sl_cache_header header;
  SL_TRY(sl_cache_look(file, &header));
  return sl_cache_read_rows(file, &header, 0, header.rows, dtype, team, out);
}

sley_status sl_cache_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out) {
  sl_file file = sl_file_of_memory(input->name, input->begin, input->end - input->begin);
  return sl_cache_read_file(&file, dtype, team, out);
}

/* The address of entry first in an array, which may be NULL if the matrix has no entries. */
static const void *entry(const void *array, int64_t first, size_t bytes_each) {
  return array ? (const char *)array + (size_t)first * bytes_each : NULL;
}

/* Writes zeros up to the next section, then the section. */
static sley_status put_section(sl_sink *sink, int64_t *at, int64_t begin, const void *bytes, int64_t size) {
  static const char zeros[SL_CACHE_ALIGN];
  SL_TRY(sl_sink_put(sink, zeros, (size_t)(begin - *at)));
  *at = begin + size;
  return sl_sink_put(sink, bytes, (size_t)size);
}

/* Writes the row pointers of a matrix, which may be a view, so that they start at 0. */
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
