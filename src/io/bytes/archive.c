/* SPDX-License-Identifier: Apache-2.0 */
/* Reader of zip archives of NumPy arrays. */
#include "io/bytes/archive.h"

#include <inttypes.h>
#include <pthread.h>
#include <string.h>
#include <zip.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "io/bytes/inflate.h"

/* A lock around libzip's opening of archives. libzip calls the C library for calendar times, which reads the
 * time zone of the whole process. The C library has a lock for that, but checkers of data races do not see
 * it. */
static pthread_mutex_t calendar = PTHREAD_MUTEX_INITIALIZER;

static zip_t *open_archive(zip_source_t *source, zip_error_t *error) {
  pthread_mutex_lock(&calendar);
  zip_t *zip = zip_open_from_source(source, ZIP_RDONLY, error);
  pthread_mutex_unlock(&calendar);
  return zip;
}

sley_status sl_archive_open(const sl_input *input, sl_archive *out) {
  zip_error_t error;
  zip_error_init(&error);
  *out = (sl_archive){.size = input->end - input->begin, .limit = input->unpack_limit};
  zip_source_t *source = zip_source_buffer_create(input->begin, (zip_uint64_t)out->size, 0, &error);
  out->zip = source ? open_archive(source, &error) : NULL;
  sley_status status = SLEY_OK;
  if (!out->zip) {
    status = zip_error_code_zip(&error) == ZIP_ER_MEMORY ? SLEY_ERR_MEMORY : SLEY_ERR_INPUT;
    status = sl_fail(status, "cannot open the zip archive: %s", zip_error_strerror(&error));
    if (source)
      zip_source_free(source);
  }
  zip_error_fini(&error);
  return status;
}

void sl_archive_close(sl_archive *archive) {
  if (archive->zip)
    zip_discard(archive->zip);
  archive->zip = NULL;
}

bool sl_archive_has(const sl_archive *archive, const char *name) {
  return zip_name_locate(archive->zip, name, 0) >= 0;
}

const uint8_t *sl_archive_elements(const sl_archive_member *member) {
  return member->bytes + member->array.data_offset;
}

void sl_archive_member_free(sl_archive_member *member) {
  sl_free(member->bytes);
  member->bytes = NULL;
}

int64_t sl_archive_claimed(const sl_archive *archive) {
  int64_t sum = 0;
  for (int64_t i = 0; i < zip_get_num_entries(archive->zip, 0); i++) {
    zip_stat_t stat;
    if (zip_stat_index(archive->zip, (zip_uint64_t)i, 0, &stat) == 0 && (stat.valid & ZIP_STAT_SIZE) &&
        __builtin_add_overflow(sum, stat.size, &sum))
      return INT64_MAX;
  }
  return sum;
}

/* Refuses a member that is encrypted, packed by a method that NumPy does not use, or that declares to inflate
 * to more than deflate can produce (1032 bytes from one, according to zlib's author): so allocations stay in
 * proportion to the file. */
static sley_status check_member(const sl_archive *in, const char *name, const zip_stat_t *stat) {
  const zip_uint64_t needed = ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE | ZIP_STAT_COMP_METHOD;
  if ((stat->valid & needed) != needed || stat->comp_size > (zip_uint64_t)in->size)
    return sl_fail(SLEY_ERR_INPUT, "%s: the zip directory is damaged", name);
  if ((stat->valid & ZIP_STAT_ENCRYPTION_METHOD) && stat->encryption_method != ZIP_EM_NONE)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "%s: the zip archive is encrypted", name);
  if (stat->comp_method != ZIP_CM_STORE && stat->comp_method != ZIP_CM_DEFLATE)
    return sl_fail(SLEY_ERR_UNSUPPORTED,
                   "%s: zip method %d is not read; only stored and deflated members are", name,
                   stat->comp_method);
  bool stored = stat->comp_method == ZIP_CM_STORE;
  if (stored ? stat->size != stat->comp_size : stat->size / 1032 > stat->comp_size)
    return sl_fail(SLEY_ERR_INPUT, "%s: the zip directory's size cannot be right", name);
  return SLEY_OK;
}

/* Reads exactly size bytes. */
static sley_status read_exactly(zip_file_t *file, const char *name, uint8_t *bytes, int64_t size) {
  for (int64_t done = 0; done < size;) {
    int64_t step = size - done < (1 << 24) ? size - done : (1 << 24);
    SL_TRY(sl_interrupted());
    zip_int64_t got = zip_fread(file, bytes + done, (zip_uint64_t)step);
    if (got <= 0)
      return sl_fail(SLEY_ERR_INPUT, "%s: cannot be unpacked: %s", name,
                     got < 0 ? zip_file_strerror(file) : "it ends early");
    done += got;
  }
  return SLEY_OK;
}

/* Reads an array. The header is read first: memory for the elements is allocated only if their number matches
 * the header's shape. */
static sley_status read_array(zip_file_t *file, const char *name, int64_t size, sl_archive_member *out) {
  uint8_t prefix[SL_NPY_PREFIX] = {0};
  int64_t offset, head = size < SL_NPY_PREFIX ? size : SL_NPY_PREFIX;
  SL_TRY(read_exactly(file, name, prefix, head));
  SL_TRY(sl_npy_offset(name, prefix, (size_t)head, &offset));
  if (offset > size || offset < head)
    return sl_fail(SLEY_ERR_INPUT, "%s: the archive's member ends inside the NumPy header", name);
  uint8_t *bytes = sl_alloc(offset, 1, "a NumPy header");
  if (!bytes)
    return SLEY_ERR_MEMORY;
  memcpy(bytes, prefix, (size_t)head);
  sley_status status;
  SL_TRY_GOTO(status, read_exactly(file, name, bytes + head, offset - head), done);
  SL_TRY_GOTO(status, sl_npy_parse(name, bytes, (size_t)offset, &out->array), done);
  if (out->array.count * out->array.bytes_each != size - offset) {
    status = sl_fail(SLEY_ERR_INPUT, "%s: %" PRId64 " bytes follow the header, but the shape needs %" PRId64,
                     name, size - offset, out->array.count * out->array.bytes_each);
    goto done;
  }
  uint8_t *whole = sl_realloc(bytes, size, 1, "a NumPy array");
  if (!whole) {
    status = SLEY_ERR_MEMORY;
    goto done;
  }
  bytes = whole;
  SL_TRY_GOTO(status, read_exactly(file, name, bytes + offset, size - offset), done);
  uint8_t beyond;
  zip_int64_t more = zip_fread(file, &beyond, 1); /* libzip compares the checksum when it reaches the end */
  if (more != 0) {
    status = sl_fail(SLEY_ERR_INPUT, "%s: cannot be unpacked: %s", name,
                     more < 0 ? zip_file_strerror(file) : "it is too long");
    goto done;
  }
  out->bytes = bytes;
  return SLEY_OK;
done:
  sl_free(bytes);
  return status;
}

sley_status sl_archive_read(sl_archive *in, const char *name, sl_archive_member *out) {
  zip_int64_t index = zip_name_locate(in->zip, name, 0);
  zip_stat_t stat;
  if (index < 0 || zip_stat_index(in->zip, (zip_uint64_t)index, 0, &stat) != 0)
    return sl_fail(SLEY_ERR_INPUT, "the archive has no %s", name);
  SL_TRY(check_member(in, name, &stat));
  if (stat.comp_method != ZIP_CM_STORE) {
    in->unpacked += (int64_t)stat.size; /* each member is at most 1032 times the file's size, so the sum does
                                           not overflow */
    SL_TRY(sl_check_unpacked(name, in->unpacked, in->size, in->limit));
  }
  zip_file_t *file = zip_fopen_index(in->zip, (zip_uint64_t)index, 0);
  if (!file)
    return sl_fail(SLEY_ERR_INPUT, "%s: cannot be unpacked: %s", name, zip_strerror(in->zip));
  sley_status status = read_array(file, name, (int64_t)stat.size, out);
  zip_fclose(file);
  return status;
}
