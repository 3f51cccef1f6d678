/* SPDX-License-Identifier: Apache-2.0
 *
 * The contract between the formats and what is around them (detect.c, input.c, sink.c).
 *
 * A format is a file FORMAT.c with up to four functions and one row in the table of detect.c:
 *   banner tells from the first lines that the input says itself to be of this format, or nearly so: a near
 * miss is read as what it means, or refused by read, but never taken for another format.
 *   guess  tells by counting whether the content may be of this format. read then decides by all of it: what
 * it refuses the next format is tried on, and what two formats accept is refused.
 * Both are cheap on a file that is not, never fail and set no message.
 *   read   makes a matrix of the content, and fills what input->source says of it but its format; every error
 * names the file, and for a text the line (sl_text_fail).
 *   write  puts the matrix into a sink, front to back; NULL if the format is only read.
 * The evidence is asked for from strong to weak: banners, in the order of the table; the ending of the name;
 * a comment that # starts, as in edge lists; guesses; and a text that nobody claims is read as an edge list,
 * if all its lines are alike. read and write return SLEY_ERR_MEMORY and SLEY_ERR_INTERRUPTED beside what is
 * said there.
 */
#ifndef SLEY_IO_FORMAT_H
#define SLEY_IO_FORMAT_H

#include "io/bytes/file.h"
#include "io/bytes/sink.h"
#include "matrix/matrix.h"

/* This many zero bytes can be read after the content, so a scanner of text may look at a word at a time, and
 * stop at a byte that is neither a digit nor a blank without comparing with end. */
enum { SL_INPUT_PADDING = 16 };

/* What rows and columns count from, as the caller asks for it. */
typedef enum sl_base { SL_BASE_ANY, SL_BASE_0, SL_BASE_1 } sl_base;

/* The whole content of a file, decompressed, in memory that nobody else writes to, aligned to 64 bytes. It
 * may itself hold zeros. */
typedef struct sl_input {
  const char *name;        /* for messages */
  const char *begin, *end; /* the content */
  void *memory;            /* from sl_alloc, or NULL */
  int64_t most_rows;       /* more rows than this are refused, see sl_input_check_size */
  int64_t unpack_limit;    /* bytes that what is packed in it may take; 0: any */
  int64_t lines_before;    /* of the file, if this is a later part of it; counts in messages */
  sl_base base;            /* what rows and columns count from, if the caller says so */
  bool guess;              /* nothing but the lines themselves speaks for the format */
  sl_source source;        /* what it was read as */
} sl_input;

/* Numbers without a header are one of these. */
typedef enum sl_shape {
  SL_SHAPE_NONE,
  SL_SHAPE_TRIPLETS,
  SL_SHAPE_ARRAY,
  SL_SHAPE_INTEGERS, /* one column, of whole numbers */
  SL_SHAPE_COLUMN    /* one column */
} sl_shape;

/* Why rows and columns were counted from 0 or from 1. */
typedef enum sl_why {
  SL_WHY_NONE,       /* the format leaves no choice */
  SL_WHY_ASKED,      /* the caller said so */
  SL_WHY_HEADER,     /* a header says so */
  SL_WHY_HEADER_SYM, /* KONECT's, and it says sym */
  SL_WHY_NODES,      /* SNAP's number of nodes fits */
  SL_WHY_ENDING,     /* the name ends in .smat */
  SL_WHY_ZERO,       /* a number is 0 */
  SL_WHY_ONE,        /* the smallest number is 1 */
  SL_WHY_ABOVE,      /* the smallest number is larger than 1 */
  SL_WHY_NO_ZERO,    /* no number is 0 */
} sl_why;

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

/* Releases what the input still holds. What was asked for, and what it was read as, stay. */
void sl_input_close(sl_input *input);

/* Whether none of the first bytes is a zero, as in a text. */
bool sl_input_is_text(const sl_input *input);

/* Whether the content starts with these bytes. */
bool sl_input_starts(const sl_input *input, const void *magic, size_t bytes);

/* The name without .gz or .zst has this ending (".smat"), whatever its case. */
bool sl_name_ends(const char *name, const char *ending);

/* What a caller may say that a format's rows and columns count from. */
typedef enum sl_bases {
  SL_BASES_NONE, /* nothing: they are not written as numbers that people count */
  SL_BASES_ONE,  /* 1, as the format has it */
  SL_BASES_BOTH  /* 0 or 1 */
} sl_bases;

typedef struct sl_format {
  const char *word;   /* that names it to --format, e.g. "mtx" */
  const char *name;   /* for messages, e.g. "Matrix Market" */
  const char *ending; /* that selects it for writing, e.g. ".mtx"; NULL: it is not written */
  const char *named;  /* endings, divided by blanks, of names that say the format; NULL: none does */
  sl_bases bases;
  bool (*banner)(const sl_input *input); /* or NULL */
  bool (*guess)(const sl_input *input);  /* or NULL */
  sley_status (*read)(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
  sley_status (*write)(const sley_matrix *matrix, sl_sink *sink, sl_team *team); /* or NULL */
} sl_format;

/* The format that a word names; NULL: none. */
const sl_format *sl_format_named(const char *word);

/* The format that the first lines, or the name, or a comment that # starts say; NULL, without a message: none
 * does, and the lines alone decide. */
const sl_format *sl_format_of(const sl_input *input);

/* Whether base can be asked for of this format. Errors: SLEY_ERR_ARG with the name of the file. */
sley_status sl_format_check_base(const sl_format *format, const char *name, sl_base base);

/* Its place in the table, from 1, as sl_source has it; and the one at a place, NULL if none is there. */
int64_t sl_format_number(const sl_format *format);
const sl_format *sl_format_numbered(int64_t number);

/* Finds the format, or takes the one that word names (NULL: none), and reads; the input is closed. Errors:
 * those of the readers; SLEY_ERR_INPUT (no format fits, or two do), SLEY_ERR_ARG (word names none; a base for
 * a format that has its own). */
sley_status sl_format_read(sl_input *input, const char *word, sley_dtype dtype, sl_team *team,
                           sley_matrix **out);

/* mtx.c and mtx_parse.c. Sized triplets or values without a header line ("67 67 294" and 294 lines, "3 3" and
 * 9) are read by the same parser; such a file of the ending .smat, or with an index 0, counts from 0. */
bool sl_mtx_banner(const sl_input *input);
bool sl_mtx_bare_guess(const sl_input *input);
sley_status sl_mtx_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
sley_status sl_mtx_bare_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
sley_status sl_mtx_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team);

/* cache.c: .sley */
bool sl_cache_banner(const sl_input *input);
sley_status sl_cache_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
sley_status sl_cache_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team);

/* Whether a text with these first lines can be such a file without a header line: then *lines lines of data
 * must follow *body (-1: any number), and whether they do decides. */
bool sl_mtx_bare_head(const sl_input *head, int64_t *lines, const char **body);

/* npz.c: scipy.sparse.save_npz CSR, CSC, COO; and keys with a prefix (adj_data, adj_indices, adj_indptr,
 * adj_shape) */
bool sl_npz_banner(const sl_input *input);
sley_status sl_npz_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
sley_status sl_npz_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team);

/* rb.c: Rutherford-Boeing and Harwell-Boeing */
bool sl_rb_banner(const sl_input *input);
sley_status sl_rb_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
sley_status sl_rb_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team);

/* metis.c: a header line "n m [fmt [ncon]]" and a line for each vertex; asked before the bare Matrix Market
 */
bool sl_metis_guess(const sl_input *input);
sley_status sl_metis_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
sley_status sl_metis_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team);

/* Whether a text with these first lines can be METIS: not, if more than *lines lines that are neither blank
 * nor comments follow *body (-1: whatever follows). */
bool sl_metis_head(const sl_input *head, int64_t *lines, const char **body);

/* edgelist.c and edgelist_head.c. A text of one number a line is not an edge list but a column of numbers.
 * The banner is KONECT's or SNAP's; marked: a comment that # starts stands before the first line of data;
 * guess: every line has the same two or three numbers, divided by blanks. */
bool sl_edgelist_banner(const sl_input *input);
bool sl_edgelist_marked(const sl_input *input);
bool sl_edgelist_guess(const sl_input *input);
sley_status sl_edgelist_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
sley_status sl_edgelist_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team);

#endif
