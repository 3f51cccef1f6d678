/* SPDX-License-Identifier: Apache-2.0 */
/* Named arrays of numbers: members of an archive, with types and shapes. */
#include "io/arrays.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/value.h"
#include "io/npy.h"

enum { MEMBER_NAME = SL_ARRAY_NAME + 4 }; /* bytes with .npy */

static sley_status member_name(const char *name, char to[MEMBER_NAME]) {
  const size_t length = name ? strlen(name) : 0;
  if (length == 0 || length >= SL_ARRAY_NAME || strchr(name, '/') || strchr(name, '\\'))
    return sl_fail(SLEY_ERR_ARG,
                   "'%.*s' is no name of an array: it has 1 to %d bytes, and neither / nor \\ among them",
                   SL_ARRAY_NAME, name ? name : "", SL_ARRAY_NAME - 1);
  snprintf(to, MEMBER_NAME, "%s.npy", name);
  return SLEY_OK;
}

/* ---- writing */

/* Memory that a written array needs, for the member's name and converted values. */
typedef struct written {
  char name[MEMBER_NAME];
  void *converted;
} written;

static sley_status describe(const sley_array *a, written *to, sl_archive_array *out) {
  const bool whole = a->type == SLEY_TYPE_I64, vector = a->cols == SLEY_VECTOR;
  const int64_t cols = vector ? 1 : a->cols;
  int64_t count;
  SL_TRY(member_name(a->name, to->name));
  if ((unsigned)a->type > SLEY_TYPE_I64)
    return sl_fail(SLEY_ERR_ARG, "array %s: there is no type %d", a->name, (int)a->type);
  if (a->rows < 0 || cols < 0 || __builtin_mul_overflow(a->rows, cols, &count) || count > INT64_MAX / 8 ||
      (!a->data && count > 0))
    return sl_fail(SLEY_ERR_ARG, "array %s: %" PRId64 " x %" PRId64 " values%s", a->name, a->rows, cols,
                   a->data ? "" : " at NULL");
  const sley_dtype dtype = (sley_dtype)a->type, as = whole ? dtype : sl_npy_dtype(dtype);
  const size_t bytes = whole ? sizeof(int64_t) : sley_dtype_bytes(as);
  *out = (sl_archive_array){.name = to->name,
                            .type = sl_npy_type(whole ? 'i' : 'f', bytes),
                            .dims = vector ? 1 : 2,
                            .shape = {a->rows, cols},
                            .bytes = a->data,
                            .size = (size_t)count * bytes};
  if (as == dtype)
    return SLEY_OK;
  to->converted = sl_alloc(count, bytes, "values to write");
  if (!to->converted)
    return SLEY_ERR_MEMORY;
  sl_values_convert(dtype, a->data, as, to->converted, count);
  out->bytes = to->converted;
  return SLEY_OK;
}

static sley_status write_to(const char *path, const sl_archive_array *arrays, int count) {
  sl_sink *sink;
  SL_TRY(sl_sink_open(path, &sink));
  const sley_status status = sl_archive_write(arrays, count, sink);
  if (status == SLEY_OK)
    return sl_sink_commit(sink);
  sl_sink_discard(sink);
  return status;
}

sley_status sl_arrays_write(const char *path, const sley_array *arrays, int count) {
  written *each = NULL;
  sl_archive_array *members = NULL;
  sley_status status;
  SL_TRY_GOTO(status, SL_NEW_ZERO(each, count, "arrays to write"), done);
  SL_TRY_GOTO(status, SL_NEW_ZERO(members, count, "arrays to write"), done);
  for (int i = 0; i < count; i++)
    SL_TRY_GOTO(status, describe(&arrays[i], &each[i], &members[i]), done);
  status = write_to(path, members, count);
done:
  for (int i = 0; i < count && each; i++)
    sl_free(each[i].converted);
  sl_free(members);
  sl_free(each);
  return status;
}

/* ---- reading */

sley_status sl_arrays_open(const char *path, sl_arrays *out) {
  *out = (sl_arrays){0};
  SL_TRY(sl_input_open(path, &out->input));
  sley_status status = sl_npz_banner(&out->input) ? sl_archive_open(&out->input, &out->archive)
                                                  : sl_fail(SLEY_ERR_INPUT, "not an archive of arrays, .npz");
  if (status == SLEY_OK)
    return SLEY_OK;
  sl_arrays_close(out);
  return sl_fail_prefix(status, "%s: ", path);
}

static sley_status take(const sl_archive_member *m, const char *name, sley_type type, void **data) {
  const sl_npy_array *a = &m->array;
  const bool whole = type == SLEY_TYPE_I64;
  if (a->dims > 2 || (a->dims == 2 && a->fortran))
    return sl_fail(SLEY_ERR_UNSUPPORTED, "%s: an array of more than 2 dimensions, or in Fortran's order",
                   name);
  if (whole ? !sl_npy_is_whole(a) : !sl_npy_is_number(a))
    return sl_fail(SLEY_ERR_INPUT, "%s: not of %s numbers", name, whole ? "whole" : "real");
  *data = sl_alloc(a->count, whole ? sizeof(int64_t) : sley_dtype_bytes((sley_dtype)type), "an array");
  if (!*data)
    return SLEY_ERR_MEMORY;
  sley_status status = SLEY_OK;
  if (!whole)
    status = sl_npy_values(name, a, sl_archive_elements(m), 0, a->count, (sley_dtype)type, *data);
  for (int64_t i = 0; whole && i < a->count && status == SLEY_OK; i++) {
    const int64_t value = sl_npy_int(a, sl_archive_elements(m), i);
    if (value < 0 && a->kind == 'u')
      status = sl_fail(SLEY_ERR_INPUT, "%s: element %" PRId64 " is beyond 2^63 - 1", name, i);
    ((int64_t *)*data)[i] = value;
  }
  if (status != SLEY_OK) {
    sl_free(*data);
    *data = NULL;
  }
  return status;
}

sley_status sl_arrays_read(sl_arrays *arrays, const char *name, sley_type type, int64_t *rows, int64_t *cols,
                           void **data) {
  char member[MEMBER_NAME];
  sl_archive_member m = {0};
  SL_TRY(member_name(name, member));
  sley_status status = sl_archive_read(&arrays->archive, member, &m);
  if (status == SLEY_OK)
    status = take(&m, member, type, data);
  if (status == SLEY_OK) {
    *rows = m.array.dims > 0 ? m.array.shape[0] : 1;
    *cols = m.array.dims > 1 ? m.array.shape[1] : SLEY_VECTOR;
  }
  sl_archive_member_free(&m);
  return status == SLEY_OK ? SLEY_OK : sl_fail_prefix(status, "%s: ", arrays->input.name);
}

void sl_arrays_close(sl_arrays *arrays) {
  sl_archive_close(&arrays->archive);
  sl_input_close(&arrays->input);
}
