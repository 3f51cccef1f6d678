/* SPDX-License-Identifier: Apache-2.0
 *
 * The contract between the formats and what is around them (detect.c, input.c, sink.c).
 *
 * A format is a file FORMAT.c with up to three functions and one row in the table of detect.c:
 *   sniff  tells from the whole content whether the input is of this format. Cheap on a file that is not: it
 * looks at the first lines, and counts lines only if those could be its own. It never fails and sets no
 * message. read   makes a matrix of the content; every error names the file, and for a text the line
 * (sl_text_fail). write  puts the matrix into a sink, front to back; NULL if the format is only read. Rows
 * are asked in the order of the table, binary magics first, then texts with a header, then those told apart
 * by the shape of their first lines, the edge list last: it accepts any text that nobody else claims. read
 * and write return SLEY_ERR_MEMORY and SLEY_ERR_INTERRUPTED beside what is said there.
 */
#ifndef SLEY_IO_FORMAT_H
#define SLEY_IO_FORMAT_H

#include "io/file.h"
#include "io/sink.h"
#include "matrix/matrix.h"

/* This many zero bytes can be read after the content, so a scanner of text may look at a word at a time, and
 * stop at a byte that is neither a digit nor a blank without comparing with end. */
enum { SL_INPUT_PADDING = 16 };

/* The whole content of a file, decompressed, in memory that nobody else writes to, aligned to 64 bytes. It
 * may itself hold zeros. */
typedef struct sl_input {
  const char *name;        /* for messages */
  const char *begin, *end; /* the content */
  void *memory;            /* from sl_alloc, or NULL */
  int64_t most_rows;       /* more rows than this are refused, see sl_input_check_size */
  int64_t unpack_limit;    /* bytes that what is packed in it may take; 0: any */
  int64_t lines_before;    /* of the file, if this is a later part of it; counts in messages */
} sl_input;

/* Reads the file at path, or a pipe to its end, and decompresses what is gzip or zstd; "-" is standard input.
 * name stays the caller's. Errors: SLEY_ERR_IO (cannot be read; became another meanwhile), SLEY_ERR_INPUT (a
 * truncated or corrupt stream), SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. */
sley_status sl_input_open(const char *path, sl_input *out);

/* The same of a file that is open, which stays the caller's; team: NULL, or threads to read with; unpacked to
 * at most limit bytes (0: any). */
sley_status sl_input_load(const sl_file *file, int64_t limit, sl_team *team, sl_input *out);

/* sl_input_open with a limit. */
sley_status sl_input_open_within(const char *path, int64_t limit, sl_input *out);

/* The same of its bytes as they are, compressed or not. */
sley_status sl_input_load_packed(const sl_file *file, sl_team *team, sl_input *out);

/* Sets what a file of so many bytes, decompressed, can mean. */
void sl_input_set_size(sl_input *input, int64_t bytes);

/* The same of bytes in memory, which are copied (decompressed if they are gzip or zstd). */
sley_status sl_input_open_memory(const char *name, const void *bytes, size_t size, sl_input *out);

/* For every reader, before it allocates by rows: the sizes a header promises are not negative, and the rows,
 * which take memory even if empty, not beyond what the file can mean (2^28, or 64 for each byte if that is
 * more). at points at the sizes in a text. Entries a reader checks itself: each takes bytes of the content.
 * Errors: SLEY_ERR_INPUT. */
sley_status sl_input_check_size(const sl_input *input, const char *at, int64_t rows, int64_t cols);

/* Releases what the input still holds. */
void sl_input_close(sl_input *input);

/* Whether none of the first bytes is a zero, as in a text. */
bool sl_input_is_text(const sl_input *input);

/* Whether the content starts with these bytes. */
bool sl_input_starts(const sl_input *input, const void *magic, size_t bytes);

/* The name without .gz or .zst has this ending (".smat"), whatever its case. */
bool sl_name_ends(const char *name, const char *ending);

typedef struct sl_format {
  const char *name;   /* for messages, e.g. "Matrix Market" */
  const char *ending; /* that selects it for writing, e.g. ".mtx" */
  bool (*sniff)(const sl_input *input);
  sley_status (*read)(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
  sley_status (*write)(const sley_matrix *matrix, sl_sink *sink, sl_team *team); /* or NULL */
} sl_format;

/* The content's format as its first bytes alone tell: NULL, without a message, if it is told by all of its
 * lines. */
const sl_format *sl_format_at_head(const sl_input *input);

/* The content's format; NULL, with the message written, if no format claims it. */
const sl_format *sl_format_of(const sl_input *input);

/* mtx.c and mtx_parse.c. Sized triplets or values without a header line ("67 67 294" and 294 lines, "3 3" and
 * 9) are Matrix Market too; such a file of the ending .smat, or with an index 0, counts from 0. */
bool sl_mtx_sniff(const sl_input *input);
bool sl_mtx_bare_sniff(const sl_input *input);
sley_status sl_mtx_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
sley_status sl_mtx_bare_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
sley_status sl_mtx_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team);

/* cache.c: .sley */
bool sl_cache_sniff(const sl_input *input);
sley_status sl_cache_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
sley_status sl_cache_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team);

/* Whether a text with these first lines can be such a file without a header line: then *lines lines of data
 * must follow *body (-1: any number), and whether they do decides. */
bool sl_mtx_bare_head(const sl_input *head, int64_t *lines, const char **body);

/* npz.c: scipy.sparse.save_npz CSR, CSC, COO; and keys with a prefix (adj_data, adj_indices, adj_indptr,
 * adj_shape) */
bool sl_npz_sniff(const sl_input *input);
sley_status sl_npz_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
sley_status sl_npz_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team);

/* rb.c: Rutherford-Boeing and Harwell-Boeing */
bool sl_rb_sniff(const sl_input *input);
sley_status sl_rb_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
sley_status sl_rb_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team);

/* metis.c: a header line "n m [fmt [ncon]]" and a line for each vertex; asked before the bare Matrix Market
 */
bool sl_metis_sniff(const sl_input *input);
sley_status sl_metis_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
sley_status sl_metis_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team);

/* Whether a text with these first lines can be METIS: not, if more than *lines lines that are neither blank
 * nor comments follow *body (-1: whatever follows). */
bool sl_metis_head(const sl_input *head, int64_t *lines, const char **body);

/* edgelist.c: the fallback of every text. A first line "%%MatrixMarket" does not make a file Matrix Market if
 * its size line is a comment ("%64 64 704") and the first line of data has two numbers: such a file comes
 * here too. A text of one number a line is not an edge list but a column: sl_mtx_bare_sniff takes it. */
sley_status sl_edgelist_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
sley_status sl_edgelist_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team);

#endif
