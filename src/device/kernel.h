/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels: descriptors {operation, predicate, cost, run}. A kernel takes raw pointers and sizes; it knows
 * neither ranks nor plans. The CPU row exists for every operation and is the reference. */
#ifndef SLEY_DEVICE_KERNEL_H
#define SLEY_DEVICE_KERNEL_H

#include "base/team.h"
#include "base/types.h"
#include "device/op_inspect.h"

typedef struct sl_queue sl_queue;
typedef struct sl_device sl_device;

typedef enum sl_op {
  SL_OP_SPMM,    /* Y[rowid] = alpha A X + beta Y */
  SL_OP_ROWS,    /* move or add listed rows */
  SL_OP_PULL,    /* the same from several memories at once */
  SL_OP_ARRIVE,  /* wait until a stage of a pull is complete */
  SL_OP_AWAIT,   /* wait until the peers have taken what they were lent */
  SL_OP_SCALE,   /* Y = beta Y */
  SL_OP_ROUND,   /* Y = beta Y + S, S in f32 and Y of 16 bits */
  SL_OP_CONVERT, /* move or add listed rows whose values change their type */
  SL_OP_COLUMNS, /* of op_inspect.h: which columns a row block has */
  SL_OP_NEEDS,   /* which rows need which of them first */
  SL_OP_TALLY,   /* entries of each row by part */
  SL_OP_CUT,     /* the parts */
  SL_OP_COUNT
} sl_op;

/* Y[row(i)] = alpha * sum_j val[j] X[col[j]] + beta * Y[row(i)] over the entries j of stored row i.
 *
 * Order of summation, the same for every kernel: acc = beta Y (0 if beta is 0, Y is then not read); for each
 * entry in stored order acc = fma(alpha val, x, acc), acc held in the type of sums; alpha val and beta Y are
 * products of doubles, rounded to that type. The type of sums is the dtype, but f32 for the dtypes of 16
 * bits, whose values are widened when loaded; acc is rounded to Y's type when stored, NaN as any NaN. So a
 * row that is summed in several calls, each continuing with beta = 1, has the bits of one call if Y is of the
 * type of sums, and ROUND then gives it 16 bits. Where the caller does not ask for that order, a kernel may
 * sum pieces of a long row apart and add them in an order that depends on the matrix alone: the bits are
 * still the same from run to run.
 *
 * Where the arrays lie: at prepare in the host's memory, whatever the device, but col and val of a resident
 * matrix. A run with what prepare made reads none of them, but those. A run of a matrix that was not prepared
 * reads them in the device's memory. */
typedef struct sl_spmm_matrix {
  int64_t rows;         /* stored */
  const int64_t *rowid; /* row of Y of each stored row, ascending; NULL: the same number */
  const int64_t *rowptr;
  const void *col, *val;
  sley_index index;
  sley_dtype dtype;
  /* col and val lie in the memory of the device, col in 32 bits, before prepare. What prepare makes uses them
   * where they are, and may set the sign bits of col; they outlive it. */
  bool resident;
} sl_spmm_matrix;

/* How the stages of a pull tell of themselves: words in the device's memory, zeroed at first. Rounds of the
 * pull count from 1 and wrap around. */
enum { SL_PULL_STAGES = 16, SL_STAGE_COPIES = 32 };

/* A word with a sector of a device's cache to itself. */
typedef struct sl_lone_word {
  uint32_t value, unused[7];
} sl_lone_word;

typedef struct sl_stage_word {
  sl_lone_word done; /* workers of the pull that have finished it in this round */
  /* Rounds in which all have, so that its rows are there. All copies say the same, so that the many that wait
   * do not all ask for one word. */
  sl_lone_word here[SL_STAGE_COPIES];
} sl_stage_word;

typedef struct sl_stage_words {
  sl_lone_word round; /* the last whose first stage was waited for */
  sl_stage_word stage[SL_PULL_STAGES];
} sl_stage_words;

/* Columns to a page, where X is spread over several memories. */
enum { SL_X_PAGE = 4096 };

typedef struct sl_spmm_args {
  const sl_spmm_matrix *a;
  int64_t k;
  double alpha, beta;
  const void *x;
  int64_t ldx; /* elements */
  /* far_rows > 0: X lies in two memories. Columns below x_rows lie at x, column x_rows + i is row i of far.
   * far_rows = 0: all columns are below x_rows. */
  int64_t x_rows, far_rows;
  const void *far;
  int64_t ldfar; /* elements */
  /* stages > 0: the far rows arrive in stages, and stored rows before stage_end[s] name only those that are
   * there once stage s is; stage_end, in the host's memory, is read at prepare. arrivals, at run: by which
   * the kernel waits for the stages after the first, the first having been waited for; NULL: all are there.
   * Only for kernels that wait. */
  int stages;
  const int64_t *stage_end;
  const sl_stage_words *arrivals;
  bool beside_pull; /* at run: the device brings rows meanwhile; a hint, for speed alone */
  /* Not NULL: X is spread over several memories. Column c lies at pages[c / SL_X_PAGE] + c * ldx values; x is
   * unused. */
  const uintptr_t *pages;
  /* With pages: memory p of `segments` holds columns segment[p] .. segment[p + 1], which begin on pages; own:
   * the one of the device itself. */
  const int64_t *segment;
  int segments, own;
  void *y;
  int64_t ldy;
  bool wide_y;          /* Y is of the type of sums: f32 where the dtype has 16 bits, else no difference */
  bool in_order;        /* every row must be summed in stored order */
  const char *library;  /* whose kernel: NULL: Sley's own; else the name of the library that has it */
  bool arrives;         /* a's arrays get their contents after the plan: there is no preparation */
  sl_team *team;        /* at prepare: threads of the host to inspect with; NULL: the calling one alone */
  const void *prepared; /* what the kernel's prepare made for this matrix and k, or NULL */
} sl_spmm_args;

/* Lists lie in the device's memory. For i < count: the bytes at dst row d(i) become (or have added) those at
 * src row s(i); s(i) = src_rows[i], or src_first + i where src_rows is NULL; d(i) likewise. Destinations are
 * distinct unless count's order must not matter. Bytes, strides and pointers are multiples of the dtype's
 * size; nothing more is promised about alignment. */
typedef struct sl_rows_args {
  int64_t count, bytes; /* of each row */
  const void *src;
  int64_t src_stride; /* bytes between rows */
  const int64_t *src_rows;
  int64_t src_first;
  void *dst;
  int64_t dst_stride;
  const int64_t *dst_rows;
  int64_t dst_first;
  bool add;
  sley_dtype dtype; /* that add works in */
} sl_rows_args;

/* Sources of one pull; with more, several are made. */
enum { SL_PULL_SOURCES = 64 };

/* Boards: how queues of several devices tell each other what the hosts would otherwise have to: that rows may
 * be read, where they lie, and that they have been. A rank's board lies in its device's memory, zeroed at
 * first, with a slot for each peer to write to. Rounds count from 1. No host takes part once a pull is
 * enqueued, so it can be captured into a graph and run again. */
#define SL_BOARD_CLOSED                                                                                      \
  UINT64_MAX /* in place of a round: the peer takes no further part, nobody waits for it */

typedef struct sl_board_slot {
  uint64_t ready;  /* the last round for which the peer lends rows */
  const void *src; /* where they lie */
  int64_t stride;
  uint64_t taken; /* the last round in which the peer has taken what it was lent */
} sl_board_slot;

typedef struct sl_board {
  uint64_t round; /* the last that the rank has finished */
  uint32_t done;  /* blocks of its pull that have finished */
  uint32_t unused;
  sl_board_slot slot[]; /* one a rank */
} sl_board;

/* Rows lent to a peer. */
typedef struct sl_lend {
  sl_board *board; /* the peer's */
  int peer;
  const void *src;
  int64_t stride;
} sl_lend;

typedef struct sl_signals {
  sl_board *own;
  int rank;           /* whose own is: its slot in the peers' boards */
  bool opens, closes; /* the first, the last pull of its round: one lends rows, the other finishes it */
  bool keeps; /* the sources' rows are read after this pull too: a later one tells the peers they are taken */
  int lends;  /* at most SL_PULL_SOURCES */
  const sl_lend *lend;  /* host memory */
  const uint32_t *stop; /* a word the device can read; once it is not 0, nobody waits any longer */
} sl_signals;

/* A memory that rows come from: row r at src + r stride; they go to byte dst_offset of a destination row. */
typedef struct sl_pull_source {
  const void *src;
  int64_t stride, bytes, dst_offset;
  sl_board *board; /* with signals: the peer's; src and stride are then what the peer lends */
  int peer;
} sl_pull_source;

/* Of 16 bytes, which a device loads at once. */
typedef struct sl_pull_entry {
  uint64_t src_row : 58, source : 6; /* below SL_PULL_SOURCES */
  int64_t dst_row;
} sl_pull_entry;

/* Every entry's row becomes (or has added) its source row's bytes. The list lies in the device's memory, the
 * table of sources in the host's. No two entries may name the same bytes of dst. Work is done in about the
 * order of the list, so a list that takes turns among the sources keeps all links busy. Alignment as with
 * rows. */
typedef struct sl_pull_args {
  int64_t count;
  const sl_pull_entry *list;
  int sources; /* at most SL_PULL_SOURCES */
  const sl_pull_source *source;
  void *dst;
  int64_t dst_stride;
  bool add;
  bool unhurried; /* awaited for longer than it takes: it should hinder what runs beside it less */
  sley_dtype dtype;
  const sl_signals *signals; /* NULL: the sources may be read at once */
  /* Not 0: stage s ends before entry stage_end[s] of the list, the last one with the list. Not with add. */
  int stages;
  const int64_t *stage_end; /* host memory */
  sl_stage_words *arrived;  /* the device's memory */
} sl_pull_args;

/* Until the pull that names these words has brought the stage's rows, and those of all stages before. The
 * pull may be in another queue, given its work before. It tells of every stage, even if it stops early
 * because a peer has failed. The first stage of each round is waited for once, before the others. */
typedef struct sl_arrive_args {
  sl_stage_words *words;
  int stage;
} sl_arrive_args;

/* After the pull that closed a round: until all peers have taken what they were lent in it. Their boards are
 * not touched: a peer may have gone by then. */
typedef struct sl_await_args {
  const sl_signals *signals;
} sl_await_args;

/* Y = beta Y for rows x k; beta = 0 writes zeros without reading. */
typedef struct sl_scale_args {
  int64_t rows, k;
  double beta;
  void *y;
  int64_t ldy;
  sley_dtype dtype;
} sl_scale_args;

/* Y = beta Y + S for rows x k, S in f32, Y of dtype, which has 16 bits: beta Y is a product of doubles
 * rounded to f32, the sum is one of f32, and it is rounded to Y. beta = 0 does not read Y. */
typedef struct sl_round_args {
  int64_t rows, k;
  const float *sums;
  int64_t ld_sums;
  double beta;
  void *y;
  int64_t ldy;
  sley_dtype dtype;
} sl_round_args;

/* Rows s(i) of src become, or are added to, rows d(i) of dst, as with sl_rows_args, k values of each: of type
 * from there, of type to here, rounded once, NaN as any NaN. Not with add to a type of 16 bits, nor from 16
 * bits to 16, nor from f64 to f32. Lists lie in the device's memory, values are aligned to their size. */
typedef struct sl_convert_args {
  int64_t count, k;
  const void *src;
  int64_t src_stride; /* bytes between rows */
  const int64_t *src_rows;
  int64_t src_first;
  sley_dtype from;
  void *dst;
  int64_t dst_stride;
  const int64_t *dst_rows;
  int64_t dst_first;
  sley_dtype to;
  bool add;
} sl_convert_args;

typedef struct sl_kernel_args {
  sl_op op;
  union {
    sl_spmm_args spmm;
    sl_rows_args rows;
    sl_pull_args pull;
    sl_arrive_args arrive;
    sl_await_args await;
    sl_scale_args scale;
    sl_round_args round;
    sl_convert_args convert;
    sl_columns_args columns;
    sl_needs_args needs;
    sl_tally_args tally;
    sl_cut_args cut;
  };
} sl_kernel_args;

typedef struct sl_kernel {
  const char *name; /* e.g. "spmm-avx512-f32-i32" */
  sl_op op;
  const char *library; /* NULL, or the library that it calls, which arguments must name to get it */
  /* Whether it can run these arguments on this machine. Only the parts known at plan time are read: the
   * matrix, k, types, wide_y; not the pointers to X and Y. */
  bool (*ok)(const sl_kernel_args *args);
  /* Estimated seconds, by which the table's cheapest kernel is taken. */
  double (*cost)(const sl_kernel_args *args);
  /* Inspection, once a plan: what run wants to know about the matrix. It may take the device's memory and
   * wait for the queue. NULL result allowed. */
  sley_status (*prepare)(sl_device *device, sl_queue *queue, const sl_kernel_args *args, void **prepared);
  /* At most what prepare takes of the device's memory for these arguments and keeps, in bytes; *passing: what
   * it takes besides while it works. NULL: next to nothing. */
  int64_t (*memory)(const sl_kernel_args *args, int64_t *passing);
  /* Whether a run of these arguments, known at plan time, waits for stages itself. Once the first has arrived
   * all workers of the pull are at work, so it may fill the device with those that wait. NULL: never. */
  bool (*waits)(const sl_kernel_args *args);
  bool narrows; /* what prepare makes for k columns serves runs of fewer */
  void (*release)(sl_device *device, void *prepared);
  /* Enqueues the work; arguments are read before it returns, data when it runs. */
  sley_status (*run)(sl_queue *queue, const sl_kernel_args *args);
  /* For products over X in several memories; NULL: nothing to do. Once a plan, with arguments that could run
   * (whose values are zeros): settles by timing what prepare left open. All ranks do it at once. */
  sley_status (*tune)(sl_queue *queue, const sl_kernel_args *args);
  /* The shapes that tune has timed, until release; NULL, or of no shapes: none. */
  const struct sl_neighbour_table *(*tuned)(const void *prepared);
} sl_kernel;

#endif
