/* SPDX-License-Identifier: Apache-2.0
 *
 * The contract between the formats and their surroundings (detect.c, input.c, sink.c).
 *
 * A format is a file FORMAT.c with up to four functions and one row in the table of detect.c:
 *   banner decides from the first lines whether the input declares itself to be of this format, or nearly so:
 * a declaration with a small mistake is read as intended, or refused by read, but never mistaken for another
 * format. guess  decides by counting whether the content may be of this format. read then decides by the
 * whole content: if it refuses, the next format is tried, and content that two formats accept is refused.
 * Both are fast on other files, never fail and set no message.
 *   read   makes a matrix from the content, and fills all fields of input->source but its format; every
 * error names the file, and for a text the line (sl_text_fail).
 *   write  writes the matrix to a sink, front to back; NULL if the format is only read.
 * Strong evidence is examined first: banners, in the order of the table; the ending of the name; a comment
 * that begins with #, as in edge lists; guesses; and a text that no format claims is read as an edge list, if
 * all its lines are alike. read and write return SLEY_ERR_MEMORY and SLEY_ERR_INTERRUPTED in addition to the
 * errors stated there.
 */
#ifndef SLEY_IO_FORMAT_H
#define SLEY_IO_FORMAT_H

#include "io/bytes/file.h"
#include "io/bytes/sink.h"
#include "matrix/matrix.h"

/* This many zero bytes can be read after the content, so a scanner of text may read a word at a time, and
 * stop at a byte that is neither a digit nor a blank without comparing with end. */
enum { SL_INPUT_PADDING = 16 };

/* Number of the first row and column, as the caller requests it. */
typedef enum sl_base { SL_BASE_ANY, SL_BASE_0, SL_BASE_1 } sl_base;

/* The whole content of a file, decompressed, in memory that no other code writes to, aligned to 64 bytes. It
 * may itself contain zeros. */
typedef struct sl_input {
  const char *name;        /* for messages */
  const char *begin, *end; /* the content */
  void *memory;            /* the memory of the content, from sl_alloc, or NULL */
  int64_t most_rows;       /* maximum number of rows that is accepted, see sl_input_check_size */
  int64_t unpack_limit;    /* most bytes that compressed parts of the content may unpack to; 0: any number */
  int64_t lines_before;    /* lines of the file before this part of it, for messages */
  sl_base base;            /* number of the first row and column, if the caller states it */
  bool guess;              /* whether the format is guessed from the lines alone */
  sl_source source;        /* how the content was read */
} sl_input;

/* The shapes of numbers without a header. */
typedef enum sl_shape {
  SL_SHAPE_NONE,
  SL_SHAPE_TRIPLETS,
  SL_SHAPE_ARRAY,
  SL_SHAPE_INTEGERS, /* one column of whole numbers */
  SL_SHAPE_COLUMN    /* one column of numbers */
} sl_shape;

/* The reason for numbering rows and columns from 0 or from 1. */
typedef enum sl_why {
  SL_WHY_NONE,       /* the format has no choice */
  SL_WHY_ASKED,      /* the caller requested it */
  SL_WHY_HEADER,     /* a header says so */
  SL_WHY_HEADER_SYM, /* KONECT's header says so, and it says sym */
  SL_WHY_NODES,      /* SNAP's number of nodes fits */
  SL_WHY_ENDING,     /* the name ends in .smat */
  SL_WHY_ZERO,       /* a number is 0 */
  SL_WHY_ONE,        /* the smallest number is 1 */
  SL_WHY_ABOVE,      /* the smallest number is larger than 1 */
  SL_WHY_NO_ZERO,    /* no number is 0 */
} sl_why;

/* Reads the file at path, or a pipe to its end, and decompresses gzip or zstd; "-" is standard input. name
 * belongs to the caller. Errors: SLEY_ERR_IO (cannot be read; has changed meanwhile), SLEY_ERR_INPUT (a
 * truncated or corrupt stream), SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. */
sley_status sl_input_open(const char *path, sl_input *out);

/* The same for an open file, or for bytes in memory (sl_file_of_memory), which belong to the caller. limit:
 * maximum number of unpacked bytes (0: no limit); team: NULL, or threads that read. */
sley_status sl_input_load(const sl_file *file, int64_t limit, sl_team *team, sl_input *out);

/* sl_input_open with a limit of unpacked bytes. */
sley_status sl_input_open_within(const char *path, int64_t limit, sl_input *out);

/* sl_input_load without decompression. */
sley_status sl_input_load_packed(const sl_file *file, sl_team *team, sl_input *out);

/* Sets the limits that follow from a decompressed size of that many bytes. */
void sl_input_set_size(sl_input *input, int64_t bytes);

/* Called by every reader before it allocates by rows: checks that the sizes in a header are not negative, and
 * that the rows, which take memory even if empty, are not more than the file makes plausible (2^28, or 64 for
 * each byte if that is more). at: position of the sizes in a text. Readers check the number of entries
 * themselves, because each entry takes bytes of the content. Errors: SLEY_ERR_INPUT. */
sley_status sl_input_check_size(const sl_input *input, const char *at, int64_t rows, int64_t cols);

/* Frees the input's memory. The fields that state the caller's request, and how the input was read, do not
   change. */
void sl_input_close(sl_input *input);

/* Returns whether none of the first bytes is zero, as in a text. */
bool sl_input_is_text(const sl_input *input);

/* Returns whether the content starts with these bytes. */
bool sl_input_starts(const sl_input *input, const void *magic, size_t bytes);

/* Returns whether the name without .gz or .zst has this ending (".smat"), ignoring case. */
bool sl_name_ends(const char *name, const char *ending);

/* The numbers of the first row and column that a caller may request for a format. */
typedef enum sl_bases {
  SL_BASES_NONE, /* no choice: rows and columns are not written as numbers in a text */
  SL_BASES_ONE,  /* only 1, as the format prescribes */
  SL_BASES_BOTH  /* 0 or 1 */
} sl_bases;

typedef struct sl_format {
  const char *word;   /* word for the option --format, e.g. "mtx" */
  const char *name;   /* name in messages, e.g. "Matrix Market" */
  const char *ending; /* ending that selects the format for writing, e.g. ".mtx"; NULL: the format is not
                         written */
  const char *named;  /* endings of names that indicate the format, separated by blanks; NULL: none */
  sl_bases bases;
  bool (*banner)(const sl_input *input); /* or NULL */
  bool (*guess)(const sl_input *input);  /* or NULL */
  sley_status (*read)(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
  sley_status (*write)(const sley_matrix *matrix, sl_sink *sink, sl_team *team); /* or NULL */
} sl_format;

/* Returns the format with that word; NULL if there is none. */
const sl_format *sl_format_named(const char *word);

/* Returns the format that the first lines, or the name, or a comment beginning with # indicate. Returns NULL,
 * without a message, if they indicate none, so that only the lines can decide. */
const sl_format *sl_format_of(const sl_input *input);

/* Checks that base may be requested for this format. Errors: SLEY_ERR_ARG with the name of the file. */
sley_status sl_format_check_base(const sl_format *format, const char *name, sl_base base);

/* Return a format's number in the table, counted from 1 as in sl_source; and the format with a number, NULL
 * if there is none. */
int64_t sl_format_number(const sl_format *format);
const sl_format *sl_format_numbered(int64_t number);

/* Detects the format, or uses the format with the name word unless that is NULL, reads the matrix, and closes
 * the input. Errors: errors of the readers; SLEY_ERR_INPUT (no format fits, or two formats fit), SLEY_ERR_ARG
 * (an unknown word; a base for a format that prescribes it). */
sley_status sl_format_read(sl_input *input, const char *word, sley_dtype dtype, sl_team *team,
                           sley_matrix **out);

/* In mtx.c and mtx_parse.c. The same parser reads triplets or values with sizes but without a header line
 * ("67 67 294" and 294 lines, "3 3" and 9 lines). If such a file has the ending .smat, or an index 0, indices
 * count from 0. */
bool sl_mtx_banner(const sl_input *input);
bool sl_mtx_bare_guess(const sl_input *input);
sley_status sl_mtx_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
sley_status sl_mtx_bare_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
sley_status sl_mtx_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team);

/* cache.c: .sley */
bool sl_cache_banner(const sl_input *input);
sley_status sl_cache_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
sley_status sl_cache_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team);

/* Returns whether a text with these first lines can be such a file without a header line: it is if *lines
 * lines of data follow *body (-1: any number). */
bool sl_mtx_bare_head(const sl_input *head, int64_t *lines, const char **body);

/* In npz.c: CSR, CSC and COO of scipy.sparse.save_npz; also keys with a prefix (adj_data, adj_indices,
 * adj_indptr, adj_shape). */
bool sl_npz_banner(const sl_input *input);
sley_status sl_npz_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
sley_status sl_npz_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team);

/* In rb.c: Rutherford-Boeing and Harwell-Boeing. */
bool sl_rb_banner(const sl_input *input);
sley_status sl_rb_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
sley_status sl_rb_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team);

/* In metis.c: a header line "n m [fmt [ncon]]" and a line for each vertex. Tried before Matrix Market without
 * a header. */
bool sl_metis_guess(const sl_input *input);
sley_status sl_metis_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
sley_status sl_metis_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team);

/* Returns whether a text with these first lines can be METIS: it cannot if more than *lines lines that are
 * neither blank nor comments follow *body (-1: any number is possible). */
bool sl_metis_head(const sl_input *head, int64_t *lines, const char **body);

/* In edgelist.c and edgelist_head.c. A text with one number per line is not an edge list but a column of
 * numbers. banner: KONECT's or SNAP's; marked: a comment beginning with # precedes the first line of data;
 * guess: every line has the same number of fields, two or three numbers, separated by blanks. */
bool sl_edgelist_banner(const sl_input *input);
bool sl_edgelist_marked(const sl_input *input);
bool sl_edgelist_guess(const sl_input *input);
sley_status sl_edgelist_read(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);
sley_status sl_edgelist_write(const sley_matrix *matrix, sl_sink *sink, sl_team *team);

#endif
