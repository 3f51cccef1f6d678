/* SPDX-License-Identifier: Apache-2.0 */
/* A plan: immutable data that describes how this rank's part of Y = A X is computed. Buffers hold rows;
 * exchanges and fetches move rows between ranks' buffers; parts are compact sparse matrices that map one
 * buffer to another; steps put these in order. Buffers into which parts sum hold values of the type of sums,
 * except Y (see wide_result). Every algorithm is a builder of such a plan, in a file of its own. */
#ifndef SLEY_PLAN_PLAN_H
#define SLEY_PLAN_PLAN_H

#include "device/figures.h"
#include "plan/division.h"
#include "plan/inspect.h"

/* Buffers 0 and 1 are the caller's X and Y. */
enum { SL_BUFFER_X = 0, SL_BUFFER_Y = 1 };
enum { SL_NO_COLUMNS = -1 };

/* Bytes that devices load at once, if rows begin at multiples of them. */
enum { SL_ROW_UNIT = 16 };

static inline int64_t sl_up_to(int64_t bytes, int64_t unit) {
  return (bytes + unit - 1) / unit * unit;
}

enum { SL_REASON = 320 }; /* bytes of the reason for a plan's algorithm */

typedef struct sl_buffer {
  const char *name;
  int64_t rows, row_bytes;
  const void *constant; /* contents that never change, owned by the plan; NULL: execution fills the memory */
  /* number of the first column of X or Y in its rows; SL_NO_COLUMNS: the rows hold something else */
  int64_t first_column;
  sley_dtype dtype; /* type of these values */
  bool arrives;     /* kernels run while rows of peers arrive: row_bytes is an sl_arriving_stride */
} sl_buffer;

/* The factor of the Y buffer's old contents. */
typedef enum sl_beta {
  SL_BETA_USER, /* the caller's beta */
  SL_BETA_ZERO, /* 0: overwrite */
  SL_BETA_ONE   /* 1: add */
} sl_beta;

typedef struct sl_part {
  const char *name;
  sley_part_kind kind;
  sl_spmm_matrix a; /* matrix of the part; its arrays belong to the plan or the block, and its columns are
                       rows of buffer x */
  int64_t nnz;
  /* In a renewable plan: for each entry of the part its number among the block's entries. NULL: the numbers
   * are equal, and a.val points into the block. */
  int64_t *entry;
  double work;   /* approximate number of this rank's entries in it, also in dry plans; 0: unknown */
  int64_t k;     /* number of columns of X and Y that it computes, which is the width of the buffers */
  int x, y;      /* buffers */
  int far;       /* 0, or a second buffer: columns that are not below the number of rows of x name its rows */
  bool in_place; /* columns name rows of all ranks' X in place (see segment) instead of rows of buffer x */
  sl_beta beta;
  bool completes; /* no other part adds to its rows of Y */
  /* pieces > 0: `exchange` brings the far rows in that many pieces, and its step "arrive" comes before the
   * part's sum. Stored rows before piece_end[s] need only rows of pieces 0 to s. */
  int pieces, exchange;
  const int64_t *piece_end;
  bool during_pull; /* it is summed while the device loads rows of peers */
  /* In a part that travels: when this buffer has been received, a's arrays are at these byte offsets in it.
   * -1: the part does not travel. */
  int arrives_in;
  int64_t rowid_at, rowptr_at, col_at, val_at;
} sl_part;

typedef struct sl_plan_exchange {
  sl_exchange_spec spec;
  int src, dst; /* buffers */
  bool gives;   /* it brings the partial rows that are added to Y */
} sl_plan_exchange;

/* Copies rows of a buffer to rows of another, or adds them: k values of each row, from a byte offset on,
 * which may have different types in the two buffers. Row numbers as in sl_convert_args. */
typedef struct sl_conversion {
  int src, dst; /* buffers */
  int64_t count, k;
  const int64_t *src_rows, *dst_rows;
  int64_t src_first, dst_first;
  int64_t src_offset, dst_offset;
  sley_dtype from, to;
  bool add;
} sl_conversion;

/* A one-sided fetch, which copies row row[i] of X of rank owner[i] to row i of buffer dst. */
typedef struct sl_fetch {
  int64_t count;
  const int32_t *owner;
  const int64_t *row;
  int dst;
} sl_fetch;

/* A kind of step is a struct of functions (step.h). All algorithms share these kinds; the comments state to
 * which list of the plan a step's index refers. An algorithm may define more kinds. */
typedef struct sl_step_kind sl_step_kind;
extern const sl_step_kind sl_step_publish, sl_step_fetch, sl_step_begin, sl_step_map, sl_step_arrive,
    sl_step_end, sl_step_spmm, sl_step_fork, sl_step_join, sl_step_scale, sl_step_zero, sl_step_convert,
    sl_step_retire;

/* clang-format off */
#define SL_STEP_PUBLISH (&sl_step_publish) /* makes X readable by one-sided fetches; complete when all ranks
                                              have done so */
#define SL_STEP_FETCH   (&sl_step_fetch)   /* fetch */
#define SL_STEP_BEGIN   (&sl_step_begin)   /* exchange */
#define SL_STEP_MAP  (&sl_step_map)  /* exchange: the senders' X is read in place until its end */
#define SL_STEP_ARRIVE  (&sl_step_arrive)  /* exchange in pieces: kernels of the step's queue can then wait for each piece */
#define SL_STEP_END     (&sl_step_end)     /* exchange */
#define SL_STEP_SPMM    (&sl_step_spmm)    /* part */
#define SL_STEP_FORK    (&sl_step_fork)    /* concurrent steps wait for the steps before it; other steps wait for them at the join */
#define SL_STEP_JOIN    (&sl_step_join)    /* the steps after it wait for the concurrent steps */
#define SL_STEP_SCALE   (&sl_step_scale)   /* Y = beta Y, the caller's beta */
#define SL_STEP_ZERO    (&sl_step_zero)    /* buffer of sums: = 0 */
#define SL_STEP_CONVERT (&sl_step_convert) /* conversion */
#define SL_STEP_RETIRE  (&sl_step_retire)  /* complete when no rank fetches any more */
/* clang-format on */

typedef struct sl_step {
  const sl_step_kind *kind;
  int index;
  bool concurrent;  /* between fork and join: runs in the second queue */
  const void *data; /* data of a kind that belongs to one algorithm: from sl_plan_alloc, or NULL */
} sl_step;

/* Growing array; at most 2^31 - 1 entries. */
typedef struct sl_list {
  void *items;
  int count, room;
} sl_list;

/* The phases to which an execute's time is attributed. */
typedef enum sl_phase {
  SL_PHASE_PACK,     /* rows are gathered for messages */
  SL_PHASE_TRANSFER, /* rows are received, while no sum runs */
  SL_PHASE_LOCAL,    /* entries whose rows of X the rank owns */
  SL_PHASE_REMOTE,   /* the other entries, partial sums, and further passes over Y */
  SL_PHASE_WAIT,     /* waiting for other ranks: barriers, and the difference to the slowest rank */
  SL_PHASES
} sl_phase;

/* Figures of an execute that are known when its plan is made, the same on all ranks. */
typedef struct sl_figures {
  sley_traffic predicted;          /* summed over ranks */
  double predicted_seconds;        /* time of the slowest rank */
  double spare_seconds;            /* upper bound of the time that a cover could save, if it moved almost
                                      nothing */
  double least_seconds;            /* predicted_seconds without packing and waiting for slower ranks */
  double row_seconds;              /* part of least_seconds that is proportional to the rows that move */
  double phase_seconds[SL_PHASES]; /* phases of predicted_seconds, on the average rank */
  int64_t messages_most;           /* messages of the rank that receives most */
  int64_t memory_bytes_most;       /* memory of the rank that needs most */
  bool fuses;                      /* set if all ranks fuse, see sl_plan */
} sl_figures;

typedef struct sl_plan {
  sl_comm *comm;
  const char *algo;
  char reason[SL_REASON];
  sley_dtype dtype, sum_dtype; /* type of A, X and Y; type of partial sums, also while they travel */
  int64_t rows, x_rows, k;     /* rows of Y and of X that this rank owns; columns of both */
  double near_local;           /* share of local entries in the first window (sl_inspection.local_within) */
  int slices;                  /* number of ranks that share a row of Y, each with a slice of the columns; 0:
                                  no row is shared */
  int64_t all_rows, all_cols, all_nnz, remote_nnz, halo_rows;
  sl_cover_rows cover_rows;
  bool dry;
  bool uses_block;     /* a part uses arrays of the block, which must outlive the plan */
  bool capture;        /* whether its exchanges can be captured */
  bool renewable;      /* its parts can take new values */
  bool entries_travel; /* entries of A go to other ranks when the plan is made, so it cannot be renewable */
  bool reproducible;   /* every row is summed in column order */
  bool tf32;           /* kernels may round f32 values to tf32 before they multiply */
  const char *library; /* library whose kernels sum the parts; NULL: Sley's own */
  bool lean;           /* memory is short: see sl_spmm_problem */
  /* Rows of X move rounded up to a multiple of this number of bytes: 1, or SL_ROW_UNIT, and then every rank
   * has its rows of X in a copy whose rows begin at such multiples. */
  int64_t x_unit;
  sl_device_figures device_figures; /* figures by which kernels are chosen and shaped */
  const sl_kernel *kernel;          /* kernel that sums the parts; NULL: the cheapest for each part */
  sl_rowwise_choice rowwise;        /* shape of the kernel that reads X in place */
  /* If beta is not 0, Y is computed in a separate buffer and added at the end, because beta Y would change
   * the order of the sums. */
  bool separate_result;
  /* The dtype has 16 bits and several steps compute Y. Buffer Y then holds sums of type sum_dtype, separate
   * from the caller's Y, which is rounded once at the end. */
  bool wide_result;
  /* With wide_result: the sums begin with beta Y, as if one part computed Y; otherwise beta Y is added at the
   * end. */
  bool begins_with_y;
  /* For parts in place: rank p's rows of X are columns segment[p] and up. Segments begin on pages
   * (SL_X_PAGE). size + 1 elements, or NULL. */
  const int64_t *segment;
  sl_updates updates; /* whether Y is for updates; see fuses */
  bool fuses;         /* with updates: each block of rows of Y is multiplied by W as soon as it is summed */
  /* Values travel in the type wire and are rounded at most `roundings` times on their way; 0: they are not
   * rounded. */
  int roundings;
  sley_dtype wire;
  /* The rows received by an execute stay in their buffers until the next one: each buffer except Y is filled
   * once. */
  bool keeps_input;
  sl_division division; /* the parts that are not cut yet */
  sl_list buffers, parts, exchanges, fetches, conversions, steps, kept;
  sl_row_list *spare_list; /* unused row lists, in one of the kept arrays */
  int spare_lists;
  sl_list device_kept;  /* blocks of device memory */
  int64_t device_bytes; /* bytes of these blocks */
  sl_list halos;        /* halos whose lists its exchanges use */
  bool failed;          /* memory ran out for a list of rows */
  int64_t memory_bytes; /* memory of this rank's parts, lists and buffers */
  sl_figures figures;
} sl_plan;

#define SL_BUFFER(plan, i)     (&((sl_buffer *)(plan)->buffers.items)[i])
#define SL_PART(plan, i)       (&((sl_part *)(plan)->parts.items)[i])
#define SL_EXCHANGE(plan, i)   (&((sl_plan_exchange *)(plan)->exchanges.items)[i])
#define SL_FETCH(plan, i)      (&((sl_fetch *)(plan)->fetches.items)[i])
#define SL_CONVERSION(plan, i) (&((sl_conversion *)(plan)->conversions.items)[i])
#define SL_STEP(plan, i)       (&((sl_step *)(plan)->steps.items)[i])

/* Returns whether Y is computed in a buffer of the execution, always or in some runs. */
static inline bool sl_plan_has_result(const sl_plan *plan) {
  return plan->separate_result || plan->wide_result || (plan->updates && !plan->fuses);
}

/* Returns whether a part's Y buffer holds sums, in a wider type than the caller's Y. */
static inline bool sl_part_is_wide(const sl_plan *plan, const sl_part *part) {
  return part->y != SL_BUFFER_Y || plan->wide_result;
}

/* Creates an empty plan with buffers X and Y for an inspection. Freed by sl_plan_free, also on error. */
sley_status sl_plan_begin(const sl_inspection *ins, const char *algo, bool dry, sl_plan *out);
void sl_plan_free(sl_plan *plan);

/* Allocates count elements of bytes_each bytes, which live as long as the plan. Returns NULL on failure, with
 * the thread's error message set. */
void *sl_plan_alloc(sl_plan *plan, int64_t count, size_t bytes_each);

/* As sl_plan_alloc, in the memory of the plan's device. Not counted in memory_bytes, because kernels count
 * the parts that they use. Errors: SLEY_ERR_MEMORY. */
sley_status sl_plan_alloc_device(sl_plan *plan, int64_t bytes, const char *what, void **out);
/* Frees all but the first `count` blocks allocated by sl_plan_alloc_device. */
void sl_plan_free_device(sl_plan *plan, int count);

/* Append an item to the plan. Each writes the number of the new item to *index, unless index is NULL. */
sley_status sl_plan_add_buffer(sl_plan *plan, const char *name, int64_t rows, int64_t row_bytes, int *index);
sley_status sl_plan_add_part(sl_plan *plan, const sl_part *part, int *index);
sley_status sl_plan_add_step(sl_plan *plan, const sl_step_kind *kind, int index);
sley_status sl_plan_append_step(sl_plan *plan, const sl_step *step);
sley_status sl_plan_add_fetch(sl_plan *plan, const sl_fetch *fetch, int *index);
/* Appends a conversion and its step, unless it has no rows or no columns. */
sley_status sl_plan_add_conversion(sl_plan *plan, const sl_conversion *conversion);

/* Appends an exchange without lists. */
sley_status sl_plan_add_exchange(sl_plan *plan, const char *name, int src, int dst, sl_grain grain,
                                 int *index);

/* Appends an exchange along a halo between buffer `x`, whose rows correspond to the rank's rows of X, and
 * `buffer` of halo->count rows: SL_HALO_GATHER from `x` to `buffer`, SL_HALO_SCATTER_ADD from `buffer` to
 * `x`. The plan holds the halo and counts its lists as its own memory. */
sley_status sl_plan_add_halo(sl_plan *plan, const char *name, sl_halo *halo, sl_halo_way way, int x,
                             int buffer, int64_t row_bytes, sl_grain grain, int *index);

/* Sets the plain division of a plan that has no parts. `exchange`, made by sl_plan_add_halo, gathers rows
 * into a buffer of the halo; the exchange and that buffer must be the last ones that were added. *local is
 * the part of the entries whose rows of X the rank owns, with the caller's beta; *remote is the part of the
 * halo's entries, which are added. Four steps complete a plain division, in this order, and other steps may
 * be between them: the exchange begins, the local part is summed, the exchange ends, the remote part is
 * summed. Errors: SLEY_ERR_INTERNAL (something else was added after the exchange). */
sley_status sl_plan_divide(sl_plan *plan, int exchange, int *local, int *remote);

/* Replaces the plan's division, and frees the arrays of the old one. *division must not be plain. */
void sl_plan_divide_anew(sl_plan *plan, const sl_division *division);

/* Releases the halo of the last sl_plan_add_halo, whose lists the plan no longer uses. */
void sl_plan_drop_halo(sl_plan *plan);

/* Append a list to the sends or receives of an exchange; lists without rows are skipped. Peers must ascend.
 * Memory grows with the number of lists, so that exchanges with few peers need little memory among many
 * ranks. If memory runs out, plan->failed is set, and sl_plan_finish returns the error. */
void sl_plan_send(sl_plan *plan, int exchange, const sl_row_list *list);
void sl_plan_recv(sl_plan *plan, int exchange, const sl_row_list *list);

/* Returns the bytes between rows of `bytes` bytes that kernels read while other rows arrive. Rows begin at
 * whole sectors if this makes them at most a quarter longer, so that kernels can read them as they arrive;
 * otherwise, unless they are narrow, at multiples of 16 bytes, which kernels load at once. Shorter rows never
 * get a longer stride. */
int64_t sl_arriving_stride(int64_t bytes);

/* Creates the same plan for the first k <= plan->k columns: lists and buffers are narrower; everything else
 * is shared with plan, which must outlive the new plan. Freed by sl_plan_free, also on error. Local;
 * sl_plan_finish sums over ranks again. */
sley_status sl_plan_for_columns(const sl_plan *plan, int64_t k, sl_plan *out);

#endif
