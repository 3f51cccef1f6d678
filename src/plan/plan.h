/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: immutable data that says how this rank's part of Y = A X is computed. Buffers hold rows; exchanges
 * and fetches move rows between ranks' buffers; parts are compact sparse matrices from one buffer to another;
 * steps put them in order. Buffers that parts sum into hold values of the type of sums, but Y (see
 * wide_result). Every algorithm is a builder of such a plan, in a file of its own. */
#ifndef SLEY_PLAN_PLAN_H
#define SLEY_PLAN_PLAN_H

#include "device/figures.h"
#include "plan/division.h"
#include "plan/inspect.h"

/* Buffers 0 and 1 are the caller's X and Y. */
enum { SL_BUFFER_X = 0, SL_BUFFER_Y = 1 };
enum { SL_NO_COLUMNS = -1 };

enum { SL_REASON = 320 }; /* bytes of why a plan's algorithm was taken */

typedef struct sl_buffer {
  const char *name;
  int64_t rows, row_bytes;
  const void
      *constant; /* contents that never change, kept by the plan; NULL for memory that execution fills */
  /* Its rows hold columns first_column and up of X or Y; SL_NO_COLUMNS: they hold something else. */
  int64_t first_column;
  sley_dtype dtype; /* of those values */
} sl_buffer;

/* What a part does to its Y buffer first. */
typedef enum sl_beta {
  SL_BETA_USER, /* the caller's beta */
  SL_BETA_ZERO, /* overwrite */
  SL_BETA_ONE   /* add */
} sl_beta;

typedef struct sl_part {
  const char *name;
  sley_part_kind kind;
  sl_spmm_matrix a; /* its arrays belong to the plan, or to the block; columns are rows of buffer x */
  int64_t nnz;
  /* Of plans that are renewable, which of the block's entries, counted from its first, each of its own is;
   * NULL: the same, and a.val lies in the block. */
  int64_t *entry;
  double work;   /* about its share of this rank's entries, of dry plans too; 0: not told */
  int64_t k;     /* columns of X and Y it works on: the width of the buffers */
  int x, y;      /* buffers */
  int far;       /* not 0: a second buffer, whose rows are the columns from the last of x's rows on */
  bool in_place; /* columns name rows of every rank's X, in place (see segment), rather than rows of buffer x
                  */
  sl_beta beta;
  bool completes; /* its rows of Y are summed by no other part */
  /* pieces > 0: the far rows come by an exchange in so many pieces, which arrives before the part is summed;
   * stored rows before piece_end[s] need only rows that come by piece s. */
  int pieces, exchange;
  const int64_t *piece_end;
  bool during_pull; /* it is summed while the device brings rows */
  /* A part that travels: a's arrays lie in this buffer at these byte offsets once it has arrived; -1: it
   * stays. */
  int arrives_in;
  int64_t rowid_at, rowptr_at, col_at, val_at;
} sl_part;

typedef struct sl_plan_exchange {
  sl_exchange_spec spec;
  int src, dst; /* buffers */
} sl_plan_exchange;

/* Rows of a buffer become rows of another, or are added to them, k values of each from a byte of a row on; in
 * a type of its own either side. Row numbers as in sl_convert_args. */
typedef struct sl_conversion {
  int src, dst; /* buffers */
  int64_t count, k;
  const int64_t *src_rows, *dst_rows;
  int64_t src_first, dst_first;
  int64_t src_offset, dst_offset;
  sley_dtype from, to;
  bool add;
} sl_conversion;

/* One-sided: row row[i] of rank owner[i]'s X goes to row i of buffer dst. */
typedef struct sl_fetch {
  int64_t count;
  const int32_t *owner;
  const int64_t *row;
  int dst;
} sl_fetch;

/* A kind of step is a row of functions, see step.h. These are shared by all algorithms; what a step's index
 * is the number of stands beside. An algorithm may have kinds of its own. */
typedef struct sl_step_kind sl_step_kind;
extern const sl_step_kind sl_step_publish, sl_step_fetch, sl_step_begin, sl_step_map, sl_step_arrive,
    sl_step_end, sl_step_spmm, sl_step_fork, sl_step_join, sl_step_scale, sl_step_zero, sl_step_convert,
    sl_step_retire;

/* clang-format off */
#define SL_STEP_PUBLISH (&sl_step_publish) /* X becomes readable by one-sided fetches; ends when every rank's is */
#define SL_STEP_FETCH   (&sl_step_fetch)   /* fetch */
#define SL_STEP_BEGIN   (&sl_step_begin)   /* exchange */
#define SL_STEP_MAP  (&sl_step_map)  /* exchange: the senders' X is read in place until its end */
#define SL_STEP_ARRIVE  (&sl_step_arrive)  /* exchange in pieces: kernels of the step's queue can wait for each from here on */
#define SL_STEP_END     (&sl_step_end)     /* exchange */
#define SL_STEP_SPMM    (&sl_step_spmm)    /* part */
#define SL_STEP_FORK    (&sl_step_fork)    /* concurrent steps wait for those before, and for no later ones until the join */
#define SL_STEP_JOIN    (&sl_step_join)    /* what follows waits for the concurrent steps */
#define SL_STEP_SCALE   (&sl_step_scale)   /* Y = beta Y, the caller's beta */
#define SL_STEP_ZERO    (&sl_step_zero)    /* buffer, of sums: = 0 */
#define SL_STEP_CONVERT (&sl_step_convert) /* conversion */
#define SL_STEP_RETIRE  (&sl_step_retire)  /* ends when no rank fetches any more */
/* clang-format on */

typedef struct sl_step {
  const sl_step_kind *kind;
  int index;
  bool concurrent;  /* between fork and join: in the queue beside the rank's own */
  const void *data; /* of kinds that an algorithm has for itself: from sl_plan_alloc, or NULL */
} sl_step;

/* Growing array; at most 2^31 - 1 entries. */
typedef struct sl_list {
  void *items;
  int count, room;
} sl_list;

/* Where the time of an execute goes. */
typedef enum sl_phase {
  SL_PHASE_PACK,     /* rows are gathered for messages */
  SL_PHASE_TRANSFER, /* rows come, as far as no sum hides it */
  SL_PHASE_LOCAL,    /* entries whose rows of X the rank owns */
  SL_PHASE_REMOTE,   /* the other entries, partial sums, and further passes over Y */
  SL_PHASE_WAIT,     /* for other ranks: meetings, and the difference to the slowest */
  SL_PHASES
} sl_phase;

/* What is said of an execute when its plan is made, the same on all ranks. */
typedef struct sl_figures {
  sley_traffic predicted;          /* summed over ranks */
  double predicted_seconds;        /* of the slowest rank */
  double spare_seconds;            /* of it, at most what a cover that moved next to nothing would spare */
  double least_seconds;            /* of it, without packing and waiting for slower ranks */
  double row_seconds;              /* of that, what grows with the rows that move */
  double phase_seconds[SL_PHASES]; /* of predicted_seconds, on the average rank */
  int64_t messages_most;           /* that a rank receives at most */
  int64_t memory_bytes_most;       /* of the rank that needs most */
  bool fuses;                      /* on all ranks, see sl_plan */
} sl_figures;

typedef struct sl_plan {
  sl_comm *comm;
  const char *algo;
  char reason[SL_REASON];
  sley_dtype dtype, sum_dtype; /* of A, X and Y; of partial sums, also where these travel */
  int64_t rows, x_rows, k;     /* this rank's rows of Y and X */
  double near_local;           /* the share within the first window, of the inspection */
  int slices;                  /* ranks that share a row of Y, each with a slice of the columns; 0: none do */
  int64_t all_rows, all_cols, all_nnz, remote_nnz, halo_rows, cover_rows;
  bool dry;
  bool uses_block;     /* a part has arrays of the block, which must outlive the plan */
  bool capture;        /* of its exchanges */
  bool renewable;      /* its parts can take new values */
  bool entries_travel; /* entries of A go to other ranks, when the plan is made: it cannot be renewable */
  bool reproducible;   /* every row is summed in column order */
  bool tf32;           /* kernels may round values of f32 to tf32 before they multiply */
  const char *library; /* whose kernels sum the parts; NULL: Sley's own */
  bool lean;           /* memory is short: see sl_spmm_problem */
  sl_device_figures device_figures; /* by which kernels are chosen and shaped */
  const sl_kernel *kernel;          /* the one that sums the parts; NULL: the cheapest that serves each */
  sl_rowwise_choice rowwise;        /* of the kernel that reads X in place */
  /* With a beta other than 0, Y is computed apart and added at the end, so that no order of steps is
   * disturbed. */
  bool separate_result;
  /* The dtype has 16 bits and Y is made by more than one step: buffer Y then holds sums of type sum_dtype,
   * apart from the caller's Y, which is rounded once at the end. */
  bool wide_result;
  /* With wide_result: sums begin with beta Y, as where one part makes Y, instead of Y being added at the end.
   */
  bool begins_with_y;
  /* For parts in place: rank p's rows of X are columns segment[p] and up; segments begin on pages
   * (SL_X_PAGE). size + 1 entries, or NULL. */
  const int64_t *segment;
  sl_updates updates; /* whether Y is for updates, see below */
  bool fuses;         /* with updates: each block of rows of Y is multiplied by W as soon as it is summed */
  /* Values travel in the type wire, rounded at most `roundings` times on their way; 0: as they are. */
  int roundings;
  sley_dtype wire;
  /* What an execute has brought stays where it is until the next one: each buffer but Y is filled once. */
  bool keeps_input;
  sl_division division; /* of the parts that are not cut yet */
  sl_list buffers, parts, exchanges, fetches, conversions, steps, kept;
  sl_row_list *spare_list; /* room for lists, in a block of those kept */
  int spare_lists;
  sl_list device_kept;  /* blocks of the device's memory */
  int64_t device_bytes; /* of those */
  sl_list halos;        /* whose lists its exchanges use */
  bool failed;          /* memory was short for a list of rows */
  int64_t memory_bytes; /* of this rank: parts, lists and buffers */
  sl_figures figures;
} sl_plan;

#define SL_BUFFER(plan, i)     (&((sl_buffer *)(plan)->buffers.items)[i])
#define SL_PART(plan, i)       (&((sl_part *)(plan)->parts.items)[i])
#define SL_EXCHANGE(plan, i)   (&((sl_plan_exchange *)(plan)->exchanges.items)[i])
#define SL_FETCH(plan, i)      (&((sl_fetch *)(plan)->fetches.items)[i])
#define SL_CONVERSION(plan, i) (&((sl_conversion *)(plan)->conversions.items)[i])
#define SL_STEP(plan, i)       (&((sl_step *)(plan)->steps.items)[i])

/* Whether Y is made in a buffer of the execution's, at times or always. */
static inline bool sl_plan_has_result(const sl_plan *plan) {
  return plan->separate_result || plan->wide_result || (plan->updates && !plan->fuses);
}

/* Whether a part's Y holds sums, wider than the caller's Y. */
static inline bool sl_part_is_wide(const sl_plan *plan, const sl_part *part) {
  return part->y != SL_BUFFER_Y || plan->wide_result;
}

/* An empty plan with buffers X and Y for an inspection. Ended by sl_plan_free, also on error. */
sley_status sl_plan_begin(const sl_inspection *ins, const char *algo, bool dry, sl_plan *out);
void sl_plan_free(sl_plan *plan);

/* count bytes_each-sized elements that live as long as the plan; NULL with the message written. */
void *sl_plan_alloc(sl_plan *plan, int64_t count, size_t bytes_each);

/* The same in the memory of the plan's device; not counted in memory_bytes, since kernels count the parts
 * that they use. Errors: SLEY_ERR_MEMORY. */
sley_status sl_plan_alloc_device(sl_plan *plan, int64_t bytes, const char *what, void **out);
/* Gives back all but the first `count` blocks taken so. */
void sl_plan_free_device(sl_plan *plan, int count);

/* Appenders. Each writes the new entry's index to *index (NULL: not wanted). */
sley_status sl_plan_add_buffer(sl_plan *plan, const char *name, int64_t rows, int64_t row_bytes, int *index);
sley_status sl_plan_add_part(sl_plan *plan, const sl_part *part, int *index);
sley_status sl_plan_add_step(sl_plan *plan, const sl_step_kind *kind, int index);
sley_status sl_plan_append_step(sl_plan *plan, const sl_step *step);
sley_status sl_plan_add_concurrent(sl_plan *plan, const sl_step_kind *kind, int index);
sley_status sl_plan_add_fetch(sl_plan *plan, const sl_fetch *fetch, int *index);
/* With its step. */
sley_status sl_plan_add_conversion(sl_plan *plan, const sl_conversion *conversion);

/* An exchange without lists. */
sley_status sl_plan_add_exchange(sl_plan *plan, const char *name, int src, int dst, sl_grain grain,
                                 int *index);

/* An exchange along a halo between a buffer of rows of X (or what is as long) and one of halo->count rows:
 * SL_HALO_GATHER from `x` to `buffer`, SL_HALO_SCATTER_ADD from `buffer` to `x`. The plan holds the halo,
 * whose lists count as its memory. */
sley_status sl_plan_add_halo(sl_plan *plan, const char *name, sl_halo *halo, sl_halo_way way, int x,
                             int buffer, int64_t row_bytes, sl_grain grain, int *index);

/* Divides the block of a plan without parts. The exchange, of sl_plan_add_halo, gathers rows of X, or of a
 * buffer that is as long, in a buffer of the halo; it and that buffer are the last ones added. *local sums
 * the entries whose rows of X the rank owns, with the caller's beta, *remote adds those of the halo. Four
 * steps finish a plain division: the exchange begins, the local part is summed, the exchange ends, the remote
 * part is summed; other steps may stand between them. Errors: SLEY_ERR_INTERNAL (something was added since).
 */
sley_status sl_plan_divide(sl_plan *plan, int exchange, int *local, int *remote);

/* Puts another division in place of the plan's, whose blocks are freed. It is not plain. */
void sl_plan_divide_anew(sl_plan *plan, const sl_division *division);

/* Lets go of the halo of the last sl_plan_add_halo, whose lists the plan no longer uses. */
void sl_plan_drop_halo(sl_plan *plan);

/* Appends a list to an exchange's sends or receives; lists without rows are left out. Peers must ascend.
 * Room grows with the lists, so that exchanges with few peers cost little among many ranks; where memory is
 * short plan->failed is set, for sl_plan_finish to return. */
void sl_plan_send(sl_plan *plan, int exchange, const sl_row_list *list);
void sl_plan_recv(sl_plan *plan, int exchange, const sl_row_list *list);

/* The same plan for the first k <= plan->k columns: lists and buffers are narrower, all else is shared with
 * plan, which outlives it. Ended by sl_plan_free, also on error. Local; sl_plan_finish sums up over ranks
 * anew. */
sley_status sl_plan_for_columns(const sl_plan *plan, int64_t k, sl_plan *out);

#endif
