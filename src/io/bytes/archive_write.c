/* SPDX-License-Identifier: Apache-2.0 */
/* Writer of zip archives of NumPy arrays. */
#include <string.h>
#include <zip.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "io/bytes/archive.h"
#include "io/npy.h"

/* A member to write: a header, and bytes that outlive the archive. */
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
  zip_source_keep(archive); /* zip_close releases its own reference */
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

sley_status sl_archive_write(const sl_archive_array *arrays, int count, sl_sink *sink) {
  part *parts;
  SL_TRY(SL_NEW_ZERO(parts, count, "an archive"));
  for (int i = 0; i < count; i++) {
    const sl_archive_array *a = &arrays[i];
    parts[i] = (part){.name = a->name, .bytes = a->bytes, .size = a->size};
    parts[i].header_size = sl_npy_header(parts[i].header, a->type, a->dims, a->shape[0], a->shape[1]);
  }
  const sley_status status = write_parts(parts, count, sink);
  sl_free(parts);
  return status;
}
