/* SPDX-License-Identifier: Apache-2.0 */
/* Sparse times dense: machine descriptions, plans and halos. */
#ifndef SLEY_SPMM_H
#define SLEY_SPMM_H

#include "sley_comm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---------------------------------------------------------------------------------------------- plans */

/* The performance of a machine's links, memory and kernels, from which times are predicted. docs/MACHINES.md
 * has the format of its description. */
typedef struct sley_machine sley_machine;

typedef struct sley_machine_info {
  const char *name, *source; /* name: the name in the description; source: its file, or "built in"; both valid
                                as long as the machine */
  const char *device;        /* "cpu" or "cuda" */
  int64_t nodes, ranks_per_node, threads; /* 0: not stated */
} sley_machine_info;

/* Reads a machine description. Errors: SLEY_ERR_INPUT (the message names file and line), SLEY_ERR_IO,
 * SLEY_ERR_MEMORY. */
sley_status sley_machine_read(const char *path, sley_machine **out);

/* Finds the machine description from which plans predict times if their options name none, on "cpu" (also NULL)
 * or "cuda": the description that SLEY_MACHINE names; else the one that `sley tune` has written to the user's
 * cache for that device, if it was measured on that device; else a built-in one (as SLEY_MACHINE=builtin
 * requests). Looked up once in a process. */
sley_status sley_machine_find(const char *device, sley_machine **out);

/* Measures this machine's cores ("cpu", also NULL) or GPUs ("cuda"), with ranks on a transport ("threads",
 * also NULL, or "tcp"): links by message size, memory, kernels by width. Ranks on GPUs have one GPU each;
 * with a single GPU links are not measured, they are the built-in ones. Takes about `seconds`, but on cores
 * at least ten or so; 0: thirty. Nothing else should run meanwhile. With "tcp" under a launcher its ranks are
 * used, and links between hosts are measured, too; *out is then NULL on all ranks but 0. Errors:
 * SLEY_ERR_UNSUPPORTED (no GPU, or no module for it; GPUs with "tcp" but no launcher). */
sley_status sley_machine_tune(const char *device, const char *transport, double seconds, sley_machine **out);

/* Writes a machine description; path NULL: to the place where sley_machine_find looks for its device.
 * *written, if written is not NULL: the path, to be freed by sley_buffer_free. */
sley_status sley_machine_write(const sley_machine *machine, const char *path, char **written);

sley_status sley_machine_info_get(const sley_machine *machine, sley_machine_info *out);
void sley_machine_destroy(sley_machine *machine); /* accepts NULL */

typedef struct sley_plan sley_plan;

/* How sley_spmm_update executes a plan. FUSED: a few rows of A X are multiplied by W as soon as they are
 * summed, if every row of A X is summed in one step, the device has a kernel for it that is expected to be
 * faster, and the plan requests no particular kernel or library; else as APART. */
typedef enum sley_update_way {
  SLEY_UPDATE_NONE = 0,      /* sley_spmm_update is not used */
  SLEY_UPDATE_FUSED = 1,     /* fused if possible and expected to be faster */
  SLEY_UPDATE_APART = 2,     /* all of A X is computed first, in memory of the plan, for comparisons */
  SLEY_UPDATE_FUSED_ONLY = 3 /* as FUSED; but ranks that cannot fuse take no memory for A X, and unless all
                                ranks fuse, sley_spmm_update refuses the plan (SLEY_ERR_ARG) */
} sley_update_way;

typedef struct sley_plan_options {
  size_t struct_size;
  /* NULL or "auto", or a name that sley_algorithms() lists. A name may be followed by parameters of the
   * algorithm (sley_algorithm_parameters): "rowwise:ps=4,get=block". Errors: SLEY_ERR_ARG; the message names
   * the parameters. */
  const char *algo;
  bool reproducible; /* the same bits for every rank count, transport and algorithm */
  bool transpose;    /* Y = A^T X: X is then partitioned as A's rows, Y as A's columns */
  bool dry;          /* only count and predict; the plan cannot be executed */
  /* The library whose kernels multiply. NULL, "auto" or "sley": Sley. "cusparse" (device cuda): the fastest
   * of cuSPARSE's algorithms, found by timing them while the plan is made, so bits may differ from plan to
   * plan. Not with reproducible. The plan fails with SLEY_ERR_UNSUPPORTED if the device or machine lacks the
   * library. */
  const char *local;
  /* Most bytes that a rank may take on its device for the plan: parts, lists, buffers, workspaces; 0: the
   * free memory of the device, shared among its ranks. If all columns do not fit, a plan with a limit works
   * in blocks of columns, the widest that fit (multiples of 32 if possible); a plan without a limit fails
   * with SLEY_ERR_MEMORY and keeps no memory. Bits of reproducible plans do not depend on it. */
  int64_t mem_limit;
  bool mem_operands; /* mem_limit also covers the rank's X and Y: all columns, or, if these do not fit, one
                        block of columns */
  /* Executes can be captured into a CUDA graph also if ranks are threads with a GPU each: the GPUs then
   * signal each other, and no thread waits for another. Therefore, from the first rank's call of sley_spmm to
   * the last rank's, no thread may call a function that waits for all work of a GPU, such as cudaFree: a GPU
   * may be waiting for a rank that has not made its call yet. One rank, and ranks that are processes, do not
   * need this option. The plan fails with SLEY_ERR_UNSUPPORTED if ranks share a GPU, or if not all GPUs reach
   * each other's memory. */
  bool capture;
  /* Machine used for predictions and for the choice; NULL: the result of sley_machine_find. With another
   * machine, ranks have as many threads as it states, and the plan need not fit this machine. It outlives the
   * call. */
  const sley_machine *machine;
  /* "bf16" or "f16": the type in which rows of X and partial sums of Y travel; they are rounded once or a few
   * times on their way, and summed in the usual type. NULL or "none": the plan's dtype. Volumes are predicted
   * and counted in the bytes that travel. Rows that are read in place, as ranks of one process on one host's
   * CPU do with `halo`, do not travel and are not rounded. Values above the largest f16, 65504, become
   * infinite in f16; bf16 has the range of f32. Not with 16-bit values, nor with reproducible, whose bits
   * must not depend on which rows travel (SLEY_ERR_ARG); not with `rowwise` (SLEY_ERR_UNSUPPORTED). */
  const char *wire;
  /* Executes by sley_spmm_input may declare X unchanged: rows of other ranks are kept in buffers, which takes
   * more memory, and are copied even if they could be read in place. Not with `rowwise`, nor in blocks of
   * columns (SLEY_ERR_UNSUPPORTED). */
  bool keep_input;
  /* The plan accepts new values by sley_plan_set_values: it remembers the origin of its values, 8 bytes per
   * entry for entries that are not the block's own. A plan of A^T (transpose, or of a pair) also remembers
   * where its entries come from and go to, 16 bytes and two values per entry. Not with algorithms that send
   * entries of the matrix to other ranks: bcast-1.5d, summa-2d, cover (SLEY_ERR_UNSUPPORTED; auto leaves them
   * out). */
  bool renewable;
  /* A function that sley_plan_compare calls on rank 0, in the calling thread, before it plans each algorithm,
   * with the algorithm's name; NULL: none. The function must not call the library. */
  void (*progress)(void *context, const char *algo);
  void *progress_context;
  /* The device's kernel that multiplies, for all parts of the plan: a name that sley_kernels lists; NULL or
   * "auto": for each part the cheapest kernel that supports it, of the library in `local`. Errors:
   * SLEY_ERR_ARG (the device has no such kernel: the message lists the names; or `local` requests another
   * library), SLEY_ERR_UNSUPPORTED (it does not support a part: the message names the part and, if known, the
   * reason). */
  const char *kernel;
  /* The plan can be executed by sley_spmm_update, too. If it is not fused, the plan takes memory for A X, in
   * f32 for 16-bit values; if it is, kernels keep a second copy of the data they prepare. The traffic is the
   * same; times are predicted without the update. 16-bit values are not supported in blocks of columns
   * (SLEY_ERR_UNSUPPORTED). */
  sley_update_way update;
  /* NULL or "full": values are multiplied as they are. "tf32": kernels on Tensor cores may round f32 values
   * to tf32, 11 significant bits, before they multiply, and add the products in f32, which is faster; other
   * kernels are not affected. The plan's info states the effect on errors. Only with f32 values, and not with
   * reproducible (SLEY_ERR_ARG). */
  const char *precision;
} sley_plan_options;
#define SLEY_PLAN_OPTIONS_INIT                                                                               \
  {                                                                                                          \
    sizeof(sley_plan_options), NULL, false, false, false, NULL, 0, false, false, NULL, NULL, false, false,   \
        NULL, NULL, NULL, SLEY_UPDATE_NONE, NULL                                                             \
  }

/* Bytes and messages of one execute by link class, summed over all ranks. */
typedef struct sley_traffic {
  int64_t direct_bytes, direct_messages;
  int64_t message_bytes, message_messages;
  int64_t self_bytes, self_messages; /* moved by exchanges from a rank to itself */
} sley_traffic;

/* Parts of a predicted time; they add up to it. They are averages over ranks; wait_ms is the average rank's
 * wait for the slowest rank. */
typedef struct sley_phases {
  double pack_ms;     /* gathering rows for messages */
  double transfer_ms; /* transfer of rows, without the time that overlaps with sums */
  double local_ms;    /* nonzeros whose rows of X the rank owns, and storing Y */
  double remote_ms;   /* the other nonzeros, partial sums, and additions to Y */
  double wait_ms;     /* waiting for other ranks */
} sley_phases;

typedef struct sley_plan_info {
  const char *algo;   /* the algorithm that runs; for "auto" the choice */
  const char *reason; /* why it was chosen, in a sentence */
  int64_t rows, cols, nnz, k;
  int64_t remote_nnz; /* E_R, summed over ranks */
  int64_t halo_rows;  /* N_R, summed over ranks */
  int64_t cover_rows; /* rows of X and partial rows of Y in minimum covers of all remote blocks; -1 if not
                         computed. With 16-bit values a partial row has twice the bytes and counts as two */
  /* The floor: the least number of rows, counted as in cover_rows, that a product moves between workgroups,
   * and inside workgroups for entries whose row and column one workgroup owns, if the owner of its row or of
   * its column multiplies each entry; -1 if not computed. */
  int64_t floor_between, floor_inside;
  sley_traffic predicted;
  double predicted_ms;
  int64_t memory_bytes; /* bytes that the plan and its buffers take, on the rank that needs most */
  int64_t needed_bytes; /* upper bound of the bytes for all columns at once on a device, on the rank that
                           needs most */
  int64_t limit_bytes;  /* number of bytes that the plan may take, on the rank with the lowest limit; INT64_MAX:
                           not known */
  int64_t column_width; /* number of columns of a block; k: all columns at once */
  int64_t column_blocks; /* number of blocks; the last one may be narrower. Traffic and times are for all
                            together */
  sley_phases phases;    /* parts of predicted_ms */
  int64_t rank_messages; /* most messages that one rank receives, over direct and message links */
  sley_dtype wire;       /* type in which values travel */
  double wire_bound; /* maximum that the rounding of values for transfer adds to |Y - A X|, relative to |A||X|;
                        0: nothing */
  /* The error of a sum of n terms is at most term_roundings (n + 1) + more_roundings times the unit roundoff
   * of the type of sums, relative to |A||X|. They are 1 and 0 unless kernels on Tensor cores sum some of the
   * rows; for dry plans, which bind no kernels, always 1 and 0. */
  double term_roundings, more_roundings;
  bool update_fused; /* sley_spmm_update multiplies rows by W as soon as they are summed, on all ranks */
  bool tf32;         /* some rows are sums of products of values rounded to tf32 */
} sley_plan_info;

/* Names of the algorithms, NULL-terminated; the pointer is static. "auto" is not among them. */
const char *const *sley_algorithms(void);

/* Returns one line that describes an algorithm, named with or without parameters; NULL if there is no such
 * algorithm. */
const char *sley_algorithm_summary(const char *algo);

/* A parameter of an algorithm, which is set by NAME:KEY=VALUE,... where an algorithm is named. */
typedef struct sley_parameter {
  const char *key;
  const char *values;  /* "LEAST..MOST" for a whole number; or words separated by |, the default first */
  const char *summary; /* one line */
} sley_parameter;

/* Returns the parameters of an algorithm, an array that ends with one whose key is NULL; static. NULL: the
 * algorithm has none.
 *
 * The parameters of `rowwise` are settings of its kernel on GPUs, for comparisons with the published MGG. Bits
 * depend on ps and partitions alone. The parameters have no effect if no kernel reads rows in place: on CPUs,
 * on GPUs that do not reach each other, on one rank, with reproducible. If no shape fits, the plan fails with
 * SLEY_ERR_MEMORY. */
const sley_parameter *sley_algorithm_parameters(const char *algo);

/* Inspects and prepares Y = A X for this rank's row block of A (columns numbered globally). row_begin,
 * col_begin: size + 1 entries each, the same on every rank: rank r owns rows [row_begin[r], row_begin[r+1])
 * of A and Y, and rows [col_begin[r], col_begin[r+1]) of X. k >= 0 columns. block must outlive the plan.
 * options may be NULL. Collective. The plan is destroyed before its comm ends. Errors: SLEY_ERR_ARG (ranks
 * disagree: each rank's message says on what), SLEY_ERR_MEMORY, SLEY_ERR_PEER. */
sley_status sley_plan_create(sley_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                             const int64_t *col_begin, int64_t k, const sley_plan_options *options,
                             sley_plan **out);

/* Makes two plans at once: *out for Y = A X, as sley_plan_create does, and *out_transposed for X' = A^T Y',
 * as it does with the option transpose and the partitions swapped: Y' is divided as Y, X' as X. Both have the
 * bits of plans made one by one. They share the checks, and, if the pattern of A is symmetric and row_begin
 * equals col_begin, all results of inspection, with the lists of the halo; the entries of A travel to the
 * owners of their columns once. The options hold for each of the two (mem_limit too), but transpose must be
 * false. Each is destroyed by itself, in an order that all ranks share; block must outlive *out only.
 * Collective. Errors: as sley_plan_create; then no plan is made. */
sley_status sley_plan_create_pair(sley_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                                  const int64_t *col_begin, int64_t k, const sley_plan_options *options,
                                  sley_plan **out, sley_plan **out_transposed);

/* Descriptions of several plans, made by sley_plan_compare. */
typedef struct sley_comparison sley_comparison;

/* Predicts, for each of several algorithms, what its plan would move and take, and its time, without keeping
 * the plans. The matrix is inspected once, and no more plans are in memory at a time than ranks can work at
 * once, which matters if there are many ranks. algos: NULL-terminated names that sley_algorithms() lists, or
 * "auto" for the one predicted fastest; read during the call only. options: as for sley_plan_create; `algo`
 * and `dry` are ignored. The other arguments: as for sley_plan_create; block is read during the call only.
 * *out is the caller's. Collective. Errors: as sley_plan_create; then nothing is made. */
sley_status sley_plan_compare(sley_comm *comm, const sley_matrix *block, const int64_t *row_begin,
                              const int64_t *col_begin, int64_t k, const sley_plan_options *options,
                              const char *const *algos, sley_comparison **out);

/* Returns in *out what sley_plan_info_get would return for the plan of algos[i]; texts are valid as long as
 * the comparison. The same on every rank. Errors: SLEY_ERR_ARG. */
sley_status sley_comparison_get(const sley_comparison *comparison, int i, sley_plan_info *out);
void sley_comparison_destroy(sley_comparison *comparison); /* Frees the comparison. Accepts NULL. Not
                                                              collective. */

/* Describes the plan in *out. The same on every rank. */
sley_status sley_plan_info_get(const sley_plan *plan, sley_plan_info *out);

/* Describes the steps, buffers and exchanges of this rank as text, freed by sley_buffer_free. */
sley_status sley_plan_describe(const sley_plan *plan, char **out);

/* A shape of the kernel that reads every rank's X in place (`rowwise` on GPUs): the time that the plan
 * measured, and figures of MGG's model (OSDI 2023, section 6, equations 1 to 3). D is the number of columns
 * of X. */
typedef struct sley_trial {
  int ps;           /* most entries of a partition of a row; 0: all local, or all remote, entries of a row */
  int dist;         /* pairs of a local and a remote partition per warp */
  int wpb;          /* warps per block */
  double ms;        /* time of a product, on this rank's GPU; infinite if it does not fit in memory */
  bool chosen;      /* whether it was the fastest */
  int64_t workload; /* WPW = 2 ps D dist; without partitions ps is the number of entries of the longest row */
  int64_t shared_bytes; /* SMEM = ps wpb 4 + wpb D (bytes of a sum + bytes of a value); ps is at most 32
                           here */
  int64_t warps, blocks;
  double blocks_per_sm; /* blocks per multiprocessor */
} sley_trial;

/* Lists the shapes that this rank has timed, in the order of timing: *count is their number, 0 if nothing was
 * timed; the first `room` are written to out. Errors: SLEY_ERR_ARG. */
sley_status sley_plan_trials(const sley_plan *plan, sley_trial *out, int room, int *count);

/* The origin of the rows of X that a part of a plan multiplies. */
typedef enum sley_part_kind {
  SLEY_PART_LOCAL = 0, /* the rank's own rows */
  SLEY_PART_HALO = 1,  /* the rows of other ranks that it needs */
  SLEY_PART_BOTH = 2,  /* rows of this rank and of other ranks, in one pass over the rows of A */
  SLEY_PART_STAGE = 3  /* whole blocks of other ranks' rows, or of A itself, each present for one stage */
} sley_part_kind;

/* A kernel's share of a plan's entries. */
typedef struct sley_kernel_use {
  const char *kernel; /* name of the kernel; valid as long as the plan */
  sley_part_kind kind;
  int64_t entries;    /* entries that the kernel sums in parts of that kind, over all ranks */
  const char *layout; /* name of the layout to which the plan copied some of the entries for this kernel: on
                         CPUs "bundles" of rows, for narrow products. NULL: none. Valid as long as the plan */
  int64_t copied;     /* number of entries in that layout; the kernel reads the others from the matrix */
} sley_kernel_use;

/* Lists the kernels that sum the entries of the plan, on all ranks together: *count uses, at most one for a
 * kernel and a kind, in the order of the kinds; the first `room` are written to out. The ranks' devices are
 * of one kind. An entry that several ranks sum, each for other columns, as with summa-2d, counts for each of
 * them. For a dry plan: estimates, for the kernels that a plan would use on the comm's device; no uses for a
 * dry plan of another machine, whose kernels are not known, or where entries of A travel. For a plan in
 * blocks of columns: the uses of all blocks but the last, which may be narrower. Collective. Errors:
 * SLEY_ERR_ARG, SLEY_ERR_PEER. */
sley_status sley_plan_kernels(const sley_plan *plan, sley_kernel_use *out, int room, int *count);

/* Computes Y = alpha A X + beta Y. x: this rank's rows of X, leading dimension ldx >= k; y likewise; both in
 * memory of the rank's device. With beta = 0 Y need not be initialised. x and y must not overlap. Returns
 * when the work is enqueued: on the cpu the work is then done; on cuda wait by sley_comm_wait or on the
 * caller's stream. It allocates nothing. On cuda it makes no copy between host and device and waits for no
 * device, except if rows travel through host memory: with the transports tcp and mpi between workgroups, and
 * if GPUs of one workgroup do not reach each other. Then the rows of messages are copied through staging
 * buffers, and the call waits for these copies. Collective. On cuda with a GPU for each rank, all within
 * reach of each other, it can be captured into a graph, by each rank's thread on its own stream, after a
 * first direct run; all ranks replay their graphs alike, and all replays have ended everywhere before the
 * plan is destroyed. Errors: SLEY_ERR_ARG, SLEY_ERR_PEER (another rank failed), SLEY_ERR_INTERRUPTED. */
sley_status sley_spmm(sley_plan *plan, double alpha, const void *x, int64_t ldx, double beta, void *y,
                      int64_t ldy);

/* Computes y = alpha A x + beta y for vectors: sley_spmm with a plan of k = 1 and contiguous values. The plan
 * chooses kernels for one column. x: this rank's entries, as many as its rows of X; y likewise; all else as
 * sley_spmm. Collective. Errors: SLEY_ERR_ARG if the plan has another k, else as sley_spmm. */
sley_status sley_spmv(sley_plan *plan, double alpha, const void *x, double beta, void *y);

typedef enum sley_input {
  SLEY_CHANGED = 0,  /* X may have changed: its rows travel */
  SLEY_UNCHANGED = 1 /* X is as in the last execute, on all ranks: no row travels again */
} sley_input;

/* Executes like sley_spmm, with a plan made with keep_input, for an X that seldom changes, such as the
 * features of a GNN's first layer. generation: a counter of the caller's, the same on all ranks, >= 0, which
 * the caller raises whenever X has changed on any rank. With SLEY_CHANGED it must be above the last
 * execute's. With SLEY_UNCHANGED it must equal the last execute's, and that execute must have been a call of
 * sley_spmm_input with the same x and ldx; with partial sums (`cover`, `bcast-1.5d`, `summa-2d`) also with
 * the same alpha. Y and beta may differ, and else alpha too. Misuse on any rank is an error on all of them,
 * after which the comm and the plan can still be used. A change of X that is declared unchanged with the old
 * generation is not detected. Collective. Errors: as sley_spmm. */
sley_status sley_spmm_input(sley_plan *plan, sley_input input, int64_t generation, double alpha,
                            const void *x, int64_t ldx, double beta, void *y, int64_t ldy);

/* Executes one block of columns (sley_plan_info.column_blocks), for callers whose device holds no more: x and
 * y point at the block's first column. All blocks are run, in ascending order. Collective. Errors as
 * sley_spmm. */
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

/* Computes Z = (alpha A X) W + beta Z: an aggregation followed by a dense update, as in a layer of a graph
 * network, with a plan made with the option update. x: this rank's rows of X, leading dimension ldx >= k; z:
 * its rows of Z, divided among the ranks as Y, n columns, leading dimension ldz >= n. x, W and z are the
 * caller's, in memory of the rank's device. z must overlap neither x nor W. With beta = 0 Z need not be
 * initialised. update is read during the call, W until the work is done. n, alpha and beta, and the values of
 * W, are the same on all ranks. If the plan is fused (sley_plan_info.update_fused) A X is never stored whole:
 * a block of its rows stays in a core's cache, or a GPU's shared memory, and is multiplied from there.
 *
 * Bits. A X is computed as by sley_spmm, but is not rounded to f16 or bf16: for these types sums and products
 * with W are in f32. Then each value of Z is beta z, or 0, to which the k terms are added in ascending order,
 * each with one rounding, and Z is rounded once. So the bits are the same fused and apart, with any number of
 * threads, and on every transport on which the bits of A X are the same. Devices other than the CPU may add
 * the terms in another fixed order, unless the plan is reproducible.
 *
 * Order, waiting and allocation: as sley_spmm. Collective. Errors: as sley_spmm; SLEY_ERR_ARG (the plan was
 * not made for updates; update is NULL, of a newer header, or has a wrong size). */
sley_status sley_spmm_update(sley_plan *plan, const void *x, int64_t ldx, const sley_update *update, void *z,
                             int64_t ldz);

/* Returns the traffic that the transport counted in the last execute, summed over all ranks. Collective. */
sley_status sley_plan_counted(sley_plan *plan, sley_traffic *out);

/* Replaces the values of the matrix of a plan made with renewable. val: the values of this rank's block of A,
 * in the order of the block's entries and in its type, in host memory. Later executes have the bits of a new
 * plan of the new values, at a small part of the cost. Every rank calls it between the same two executes;
 * each plan of a pair needs a call of its own, both with the values of A.
 *
 * A plan of A: val is used in place of the block's own values, so it must stay unchanged until the next
 * sley_plan_set_values or the plan's end. To change values in an array that the plan already uses, change
 * them and call this function with the array again. Not collective: it waits for no other rank.
 *
 * A plan of A^T (transpose, or of a pair): the values travel to the ranks that have the entries of A^T; val
 * may change once the call has returned. Collective; it waits for the other ranks.
 *
 * Errors: SLEY_ERR_ARG; for a plan of A^T on all ranks, and SLEY_ERR_PEER. */
sley_status sley_plan_set_values(sley_plan *plan, const void *val);

/* Frees the plan. Collective. */
void sley_plan_destroy(sley_plan *plan);

/* ---------------------------------------------------------------------------------------------- halos */

/* The rows of X that a rank needs, and the exchanges that move them: gather, from their owners to a buffer of
 * this rank; and its reverse, scatter-add, from the buffer to the owners, which add them to their rows. The
 * backward pass of a gather is a scatter-add with the same halo. */
typedef struct sley_halo sley_halo;

typedef struct sley_halo_info {
  int64_t rows;         /* number of rows that this rank needs: rows of its buffer */
  const int64_t *row;   /* numbers of these rows in X, ascending: entry h is row h of the buffer */
  const int64_t *begin; /* size + 1 entries: rank p owns rows begin[p] .. begin[p + 1] - 1 of the buffer */
  int64_t own_rows;     /* rows of X that this rank owns */
  int64_t wanted_rows;  /* rows that all ranks, this rank too, need from this rank, with repeats */
  int64_t k;            /* number of columns */
  sley_dtype dtype;
} sley_halo_info;

/* Makes a halo of `count` rows of X, whose global numbers row[] ascend without repeats; each rank names its
 * own list, which may contain rows that the rank owns. col_begin: size + 1 entries, the same on every rank:
 * rank r owns rows [col_begin[r], col_begin[r + 1]) of X. k >= 0 columns of dtype. row and col_begin are read
 * during the call only. All that the exchanges need is prepared here. Ended by sley_halo_destroy, before the
 * comm ends. Collective. Errors, on all ranks: SLEY_ERR_ARG (a row that does not ascend or that no rank owns,
 * k or dtype is wrong, the ranks disagree), SLEY_ERR_OVERFLOW, SLEY_ERR_MEMORY, SLEY_ERR_PEER. */
sley_status sley_halo_create(sley_comm *comm, const int64_t *row, int64_t count, const int64_t *col_begin,
                             int64_t k, sley_dtype dtype, sley_halo **out);

/* Makes the halo of a plan: the distinct rows of X that this rank's entries refer to and that other ranks
 * own, with the plan's k and dtype. It shares the plan's lists and may outlive the plan; its exchanges are
 * its own. For any plan, dry ones too; for a plan of A^T, rows of its X. Collective. Errors: as
 * sley_halo_create. */
sley_status sley_plan_halo(const sley_plan *plan, sley_halo **out);

/* Describes the halo in *out; its arrays belong to the halo. Not collective. */
sley_status sley_halo_info_get(const sley_halo *halo, sley_halo_info *out);

/* Copies row row[h] of X to row h of buffer, for all h. x: this rank's rows of X, leading dimension ldx >= k;
 * buffer: `rows` rows, leading dimension ld >= k, in elements; both in memory of the rank's device, and not
 * overlapping. They stay the caller's; only k columns of buffer are written. Enqueued after all work that the
 * rank's calls have enqueued so far: on the cpu all is done on return; on cuda work that is enqueued later on
 * the same stream may read buffer and write x (over tcp and mpi rows travel through host memory, for which
 * the call may wait). Nothing is kept from call to call: each call moves the current values of x. Allocates
 * nothing. Collective. Errors: SLEY_ERR_ARG, SLEY_ERR_PEER (another rank failed), SLEY_ERR_INTERRUPTED. An
 * error ends the comm. */
sley_status sley_halo_gather(sley_halo *halo, const void *x, int64_t ldx, void *buffer, int64_t ld);

/* Adds row h of every rank's buffer to row row[h] of X, at its owner: first the row of the lowest rank that
 * needs it, then the next rank's, so the bits are the same every time, on every transport and device. Each
 * addition is in dtype, and rounded to it. buffer is read, k columns of x are written. Shapes, order, waiting
 * and errors: as sley_halo_gather. */
sley_status sley_halo_scatter_add(sley_halo *halo, const void *buffer, int64_t ld, void *x, int64_t ldx);

/* Frees the halo. NULL is accepted if all ranks pass NULL. Collective. */
void sley_halo_destroy(sley_halo *halo);

#ifdef __cplusplus
}
#endif
#endif
