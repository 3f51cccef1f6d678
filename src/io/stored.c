/* SPDX-License-Identifier: Apache-2.0 */
/* The type in which a file stores its values, by its first bytes. */
#include <stdio.h>
#include <string.h>
#include <zip.h>

#include "base/memory.h"
#include "io/bytes/inflate.h"
#include "io/cache.h"
#include "io/io.h"
#include "io/npy_array.h"

enum { HEAD = 1 << 16, UNPACKED = 512 };

/* The dtype in which values can be read without loss, if there is one. */
static sley_dtype dtype_of(const sl_npy_array *array) {
  if (array->kind != 'f')
    return array->bytes_each <= 2 ? SLEY_F32 : SLEY_F64;
  if (array->bytes_each == 4)
    return SLEY_F32;
  return array->bytes_each == 8 ? SLEY_F64 : SLEY_F16;
}

static bool parse_array(const char *name, const void *bytes, size_t size, sley_dtype *dtype, int *dims) {
  sl_npy_array array;
  if (size < SL_NPY_PREFIX || sl_npy_parse(name, bytes, size, &array) != SLEY_OK || !sl_npy_is_number(&array))
    return false;
  *dtype = dtype_of(&array);
  *dims = array.dims;
  return true;
}

/* Examines the array of values in an archive. */
static bool look_at_archive(const char *path, sley_dtype *dtype, int *dims) {
  static const char *const names[] = {"data.npy", "adj_data.npy"};
  int error;
  zip_t *zip = zip_open(sl_file_path(path), ZIP_RDONLY, &error);
  zip_file_t *file = NULL;
  char *head = sl_alloc(HEAD, 1, "the head of an array");
  bool found = false;
  for (size_t n = 0; n < 2 && zip && head && !file; n++)
    file = zip_fopen(zip, names[n], 0);
  if (file) {
    zip_int64_t got = zip_fread(file, head, HEAD);
    found = got > 0 && parse_array(path, head, (size_t)got, dtype, dims);
    *dims = 2;
    zip_fclose(file);
  }
  sl_free(head);
  if (zip)
    zip_discard(zip);
  return found;
}

static bool look_at_head(const char *path, const char *head, size_t size, sley_dtype *dtype, int *dims) {
  sl_file file = sl_file_of_memory(path, head, (int64_t)size);
  bool cache = false;
  sl_cache_header header;
  if (sl_cache_is(&file, &cache) != SLEY_OK || !cache)
    return parse_array(path, head, size, dtype, dims);
  if (size < sizeof header)
    return false;
  memcpy(&header, head, sizeof header);
  if (header.checksum != sl_cache_checksum(&header) || header.dtype > SLEY_BF16)
    return false;
  *dtype = (sley_dtype)header.dtype;
  *dims = 2;
  return true;
}

/* Replaces the first bytes of a compressed file by the first bytes of its content. */
static bool unpack(const char *path, char *head, size_t *size) {
  sl_inflater *inflater;
  char unpacked[UNPACKED];
  size_t got = 0;
  if (sl_inflater_open(path, head, *size, 0, &inflater) != SLEY_OK)
    return false;
  sley_status status = sl_inflater_take(inflater, unpacked, sizeof unpacked, &got);
  sl_inflater_close(inflater);
  memcpy(head, unpacked, got);
  *size = got;
  return status == SLEY_OK;
}

sley_status sl_stored_type(const char *path, sley_dtype *dtype, int *dims) {
  sl_file file;
  sley_status status = sl_file_open(path, &file);
  if (status == SLEY_ERR_UNSUPPORTED)
    return sl_fail(status, "%s: is empty, or no plain file", path);
  SL_TRY(status);
  size_t size = file.size < HEAD ? (size_t)file.size : HEAD;
  char *head = sl_alloc_zero(HEAD, 1, "the head of a file");
  status = head ? sl_file_read(&file, 0, (int64_t)size, head, NULL) : SLEY_ERR_MEMORY;
  sl_file_close(&file);
  bool found = false;
  if (status == SLEY_OK && size >= 4 && memcmp(head, "PK\3\4", 4) == 0)
    found = look_at_archive(path, dtype, dims);
  else if (status == SLEY_OK && (!sl_is_compressed(head, size) || unpack(path, head, &size)))
    found = look_at_head(path, head, size, dtype, dims);
  sl_free(head);
  if (status == SLEY_OK && !found)
    status = sl_fail(SLEY_ERR_UNSUPPORTED, "%s: its format does not state a type of values", path);
  return status;
}
