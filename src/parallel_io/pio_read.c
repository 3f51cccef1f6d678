/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a matrix on all ranks: detects the format, and calls its reader. */
#include <string.h>

#include "base/memory.h"
#include "generate/generate.h"
#include "io/cache.h"
#include "io/io.h"
#include "io/mtx.h"
#include "io/text.h"
#include "partition/partition.h"
#include "parallel_io/pio_balance.h"
#include "parallel_io/pio_entries.h"
#include "parallel_io/pio_readers.h"

static uint64_t mix(uint64_t hash, const void *data, size_t bytes) {
  const unsigned char *at = data;
  for (size_t i = 0; i < bytes; i++)
    hash = (hash ^ at[i]) * UINT64_C(1099511628211);
  return hash;
}

/* Checks that all ranks read the same file in the same way: their requests, and samples of the file's bytes,
 * are compared. Collective, agreed alike. */
static sley_status check_same(const sl_pio_reading *r, const sl_file *file) {
  enum { SAMPLES = 256, SAMPLE = 64 };
  uint64_t hash = mix(UINT64_C(14695981039346656037), &r->dtype, sizeof r->dtype);
  hash = mix(hash, &r->by_nonzeros, sizeof r->by_nonzeros);
  hash = mix(hash, &r->how->base, sizeof r->how->base);
  if (r->how->format)
    hash = mix(hash, r->how->format, strlen(r->how->format));
  if (!file) {
    hash = mix(hash, r->name, strlen(r->name));
    hash = mix(hash, &r->seed, sizeof r->seed);
  } else {
    int64_t size = file->size, room = size > SAMPLE ? size - SAMPLE : 0;
    sley_status status = SLEY_OK;
    hash = mix(hash, &size, sizeof size);
    for (int64_t i = 0; i < SAMPLES && status == SLEY_OK; i++) {
      char bytes[SAMPLE];
      int64_t at = room / SAMPLES * i, some = size - at < SAMPLE ? size - at : SAMPLE;
      status = sl_file_read(file, at, some, bytes, NULL);
      if (status == SLEY_OK)
        hash = mix(hash, bytes, (size_t)some);
    }
    SL_TRY(sl_agree_alike(r->comm, status));
  }
  int64_t low[2] = {(int64_t)(hash >> 1), -(int64_t)(hash >> 1)};
  SL_TRY(r->comm->ops->allreduce(r->comm, SL_MIN, low, 2));
  if (low[0] == -low[1])
    return SLEY_OK;
  return sl_fail(SLEY_ERR_ARG,
                 "%s: the ranks read different matrices, or parts of different types: give all "
                 "the same file or words, dtype and partition",
                 r->name);
}

/* Sends rank 0's source to all ranks: its numbers are 0 or more, and the numbers of the other ranks are 0. */
static sley_status share_source(sl_comm *comm, sl_source *source) {
  int64_t numbers[] = {source->format, source->shape, source->why, source->base, source->unread};
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, numbers, sizeof numbers / sizeof *numbers));
  *source = (sl_source){numbers[0], numbers[1], numbers[2], numbers[3], numbers[4]};
  return SLEY_OK;
}

/* Makes rank 0 read the whole matrix, and distribute its rows. */
static sley_status read_whole(sl_pio_reading *r) {
  sl_comm *comm = r->comm;
  int64_t *from = NULL, entries = 0;
  sley_matrix *whole = NULL;
  r->source = (sl_source){0};
  sley_status status = SL_NEW_ZERO(from, comm->size + 1, "a partition");
  if (status == SLEY_OK && comm->rank == 0)
    status = sl_matrix_read_as(r->name, r->how, comm->team, &whole);
  SL_TRY_GOTO(status, sl_agree_alike(comm, status), done);
  for (int i = 0; i <= comm->size; i++)
    r->begin[i] = 0;
  if (comm->rank == 0) {
    entries = whole->entries_stored;
    r->source = whole->source;
    from[1] = whole->rows;
    if (r->by_nonzeros)
      sl_partition_nnz(whole, comm->size, r->begin);
    else
      sl_partition_equal(whole->rows, comm->size, r->begin);
  }
  SL_TRY_GOTO(status, comm->ops->allreduce(comm, SL_MAX, &entries, 1), done);
  SL_TRY_GOTO(status, share_source(comm, &r->source), done);
  SL_TRY_GOTO(status, comm->ops->allreduce(comm, SL_MAX, r->begin, comm->size + 1), done);
  for (int i = 1; i <= comm->size; i++)
    from[i] = r->begin[comm->size];
  r->entries_stored = entries;
  r->settled = true;
  status = sl_rows_to_rows(comm, whole, from, r->begin, &r->block);
  whole = NULL;
done:
  sl_matrix_destroy(whole);
  sl_free(from);
  return status;
}

typedef enum way { WHOLE, MTX, EDGES } way;

/* Decides how to read a text with these first lines; *format: the format that they, the name or the caller
 * indicate. */
static way way_of(const sl_pio_reading *r, const sl_pio_text *text, const sl_format **format) {
  const sl_input *head = &text->head;
  sl_text data = sl_text_start(head);
  sl_mtx_header header;
  *format = NULL;
  if (text->size == 0 || head->end == head->begin || text->cr_only)
    return WHOLE;
  bool all = head->end - head->begin == text->size;
  if (!all && !sl_text_next_data(&data, "#%"))
    return WHOLE; /* there are more comments than the head holds */
  *format = r->how->format ? sl_format_named(r->how->format) : sl_format_of(head);
  if (*format && (*format)->read == sl_mtx_read)
    return all || sl_mtx_read_header(head, &header) == SLEY_OK ? MTX : WHOLE;
  return (*format && (*format)->read != sl_edgelist_read) || !sl_input_is_text(head) ? WHOLE : EDGES;
}

/* Sends rank 0's choice to all. */
static sley_status share_way(sl_comm *comm, way *choice) {
  int64_t number = comm->rank == 0 ? (int64_t)*choice : -1;
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, &number, 1));
  *choice = (way)number;
  return SLEY_OK;
}

/* Reads a text; *whole: one rank must examine all of it. */
static sley_status read_text(sl_pio_reading *r, const sl_file *file, bool *whole) {
  sl_comm *comm = r->comm;
  sl_pio_text text;
  const sl_format *format;
  SL_TRY(sl_pio_text_open(comm, file, r->how->limit, &text));
  way choice = way_of(r, &text, &format);
  sley_status status;
  bool edges = false;
  text.head.base = (sl_base)r->how->base;
  text.head.guess = !format;
  SL_TRY_GOTO(status, share_way(comm, &choice), done);
  if (choice == EDGES && format)
    edges = true;
  else if (choice == EDGES)
    SL_TRY_GOTO(status, sl_pio_is_edgelist(comm, &text, &edges), done);
  *whole = choice != MTX && !edges;
  if (*whole)
    goto done;
  if (!format)
    format = sl_format_named("edgelist");
  SL_TRY_GOTO(status, sl_agree_alike(comm, sl_format_check_base(format, r->name, text.head.base)), done);
  r->source = (sl_source){.format = sl_format_number(format)};
  status = choice == MTX ? sl_pio_mtx(r, &text) : sl_pio_edgelist(r, &text);
  *whole = status == SLEY_ERR_INPUT && text.head.guess; /* a rank that examines all of it can name the
                                                           possible formats */
  status = *whole ? SLEY_OK : status;
done:
  sl_pio_text_close(&text);
  return status;
}

/* Sets *archive and *cache to whether the file is an archive, and whether it is a cache. */
static sley_status look(const sl_file *file, bool *archive, bool *cache) {
  char first[4] = {0};
  int64_t some = file->size < (int64_t)sizeof first ? file->size : (int64_t)sizeof first;
  SL_TRY(sl_file_read(file, 0, some, first, NULL));
  sl_input head = {.name = file->name, .begin = first, .end = first + some};
  *archive = sl_npz_banner(&head);
  return sl_cache_is(file, cache);
}

static sley_status read_parts(sl_pio_reading *r, const sl_file *file, bool *whole) {
  bool cache = false, archive = false;
  SL_TRY(check_same(r, file));
  sley_status status = sl_agree_alike(r->comm, look(file, &archive, &cache));
  if (status != SLEY_OK)
    return status;
  *whole = archive;
  if (cache && (r->how->format || r->how->base != SL_BASE_ANY)) { /* the request may be wrong for this file */
    *whole = true;
    return SLEY_OK;
  }
  r->source = (sl_source){.format = sl_format_number(sl_format_named("sley"))};
  if (!cache)
    return archive ? SLEY_OK : read_text(r, file, whole);
  /* A damaged cache is reported by a rank that examines all of it. */
  status = sl_pio_cache(r, file);
  *whole = status == SLEY_ERR_INPUT;
  if (*whole) {
    sl_matrix_destroy(r->block);
    r->block = NULL;
    r->settled = false;
  }
  return *whole ? SLEY_OK : status;
}

static sley_status read_file(sl_pio_reading *r) {
  sl_comm *comm = r->comm;
  sl_file file;
  sley_status opened = sl_file_open(r->name, &file);
  int64_t at_first = comm->rank == 0 ? (int64_t)opened : -1;
  sley_status status;
  SL_TRY_GOTO(status, comm->ops->allreduce(comm, SL_MAX, &at_first, 1), done);
  bool whole = at_first != SLEY_OK; /* a pipe, or an error that reading reports */
  if (!whole) {
    if (opened == SLEY_ERR_UNSUPPORTED)
      opened = sl_fail(SLEY_ERR_IO, "%s: is empty or no plain file on rank %d: every rank reads a part of it",
                       r->name, comm->rank);
    SL_TRY_GOTO(status, sl_agree_alike(comm, opened), done);
    SL_TRY_GOTO(status, read_parts(r, &file, &whole), done);
  }
  if (whole)
    status = read_whole(r);
done:
  sl_file_close(&file);
  return status;
}

/* Computes the figures of the whole matrix. */
static sley_status sum_up(const sl_pio_reading *r, sl_pio_info *out) {
  sl_comm *comm = r->comm;
  const sley_matrix *block = r->block;
  int64_t nnz = block->nnz, most = sl_matrix_max_row(block);
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, &nnz, 1));
  SL_TRY(comm->ops->allreduce(comm, SL_MAX, &most, 1));
  *out = (sl_pio_info){.rows = r->begin[comm->size],
                       .cols = block->cols,
                       .nnz = nnz,
                       .entries_stored = r->entries_stored < 0 ? nnz : r->entries_stored,
                       .max_row_nnz = most,
                       .index = block->index};
  return SLEY_OK;
}

/* Moves the rows to the requested partition. */
static sley_status settle(sl_pio_reading *r) {
  sl_comm *comm = r->comm;
  if (r->settled || !r->by_nonzeros)
    return SLEY_OK;
  int64_t *from = NULL;
  sley_status status = sl_agree(comm, SL_NEW(from, comm->size + 1, "a partition"));
  if (status == SLEY_OK) {
    memcpy(from, r->begin, ((size_t)comm->size + 1) * sizeof *from);
    status = sl_pio_partition_nnz(comm, r->block, from, r->begin);
  }
  if (status == SLEY_OK) {
    sley_matrix *block = r->block;
    r->block = NULL;
    status = sl_rows_to_rows(comm, block, from, r->begin, &r->block);
  }
  sl_free(from);
  return status;
}

sley_status sl_pio_read(sl_comm *comm, const char *name, const sl_reading *how, uint64_t seed,
                        bool by_nonzeros, int64_t *begin, sl_pio_info *info, sley_matrix **out) {
  sl_pio_reading r = {.comm = comm,
                      .name = name,
                      .how = how,
                      .dtype = how->dtype,
                      .seed = seed,
                      .by_nonzeros = by_nonzeros,
                      .begin = begin,
                      .entries_stored = -1};
  sley_status status;
  *out = NULL;
  if (sl_is_generator(name)) {
    SL_TRY(check_same(&r, NULL));
    status = sl_pio_generate(&r);
  } else {
    status = read_file(&r);
  }
  if (status == SLEY_OK)
    status = settle(&r);
  if (status == SLEY_OK)
    status = sum_up(&r, info);
  if (status == SLEY_OK) {
    r.block->source = r.source;
    *out = r.block;
  } else {
    sl_matrix_destroy(r.block);
  }
  return status;
}
