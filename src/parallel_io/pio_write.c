/* SPDX-License-Identifier: Apache-2.0 */
/* A .npy that the ranks write together: rank 0 makes a temporary file of the full size, with the header;
 * every rank writes its rows at their place; rank 0 renames it. If a rank fails or dies, every other rank
 * removes it. A compressed file, or one that is not regular, must be written from front to back: rank 0 does
 * this, and receives the ranks' rows in turn. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/interrupt.h"
#include "base/memory.h"
#include "base/outfile.h"
#include "base/value.h"
#include "io/bytes/sink.h"
#include "io/npy.h"
#include "parallel_io/parallel_io.h"
#include "parallel_io/pio_alltoall.h"

enum { NAME = 4096, AT_ONCE = 1 << 22 };

typedef struct writing {
  sl_comm *comm;
  const char *path;
  sley_dtype dtype, written;
  int64_t cols, first, count, ld;
  const char *data;
  char header[SL_NPY_HEADER_ROOM];
  int64_t header_bytes, row_bytes, bytes; /* row_bytes: bytes of a row in the file; bytes: bytes of the whole
                                             file */
  char *room;                             /* buffer of AT_ONCE bytes of values */
} writing;

/* Converts count values of the rank's rows, from value `first` on, in row-major order without gaps, to the
 * file's type. */
static void pack(const writing *w, int64_t first, int64_t count, char *out) {
  size_t value = sley_dtype_bytes(w->dtype), written = sley_dtype_bytes(w->written);
  while (count > 0) {
    int64_t row = first / w->cols, col = first % w->cols,
            some = w->cols - col < count ? w->cols - col : count;
    const char *from = w->data + (size_t)(row * w->ld + col) * value;
    if (w->written == w->dtype)
      memcpy(out, from, (size_t)some * value);
    else
      sl_values_convert(w->dtype, from, w->written, out, some);
    out += (size_t)some * written;
    first += some;
    count -= some;
  }
}

/* ---- all ranks together */

static sley_status put_at(const writing *w, int file, const char *bytes, int64_t count, int64_t at) {
  while (count > 0) {
    ssize_t put = pwrite(file, bytes, (size_t)count, at);
    if (put < 0 && errno != EINTR)
      return sl_fail(SLEY_ERR_IO, "%s: cannot write: %s", w->path, strerror(errno));
    put = put < 0 ? 0 : put;
    bytes += put;
    at += put;
    count -= put;
  }
  return SLEY_OK;
}

static sley_status put_rows(const writing *w, int file) {
  int64_t values = w->count * w->cols, value = (int64_t)sley_dtype_bytes(w->written);
  int64_t at = w->header_bytes + w->first * w->row_bytes, step = AT_ONCE / value;
  for (int64_t first = 0; first < values; first += step) {
    int64_t some = values - first < step ? values - first : step;
    SL_TRY(sl_interrupted());
    pack(w, first, some, w->room);
    SL_TRY(put_at(w, file, w->room, some * value, at + first * value));
  }
  return SLEY_OK;
}

/* Writes this rank's rows into the temporary file. */
static sley_status put_own(const writing *w, const char *aside) {
  int file = open(aside, O_WRONLY | O_CLOEXEC);
  if (file < 0)
    return sl_fail(SLEY_ERR_IO,
                   "%s: rank %d cannot write to it: %s; the folder must be one that all ranks see", w->path,
                   w->comm->rank, strerror(errno));
  sley_status status = put_rows(w, file);
  if (close(file) != 0 && status == SLEY_OK)
    status = sl_fail(SLEY_ERR_IO, "%s: cannot write: %s", w->path, strerror(errno));
  return status;
}

/* Makes the file, on rank 0. */
static sley_status make_file(const writing *w, sl_outfile *file, char name[NAME]) {
  SL_TRY(sl_outfile_open(w->path, file));
  int descriptor = fileno(file->stream);
  if (strlen(file->aside) >= NAME)
    return sl_fail(SLEY_ERR_ARG, "%s: the path is too long", w->path);
  strcpy(name, file->aside);
  if (ftruncate(descriptor, w->bytes) != 0)
    return sl_fail(SLEY_ERR_IO, "%s: cannot write: %s", w->path, strerror(errno));
  return put_at(w, descriptor, w->header, w->header_bytes, 0);
}

static sley_status share_name(sl_comm *comm, char name[NAME]) {
  sl_alltoall_lists trade = {0};
  sley_status status = sl_agree(comm, sl_alltoall_alloc(comm->size, &trade));
  if (status == SLEY_OK) {
    for (int r = 0; r < comm->size && comm->rank == 0; r++)
      trade.send_bytes[r] = r == 0 ? 0 : NAME;
    trade.recv_bytes[0] = comm->rank == 0 ? 0 : NAME;
    status = sl_alltoall_run(comm, &trade, name, name);
  }
  sl_alltoall_free(&trade);
  return status;
}

static sley_status write_together(const writing *w) {
  sl_comm *comm = w->comm;
  sl_outfile file = {0};
  char name[NAME] = "";
  sley_status status;
  SL_TRY_GOTO(status, sl_agree_alike(comm, comm->rank == 0 ? make_file(w, &file, name) : SLEY_OK), done);
  SL_TRY_GOTO(status, share_name(comm, name), done);
  SL_TRY_GOTO(status, sl_agree_alike(comm, put_own(w, name)), done);
  if (comm->rank == 0)
    status = sl_outfile_commit(&file);
  status = sl_agree_alike(comm, status);
done:
  sl_outfile_discard(&file);
  if (status != SLEY_OK && comm->rank != 0 && name[0])
    unlink(name); /* rank 0 may have ended */
  return status;
}

/* ---- written by rank 0 from front to back */

/* Sends to rank 0 the values of rank r from value `first` on, at most a full buffer. *count: number of
   values. */
static sley_status fetch(const writing *w, int r, int64_t first, sl_alltoall_lists *trade, char *taken,
                         int64_t *count) {
  sl_comm *comm = w->comm;
  int64_t value = (int64_t)sley_dtype_bytes(w->written), step = AT_ONCE / value, values[1] = {0};
  if (comm->rank == r) {
    values[0] = w->count * w->cols - first;
    values[0] = values[0] < step ? values[0] : step;
    pack(w, first, values[0], w->room);
  }
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, values, 1));
  *count = values[0];
  sl_alltoall_clear(trade, comm->size);
  if (comm->rank == r)
    trade->send_bytes[0] = *count * value;
  if (comm->rank == 0)
    trade->recv_bytes[r] = *count * value;
  return sl_alltoall_run(comm, trade, w->room, taken);
}

static sley_status pour(const writing *w, sl_sink *sink, sl_alltoall_lists *trade, char *taken) {
  sl_comm *comm = w->comm;
  size_t value = sley_dtype_bytes(w->written);
  int64_t step = AT_ONCE / (int64_t)value;
  sley_status status = SLEY_OK;
  if (comm->rank == 0)
    status = sl_sink_put(sink, w->header, (size_t)w->header_bytes);
  SL_TRY(sl_agree_alike(comm, status));
  for (int r = 0; r < comm->size; r++) {
    int64_t count = step;
    for (int64_t first = 0; count == step; first += step) {
      SL_TRY(fetch(w, r, first, trade, taken, &count));
      if (comm->rank == 0)
        status = sl_sink_put(sink, taken, (size_t)count * value);
      SL_TRY(sl_agree_alike(comm, status));
    }
  }
  return SLEY_OK;
}

static sley_status write_by_first(const writing *w) {
  sl_comm *comm = w->comm;
  sl_alltoall_lists trade = {0};
  sl_sink *sink = NULL;
  char *taken = NULL;
  sley_status status = sl_alltoall_alloc(comm->size, &trade);
  if (status == SLEY_OK)
    status = SL_NEW(taken, AT_ONCE, "values to write");
  if (status == SLEY_OK && comm->rank == 0)
    status = sl_sink_open(w->path, &sink);
  SL_TRY_GOTO(status, sl_agree_alike(comm, status), done);
  SL_TRY_GOTO(status, pour(w, sink, &trade, taken), done);
  if (comm->rank == 0) {
    status = sl_sink_commit(sink);
    sink = NULL;
  }
  status = sl_agree_alike(comm, status);
done:
  sl_sink_discard(sink);
  sl_free(taken);
  sl_alltoall_free(&trade);
  return status;
}

/* ---- */

/* Checks that all ranks pass the same array, and that their rows cover it. Collective. */
static sley_status check(const writing *w, int64_t rows) {
  sl_comm *comm = w->comm;
  int64_t before, all;
  sley_status status = SLEY_OK;
  if (rows < 0 || w->cols < 0 || w->count < 0 || (w->count > 1 && w->ld < w->cols))
    status = sl_fail(SLEY_ERR_ARG, "%s: cannot write %lld of %lld x %lld values of leading dimension %lld",
                     w->path, (long long)w->count, (long long)rows, (long long)w->cols, (long long)w->ld);
  SL_TRY(sl_agree_alike(comm, status));
  SL_TRY(sl_prefix_sum(comm, w->count, &before, &all));
  int64_t low[6] = {rows, w->cols, (int64_t)w->dtype, -rows, -w->cols, -(int64_t)w->dtype};
  SL_TRY(comm->ops->allreduce(comm, SL_MIN, low, 6));
  if (low[0] != -low[3] || low[1] != -low[4] || low[2] != -low[5])
    return sl_fail(SLEY_ERR_ARG, "%s: the ranks write arrays of different sizes or types", w->path);
  if (all != rows || before != w->first)
    status = sl_fail(
        SLEY_ERR_ARG, "%s: rank %d writes %lld rows from %lld on, but %lld lie before them, of %lld in all",
        w->path, comm->rank, (long long)w->count, (long long)w->first, (long long)before, (long long)all);
  return sl_agree_alike(comm, status);
}

/* Makes rank 0 decide whether the file can be written at several positions at once. */
static sley_status by_places(sl_comm *comm, const char *path, bool *out) {
  struct stat info;
  size_t length = strlen(path);
  bool packed = (length >= 3 && strcasecmp(path + length - 3, ".gz") == 0) ||
                (length >= 4 && strcasecmp(path + length - 4, ".zst") == 0);
  int64_t plain = comm->rank == 0 && !packed && (stat(path, &info) != 0 || S_ISREG(info.st_mode));
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, &plain, 1));
  *out = plain != 0;
  return SLEY_OK;
}

sley_status sl_pio_write(sl_comm *comm, const char *path, sley_dtype dtype, int64_t rows, int64_t cols,
                         int64_t first, int64_t count, const void *data, int64_t ld) {
  int dims = cols == SLEY_VECTOR ? 1 : 2;
  cols = dims == 1 ? 1 : cols;
  writing w = {.comm = comm,
               .path = path,
               .dtype = dtype,
               .written = sl_npy_dtype(dtype),
               .cols = cols,
               .first = first,
               .count = count,
               .ld = ld,
               .data = data};
  bool places;
  SL_TRY(check(&w, rows));
  size_t value = sley_dtype_bytes(w.written);
  w.header_bytes = (int64_t)sl_npy_header(w.header, sl_npy_type('f', value), dims, rows, cols);
  if (__builtin_mul_overflow(cols, (int64_t)value, &w.row_bytes) ||
      __builtin_mul_overflow(rows, w.row_bytes, &w.bytes) ||
      __builtin_add_overflow(w.bytes, w.header_bytes, &w.bytes))
    return sl_fail(SLEY_ERR_OVERFLOW, "%s: %lld x %lld values are too many", path, (long long)rows,
                   (long long)cols);
  sley_status status = sl_agree_alike(comm, SL_NEW(w.room, AT_ONCE, "values to write"));
  if (status == SLEY_OK)
    status = by_places(comm, path, &places);
  if (status == SLEY_OK)
    status = places ? write_together(&w) : write_by_first(&w);
  sl_free(w.room);
  return status;
}
