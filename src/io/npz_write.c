/* SPDX-License-Identifier: Apache-2.0 */
/* Writer of scipy.sparse.load_npz's archives, as CSR. The bytes depend on the matrix alone: members carry no
 * time. */
#include <string.h>
#include <zip.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/value.h"
#include "io/format.h"
#include "io/npy.h"

/* One member to be: a header, and bytes that outlive the archive. */
typedef struct part {
  const char *name;
  char header[SL_NPY_HEADER_ROOM];
  const void *bytes;
  size_t size, header_size;
} part;

static sley_status zip_failed(zip_error_t *error) {
  sley_status status = zip_error_code_zip(error) == ZIP_ER_MEMORY ? SLEY_ERR_MEMORY : SLEY_ERR_IO;
  return sl_fail(status, "cannot make the zip archive: %s", zip_error_strerror(error));
}

static sley_status add_part(zip_t *zip, const part *p) {
  enum { FASTEST = 1, FIRST_OF_JANUARY_1980 = 0x21 };
  zip_buffer_fragment_t fragments[2] = {{(zip_uint8_t *)p->header, p->header_size},
                                        {(zip_uint8_t *)p->bytes, p->size}};
  zip_source_t *source = zip_source_buffer_fragment(zip, fragments, 2, 0);
  if (!source)
    return zip_failed(zip_get_error(zip));
  zip_int64_t at = zip_file_add(zip, p->name, source, 0);
  if (at < 0) {
    zip_source_free(source);
    return zip_failed(zip_get_error(zip));
  }
  if (zip_set_file_compression(zip, (zip_uint64_t)at, ZIP_CM_DEFLATE, FASTEST) != 0 ||
      zip_file_set_dostime(zip, (zip_uint64_t)at, 0, FIRST_OF_JANUARY_1980, 0) != 0)
    return zip_failed(zip_get_error(zip));
  return SLEY_OK;
}

/* Copies a finished archive to the sink. */
static sley_status drain(zip_source_t *archive, sl_sink *sink) {
  enum { PIECE = 1 << 20 };
  if (zip_source_open(archive) != 0)
    return zip_failed(zip_source_error(archive));
  char *piece = sl_alloc(PIECE, 1, "a piece of the archive");
  sley_status status = piece ? SLEY_OK : SLEY_ERR_MEMORY;
  while (status == SLEY_OK) {
    SL_TRY_GOTO(status, sl_interrupted(), done);
    zip_int64_t got = zip_source_read(archive, piece, PIECE);
    if (got < 0)
      status = zip_failed(zip_source_error(archive));
    else if (got == 0)
      break;
    else
      status = sl_sink_put(sink, piece, (size_t)got);
  }
done:
  sl_free(piece);
  zip_source_close(archive);
  return status;
}

static sley_status write_parts(const part *parts, int count, sl_sink *sink) {
  zip_error_t error;
  zip_error_init(&error);
  sley_status status;
  zip_t *zip = NULL;
  zip_source_t *archive = zip_source_buffer_create(NULL, 0, 0, &error);
  if (archive)
    zip = zip_open_from_source(archive, ZIP_TRUNCATE, &error);
  if (!zip) {
    status = zip_failed(&error);
    goto done;
  }
  zip_source_keep(archive); /* zip_close gives up its own hold */
  for (int i = 0; i < count; i++)
    SL_TRY_GOTO(status, add_part(zip, &parts[i]), done);
  if (zip_close(zip) != 0) {
    status = zip_failed(zip_get_error(zip));
    goto done;
  }
  zip = NULL;
  status = drain(archive, sink);
done:
  if (zip)
    zip_discard(zip);
  if (archive)
    zip_source_free(archive);
  zip_error_fini(&error);
  return status;
}

static part make_part(const char *name, const char *type, int dims, int64_t length, const void *bytes,
                      size_t size) {
  part p = {.name = name, .bytes = bytes, .size = size};
  p.header_size = sl_npy_header(p.header, type, dims, length, 0);
  return p;
}

sley_status sl_npz_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team) {
  (void)team;
  int64_t first = matrix->rowptr[0], rows = matrix->rows, *shifted = NULL;
  int64_t shape[2] = {rows, matrix->cols};
  size_t index_bytes = sl_index_bytes(matrix->index), value_bytes = sley_dtype_bytes(matrix->dtype);
  const int64_t *indptr = matrix->rowptr;
  void *converted = NULL;
  if (first != 0) {
    SL_TRY(SL_NEW(shifted, rows + 1, "row pointers"));
    for (int64_t i = 0; i <= rows; i++)
      shifted[i] = matrix->rowptr[i] - first;
    indptr = shifted;
  }
  const char *col = (const char *)matrix->col + (size_t)first * index_bytes;
  const char *val = (const char *)matrix->val + (size_t)first * value_bytes;
  sley_dtype written = sl_npy_dtype(matrix->dtype);
  if (written != matrix->dtype) {
    value_bytes = sley_dtype_bytes(written);
    converted = sl_alloc(matrix->nnz, value_bytes, "values to write");
    if (!converted) {
      sl_free(shifted);
      return SLEY_ERR_MEMORY;
    }
    sl_values_convert(matrix->dtype, val, written, converted, matrix->nnz);
    val = converted;
  }
  const char *int64_type = sl_npy_type('i', sizeof(int64_t));
  const part parts[] = {
      make_part("indices.npy", sl_npy_type('i', index_bytes), 1, matrix->nnz, col,
                (size_t)matrix->nnz * index_bytes),
      make_part("indptr.npy", int64_type, 1, rows + 1, indptr, (size_t)(rows + 1) * sizeof(int64_t)),
      make_part("format.npy", "|S3", 0, 0, "csr", 3),
      make_part("shape.npy", int64_type, 1, 2, shape, sizeof shape),
      make_part("data.npy", sl_npy_type('f', value_bytes), 1, matrix->nnz, val,
                (size_t)matrix->nnz * value_bytes),
  };
  sley_status status = write_parts(parts, (int)(sizeof parts / sizeof *parts), sink);
  sl_free(converted);
  sl_free(shifted);
  return status;
}
