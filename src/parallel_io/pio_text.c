/* SPDX-License-Identifier: Apache-2.0 */
/* Distributes the lines of a text: read by each rank, or decompressed by rank 0. */
#include "parallel_io/pio_text.h"

#include <string.h>

#include "base/memory.h"
#include "io/bytes/encoding.h"
#include "io/bytes/inflate.h"
#include "io/text.h"
#include "parallel_io/pio_alltoall.h"

enum { HEAD = 1 << 20, MOST_PIECE = 1 << 20, LEAST_PIECE = 1 << 14, ROUND = 1 << 26 };

/* Returns the start of rank r's share of that many bytes. */
static int64_t share_begin(int64_t bytes, int r, int ranks) {
  return bytes / ranks * r + bytes % ranks * r / ranks;
}

static void hold(sl_input *input, sl_bytes bytes) {
  sl_bytes_pad(&bytes);
  input->memory = bytes.data;
  input->begin = bytes.data;
  input->end = bytes.data + bytes.size;
}

/* Cuts the head at the end of a line, unless it is the whole text. */
static void cut_head(sl_bytes *head, int64_t size) {
  if ((int64_t)head->size < size)
    while (head->size > 0 && head->data[head->size - 1] != '\n')
      head->size--;
}

static sley_status append(const sl_file *file, int64_t at, int64_t bytes, sl_bytes *out) {
  SL_TRY(sl_bytes_reserve(out, (size_t)bytes));
  SL_TRY(sl_file_read(file, at, bytes, out->data + out->size, NULL));
  out->size += (size_t)bytes;
  return SLEY_OK;
}

/* Appends the bytes from `from` to the end of the line that contains byte last, or to the end of the file. */
static sley_status append_lines(const sl_file *file, int64_t from, int64_t last, sl_bytes *out) {
  enum { MORE = 1 << 16 };
  int64_t end = file->size - last > MORE ? last + MORE : file->size, looked = last - from;
  SL_TRY(append(file, from, end - from, out));
  for (;;) {
    const char *newline = memchr(out->data + looked, '\n', out->size - (size_t)looked);
    if (newline) {
      out->size = (size_t)(newline + 1 - out->data);
      return SLEY_OK;
    }
    if (end == file->size)
      return SLEY_OK;
    looked = (int64_t)out->size;
    int64_t more = file->size - end > MORE ? MORE : file->size - end;
    SL_TRY(append(file, end, more, out));
    end += more;
  }
}

/* Reads the head, and the lines that begin in the rank's share. */
static sley_status read_share(const sl_comm *comm, const sl_file *file, sl_pio_text *text) {
  sl_bytes head = {0}, lines = {0};
  int64_t share = share_begin(file->size, comm->rank, comm->size),
          next = share_begin(file->size, comm->rank + 1, comm->size), from = share > 0 ? share - 1 : 0;
  sley_status status = append(file, 0, file->size < HEAD ? file->size : HEAD, &head);
  if (status == SLEY_OK && next > share)
    status = append_lines(file, from, next - 1, &lines);
  else if (status == SLEY_OK)
    status = sl_bytes_reserve(&lines, 0);
  if (status == SLEY_OK)
    status = sl_file_check_unchanged(file);
  if (status != SLEY_OK) {
    sl_free(head.data);
    sl_free(lines.data);
    return status;
  }
  cut_head(&head, file->size);
  hold(&text->head, head);
  hold(&text->part, lines);
  /* The first line belongs to the rank only if it begins at the start of the share. */
  if (share > 0 && next > share)
    text->part.begin = sl_next_line(text->part.begin, text->part.end);
  text->from = from + (text->part.begin - lines.data);
  return SLEY_OK;
}

static sley_status share_file(sl_comm *comm, const sl_file *file, sl_pio_text *text) {
  text->size = file->size;
  text->head.name = text->part.name = file->name;
  SL_TRY(sl_agree_alike(comm, read_share(comm, file, text)));
  sl_input_set_size(&text->head, file->size);
  sl_input_set_size(&text->part, file->size);
  return SLEY_OK;
}

/* ---- compressed texts: piece i, of `piece` bytes, is first sent to rank i modulo the number of ranks */

typedef struct deal {
  sl_comm *comm;
  int64_t piece;
  sl_bytes own;   /* pieces that this rank received, one after the other */
  int64_t *start; /* size + 1 entries: the start of each rank's lines in the text */
  sl_alltoall_lists trade;
} deal;

/* Sets [*begin, *end) to the range of the text in this rank's piece number t. */
static void piece_range(const deal *d, const sl_pio_text *text, int rank, int64_t t, int64_t *begin,
                        int64_t *end) {
  *begin = (t * d->comm->size + rank) * d->piece;
  *begin = *begin < text->size ? *begin : text->size;
  *end = text->size - *begin < d->piece ? text->size : *begin + d->piece;
}

/* Sends every rank its piece of a round's bytes, which rank 0 has. */
static sley_status deal_round(deal *d, const char *round, int64_t bytes) {
  sl_comm *comm = d->comm;
  sl_alltoall_lists *trade = &d->trade;
  sl_alltoall_clear(trade, comm->size);
  for (int r = 0; r < comm->size; r++) {
    int64_t at = r * d->piece, here = bytes - at < 0 ? 0 : bytes - at;
    here = here < d->piece ? here : d->piece;
    if (comm->rank == 0) {
      trade->send_at[r] = at;
      trade->send_bytes[r] = here;
    }
    if (comm->rank == r)
      trade->recv_bytes[0] = here;
  }
  SL_TRY(sl_agree(comm, sl_bytes_reserve(&d->own, (size_t)trade->recv_bytes[0])));
  SL_TRY(sl_alltoall_run(comm, trade, round, d->own.data + d->own.size));
  d->own.size += (size_t)trade->recv_bytes[0];
  return SLEY_OK;
}

/* Sends every rank the text's first bytes. */
static sley_status share_head(deal *d, const char *round, int64_t bytes, sl_pio_text *text) {
  sl_comm *comm = d->comm;
  sl_alltoall_lists *trade = &d->trade;
  sl_bytes head = {0};
  bytes = bytes < HEAD ? bytes : HEAD;
  sl_alltoall_clear(trade, comm->size);
  for (int r = 0; r < comm->size && comm->rank == 0; r++)
    trade->send_bytes[r] = bytes;
  trade->recv_bytes[0] = bytes;
  sley_status status = sl_agree(comm, sl_bytes_reserve(&head, (size_t)bytes));
  if (status == SLEY_OK)
    status = sl_alltoall_run(comm, trade, round, head.data);
  if (status != SLEY_OK) {
    sl_free(head.data);
    return status;
  }
  head.size = (size_t)bytes;
  cut_head(&head, bytes == HEAD ? bytes + 1 : bytes); /* more may follow */
  hold(&text->head, head);
  return SLEY_OK;
}

/* Makes rank 0 unpack the text and distribute its pieces. */
static sley_status deal_all(deal *d, const sl_file *file, int64_t limit, sl_pio_text *text) {
  sl_comm *comm = d->comm;
  sl_input packed = {0};
  sl_inflater *inflater = NULL;
  char *round = NULL;
  sley_status status = SLEY_OK;
  size_t room = (size_t)(d->piece * comm->size), got = room;
  if (comm->rank == 0)
    status = SL_NEW(round, (int64_t)room, "a text to deal out");
  if (comm->rank == 0 && status == SLEY_OK)
    status = sl_input_load_packed(file, NULL, &packed);
  if (comm->rank == 0 && status == SLEY_OK)
    status =
        sl_inflater_open(file->name, packed.begin, (size_t)(packed.end - packed.begin), limit, &inflater);
  for (bool first = true; got == room; first = false) {
    int64_t bytes = 0;
    if (comm->rank == 0 && status == SLEY_OK) {
      status = sl_inflater_take(inflater, round, room, &got);
      bytes = (int64_t)got;
    }
    SL_TRY_GOTO(status, sl_agree_alike(comm, status), done);
    SL_TRY_GOTO(status, comm->ops->allreduce(comm, SL_MAX, &bytes, 1), done);
    got = (size_t)bytes;
    if (first)
      SL_TRY_GOTO(status, share_head(d, round, bytes, text), done);
    SL_TRY_GOTO(status, deal_round(d, round, bytes), done);
    text->size += bytes;
  }
done:
  sl_inflater_close(inflater);
  sl_input_close(&packed);
  sl_free(round);
  return status;
}

/* The end of the first line that ends at byte `at` or later in one of this rank's pieces; size if there is
 * none. */
static int64_t line_end(const deal *d, const sl_pio_text *text, int64_t at) {
  int64_t round = d->piece * d->comm->size, t = at / round;
  for (int64_t own = t * d->piece; own < (int64_t)d->own.size; t++, own += d->piece) {
    int64_t begin, end;
    piece_range(d, text, d->comm->rank, t, &begin, &end);
    int64_t skip = at > begin ? at - begin : 0;
    if (skip >= end - begin)
      continue;
    const char *from = d->own.data + own + skip, *newline = memchr(from, '\n', (size_t)(end - begin - skip));
    if (newline)
      return begin + skip + (newline - from) + 1;
  }
  return text->size;
}

/* Finds the start of every rank's lines: the first end of a line at or after the start of its share, combined
 * from all ranks' pieces. */
static sley_status find_starts(deal *d, const sl_pio_text *text) {
  sl_comm *comm = d->comm;
  SL_TRY(sl_agree(comm, SL_NEW(d->start, comm->size + 1, "the shares of a text")));
  for (int r = 0; r <= comm->size; r++) {
    int64_t share = share_begin(text->size, r, comm->size);
    d->start[r] = share == 0 ? 0 : line_end(d, text, share - 1);
  }
  return comm->ops->allreduce(comm, SL_MIN, d->start, comm->size + 1);
}

static int64_t overlap(int64_t a, int64_t b, int64_t begin, int64_t end) {
  int64_t first = a > begin ? a : begin, last = b < end ? b : end;
  return last > first ? last - first : 0;
}

/* Sends pieces to the ranks whose lines they contain. A rank's pieces for another rank are consecutive,
 * because both ascend. */
static sley_status regroup(deal *d, sl_pio_text *text) {
  sl_comm *comm = d->comm;
  sl_alltoall_lists *trade = &d->trade;
  int64_t from = d->start[comm->rank], until = d->start[comm->rank + 1], begin, end;
  int64_t round = d->piece * comm->size, rounds = (text->size + round - 1) / round;
  sl_alltoall_clear(trade, comm->size);
  for (int64_t t = 0; t < rounds; t++)
    for (int r = 0; r < comm->size; r++) {
      piece_range(d, text, comm->rank, t, &begin, &end);
      trade->send_bytes[r] += overlap(begin, end, d->start[r], d->start[r + 1]);
      piece_range(d, text, r, t, &begin, &end);
      trade->recv_bytes[r] += overlap(begin, end, from, until);
    }
  sl_alltoall_pack(trade, comm->size);
  char *taken = NULL;
  sl_bytes lines = {0};
  sley_status status;
  SL_TRY_GOTO(status, sl_agree(comm, SL_NEW(taken, until - from, "lines of a text")), done);
  SL_TRY_GOTO(status, sl_alltoall_run(comm, trade, d->own.data, taken), done);
  sl_free(d->own.data);
  d->own = (sl_bytes){0};
  status = sl_bytes_reserve(&lines, (size_t)(until - from));
  text->part.memory = lines.data;
  SL_TRY_GOTO(status, sl_agree(comm, status), done);
  for (int64_t t = 0; t < rounds; t++)
    for (int r = 0; r < comm->size; r++) {
      piece_range(d, text, r, t, &begin, &end);
      int64_t bytes = overlap(begin, end, from, until);
      if (bytes == 0)
        continue;
      memcpy(lines.data + ((begin > from ? begin : from) - from), taken + trade->recv_at[r], (size_t)bytes);
      trade->recv_at[r] += bytes;
    }
  lines.size = (size_t)(until - from);
  sl_bytes_pad(&lines);
  text->from = from;
  text->part.begin = lines.data;
  text->part.end = lines.data + lines.size;
done:
  sl_free(taken);
  return status;
}

static sley_status unpack(sl_comm *comm, const sl_file *file, int64_t limit, sl_pio_text *text) {
  deal d = {.comm = comm, .piece = ROUND / comm->size};
  d.piece = d.piece > MOST_PIECE ? MOST_PIECE : d.piece < LEAST_PIECE ? LEAST_PIECE : d.piece;
  text->head.name = text->part.name = file->name;
  sley_status status;
  SL_TRY_GOTO(status, sl_agree(comm, sl_alltoall_alloc(comm->size, &d.trade)), done);
  SL_TRY_GOTO(status, deal_all(&d, file, limit, text), done);
  SL_TRY_GOTO(status, find_starts(&d, text), done);
  SL_TRY_GOTO(status, regroup(&d, text), done);
  sl_input_set_size(&text->head, text->size);
  sl_input_set_size(&text->part, text->size);
done:
  sl_alltoall_free(&d.trade);
  sl_free(d.start);
  sl_free(d.own.data);
  return status;
}

/* Counts the lines of the parts before this one. */
static sley_status number_lines(sl_comm *comm, sl_pio_text *text) {
  return sl_prefix_sum(comm, sl_count_lines(text->part.begin, text->part.end), &text->part.lines_before,
                       NULL);
}

/* Cleans as sl_encoding_clean, except for lines that end with CR alone, because one rank reads a text with
 * such lines. */
static sley_status clean(sl_comm *comm, sl_pio_text *text) {
  int64_t mark;
  SL_TRY(sl_agree_alike(comm, sl_encoding_head(&text->head, &mark)));
  if (text->from == 0 && text->part.end > text->part.begin)
    text->part.begin += mark;
  text->from -= text->from < mark ? text->from : mark;
  text->size -= mark;
  text->cr_only = sl_encoding_cr_only(&text->head);
  if (text->cr_only || !sl_input_is_text(&text->head))
    return SLEY_OK;
  return sl_agree_alike(comm, sl_encoding_check_lines(&text->part));
}

sley_status sl_pio_text_open(sl_comm *comm, const sl_file *file, int64_t limit, sl_pio_text *out) {
  *out = (sl_pio_text){0};
  char first[4] = {0};
  sley_status status = sl_file_read(file, 0, file->size < 4 ? file->size : 4, first, NULL);
  SL_TRY(sl_agree_alike(comm, status));
  status =
      sl_is_compressed(first, sizeof first) ? unpack(comm, file, limit, out) : share_file(comm, file, out);
  if (status == SLEY_OK)
    status = number_lines(comm, out);
  if (status == SLEY_OK)
    status = clean(comm, out);
  if (status != SLEY_OK)
    sl_pio_text_close(out);
  return status;
}

void sl_pio_text_close(sl_pio_text *text) {
  sl_input_close(&text->part);
  sl_input_close(&text->head);
}

const char *sl_pio_text_at(const sl_pio_text *text, const char *in_head) {
  int64_t at = in_head - text->head.begin - text->from, length = text->part.end - text->part.begin;
  return text->part.begin + (at < 0 ? 0 : at < length ? at : length);
}
