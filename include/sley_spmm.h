/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse times dense: machine descriptions, plans and halos. */
#ifndef SLEY_SPMM_H
#define SLEY_SPMM_H

#include "sley_comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- plans */

/* What links, memory and kernels of a machine do: what times are predicted from. docs/MACHINES.md has the
 * format of its description. */
typedef struct sley_machine sley_machine;

typedef struct sley_machine_info {
  const char *name,
      *source;        /* the description's name, and its file or "built in"; valid as long as the machine */
  const char *device; /* "cpu" or "cuda" */
  int64_t nodes, ranks_per_node, threads; /* 0: not said */
} sley_machine_info;

/* Reads a description. Errors: SLEY_ERR_INPUT (the message names file and line), SLEY_ERR_IO,
 * SLEY_ERR_MEMORY. */
sley_status sley_machine_read(const char *path, sley_machine **out);

/* The one that plans without a machine predict for on "cpu" (NULL too) or "cuda": the description that
 * SLEY_MACHINE names, else the one that `sley tune` has left in the user's cache for that device, if it is of
 * that device, else one built in (as SLEY_MACHINE=builtin asks for). Looked up once in a process. */
sley_status sley_machine_find(const char *device, sley_machine **out);

/* Measures this machine's cores ("cpu", NULL too) or GPUs ("cuda"), with ranks on a transport ("threads",
 * NULL too, or "tcp"): links by message size, memory, kernels by width. Ranks on GPUs have one each; of a
 * single one links are not measured, they are those built in. Takes about `seconds`, but on cores ten or so
 * at least; 0: thirty. Nothing else should run meanwhile. With "tcp" under a launcher its ranks are used, and
 * links between hosts are measured, too; *out is NULL on all of them but rank 0. Errors: SLEY_ERR_UNSUPPORTED
 * (no GPU, or no module for it; GPUs with "tcp" but no launcher). */
sley_status sley_machine_tune(const char *device, const char *transport, double seconds, sley_machine **out);

/* Writes a description; path NULL: where sley_machine_find looks for its device. *written, if not NULL: the
 * path, to be freed by sley_buffer_free. */
sley_status sley_machine_write(const sley_machine *machine, const char *path, char **written);

sley_status sley_machine_info_get(const sley_machine *machine, sley_machine_info *out);
void sley_machine_destroy(sley_machine *machine); /* accepts NULL */

typedef struct sley_plan sley_plan;

/* How executes by sley_spmm_update go. FUSED: a few rows of A X are multiplied by W as soon as they are
 * summed, where every row of A X is made in one step, the device has a kernel for it that is expected to be
 * faster, and the plan asks for no kernel and for no other library's; else as with APART. */
typedef enum sley_update_way {
  SLEY_UPDATE_NONE = 0,  /* there are none */
  SLEY_UPDATE_FUSED = 1, /* fused where that can be and is faster */
  SLEY_UPDATE_APART = 2  /* all of A X is made first, in memory of the plan; for comparisons */
} sley_update_way;

typedef struct sley_plan_options {
  size_t struct_size;
  /* NULL or "auto", else a name that sley_algorithms() lists; one that has parameters
   * (sley_algorithm_parameters) may be followed by them: "rowwise:ps=4,get=block". Errors: SLEY_ERR_ARG,
   * which names the parameters. */
  const char *algo;
  bool reproducible; /* the same bits for every rank count, transport and algorithm */
  bool transpose;    /* Y = A^T X: X is then partitioned as A's rows, Y as A's columns */
  bool dry;          /* count and predict only; the plan cannot be executed */
  /* Whose kernels multiply: NULL, "auto" or "sley": Sley's own; "cusparse" (device cuda): the fastest of
   * cuSPARSE's algorithms, found by timing them while the plan is made, so that bits may differ from plan to
   * plan. Not with reproducible. The plan fails with SLEY_ERR_UNSUPPORTED where the device or machine lacks
   * the library. */
  const char *local;
  /* Bytes that a rank may take on its device for the plan: parts, lists, buffers, workspaces; 0: what the
   * device has free, shared among its ranks. Where all columns do not fit, a plan with a limit works in
   * blocks of columns, the widest that fit (multiples of 32 where possible); without one it fails with
   * SLEY_ERR_MEMORY, and nothing stays taken. Bits of reproducible plans do not depend on it. */
  int64_t mem_limit;
  bool mem_operands; /* the rank's X and Y count too: whole, or, where that does not fit, one block of columns
                      */
  /* Executes can be captured into a CUDA graph also where ranks are threads with a GPU each: these then
   * signal each other, and no thread waits for another. So from the first rank's call of sley_spmm to the
   * last one's nobody may call what waits for all work of a GPU, such as cudaFree: a GPU may be waiting for a
   * rank that has not made its call. One rank, and ranks that are processes, need not ask for it. The plan
   * fails with SLEY_ERR_UNSUPPORTED where ranks share a GPU, or not all GPUs reach each other's memory. */
  bool capture;
  /* What times are predicted for, and the choice made by: NULL: as sley_machine_find. Else its ranks have as
   * many threads as it says, and the plan need not fit this machine. It outlives the call. */
  const sley_machine *machine;
  /* "bf16" or "f16": rows of X and partial sums of Y travel in that type, rounded on their way once or a few
   * times, and are summed as wide as ever; NULL or "none": as they are. Volumes are predicted and counted in
   * the bytes that travel. Rows that are read in place, as ranks of one process on one host's CPU do with
   * `halo`, do not travel and are not rounded. What is larger than f16 holds, 65504, becomes infinite; bf16
   * has the range of f32. Not with values of 16 bits, nor with reproducible, whose bits do not depend on
   * which rows travel (SLEY_ERR_ARG); not with `rowwise` (SLEY_ERR_UNSUPPORTED). */
  const char *wire;
  /* Executes by sley_spmm_input may call X unchanged: what they bring is kept in buffers, which takes more
   * memory, and rows are brought even where they could be read in place. Not with `rowwise`, nor in blocks of
   * columns (SLEY_ERR_UNSUPPORTED). */
  bool keep_input;
  /* The plan takes new values by sley_plan_set_values: it remembers where its values come from, 8 bytes an
   * entry where these are not the block's own. A plan of A^T (transpose, or of a pair) also remembers where
   * its entries come from and go to, 16 bytes and two values for each. Not with algorithms that give entries
   * of the matrix to other ranks: bcast-1.5d, summa-2d, cover (SLEY_ERR_UNSUPPORTED; auto leaves them out).
   */
  bool renewable;
  /* sley_plan_compare calls it on rank 0, in the thread of the call, before each algorithm that it plans,
   * with the algorithm's name; NULL: it calls nothing. It may not call the library. */
  void (*progress)(void *context, const char *algo);
  void *progress_context;
  /* Which kernel of the device multiplies: a name that sley_kernels lists, in the executes of all parts of
   * the plan; NULL or "auto": of those that `local` leaves, for each part the cheapest that serves it.
   * Errors: SLEY_ERR_ARG (the device has none of that name: its names are listed; or `local` asks for
   * another's), SLEY_ERR_UNSUPPORTED (it does not serve a part: which, and, as far as is known, why). */
  const char *kernel;
  /* The plan can be executed by sley_spmm_update, too. Where it is not fused the plan takes memory for A X,
   * in f32 for values of 16 bits; where it is, kernels keep what they prepare once more. The traffic is the
   * same; times are predicted without the update. Values of 16 bits not in blocks of columns
   * (SLEY_ERR_UNSUPPORTED).
   */
  sley_update_way update;
  /* NULL or "full": values are multiplied as they are. "tf32": kernels on Tensor cores may round values of
   * f32 to tf32, 11 significant bits, before they multiply, and add the products in f32, which is faster;
   * other kernels multiply as ever. What that does to errors is in the plan's info. Not with other values
   * than f32, nor with reproducible (SLEY_ERR_ARG). */
  const char *precision;
} sley_plan_options;
#define SLEY_PLAN_OPTIONS_INIT                                                                               \
  {                                                                                                          \
    sizeof(sley_plan_options), NULL, false, false, false, NULL, 0, false, false, NULL, NULL, false, false,   \
        NULL, NULL, NULL, SLEY_UPDATE_NONE, NULL                                                             \
  }

/* Bytes and messages by link class, summed over all ranks, of one execute. */
typedef struct sley_traffic {
  int64_t direct_bytes, direct_messages;
  int64_t message_bytes, message_messages;
  int64_t self_bytes, self_messages; /* that exchanges move from a rank to itself */
} sley_traffic;

/* Parts of a predicted time; they add up to it. Averages over ranks, but the wait is that of the average rank
 * for the slowest. */
typedef struct sley_phases {
  double pack_ms;     /* rows are gathered for messages */
  double transfer_ms; /* rows come, as far as no sum hides it */
  double local_ms;    /* nonzeros whose rows of X the rank owns, and storing Y */
  double remote_ms;   /* the others, partial sums, and adding to Y again */
  double wait_ms;     /* for other ranks */
} sley_phases;

typedef struct sley_plan_info {
  const char *algo;   /* that runs; for "auto" the choice */
  const char *reason; /* why, in a sentence */
  int64_t rows, cols, nnz, k;
  int64_t remote_nnz; /* E_R, summed over ranks */
  int64_t halo_rows;  /* N_R, summed over ranks */
  int64_t cover_rows; /* rows of X and partial rows of Y in least covers of all remote blocks; -1 if not
                         computed. In 16 bits, where a partial row has twice the bytes, it counts as two */
  sley_traffic predicted;
  double predicted_ms;
  int64_t memory_bytes; /* that the plan and its buffers take on the rank that needs most */
  int64_t needed_bytes; /* at most that all columns at once take on a device, on the rank that needs most */
  int64_t limit_bytes;  /* that may be taken, on the rank that may take least; INT64_MAX: not known */
  int64_t column_width; /* columns of a block; k: all at once */
  int64_t
      column_blocks;  /* blocks, of which the last may be narrower. Traffic and times are of all together */
  sley_phases phases; /* of predicted_ms */
  int64_t
      rank_messages; /* over direct and message links, that a rank receives, of the one that receives most */
  sley_dtype wire;   /* the type that values travel in */
  double wire_bound; /* what travelling in it adds to |Y - A X| at most, relative to |A||X|; 0: nothing */
  /* A sum of n terms errs by at most term_roundings (n + 1) + more_roundings times the unit roundoff of the
   * type of sums, relative to |A||X|. 1 and 0, but where kernels on Tensor cores sum some of the rows; of dry
   * plans, which bind no kernels, always 1 and 0. */
  double term_roundings, more_roundings;
  bool update_fused; /* sley_spmm_update multiplies rows by W as soon as they are summed, on all ranks */
  bool tf32;         /* some rows are sums of products of values that were rounded to tf32 */
} sley_plan_info;

/* Names of the algorithms, NULL-terminated; the pointer is static. "auto" is not among them. */
const char *const *sley_algorithms(void);

/* One line about an algorithm, named with or without parameters; NULL if there is none of that name. */
const char *sley_algorithm_summary(const char *algo);

/* A parameter of an algorithm, which is set as NAME:KEY=VALUE,... where an algorithm is named. */
typedef struct sley_parameter {
  const char *key;
  const char *values;  /* "LEAST..MOST", a whole number; or words with | between them, the default first */
  const char *summary; /* one line */
} sley_parameter;

/* The parameters of an algorithm, up to one whose key is NULL; the pointer is static. NULL: it takes none.
 *
 * Those of `rowwise` say how its kernel on GPUs works, for comparisons with the published MGG. Bits depend on
 * ps and partitions alone. They have no effect where no kernel reads rows in place: on CPUs, on GPUs that do
 * not reach each other, on one rank, with reproducible. The plan fails with SLEY_ERR_MEMORY where no shape
 * fits. */
const sley_parameter *sley_algorithm_parameters(const char *algo);

/* Inspects and prepares Y = A X for this rank's row block of A (columns numbered globally).
 * row_begin, col_begin: size + 1 entries each, the same on every rank: rank r owns rows [row_begin[r],
 * row_begin[r+1]) of A and Y, and rows [col_begin[r], col_begin[r+1]) of X. k >= 0 columns. block must
 * outlive the plan. options may be NULL. Collective. The plan is destroyed before its comm ends. Errors:
 * SLEY_ERR_ARG (ranks disagree: each is told on what), SLEY_ERR_MEMORY, SLEY_ERR_PEER. */
sley_status sley_plan_create(sley_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                             const int64_t *col_begin, int64_t k, const sley_plan_options *options,
                             sley_plan **out);

/* Two plans at once: *out as sley_plan_create makes it for Y = A X, and *out_transposed as it makes it with
 * the option transpose, for X' = A^T Y' with the partitions swapped: Y' is divided as Y, X' as X. Both have
 * the bits of the plans made one by one. They share the checks, and, where the pattern of A is symmetric and
 * row_begin equals col_begin, all that inspection finds, the lists of the halo included; the entries of A
 * travel to the owners of their columns once. The options hold for each of the two (mem_limit too), but
 * transpose must be false. Each is destroyed by itself, in any order that all ranks share; block must outlive
 * *out only. Collective. Errors: as sley_plan_create; then there is neither. */
sley_status sley_plan_create_pair(sley_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                                  const int64_t *col_begin, int64_t k, const sley_plan_options *options,
                                  sley_plan **out, sley_plan **out_transposed);

/* What several plans would be, as sley_plan_compare finds it. */
typedef struct sley_comparison sley_comparison;

/* What each of several algorithms would move, take and need, without their plans. The matrix is inspected
 * once, and no more plans are in memory at a time than ranks can work at once, which counts where ranks are
 * many. algos: names that sley_algorithms() lists, or "auto" for the one predicted
 * fastest, NULL-terminated; only read during the call. options: as for sley_plan_create; `algo` and `dry` are
 * not looked at. The other arguments: as for sley_plan_create; block is only read during the call. *out is
 * the caller's. Collective. Errors: as sley_plan_create; then there is none. */
sley_status sley_plan_compare(sley_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                              const int64_t *col_begin, int64_t k, const sley_plan_options *options,
                              const char *const *algos, sley_comparison **out);

/* What sley_plan_info_get would say of the plan of algos[i]; its texts are valid until the comparison's end.
 * The same on every rank. Errors: SLEY_ERR_ARG. */
sley_status sley_comparison_get(const sley_comparison *comparison, int i, sley_plan_info *out);
void sley_comparison_destroy(sley_comparison *comparison); /* accepts NULL; not collective */

/* The same on every rank. */
sley_status sley_plan_info_get(const sley_plan *plan, sley_plan_info *out);

/* Steps, buffers and exchanges of this rank as text, freed by sley_buffer_free. */
sley_status sley_plan_describe(const sley_plan *plan, char **out);

/* A shape of the kernel that reads every rank's X in place (`rowwise` on GPUs), which the plan has timed, and
 * what the model of MGG (OSDI 2023, section 6, equations 1 to 3) says of it. D are the columns of X. */
typedef struct sley_trial {
  int ps;           /* entries of a partition of a row at most; 0: all of a row that are local, or remote */
  int dist;         /* pairs of a local and a remote partition of a warp */
  int wpb;          /* warps of a block */
  double ms;        /* of a product, on this rank's GPU; infinite if it does not fit in memory */
  bool chosen;      /* the fastest */
  int64_t workload; /* WPW = 2 ps D dist; without partitions ps is the longest row's */
  int64_t shared_bytes; /* SMEM = ps wpb 4 + wpb D (bytes of a sum + bytes of a value); for ps at most 32 */
  int64_t warps, blocks;
  double blocks_per_sm; /* blocks for each multiprocessor */
} sley_trial;

/* The shapes that this rank has timed, in that order: *count of them, 0 where nothing was timed; the first
 * `room` are written to out. Errors: SLEY_ERR_ARG. */
sley_status sley_plan_trials(const sley_plan *plan, sley_trial *out, int room, int *count);

/* Where the rows of X come from that a part of a plan multiplies by. */
typedef enum sley_part_kind {
  SLEY_PART_LOCAL = 0, /* the rank's own */
  SLEY_PART_HALO = 1,  /* other ranks', those that it needs */
  SLEY_PART_BOTH = 2,  /* the rank's own and other ranks', in one pass over the rows of A */
  SLEY_PART_STAGE = 3  /* whole blocks of other ranks, or of A itself, each there for one stage */
} sley_part_kind;

/* What a kernel sums of a plan. */
typedef struct sley_kernel_use {
  const char *kernel; /* its name; valid as long as the plan */
  sley_part_kind kind;
  int64_t entries;    /* of the parts of that kind that it sums, over all ranks */
  const char *layout; /* what the plan has copied `copied` of them to, for this kernel: on CPUs "bundles" of
                       * rows, for narrow products. NULL: none. Valid as long as the plan */
  int64_t copied;     /* the kernel reads the other entries in the rows of the matrix */
} sley_kernel_use;

/* Which kernels sum the entries of the plan, on all ranks together: *count uses, at most one for a kernel and
 * a kind, in the order of the kinds; the first `room` are written to out. The ranks' devices are of one kind.
 * An entry that several ranks sum, each for columns of its own, as with summa-2d, counts for each of them. Of
 * a dry plan: about, and by the kernels that a plan would take on the comm's device; nothing of a dry plan
 * for another machine, whose kernels are not known, or where entries of A travel. Of a plan that multiplies
 * in blocks of columns: of those blocks but the last, which may be narrower. Collective. Errors:
 * SLEY_ERR_ARG, SLEY_ERR_PEER. */
sley_status sley_plan_kernels(const sley_plan *plan, sley_kernel_use *out, int room, int *count);

/* Y = alpha A X + beta Y. x: this rank's rows of X, leading dimension ldx >= k; y likewise; both in memory of
 * the rank's device. With beta = 0 Y need not be initialised. x and y may not overlap. Returns when the work
 * is enqueued: on the cpu that is when it is done, on cuda sley_comm_wait or the caller's stream tells. It
 * allocates nothing. On cuda it makes no copy between host and device and waits for no device, except where
 * rows travel through the host's memory: with the transports tcp and mpi between workgroups, and where GPUs
 * of one do not reach each other. There the rows of messages are copied through staging buffers, and the call
 * waits for these copies. Collective. On cuda with a GPU for
 * each rank, all within reach of each other, it can be captured into a graph, by each rank's thread on its
 * own stream, after a first direct run; all ranks replay their graphs alike, and all replays have ended
 * everywhere before the plan is destroyed. Errors: SLEY_ERR_ARG, SLEY_ERR_PEER (another rank failed),
 * SLEY_ERR_INTERRUPTED. */
sley_status sley_spmm(sley_plan *plan, double alpha, const void *x, int64_t ldx, double beta, void *y,
                      int64_t ldy);

/* y = alpha A x + beta y for vectors: sley_spmm with a plan of k = 1, whose values follow each other. Kernels
 * for one column are chosen by the plan. x: this rank's entries, as many as its rows of X; y likewise; all
 * else as sley_spmm. Collective. Errors: SLEY_ERR_ARG where the plan has another k, else as sley_spmm. */
sley_status sley_spmv(sley_plan *plan, double alpha, const void *x, double beta, void *y);

typedef enum sley_input {
  SLEY_CHANGED = 0,  /* X may be new: its rows travel */
  SLEY_UNCHANGED = 1 /* X is as in the last execute, on all ranks: no row travels again */
} sley_input;

/* sley_spmm with a plan made with keep_input, for an X that seldom changes, such as the features of a GNN's
 * first layer. generation: a counter of the caller's, the same on all ranks, >= 0, which the caller raises
 * whenever X has changed on any rank. With SLEY_CHANGED it must be above the last execute's; with
 * SLEY_UNCHANGED it must be that of the last execute, which was one of sley_spmm_input with the same x and
 * ldx; with partial sums (`cover`, `bcast-1.5d`, `summa-2d`) also the same alpha. Y, beta and, else, alpha
 * may differ. Any rank's misuse is an error on all of them, after which the comm and the plan can be used. A
 * changed X that is called unchanged with its old generation is not found. Collective. Errors: as sley_spmm.
 */
sley_status sley_spmm_input(sley_plan *plan, sley_input input, int64_t generation, double alpha,
                            const void *x, int64_t ldx, double beta, void *y, int64_t ldy);

/* The same for one block of columns (sley_plan_info.column_blocks), for callers whose device holds no more: x
 * and y point at the block's first column. Blocks are run in ascending order, all of them. Collective. Errors
 * as sley_spmm. */
sley_status sley_spmm_block(sley_plan *plan, int64_t block, double alpha, const void *x, int64_t ldx,
                            double beta, void *y, int64_t ldy);

/* The dense part of an update. */
typedef struct sley_update {
  size_t struct_size;
  const void *w;      /* W, k x n, row-major, in the plan's dtype; each rank has all of it */
  int64_t n, ldw;     /* columns of W and Z; elements between rows of W, at least n */
  double alpha, beta; /* Z = (alpha A X) W + beta Z */
} sley_update;
#define SLEY_UPDATE_INIT                                                                                     \
  { sizeof(sley_update), NULL, 0, 0, 1, 0 }

/* Z = (alpha A X) W + beta Z: an aggregation followed by a dense update, as in a layer of a graph network,
 * with a plan made with the option update. x: this rank's rows of X, leading dimension ldx >= k; z: its rows
 * of Z, divided among the ranks as Y, n columns, leading dimension ldz >= n; x, W and z in memory of the
 * rank's device, and the caller's. z may overlap neither x nor W. With beta = 0 Z need not be initialised.
 * update is read by this call, W until the work is done. n, alpha and beta, and the values of W, are the same
 * on all ranks. Where the plan is fused (sley_plan_info.update_fused) A X is never stored whole: a block of
 * its rows stays in a core's cache, or a GPU's shared memory, and is multiplied from there.
 *
 * Bits. A X is made as by sley_spmm, but is not rounded to f16 or bf16: these are summed, and multiplied, in
 * f32. Then each value of Z is beta z, or 0, to which the k terms are added in ascending order, each with one
 * rounding, and Z is rounded once. So the bits are the same fused and apart, with any number of threads, and
 * on every transport where those of A X are. Devices other than the CPU may add the terms in another fixed
 * order, unless the plan is reproducible.
 *
 * Order, waiting and what is allocated: as sley_spmm. Collective. Errors: as sley_spmm; SLEY_ERR_ARG (the
 * plan was not made for it, update is NULL, of a newer header, or has a wrong size). */
sley_status sley_spmm_update(sley_plan *plan, const void *x, int64_t ldx, const sley_update *update, void *z,
                             int64_t ldz);

/* What the transport counted in the last execute, summed over all ranks. Collective. */
sley_status sley_plan_counted(sley_plan *plan, sley_traffic *out);

/* New values for the matrix of a plan made with renewable: val holds those of this rank's block of A, in the
 * order of the block's entries and in its type, in the host's memory. Executes from then on have the bits of
 * a new plan of the new values, which this replaces at a small part of the cost. Every rank calls it between
 * the same two executes; each plan of a pair has a call of its own, both with the values of A.
 *
 * A plan of A: val takes the place of the block's own values: it stays as it is until the next
 * sley_plan_set_values or the plan's end. To change the values of the array that the plan has, change them
 * and call this with it again. Not collective: it waits for no other rank.
 *
 * A plan of A^T (transpose, or of a pair): the values travel to the ranks that have the entries of A^T; val
 * may change once the call has returned. Collective; it waits for the other ranks.
 *
 * Errors: SLEY_ERR_ARG; of a plan of A^T on all ranks, and SLEY_ERR_PEER. */
sley_status sley_plan_set_values(sley_plan *plan, const void *val);

/* Collective. */
void sley_plan_destroy(sley_plan *plan);

/* ---------------------------------------------------------------------------------------------- halos */

/* The rows of X that a rank needs, and the exchanges that move them: gather, from their owners to a buffer of
 * this rank; and its reverse, scatter-add, from the buffer to the owners, which add them to their rows. So
 * the backward pass of a gather is a scatter-add with the same halo. */
typedef struct sley_halo sley_halo;

typedef struct sley_halo_info {
  int64_t rows;         /* that this rank needs: rows of its buffer */
  const int64_t *row;   /* their numbers in X, ascending: entry h is row h of the buffer */
  const int64_t *begin; /* size + 1 entries: rank p owns rows begin[p] .. begin[p + 1] - 1 of the buffer */
  int64_t own_rows;     /* rows of X that this rank owns */
  int64_t wanted_rows;  /* that the ranks, itself included, need of this one, with repeats */
  int64_t k;            /* columns */
  sley_dtype dtype;
} sley_halo_info;

/* A halo of `count` rows of X, whose global numbers row[] ascend without repeats; each rank names its own,
 * and a rank's own rows may be among them. col_begin: size + 1 entries, the same on every rank: rank r owns
 * rows [col_begin[r], col_begin[r + 1]) of X. k >= 0 columns of dtype. row and col_begin are read by this
 * call only. Everything the exchanges need is prepared here. Ended by sley_halo_destroy, before the comm
 * ends. Collective. Errors, on all ranks: SLEY_ERR_ARG (a row that does not ascend or that no rank owns, k or
 * dtype is wrong, the ranks disagree), SLEY_ERR_OVERFLOW, SLEY_ERR_MEMORY, SLEY_ERR_PEER. */
sley_status sley_halo_create(sley_comm *comm, const int64_t *row, int64_t count, const int64_t *col_begin,
                             int64_t k, sley_dtype dtype, sley_halo **out);

/* The halo of a plan: the distinct rows of X that this rank's entries name and that other ranks own, with the
 * plan's k and dtype. It shares the plan's lists and outlives the plan if need be; its exchanges are its own.
 * For any plan, dry ones too; of a plan of A^T, rows of its X. Collective. Errors: as sley_halo_create. */
sley_status sley_plan_halo(const sley_plan *plan, sley_halo **out);

/* Arrays of *out belong to the halo. Not collective. */
sley_status sley_halo_info_get(const sley_halo *halo, sley_halo_info *out);

/* Row h of buffer becomes row row[h] of X. x: this rank's rows of X, leading dimension ldx >= k; buffer:
 * `rows` rows, leading dimension ld >= k, in elements; both in memory of the rank's device, and not
 * overlapping. They stay the caller's; only k columns of buffer are written. Enqueued after all that the
 * rank's calls have enqueued so far: on the cpu all is done on return; on cuda work that is enqueued later on
 * the same stream may read buffer and write x (over tcp and mpi rows travel through the host's memory, for
 * which the call may wait). Nothing is kept from call to call: each moves what x holds. Allocates nothing.
 * Collective. Errors: SLEY_ERR_ARG, SLEY_ERR_PEER (another rank failed), SLEY_ERR_INTERRUPTED. An error ends
 * the comm. */
sley_status sley_halo_gather(sley_halo *halo, const void *x, int64_t ldx, void *buffer, int64_t ld);

/* Row h of every rank's buffer is added to row row[h] of X, at its owner: to the row's value first that of
 * the lowest rank that needs it, then that of the next, so that the bits are the same every time, on every
 * transport and device. Each addition is in dtype, and rounded to it. buffer is read, k columns of x are
 * written. Shapes, order, waiting and errors: as sley_halo_gather. */
sley_status sley_halo_scatter_add(sley_halo *halo, const void *buffer, int64_t ld, void *x, int64_t ldx);

/* Accepts NULL, then on all ranks. Collective. */
void sley_halo_destroy(sley_halo *halo);

#ifdef __cplusplus
}
#endif
#endif
