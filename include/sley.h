/* SPDX-License-Identifier: Apache-2.0
 *
 * Sley: sparse matrix products across ranks. The one public header.
 *
 * Words. A is sparse, m x n, in CSR. X is dense n x k, Y dense m x k, both row-major with a leading dimension
 * given in elements. A rank owns a row block of A and Y, and a row block of X. k is the feature width.
 *
 * Conventions. Every function that can fail returns a sley_status; on anything but SLEY_OK the calling
 * thread's sley_last_error() says what failed, where, and what to do. "Collective" means that every rank of
 * the comm must call the function, in the same order, with agreeing arguments; all other functions are local.
 * Handles are opaque; destroy functions accept NULL. Strings and arrays returned by pointer belong to the
 * handle.
 *
 * Structs. One that begins with struct_size grows from version to version: start it from its INIT macro. The
 * library takes any size up to its own, with defaults for the fields that an older header did not have, and
 * answers a larger one with SLEY_ERR_ARG. All other structs, sley_csr and those that Sley fills in, keep
 * their size and fields as long as SLEY_VERSION_MAJOR stays; zero their memory before filling one in, so that
 * a field you do not name is 0.
 */
#ifndef SLEY_H
#define SLEY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------------------------------- 1 version,
 * status */

#define SLEY_VERSION_MAJOR 0
#define SLEY_VERSION_MINOR 1
#define SLEY_VERSION_PATCH 0

/* The library's version as "major.minor.patch". */
const char *sley_version(void);

/* The values are pinned: they never change between releases. */
typedef enum sley_status {
  SLEY_OK = 0,
  SLEY_ERR_ARG = 1,         /* an argument is wrong */
  SLEY_ERR_INPUT = 2,       /* a file or matrix is not valid */
  SLEY_ERR_MEMORY = 3,      /* an allocation failed */
  SLEY_ERR_IO = 4,          /* the system refused to read or write */
  SLEY_ERR_UNSUPPORTED = 5, /* a valid request that this build or backend cannot serve */
  SLEY_ERR_PEER = 6,        /* another rank failed */
  SLEY_ERR_OVERFLOW = 7,    /* a size does not fit its type */
  SLEY_ERR_INTERRUPTED = 8, /* sley_interrupt() was called */
  SLEY_ERR_INTERNAL = 9     /* a broken promise inside Sley: please report it */
} sley_status;

/* The status as a word, e.g. "SLEY_ERR_INPUT". Never NULL. */
const char *sley_status_name(sley_status status);

/* The message of the calling thread's last error; "" if there was none. Valid until the thread's next error.
 * At most SLEY_ERROR_BYTES with its terminating 0; a longer one ends in "...". Where the error is about
 * another rank it begins with that: "rank R failed: " if the status is SLEY_ERR_PEER, else "rank R: ". */
const char *sley_last_error(void);
enum { SLEY_ERROR_BYTES = 1024 };

/* The rank that the calling thread's last error is about; -1: no rank in particular, or none but its own. */
int sley_last_error_rank(void);

/* Whether that rank has failed without a word: others have noticed that it has ended, or does not answer. */
bool sley_last_error_noticed(void);

/* Asks every Sley call of this process to end with SLEY_ERR_INTERRUPTED: those that run, and those that are
 * made before sley_interrupt_clear. Async-signal-safe. */
void sley_interrupt(void);

/* Takes that back, for a process that goes on, such as an interpreter: calls work again. To be called once
 * the calls that were to end have returned; one that still runs may go on. Comms that an interrupted call was
 * made with have failed. Returns whether sley_interrupt had been called. Async-signal-safe. */
bool sley_interrupt_clear(void);

/* Removes the files that this process, and the ranks it has forked, have begun to write and not finished, and
 * lets none be begun any more. For a process that ends at once, such as in a signal's handler, when what was
 * running has not ended by itself soon enough after sley_interrupt. Async-signal-safe. */
void sley_discard_outputs(void);

/* Of the values of A, X and Y. Those of 16 bits are summed in f32 and Y is rounded once: SLEY_F16 is IEEE's
 * binary16, SLEY_BF16 the upper half of an f32. */
typedef enum sley_dtype { SLEY_F32 = 0, SLEY_F64 = 1, SLEY_F16 = 2, SLEY_BF16 = 3 } sley_dtype;
typedef enum sley_index { SLEY_I32 = 0, SLEY_I64 = 1 } sley_index;

/* Bytes of one value; 0 if the dtype is unknown. */
size_t sley_dtype_bytes(sley_dtype dtype);

/* count values of one dtype as another, each rounded once, to nearest and ties to even. src and dst may not
 * overlap. Errors: SLEY_ERR_ARG. */
sley_status sley_convert(sley_dtype from, const void *src, sley_dtype to, void *dst, int64_t count);

/* Host memory aligned to 64 bytes (huge pages where they help) for X and Y. Freed by sley_buffer_free.
 * Errors: SLEY_ERR_ARG (bytes < 0), SLEY_ERR_MEMORY. */
sley_status sley_buffer_alloc(int64_t bytes, void **out);
void sley_buffer_free(void *buffer);

/* --------------------------------------------------------------------------------------------------- 2
 * matrices */

typedef struct sley_matrix sley_matrix;
typedef struct sley_comm sley_comm; /* one rank's place among the ranks: section 4 */

typedef enum sley_ownership {
  SLEY_COPY = 0,  /* Sley keeps its own copy of the arrays */
  SLEY_BORROW = 1 /* the arrays stay the caller's and must outlive the matrix */
} sley_ownership;

typedef struct sley_matrix_info {
  int64_t rows, cols, nnz;
  int64_t entries_stored; /* entries in the file it came from, before symmetry was expanded; else nnz */
  int64_t max_row_nnz;
  sley_dtype dtype;
  sley_index index;
  int64_t bytes; /* of the CSR arrays */
} sley_matrix_info;

typedef struct sley_csr {
  int64_t rows, cols;
  const int64_t *rowptr; /* rows + 1 positions into col and val; rowptr[0] may be greater than 0; or NULL */
  const void *col;       /* int32_t or int64_t, see index; ascending within each row */
  const void *val;       /* float, double or 16 bits, see dtype */
  sley_index index;
  sley_dtype dtype;
  const int32_t *rowptr32; /* in place of rowptr: the same in 32 bits. One of the two is NULL */
} sley_csr;

typedef struct sley_read_options {
  size_t struct_size;
  sley_dtype dtype;     /* of the values; default SLEY_F32 */
  int threads;          /* to read with; 0: all cores */
  uint64_t seed;        /* for generators that name none; default 1 */
  int64_t unpack_limit; /* bytes that a compressed file may unpack to; default 0: any, but not beyond 256 MiB
                           and 256 times its size */
} sley_read_options;
#define SLEY_READ_OPTIONS_INIT                                                                               \
  { sizeof(sley_read_options), SLEY_F32, 0, 1, 0 }

/* Makes a matrix of CSR arrays. col has index's type, val dtype's. Row pointers of 32 bits are widened, into
 * a copy whatever the ownership. Rows whose columns do not ascend are sorted (into a copy, whatever the
 * ownership). Entries that repeat stay and count as their sum. Errors: SLEY_ERR_ARG (a negative size, a NULL
 * array, two arrays of row pointers), SLEY_ERR_INPUT (rowptr descends, a column out of range: the row is
 * named), SLEY_ERR_MEMORY. */
sley_status sley_matrix_from_csr(const sley_csr *csr, sley_ownership ownership, sley_matrix **out);

/* The same of arrays in the memory of the comm's device (sley_comm_alloc, or the caller's own cudaMalloc):
 * they are copied to the host's memory, where planning reads them, after what the rank's calls have enqueued;
 * whoever fills them on another stream waits for that first. They are the caller's to free on return. On the
 * cpu, SLEY_COPY of host arrays. Waits for the device. Not collective. Errors: also those of sley_comm_copy.
 */
sley_status sley_matrix_from_csr_on(sley_comm *comm, const sley_csr *csr, sley_matrix **out);

/* Reads a file (Matrix Market, edge list, METIS, Rutherford-Boeing, scipy .npz, .sley; plain, gzip or zstd;
 * told apart by content; "-": standard input) or runs a generator ("twin:clj", "rmat:scale=17,edgefactor=8",
 * "er:n=1000,nnz=8000"). Symmetric files are expanded and repeated entries summed. options may be NULL.
 * Errors: SLEY_ERR_INPUT (file and line), SLEY_ERR_IO, SLEY_ERR_UNSUPPORTED (complex values),
 * SLEY_ERR_MEMORY. */
sley_status sley_matrix_read(const char *name, const sley_read_options *options, sley_matrix **out);

/* Reads the matrix of a .npz whose keys begin with prefix, as data sets for graph networks have several in one
 * file: "attr_" for attr_data, attr_indices, attr_indptr and attr_shape. Else as sley_matrix_read. Errors also:
 * SLEY_ERR_INPUT (no .npz, or it has no such matrix). */
sley_status sley_matrix_read_npz(const char *path, const char *prefix, const sley_read_options *options,
                                 sley_matrix **out);

/* Writes by the path's ending: .mtx, .sley, .npz, .graph, .el, .rb; with .gz or .zst after it compressed.
 * The file appears whole or not at all. Errors: SLEY_ERR_ARG (unknown ending), SLEY_ERR_IO. */
sley_status sley_matrix_write(const sley_matrix *matrix, const char *path);

sley_status sley_matrix_info_get(const sley_matrix *matrix, sley_matrix_info *out);

/* The arrays themselves, row pointers of 64 bits; they belong to the matrix. */
sley_status sley_matrix_csr(const sley_matrix *matrix, sley_csr *out);

/* A^T as a new matrix. threads 0: all cores. Errors: SLEY_ERR_MEMORY. */
sley_status sley_matrix_transpose(const sley_matrix *matrix, int threads, sley_matrix **out);

/* P A Q^T as a new matrix: row i of A becomes row row_perm[i], column j becomes col_perm[j]; NULL leaves a
 * side as it is. The arrays are permutations of 0..rows-1 and 0..cols-1. Errors: SLEY_ERR_ARG,
 * SLEY_ERR_MEMORY. */
sley_status sley_matrix_permute(const sley_matrix *matrix, const int64_t *row_perm, const int64_t *col_perm,
                                int threads, sley_matrix **out);

/* Windows: SLEY_WINDOW_ROWS consecutive rows each, from row 0 on; the last may have fewer. A window's
 * intensity is its entries per distinct column that they stand in: rows of X that are used together are
 * loaded once. */
enum { SLEY_WINDOW_ROWS = 16, SLEY_INTENSITIES = SLEY_WINDOW_ROWS + 1 };

typedef struct sley_window_info {
  int64_t windows;
  int64_t entries; /* of all windows */
  int64_t columns; /* distinct ones of each window, added up; entries / columns is the mean intensity */
  /* Entries of the windows whose intensity is i or more and less than i + 1; the last is of those with
   * SLEY_WINDOW_ROWS or more, which only windows full of entries and repeated entries give. */
  int64_t by_intensity[SLEY_INTENSITIES];
} sley_window_info;

/* Counts the windows of a matrix. row_at (rows entries, a permutation): row i of the windows is row row_at[i]
 * of matrix, as in an order that has not been applied, for the columns' order changes no figure; NULL: row i.
 * threads 0: all cores. Errors: SLEY_ERR_ARG (a NULL matrix or out, row_at is no permutation, threads below
 * 0), SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. Source: Li and others, HC-SpMM, ICDE 2025 (computing intensity).
 */
sley_status sley_matrix_windows(const sley_matrix *matrix, const int64_t *row_at, int threads,
                                sley_window_info *out);

/* Rows [first, first + count) as a view; matrix must outlive it. Column numbers stay global. */
sley_status sley_matrix_row_block(const sley_matrix *matrix, int64_t first, int64_t count, sley_matrix **out);

void sley_matrix_destroy(sley_matrix *matrix);

/* Reads or makes a matrix by all ranks together, each its own rows, so that none holds all of it: what
 * sley_matrix_read gives, to the bit. row_begin (size + 1 entries) receives who owns which rows; partition:
 * "rows" (NULL too) or "nnz", as sley_partition_rows. *out: rows [row_begin[rank], row_begin[rank + 1]),
 * columns numbered over the whole matrix. *whole, which may be NULL: the numbers of the whole matrix; bytes
 * is its size were it in one place.
 *
 * A .sley cache is read by offset; of a Matrix Market file or an edge list each rank parses a share of the
 * lines, and entries go to the owners of their rows; a generator's edges are drawn in shares. A compressed
 * text is unpacked by rank 0 and dealt out. Matrices of the other formats are read by rank 0, which does hold
 * them, and dealt out. Every rank opens a plain file, which must be the same one. options->threads is not
 * looked at: the rank's threads work. Collective. Errors: those of sley_matrix_read, with its message, on all
 * ranks alike; SLEY_ERR_ARG (the ranks read different things), SLEY_ERR_PEER. */
sley_status sley_matrix_read_rows(sley_comm *comm, const char *name, const sley_read_options *options,
                                  const char *partition, int64_t *row_begin, sley_matrix_info *whole,
                                  sley_matrix **out);

/* Reads a dense array of 1 or 2 dimensions from .npy (float16/32/64, integers, bool; C or Fortran order) as
 * row-major values of dtype, rounded once. *data is freed by sley_buffer_free. Errors: SLEY_ERR_INPUT,
 * SLEY_ERR_IO. */
sley_status sley_dense_read(const char *path, sley_dtype dtype, int64_t *rows, int64_t *cols, void **data);

/* The same of some rows: row which[i] of the file becomes row i, for i below count; with which NULL row first
 * + i. Of a plain file in C order nothing else is looked at. *rows and *cols: of the file's array. Not
 * collective. Errors also: SLEY_ERR_ARG (a row that is not in it). */
sley_status sley_dense_read_rows(const char *path, sley_dtype dtype, const int64_t *which, int64_t first,
                                 int64_t count, int64_t *rows, int64_t *cols, void **data);

/* The type in which a file stores its values, where its format carries one: .sley, .npz and .npy; SLEY_F32
 * for whole numbers. *dims: 2 for a matrix, else the array's. Looks at the first bytes alone. Errors:
 * SLEY_ERR_UNSUPPORTED (texts, generators, pipes: whoever reads them decides), SLEY_ERR_IO, SLEY_ERR_MEMORY.
 */
sley_status sley_stored_type(const char *path, sley_dtype *dtype, int *dims);

/* In place of the columns of an array that is written: it has one dimension, one value a row. */
#define SLEY_VECTOR INT64_C(-1)

/* Writes rows x cols values with leading dimension ld to .npy (SLEY_BF16, which NumPy has not, as float32:
 * exactly); whole or not at all. */
sley_status sley_dense_write(const char *path, sley_dtype dtype, int64_t rows, int64_t cols, const void *data,
                             int64_t ld);

/* The same by all ranks together, into one file in a folder that all see: this rank has rows first to first +
 * count - 1 of all rows, which follow one another in the order of the ranks. Each writes its rows where they
 * belong in a file aside; that gets its name once all have. After an error, or sley_interrupt, nothing of it
 * is left. A path that ends in .gz or .zst, and one that is no regular file, is written by rank 0, which gets
 * the rows piece by piece. Collective. Errors: SLEY_ERR_ARG (the ranks disagree, or their rows are not all
 * rows), SLEY_ERR_IO, SLEY_ERR_INTERRUPTED, on all ranks alike; SLEY_ERR_PEER. */
sley_status sley_dense_write_rows(sley_comm *comm, const char *path, sley_dtype dtype, int64_t rows,
                                  int64_t cols, int64_t first, int64_t count, const void *data, int64_t ld);

/* Types of values: of arrays in files, and of what collectives move. The first four are those of sley_dtype,
 * with the same numbers. */
typedef enum sley_type {
  SLEY_TYPE_F32 = 0,
  SLEY_TYPE_F64 = 1,
  SLEY_TYPE_F16 = 2,
  SLEY_TYPE_BF16 = 3,
  SLEY_TYPE_I64 = 4,
  SLEY_TYPE_I8 = 5, /* these two: SLEY_ALLGATHER alone */
  SLEY_TYPE_U8 = 6
} sley_type;

/* An array with a name, row-major. */
typedef struct sley_array {
  const char *name; /* 1 to 119 bytes, without / and \ */
  sley_type type;
  int64_t rows, cols; /* cols SLEY_VECTOR: one dimension */
  const void *data;
} sley_array;

/* Writes arrays into one .npz, which numpy.load opens (SLEY_TYPE_BF16 as float32: exactly); whole or not at
 * all. Errors: SLEY_ERR_ARG, SLEY_ERR_IO, SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. */
sley_status sley_arrays_write(const char *path, const sley_array *arrays, int count);

/* Reads the array of that name from a .npz: numbers of any type of NumPy's become `type`, rounded once;
 * SLEY_TYPE_I64 takes whole numbers alone. *cols is SLEY_VECTOR where it has one dimension or none. *data is
 * freed by sley_buffer_free. Errors: SLEY_ERR_INPUT (no such file or array; damaged), SLEY_ERR_UNSUPPORTED
 * (more than 2 dimensions, Fortran's order), SLEY_ERR_IO, SLEY_ERR_MEMORY. */
sley_status sley_array_read(const char *path, const char *name, sley_type type, int64_t *rows, int64_t *cols,
                            void **data);

/* ------------------------------------------------------------------------------------- 3 orderings and
 * partitions */

/* Fills perm (rows entries): row i of A goes to place perm[i]. name: "none", "rabbit", "rcm", "degree",
 * "loa", "scotch", "metis", "random". A must be square; an unsymmetric pattern is taken as A + A^T. The same
 * seed gives the same order; those of rabbit and loa depend on nothing else either. threads 0: all cores.
 * Errors: SLEY_ERR_ARG (not square, unknown name), SLEY_ERR_UNSUPPORTED (library not built in),
 * SLEY_ERR_MEMORY. Sources: rabbit: Arai et al., IPDPS 2016 (community aggregation); rcm: Cuthill-McKee
 * reversed, George-Liu start; loa: Li and others, HC-SpMM, ICDE 2025 (layout: windows of high intensity). */
sley_status sley_order(const sley_matrix *matrix, const char *name, uint64_t seed, int threads,
                       int64_t *perm);

/* Fills begin (ranks + 1 entries): rank r owns rows [begin[r], begin[r + 1]). name: "rows" (equal rows) or
 * "nnz" (balanced nonzeros; MGG, algorithm 1). Ranks beyond the rows own nothing. */
sley_status sley_partition_rows(const sley_matrix *matrix, const char *name, int ranks, int64_t *begin);

/* The same for a dense operand of which nothing but the number of rows is known: equal rows. */
sley_status sley_partition_equal(int64_t rows, int ranks, int64_t *begin);

/* ------------------------------------------------------------------------------------------------------ 4
 * ranks */

typedef struct sley_rank_options {
  size_t struct_size;
  int ranks;     /* default 1 */
  int workgroup; /* ranks joined by direct links; 0: all. Between workgroups only messages travel */
  int threads;   /* of each rank; 0: cores / ranks, at least 1 */
  /* NULL or "threads": ranks are threads of this process. "tcp", or "nccl" and other modules: ranks are
   * processes, forked from this one, or, where a launcher such as torchrun has set RANK and WORLD_SIZE, those
   * it has started. */
  const char *transport;
  const char *trace; /* NULL, or a file that receives a timeline for Perfetto */
  const char
      *device; /* NULL or "cpu"; "cuda": rank r on GPU r modulo their number; "auto": cuda if there is any */
  double timeout; /* of ranks that are processes: seconds to meet, and until one that is stopped or cut off
                   * counts as failed; 0: SLEY_TIMEOUT, else 60 */
} sley_rank_options;
#define SLEY_RANK_OPTIONS_INIT                                                                               \
  { sizeof(sley_rank_options), 1, 0, 0, NULL, NULL, NULL, 0 }

/* What one rank does. A status other than SLEY_OK ends the other ranks with SLEY_ERR_PEER. */
typedef sley_status (*sley_rank_fn)(sley_comm *comm, void *arg);

/* Runs fn once a rank, and waits for all. Ranks that are threads share arg. Ranks that are forked see it, and
 * all memory, as it is now, and what they write is lost when they end, unless it is shared memory; no device
 * may have been touched in this process before. Under a launcher fn runs once, in this process; ranks must
 * then be 1 or WORLD_SIZE, and every process calls this with agreeing options. Returns the first failing
 * rank's status; its message, led by that rank (see sley_last_error), becomes this thread's (under a
 * launcher: this process's own rank's). Where a transport between processes cannot start on all ranks, they
 * turn to another together; sley_comm_device_note says so. Errors also: SLEY_ERR_PEER (a rank did not come in
 * time, or was killed: it is named). */
sley_status sley_run_ranks(const sley_rank_options *options, sley_rank_fn fn, void *arg);

typedef struct sley_comm_options {
  size_t struct_size;
  /* "tcp", "mpi", "nccl", "nvshmem", another module's name, or, for one rank, "threads"; "self": this process
   * alone is the comm, whatever launcher has started it, and not collective. NULL: "mpi" with
   * mpi_comm; else under a launcher "nccl" for the device "cuda", "mpi" where MPI's own launcher has started
   * the ranks and the module is there, or "tcp"; else "threads". */
  const char *transport;
  int workgroup;      /* as in sley_rank_options, like the rest */
  int threads;        /* 0: cores / ranks of this host, as far as a launcher tells, at least 1 */
  const char *device; /* also "cuda:N": GPU N of those that the process sees, whatever the rank */
  const char *trace;  /* written by sley_comm_close, of ranks that are processes by rank 0 */
  double timeout;
  /* NULL, or the address of an MPI_Comm: its ranks are the comm's, by the same numbers, whatever launcher has
   * started them, and every one of them opens the comm. It may be a part of MPI_COMM_WORLD, over any
   * transport between processes. MPI has been initialised, with MPI_THREAD_SERIALIZED or more if threads
   * other than MPI's main one are to use the comm; Sley does not finalise it. The communicator is used while
   * the comm is opened, and may be freed afterwards. Needs libsley_mpi.so, built with the program's MPI. */
  const void *mpi_comm;
} sley_comm_options;
#define SLEY_COMM_OPTIONS_INIT                                                                               \
  { sizeof(sley_comm_options), NULL, 0, 0, NULL, NULL, 0, NULL }

/* Makes this process a rank, in a program whose processes are the ranks themselves: those that a launcher
 * (mpirun, srun, torchrun; any that sets RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT) has started, or those
 * of an MPI communicator; without either, one rank. options may be NULL. Collective over all of them.
 *
 * The comm, and the plans made with it, may be used by any one thread at a time: not only the one that has
 * opened it, and with whatever synchronisation orders the threads' calls. Errors and sley_last_error belong
 * to the thread that made the call. Where MPI was initialised for its main thread alone, only that one may
 * use a comm over mpi.
 *
 * Several comms can be opened one after another, and at the same time, of a launcher's ranks or of different
 * communicators: all ranks open, use and close them in the same order. Over nvshmem there is one at a time
 * (another turns to nccl). Errors: SLEY_ERR_ARG (an option; a launcher's
 * variable; "threads" for several ranks), SLEY_ERR_UNSUPPORTED (no such module, a transport or device that is
 * not to be had), SLEY_ERR_PEER (a rank did not come in time, or has failed), SLEY_ERR_IO, SLEY_ERR_MEMORY,
 * SLEY_ERR_INTERRUPTED. */
sley_status sley_comm_open(const sley_comm_options *options, sley_comm **out);

/* Ends this rank's part, after its plans have been destroyed and its memory freed; waits until all ranks have
 * closed the comm. A rank that still waits for this one in another call gets SLEY_ERR_PEER. After a failure
 * of any rank, or sley_interrupt, nothing is waited for but a few seconds at most. NULL: nothing. Collective.
 * Errors: SLEY_ERR_ARG (a comm that sley_comm_open has not made), those of writing the timeline; the comm is
 * gone all the same. */
sley_status sley_comm_close(sley_comm *comm);

/* Who has started this process as one rank of several, as its variables tell: *name receives "variables"
 * (RANK and WORLD_SIZE, which torchrun sets), "mpi" (mpirun, or srun with PMI), "srun", or NULL: nobody.
 * *rank and *ranks receive the rank and the number of ranks, 0 where nobody has. Static; not collective.
 * Errors: SLEY_ERR_ARG (a variable is wrong, or two launchers' disagree: it names them). */
sley_status sley_launcher(const char **name, int *rank, int *ranks);

int sley_comm_rank(const sley_comm *comm);
int sley_comm_size(const sley_comm *comm);
int sley_comm_workgroup(const sley_comm *comm); /* ranks in a full workgroup */

/* The transport that runs: "threads", "tcp", "nccl", ... Static. */
const char *sley_comm_transport(const sley_comm *comm);

/* Whether the ranks are threads of one process, so that they can read each other's memory. */
bool sley_comm_one_process(const sley_comm *comm);

/* Returns when every rank has called it. Collective. */
sley_status sley_comm_barrier(sley_comm *comm);

typedef enum sley_reduce { SLEY_SUM = 0, SLEY_MIN = 1, SLEY_MAX = 2 } sley_reduce;

/* Each of count numbers becomes the sum, least or greatest of all ranks' there. Collective.
 * Errors: SLEY_ERR_ARG (ranks disagree), SLEY_ERR_OVERFLOW, SLEY_ERR_PEER. */
sley_status sley_comm_allreduce(sley_comm *comm, sley_reduce op, int64_t *values, int count);

/* bytes[r] bytes of every rank r come to rank root, one rank's after the other's: dst there holds their sum,
 * and is not looked at elsewhere. bytes: size entries, the same on every rank. Host memory. Collective.
 * Errors: SLEY_ERR_ARG (ranks disagree), SLEY_ERR_MEMORY, SLEY_ERR_PEER. */
sley_status sley_comm_gather(sley_comm *comm, int root, const void *src, const int64_t *bytes, void *dst);

/* Where the rank's X and Y lie and its kernels run: "cpu" or "cuda". Static. */
const char *sley_comm_device(const sley_comm *comm);

/* Why "auto" did not take a GPU that is there and whose module is installed, or another transport runs than
 * was asked for; "" otherwise. Valid as long as the comm. */
const char *sley_comm_device_note(const sley_comm *comm);

/* That the ranks have met over a network, and nothing but the network has kept strangers out: neither the
 * launcher nor the user has given them a secret (SLEY_SECRET, SLEY_SECRET_FILE). "" otherwise. Static. */
const char *sley_comm_network_note(const sley_comm *comm);

/* Memory of the rank's device, for X and Y; contents undefined. Freed by sley_comm_free before the comm ends
 * (on cuda that waits for the GPU). bytes >= 0. Errors: SLEY_ERR_ARG, SLEY_ERR_MEMORY. */
sley_status sley_comm_alloc(sley_comm *comm, int64_t bytes, void **out);
void sley_comm_free(sley_comm *comm, void *block); /* accepts NULL */

typedef enum sley_copy {
  SLEY_TO_DEVICE = 0, /* src is host memory */
  SLEY_TO_HOST = 1,   /* dst is host memory */
  SLEY_WITHIN = 2     /* both are the device's */
} sley_copy;

/* Copies bytes, after what the rank's calls have enqueued so far. Waits until the copy is done if a host side
 * is ordinary memory; if it is pinned, sley_comm_wait tells when. Errors: SLEY_ERR_ARG. */
sley_status sley_comm_copy(sley_comm *comm, void *dst, const void *src, int64_t bytes, sley_copy kind);

/* Returns when all that the rank's calls have enqueued is done. Errors: also those of work enqueued earlier.
 */
sley_status sley_comm_wait(sley_comm *comm);

/* From now on the rank's work goes to the caller's stream (cudaStream_t), after all enqueued so far; NULL: to
 * one of Sley's own; cudaStreamLegacy for CUDA's default stream. Between calls; the stream outlives its use,
 * and the one left still exists. A stream that is being captured does not wait for what was enqueued before:
 * the caller waits for that before the capture begins. Errors: SLEY_ERR_UNSUPPORTED (a stream on the cpu). */
sley_status sley_comm_set_stream(sley_comm *comm, void *stream);

/* ------------------------------------------------------------------------------------------------------ 4b
 * collectives */

/* Bytes of one value; 0 if the type is unknown. */
size_t sley_type_bytes(sley_type type);

typedef enum sley_collective_kind {
  SLEY_ALLREDUCE = 0,      /* every rank gets the reduced array */
  SLEY_REDUCE_SCATTER = 1, /* every rank gets its part of the reduced array */
  SLEY_ALLGATHER = 2       /* every rank gets the ranks' arrays one after the other */
} sley_collective_kind;

/* How what travels is compressed, for arrays of which many values are zero. A value is zero if all its bits
 * are: -0 and NaN travel. Source: Hough et al., SpCCL (the format and the direct exchange). */
typedef enum sley_compress {
  SLEY_COMPRESS_NONE = 0, /* not at all */
  SLEY_COMPRESS_AUTO = 1, /* the format that is predicted to be the fastest, in each run anew */
  SLEY_COMPRESS_PICI = 2, /* a bit for each value, and the values that are not zero */
  SLEY_COMPRESS_COO = 3   /* positions of 32 bits, and the values that are not zero */
} sley_compress;

/* Whom compressed arrays go to. */
typedef enum sley_collective_way {
  SLEY_WAY_AUTO = 0,     /* chosen by the library, among those that keep the bits unless any_order */
  SLEY_WAY_DIRECT = 1,   /* straight to each rank that needs them */
  SLEY_WAY_RING = 2,     /* from neighbour to neighbour, added on the way */
  SLEY_WAY_TWO_LEVEL = 3 /* within workgroups, then between them */
} sley_collective_way;

typedef struct sley_collective_options {
  size_t struct_size;
  sley_collective_kind kind; /* default SLEY_ALLREDUCE */
  sley_reduce op;            /* default SLEY_SUM; SLEY_ALLGATHER does not look at it */
  sley_type type;            /* default SLEY_TYPE_F32 */
  /* SLEY_ALLREDUCE: values of the array. SLEY_REDUCE_SCATTER, SLEY_ALLGATHER: values of every rank's part,
   * where counts is NULL; else not looked at. */
  int64_t count;
  const int64_t *counts; /* NULL, or the values of each rank's part, size entries; read by create only */
  /* Floating-point sums, minima and maxima may use the transport's own reduction (NCCL's), which may be
   * faster: its order of summation, so the bits, may depend on the ranks' places and vary between runs, and
   * its minimum and maximum may ignore NaN. */
  bool any_order;
  int reserved; /* not looked at */
  /* default SLEY_COMPRESS_NONE. Shapes, aliases, order and bits of sley_collective_run stay the same, but for
   * the bits of floating-point sums by SLEY_WAY_RING and _TWO_LEVEL: these are added in an order of their
   * own, which depends on the number of ranks and the workgroups alone, and are rounded to the type each
   * time. An array that would not be shorter travels dense. */
  sley_compress compress;
  sley_collective_way way; /* default SLEY_WAY_AUTO; not looked at with SLEY_COMPRESS_NONE */
} sley_collective_options;
#define SLEY_COLLECTIVE_OPTIONS_INIT                                                                         \
  {                                                                                                          \
    sizeof(sley_collective_options), SLEY_ALLREDUCE, SLEY_SUM, SLEY_TYPE_F32, 0, NULL, false, 0,             \
        SLEY_COMPRESS_NONE, SLEY_WAY_AUTO                                                                    \
  }

/* A prepared collective: it has all memory it needs, so that a run allocates nothing. */
typedef struct sley_collective sley_collective;

/* Prepares a collective of fixed sizes, to be run any number of times. Ended by sley_collective_destroy,
 * before the comm ends. options are read during the call only. With compress it takes memory of the device
 * for this rank's and the peers' parts at their longest. Collective. Errors, the same on all ranks:
 * SLEY_ERR_ARG (an option is wrong, or the ranks' options differ), SLEY_ERR_OVERFLOW, SLEY_ERR_UNSUPPORTED
 * (with compress: an operator, a type, a way or a device for which there is none); SLEY_ERR_MEMORY,
 * SLEY_ERR_PEER. */
sley_status sley_collective_create(sley_comm *comm, const sley_collective_options *options,
                                   sley_collective **out);

/* Runs it. Shapes, in values of the type; part(r) is counts[r] or count, begin(r) the sum of the parts
 * before:
 *
 *   kind                  src                       dst                       in place, if
 *   SLEY_ALLREDUCE        count                     count                     dst = src
 *   SLEY_REDUCE_SCATTER   all ranks' parts          part(rank)                dst = src + begin(rank)
 *   SLEY_ALLGATHER        part(rank)                all ranks' parts          src = dst + begin(rank)
 *
 * src and dst are memory of the rank's device, aligned to the type. They do not overlap, except in place.
 * Either may be NULL where it has no values. They stay the caller's; only dst is written.
 *
 * Bits. Value i of the result is ((v0 + v1) + v2) + ..., or the minimum or maximum, over the ranks' values i
 * in ascending order of ranks: SLEY_TYPE_F16 and _BF16 in f32, rounded once at the end, the other types in
 * their own. A result that is NaN is the type's positive quiet NaN without payload. Minimum and maximum are
 * those of IEEE 754-2019: NaN where a value is NaN, and -0 is less than +0. Sums of SLEY_TYPE_I64 wrap around
 * modulo 2^64. So the bits depend on the values and the number of ranks alone, not on the transport, the
 * device, the workgroups or the threads, and all ranks have the same. SLEY_ALLGATHER copies bits.
 *
 * The work is enqueued like that of sley_spmm, after all that the rank's calls have enqueued so far; the call
 * may return before it is done. What is enqueued later, on the same stream, may read dst and write src. On
 * the cpu all is done when it returns. With compress it may wait for work before, since the bytes that
 * travel depend on the values. Where ranks are threads whose GPUs can read each other's memory it does so
 * only for the first run of SLEY_COMPRESS_AUTO, for some after dense runs, and where it is 16 runs ahead of
 * the GPU; there an array of a peer that is wrong is the error of a later run, or of info_get. A rank that
 * fails ends the others with SLEY_ERR_PEER. All ranks run the collectives of a comm in the same order.
 * Collective. Errors: SLEY_ERR_ARG (a NULL handle or array, or an array that is not aligned), SLEY_ERR_PEER.
 */
sley_status sley_collective_run(sley_collective *collective, const void *src, void *dst);

/* What the last run did on this rank. Before the first one all is 0, and the texts are empty. */
typedef struct sley_collective_info {
  int64_t values, nonzeros; /* of what it compressed of src; of a dense run: of the sample that it counted */
  int64_t result_nonzeros;  /* values of dst that are not zero; -1: not known */
  int64_t sent, received;   /* bytes to and from other ranks, headers of compressed arrays too */
  int64_t dense_sent;       /* bytes that SLEY_COMPRESS_NONE would have sent */
  int64_t arrays;           /* compressed arrays that this rank has made */
  int64_t dense, pici, coo; /* of them, by the format that they travelled in */
  const char *path;         /* what ran: "dense", or the way: "direct", "ring", "two-level"; static */
  const char *reason;       /* why, in a few words; static */
} sley_collective_info;

/* What the last run did on this rank, to *out. With compress it may wait for what is enqueued. Not collective.
 * Errors: SLEY_ERR_ARG; SLEY_ERR_PEER (a peer's array of a run was wrong, or waiting failed): then the comm
 * has ended. */
sley_status sley_collective_info_get(const sley_collective *collective, sley_collective_info *out);

/* Waits for what is enqueued. Accepts NULL, then on all ranks. Collective. */
void sley_collective_destroy(sley_collective *collective);

/* ------------------------------------------------------------------------------------------------------ 4c
 * sparse gradients */

/* The values of a gradient that are largest in magnitude, for a compressed all-reduce. What is left out is
 * not lost: it stays in a residual, which is added to the next gradient (error feedback). Sources: Aji and
 * Heafield, EMNLP 2017 (a threshold from a sample); Stich, Cordonnier and Jaggi, NeurIPS 2018 (the
 * residual). */
typedef struct sley_topk_options {
  size_t struct_size;
  sley_dtype dtype; /* of the gradient; default SLEY_F32 */
  int64_t count;    /* values of the gradient, 0 or more */
  double density;   /* the share of values to keep, 0 < density <= 1; default 0.01 */
  /* The share of values that the threshold is found from, 0 < sample <= 1; default 0.001. At least 64 /
   * density values are looked at, or all: then 64 of them are kept, and the share that is kept of all values
   * errs by about an eighth. */
  double sample;
  uint64_t seed; /* of the places of the sample, which are the same in every run; default 1 */
  /* NULL: the library takes memory, and zeroes it. Else count values of the device's memory, aligned to their
   * type (SLEY_F64: f64, other dtypes: f32), which hold the residual, at first too, and stay the caller's. */
  void *residual;
} sley_topk_options;
#define SLEY_TOPK_OPTIONS_INIT                                                                               \
  { sizeof(sley_topk_options), SLEY_F32, 0, 0.01, 0.001, 1, NULL }

/* A top-k with its residual and all memory that a run needs. */
typedef struct sley_topk sley_topk;

/* Prepares a top-k on the comm's device, to be run any number of times. Ended by sley_topk_destroy, before
 * the comm ends. options are read during the call only. Takes memory of the device for the residual, unless
 * it is given, and 8 bytes for each value of the sample. Not collective. Errors: SLEY_ERR_ARG (an option is
 * wrong: the message names it), SLEY_ERR_OVERFLOW, SLEY_ERR_MEMORY, SLEY_ERR_UNSUPPORTED (a device without
 * such kernels). */
sley_status sley_topk_create(sley_comm *comm, const sley_topk_options *options, sley_topk **out);

/* dst = the sums of src and residual whose magnitude reaches a threshold, and 0 elsewhere; the residual
 * becomes what is left. The threshold is the magnitude that the share density of the sample reaches, at least
 * one value; 0 with density 1. Value by value, s being the sum, made in f32, of SLEY_F64 in f64:
 *
 *   src infinite or NaN   dst = src: it is sent as it is, and the residual stays
 *   s infinite or NaN     dst = s, residual = 0: a sum beyond the type of sums
 *   |s| >= threshold      dst = s, residual = s - dst, which is 0 but for the rounding of 16-bit types; of
 *                         these a sum beyond the largest number becomes that number, and the rest stays
 *   else                  dst = 0, residual = s
 *
 * So dst + residual is src + the residual before, to the rounding of that sum, wherever these are finite.
 * Values that equal the threshold are all kept: of an array of equal values, all. Zeros of dst are +0, NaN is
 * the type's positive quiet NaN without payload. The bits are the same on all devices, with any number of
 * threads.
 *
 * src and dst: count values of the dtype in memory of the comm's device, aligned to it, or NULL where count is
 * 0. dst may be src; nothing else overlaps. They stay the caller's; only dst is written. The work is enqueued
 * like that of sley_spmm: on the cpu it is done on return; on cuda it is in the order of the rank's other
 * work, and nothing is waited for, copied to the host or allocated, so that a run can be captured into a
 * graph. Not collective. Errors: SLEY_ERR_ARG (a NULL handle or array, or one that is not aligned),
 * SLEY_ERR_INTERRUPTED. */
sley_status sley_topk_run(sley_topk *topk, const void *src, void *dst);

/* Copies the residual to, or from, count values of the caller's host memory, f64 for SLEY_F64 and f32 else,
 * for checkpoints; in the order of the runs. Returns when the copy is done. Not collective. Errors:
 * SLEY_ERR_ARG (a NULL handle, or array where count is not 0); also those of work enqueued earlier. */
sley_status sley_topk_residual_get(const sley_topk *topk, void *host);
sley_status sley_topk_residual_set(sley_topk *topk, const void *host);

/* Of the last run; before the first one threshold and kept are 0. */
typedef struct sley_topk_info {
  int64_t count, sample; /* values of the gradient, and of the sample */
  int64_t kept;          /* values of dst that are not zero, NaN too */
  double threshold;
} sley_topk_info;

/* Waits for the runs so far. Not collective. Errors: SLEY_ERR_ARG; also those of work enqueued earlier. */
sley_status sley_topk_info_get(const sley_topk *topk, sley_topk_info *out);

/* Waits for what is enqueued; a residual of the caller's stays. Accepts NULL. Not collective. */
void sley_topk_destroy(sley_topk *topk);

/* ------------------------------------------------------------------------------------------------------ 5
 * plans */

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
  const char *algo;  /* NULL or "auto", else a name that sley_algorithms() lists */
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
  /* How the kernel of `rowwise` on GPUs works, for comparisons with the published MGG: words NAME=VALUE,
   * separated by commas. ps=N, dist=N, wpb=N: that part of the shape (see sley_trial), 1 to 32, 1 to 16 and 1
   * to 16, is not searched. partitions=off: a partition is all local or all remote entries of a row, whatever
   * ps. interleave=off: warps take local or remote partitions, the local ones first, instead of pairs.
   * memory=shared: sums and remote rows are in shared memory, as MGG has them, instead of registers.
   * get=thread, warp or block: so many threads load a remote row together; thread and block only with
   * memory=shared, which they imply. NULL or "auto": partitions=on, interleave=on, memory=registers,
   * get=warp, and the whole shape is searched. Bits depend on ps and partitions alone. It has no effect where
   * no kernel reads rows in place: other algorithms, CPUs, GPUs that do not reach each other, one rank,
   * reproducible. Errors: SLEY_ERR_ARG (a word is not known), SLEY_ERR_MEMORY (no shape fits). */
  const char *rowwise;
} sley_plan_options;
#define SLEY_PLAN_OPTIONS_INIT                                                                               \
  {                                                                                                          \
    sizeof(sley_plan_options), NULL, false, false, false, NULL, 0, false, false, NULL, NULL, false, false,   \
        NULL, NULL, NULL, SLEY_UPDATE_NONE, NULL, NULL                                                       \
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

/* One line about an algorithm; NULL if there is none of that name. */
const char *sley_algorithm_summary(const char *algo);

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

/* ---------------------------------------------------------------------------------------------------- 5b
 * halos */

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

/* ----------------------------------------------------------------------------------------------------- 5c
 * operations of graph networks */

/* A graph: where one or several matrices of the same sizes, its relations, have entries, prepared for the
 * operations below, with the halo of rows of X that the rank's rows of all relations name. Values of entries
 * are arrays of their own: `heads` values for each entry, entry after entry in the order of the rank's block.
 * Dense rows have heads x width features: value c of head h is feature h width + c.
 *
 * All arrays of values and rows lie in memory of the rank's device, and stay the caller's. Operations are
 * enqueued as sley_spmm is, after all that the rank's calls have enqueued so far: on the cpu they are done on
 * return, on cuda what is enqueued later may read their results (over tcp and mpi rows travel through the
 * host's memory, for which a call may wait). They allocate nothing, but for attention on the cpu, which takes
 * some memory for each thread while it runs. Values of f16 and bf16 are summed in f32 and rounded once.
 * Results have the same bits on every run; those of rows (not the gradients of columns) also for every number
 * of ranks. No two results, and no result and operand, may overlap unless said. */
typedef struct sley_graph sley_graph;

typedef struct sley_graph_options {
  size_t struct_size;
  int relations; /* matrices; default 1 */
  bool forward;  /* only forward operations: nothing is prepared for gradients, 8 bytes for each entry */
  /* All results, gradients of columns too, have the same bits for every number of ranks and every transport:
   * what these are made of (rows of gradients, values of entries) travels to the owners of the columns,
   * instead of sums of each rank. Takes 16 bytes more for each entry; long rows are summed in order on every
   * device. */
  bool reproducible;
} sley_graph_options;
#define SLEY_GRAPH_OPTIONS_INIT                                                                              \
  { sizeof(sley_graph_options), 1, false, false }

typedef struct sley_graph_info {
  int64_t rows;      /* that this rank owns: of results */
  int64_t cols;      /* rows of X that it owns */
  int64_t halo_rows; /* rows of X that it needs of other ranks */
  int relations;
} sley_graph_info;

/* Makes a graph. blocks: this rank's row blocks of the relations, all of the sizes that the partitions say,
 * columns numbered globally; their values are not looked at, and blocks are read during the call only.
 * Partitions as for sley_plan_create. options may be NULL. A rank's own and halo rows of X together, and a
 * row's entries, are at most 2^31 - 1. Ended by sley_graph_destroy, after the operations made from it and
 * before the comm ends. Collective. Errors, on all ranks: SLEY_ERR_ARG, SLEY_ERR_OVERFLOW, SLEY_ERR_MEMORY,
 * SLEY_ERR_PEER. */
sley_status sley_graph_create(sley_comm *comm, const sley_matrix *const *blocks, const int64_t *row_begin,
                              const int64_t *col_begin, const sley_graph_options *options, sley_graph **out);

sley_status sley_graph_info_get(const sley_graph *graph, sley_graph_info *out);

/* The halo of the graph, for exchanges of a caller's own: rows of k values of dtype. Entry h of its buffer is
 * the row that the graph's halo row h stands for. Collective. Errors: as sley_halo_create. */
sley_status sley_graph_halo(const sley_graph *graph, int64_t k, sley_dtype dtype, sley_halo **out);

void sley_graph_destroy(sley_graph *graph); /* accepts NULL, then on all ranks. Collective */

/* Aggregation: Y[i] = the sum, mean, minimum or maximum over the entries (i, j) of val(i, j) X[j]. */
typedef enum sley_aggregate {
  SLEY_AGGREGATE_SUM = 0,
  SLEY_AGGREGATE_MEAN = 1, /* the sum divided by the number of entries; of none 0 */
  SLEY_AGGREGATE_MIN = 2,  /* of no entry 0; of equal terms the first, and NaN where there is one */
  SLEY_AGGREGATE_MAX = 3
} sley_aggregate;

typedef struct sley_aggregation sley_aggregation;

typedef struct sley_aggregation_options {
  size_t struct_size;
  sley_aggregate kind;
  int64_t heads, width; /* default 1 and 0 */
  sley_dtype dtype;     /* of val, X, Y and gradients; default SLEY_F32 */
  int relation;         /* default 0 */
} sley_aggregation_options;
#define SLEY_AGGREGATION_OPTIONS_INIT                                                                        \
  { sizeof(sley_aggregation_options), SLEY_AGGREGATE_SUM, 1, 0, SLEY_F32, 0 }

/* Prepares aggregations of one shape: the exchange of the rows of X, and a buffer for them. The graph must
 * outlive it. Collective. Errors, on all ranks: SLEY_ERR_ARG, SLEY_ERR_OVERFLOW, SLEY_ERR_UNSUPPORTED (the
 * device has no kernel), SLEY_ERR_MEMORY, SLEY_ERR_PEER. */
sley_status sley_aggregation_create(sley_graph *graph, const sley_aggregation_options *options,
                                    sley_aggregation **out);

/* Rows of other ranks that an operation has fetched, which its gradient, and other operations on the same
 * rows, need again: memory of the caller, so that nothing is remembered between calls. Rows of the same
 * graph, number of features and dtype have the same size and order, whatever the operation. */
typedef struct sley_fetched {
  void *rows; /* halo_rows x features values, without gaps; NULL: none is kept */
  bool there; /* they are in it already, for the same X on all ranks: none travels */
} sley_fetched;

typedef struct sley_aggregation_operands {
  size_t struct_size;
  const void *val; /* heads values for each entry; NULL: 1 */
  const void *x;   /* this rank's rows of X */
  int64_t ldx;     /* elements, as all leading dimensions; at least heads x width */
  sley_fetched fetched;
  void *y; /* this rank's rows */
  int64_t ldy;
  bool add; /* SUM: Y += instead of Y =, for sums over relations */
  /* MIN, MAX: rows x features: which entry of the row, counted from 0, the value is of; -1: none. May be NULL
   * in a forward call. */
  int32_t *arg;
} sley_aggregation_operands;
#define SLEY_AGGREGATION_OPERANDS_INIT                                                                       \
  { sizeof(sley_aggregation_operands), NULL, NULL, 0, {NULL, false}, NULL, 0, false, NULL }

/* Order of summation: for each value of Y the terms val x are added by fma in the order of the row's entries,
 * beginning with 0 (or Y); on devices other than the cpu long rows in fragments. Collective. Errors:
 * SLEY_ERR_ARG, SLEY_ERR_PEER, SLEY_ERR_INTERRUPTED; an error ends the comm. Source: Hamilton and others,
 * GraphSAGE, NIPS 2017. */
sley_status sley_aggregate_forward(sley_aggregation *aggregation, const sley_aggregation_operands *operands);

typedef struct sley_aggregation_gradients {
  size_t struct_size;
  const void *dy; /* the gradient with respect to Y */
  int64_t lddy;
  void *dx; /* this rank's rows of X; NULL: not wanted, on all ranks alike */
  int64_t lddx;
  void *dval; /* heads values for each entry; NULL: not wanted, on all ranks alike */
} sley_aggregation_gradients;
#define SLEY_AGGREGATION_GRADIENTS_INIT                                                                      \
  { sizeof(sley_aggregation_gradients), NULL, 0, NULL, 0, NULL }

/* dX = the transpose's sum of val dY (MEAN: divided by the row's entries; MIN, MAX: of the entries that arg
 * names, which is read), dval(i, j) = dY[i] . X[j], head by head. Of operands, val is read for dx, x and
 * fetched for dval; y is not looked at, nor add. Rows of dX that other ranks hold the gradients of are
 * summed: first the rank's own, then those of rank 0, 1, ... Collective. Errors: as sley_aggregate_forward;
 * SLEY_ERR_ARG (a graph made for forward operations only). */
sley_status sley_aggregate_backward(sley_aggregation *aggregation, const sley_aggregation_operands *operands,
                                    const sley_aggregation_gradients *gradients);

void sley_aggregation_destroy(sley_aggregation *aggregation); /* accepts NULL. Collective */

/* SDDMM: a value for each entry (i, j) and head, of row i of U and row j of V. */
typedef enum sley_sddmm_form {
  SLEY_SDDMM_DOT = 0, /* val U[i] . V[j], head by head */
  SLEY_SDDMM_ADD = 1  /* val (U[i] + V[j]); width is 1 */
} sley_sddmm_form;

typedef struct sley_sddmm sley_sddmm;

typedef struct sley_sddmm_options {
  size_t struct_size;
  sley_sddmm_form form;
  int64_t heads, width; /* default 1 and 0 */
  sley_dtype dtype;
  int relation;
} sley_sddmm_options;
#define SLEY_SDDMM_OPTIONS_INIT                                                                              \
  { sizeof(sley_sddmm_options), SLEY_SDDMM_DOT, 1, 0, SLEY_F32, 0 }

/* As sley_aggregation_create. Collective. */
sley_status sley_sddmm_create(sley_graph *graph, const sley_sddmm_options *options, sley_sddmm **out);

typedef struct sley_sddmm_operands {
  size_t struct_size;
  const void *val; /* heads values for each entry; NULL: 1 */
  const void *u;   /* this rank's rows, divided as results are */
  int64_t ldu;
  const void *v; /* this rank's rows, divided as X is */
  int64_t ldv;
  sley_fetched fetched; /* rows of V */
  void *s;              /* heads values for each entry */
} sley_sddmm_operands;
#define SLEY_SDDMM_OPERANDS_INIT                                                                             \
  { sizeof(sley_sddmm_operands), NULL, NULL, 0, NULL, 0, {NULL, false}, NULL }

/* Sums are made in sixteen parts of every sixteenth product each, added in a fixed order. val may be s.
 * Collective. Errors: as sley_aggregate_forward. */
sley_status sley_sddmm_forward(sley_sddmm *sddmm, const sley_sddmm_operands *operands);

typedef struct sley_sddmm_gradients {
  size_t struct_size;
  const void *ds; /* heads values for each entry */
  void *du;       /* each NULL: not wanted, on all ranks alike */
  int64_t lddu;
  void *dv;
  int64_t lddv;
  void *dval;
} sley_sddmm_gradients;
#define SLEY_SDDMM_GRADIENTS_INIT                                                                            \
  { sizeof(sley_sddmm_gradients), NULL, NULL, 0, NULL, 0, NULL }

/* dU[i] = sum_j ds val V[j], dV[j] = sum_i ds val U[i], dval = ds (U[i] . V[j]) (ADD: without V, U and with
 * the sum in place of the product). Of operands s is not looked at. Collective. Errors: as
 * sley_aggregate_backward. */
sley_status sley_sddmm_backward(sley_sddmm *sddmm, const sley_sddmm_operands *operands,
                                const sley_sddmm_gradients *gradients);

void sley_sddmm_destroy(sley_sddmm *sddmm); /* accepts NULL. Collective */

/* P = the softmax of S over the entries of each row, head by head: exp(s - greatest) / sum. s, p: heads
 * values for each entry of the relation; p may be s. Not collective. Errors: SLEY_ERR_ARG,
 * SLEY_ERR_UNSUPPORTED. */
sley_status sley_edge_softmax(sley_graph *graph, int relation, int64_t heads, sley_dtype dtype, const void *s,
                              void *p);

/* dS = P (dP - sum P dP over the row). ds may be p or dp. Not collective. */
sley_status sley_edge_softmax_backward(sley_graph *graph, int relation, int64_t heads, sley_dtype dtype,
                                       const void *p, const void *dp, void *ds);

/* Attention: for each row and head the softmax of scores over the row's entries, and the sum of the values of
 * columns weighted by it, in one pass; nothing of the size of the entries is stored. leaky(t) is t, or slope
 * t where t < 0. For entry (i, j), with q a row of queries, and k and v parts of a row of sources:
 *
 *   kind   score                           a row of queries   a row of sources
 *   GAT    leaky(q[i] + k[j])              heads values       v: heads x width, then k: heads values
 *   GATV2  a . leaky(q[i] + v[j])          heads x width      v: heads x width
 *   DOT    slope q[i] . k[j]               heads x width      v: heads x width, then k: heads x width
 *
 *   Y[i] = sum_j softmax_j(score) v[j]; of a row without entries 0.
 *
 * Sources: GAT, Velickovic and others, ICLR 2018; GATV2, Brody and others, ICLR 2022; DOT, Vaswani and
 * others, NIPS 2017. */
typedef enum sley_attention_kind {
  SLEY_ATTENTION_GAT = 0,
  SLEY_ATTENTION_GATV2 = 1,
  SLEY_ATTENTION_DOT = 2
} sley_attention_kind;

typedef struct sley_attention sley_attention;

typedef struct sley_attention_options {
  size_t struct_size;
  sley_attention_kind kind;
  int64_t heads, width; /* default 1 and 0 */
  sley_dtype dtype;     /* of all rows */
  double slope;         /* default 0.2; of DOT usually 1 / sqrt(width) */
  int relation;
  /* Rows of sources and of dsource have room up to the next multiple of 16 bytes, the last too, where anything
   * may be read and written: lds and ldds are no less. GPUs then exchange rows of heads x width values and keys
   * behind them as fast as others. */
  bool padded;
} sley_attention_options;
#define SLEY_ATTENTION_OPTIONS_INIT                                                                          \
  { sizeof(sley_attention_options), SLEY_ATTENTION_GAT, 1, 0, SLEY_F32, 0.2, 0, false }

/* As sley_aggregation_create. Collective. */
sley_status sley_attention_create(sley_graph *graph, const sley_attention_options *options,
                                  sley_attention **out);

typedef struct sley_attention_info {
  int64_t query_width, source_width; /* values of a row of queries, and of sources */
  int64_t saved_bytes;               /* of this rank */
} sley_attention_info;

sley_status sley_attention_info_get(const sley_attention *attention, sley_attention_info *out);

typedef struct sley_attention_operands {
  size_t struct_size;
  const void *query; /* this rank's rows, divided as results are */
  int64_t ldq;
  const void *source; /* this rank's rows, divided as X is */
  int64_t lds;        /* GPUs are fastest where rows begin at multiples of 16 bytes, here and in dsource */
  const void *a; /* GATV2: heads x width values; else not looked at */
  void *y;
  int64_t ldy;
  /* saved_bytes, aligned to 64 bytes, written by the forward call for the backward call: the rows' greatest
   * scores and sums, and the rows of sources that were fetched. NULL: there is no backward call. */
  void *saved;
} sley_attention_operands;
#define SLEY_ATTENTION_OPERANDS_INIT                                                                         \
  { sizeof(sley_attention_operands), NULL, 0, NULL, 0, NULL, NULL, 0, NULL }

/* Scores, softmax and sums are made in the type of sums. Collective. Errors: as sley_aggregate_forward. */
sley_status sley_attention_forward(sley_attention *attention, const sley_attention_operands *operands);

typedef struct sley_attention_gradients {
  size_t struct_size;
  const void *dy;
  int64_t lddy;
  void *dquery; /* as query; these three are all written */
  int64_t lddq;
  void *dsource; /* as source */
  int64_t ldds;
  void *da; /* GATV2: heads x width values in the type of sums, of this rank's rows: the caller adds the
               ranks' */
} sley_attention_gradients;
#define SLEY_ATTENTION_GRADIENTS_INIT                                                                        \
  { sizeof(sley_attention_gradients), NULL, 0, NULL, 0, NULL, 0, NULL }

/* operands: as in the forward call, whose y and saved are read. Scores are computed anew. No row of sources
 * travels; gradients of the halo's rows are added to their owners', as by sley_aggregate_backward.
 * Collective. Errors: as sley_aggregate_backward. */
sley_status sley_attention_backward(sley_attention *attention, const sley_attention_operands *operands,
                                    const sley_attention_gradients *gradients);

void sley_attention_destroy(sley_attention *attention); /* accepts NULL. Collective */

/* ----------------------------------------------------------------------------------------------------- 5d
 * dense parts of graph networks */

/* What these functions have in common. Each works on one rank alone, with the threads or the GPU of its comm;
 * none is collective. Arrays lie in memory of the rank's device (sley_comm_alloc, or on cuda the caller's own
 * cudaMalloc), are aligned to their type and stay the caller's; matrices are row-major, with leading
 * dimensions in elements. An array without values may be NULL. The struct is read by the call.
 *
 * The work is enqueued as that of sley_spmm: on the cpu it is done on return; on cuda it is ordered with the
 * rank's other work, nothing is waited for or copied between host and device, and a call can be captured into
 * a graph, after a first direct run of its shapes. On the cpu sley_gemm, sley_column_sums and sley_nll take
 * memory for sums while they run; on cuda the first of these calls takes 32 MiB, until the comm ends.
 *
 * The same arguments give the same bits on every run, with any number of threads. On another processor or
 * device the bits of sley_gemm without in_order, and of sley_nll by its logarithms, may differ; all others
 * are the same. With ranks, gradients of weights and biases and the sums of sley_nll are those of the rank's
 * own rows: a sley_collective (SLEY_ALLREDUCE) adds them up.
 *
 * Errors of all: SLEY_ERR_ARG (a NULL comm or array, a size below 0, a leading dimension that is too small,
 * an unknown dtype; the message names it), SLEY_ERR_MEMORY, SLEY_ERR_INTERRUPTED. */

/* Applied to what a product has given. Of v: v itself; v < 0 ? 0 : v; v < 0 ? slope v : v; v > 0 ? v : slope
 * (exp(v) - 1). NaN stays NaN, but with SLEY_RELU on cuda, which cuBLASLt applies, it may become 0. */
typedef enum sley_activation {
  SLEY_NO_ACTIVATION = 0,
  SLEY_RELU = 1,
  SLEY_LEAKY_RELU = 2, /* slope: of the negative side, as 0.2 in GAT */
  SLEY_ELU = 3         /* slope: what is often called alpha */
} sley_activation;

typedef struct sley_gemm_spec {
  size_t struct_size;
  sley_dtype dtype;              /* of A, B, C and bias; default SLEY_F32 */
  bool transpose_a, transpose_b; /* op(A) is A^T, op(B) is B^T */
  int64_t m, n, k;               /* C is m x n, op(A) m x k, op(B) k x n */
  double alpha, beta;            /* default 1 and 0 */
  const void *a, *b; /* A: m x k, or with transpose_a k x m; B: k x n, or with transpose_b n x k */
  int64_t lda, ldb;  /* elements, at least the columns of A and B as stored */
  void *c;
  int64_t ldc;      /* at least n */
  const void *bias; /* NULL, or n values, one for each column of C */
  sley_activation act;
  double slope; /* of the activation */
  /* Each sum is made in ascending order of its terms, so that a row of C has the same bits whatever rows
   * stand beside it, and so for every number of ranks; slower. */
  bool in_order;
  /* Of f32, where GPUs multiply: values may be rounded to tf32, 11 significant bits, as those of a plan with
   * precision "tf32" are; faster. */
  bool tf32;
} sley_gemm_spec;
#define SLEY_GEMM_SPEC_INIT                                                                                  \
  {                                                                                                          \
    sizeof(sley_gemm_spec), SLEY_F32, false, false, 0, 0, 0, 1, 0, NULL, NULL, 0, 0, NULL, 0, NULL,          \
        SLEY_NO_ACTIVATION, 0, false, false                                                                  \
  }

/* C = act(alpha op(A) op(B) + beta C + bias): a linear layer X W + b, and its gradients dY W^T and X^T dY.
 * Products are summed in f64 for f64 and in f32 else, on the cpu in blocks of 8192 terms that are added in
 * ascending order; what follows is rounded to dtype once (on cuda maybe once more before the activation).
 * With beta = 0 C need not be initialised. With alpha = 0 A and B are not read. C overlaps no other array.
 *
 * On the cpu the library opens OpenBLAS (libopenblas.so.0), where it was built for it, at the first call, and
 * sets its number of threads to 1, for the whole process: each of the comm's threads calls it by itself. Only
 * builds with threads of their own are used (Debian's libopenblas0-pthread): others are not safe to be called
 * by several threads, or start more. On cuda it opens cuBLASLt (libcublasLt.so), whose bits may depend on the
 * arrays' alignment. Where these are missing, and with in_order, kernels of its own multiply. Not collective;
 * see above. */
sley_status sley_gemm(sley_comm *comm, const sley_gemm_spec *spec);

/* out[j] = sum of x[i][j] over i < rows, for j < cols, summed in double and rounded to dtype once: the
 * gradient of a bias. x: rows x cols, ldx >= cols; out: cols values, which do not overlap x. Not collective;
 * see above. */
sley_status sley_column_sums(sley_comm *comm, sley_dtype dtype, int64_t rows, int64_t cols, const void *x,
                             int64_t ldx, void *out);

typedef struct sley_activate_grad_spec {
  size_t struct_size;
  sley_dtype dtype; /* default SLEY_F32 */
  sley_activation act;
  double slope;       /* as it was given to sley_gemm; that of SLEY_LEAKY_RELU and SLEY_ELU is not below 0 */
  int64_t rows, cols; /* of all three */
  const void *y, *dy; /* what the activation gave; its gradient */
  int64_t ldy, ld_dy; /* elements */
  void *dx;           /* may be dy or y, with the same leading dimension; overlaps them in no other way */
  int64_t ld_dx;
} sley_activate_grad_spec;
#define SLEY_ACTIVATE_GRAD_SPEC_INIT                                                                         \
  { sizeof(sley_activate_grad_spec), SLEY_F32, SLEY_NO_ACTIVATION, 0, 0, 0, NULL, NULL, 0, 0, NULL, 0 }

/* dX = dY act'(Y), the gradient through an activation, from its output: factors 1; y > 0 ? 1 : 0; y > 0 ? 1 :
 * slope; y > 0 ? 1 : y + slope. Each product is rounded once. Errors also: SLEY_ERR_ARG (a slope below 0).
 * Not collective; see above. */
sley_status sley_activate_grad(sley_comm *comm, const sley_activate_grad_spec *spec);

typedef struct sley_dropout_spec {
  size_t struct_size;
  sley_dtype dtype; /* default SLEY_F32 */
  double p;         /* the chance of a value to be set to zero, 0 <= p < 1 */
  /* What the mask is drawn from, beside row and column: seed, the same for all of a training; stream, another
   * number for each layer and step. */
  uint64_t seed;
  uint32_t stream;
  int64_t rows, cols;
  int64_t first_row;  /* row i is row first_row + i of all ranks' rows */
  const int64_t *row; /* or NULL; else, in the device's memory, the numbers of the rows */
  const void *in;
  int64_t ld_in; /* elements */
  void *out;     /* may be in, with the same leading dimension */
  int64_t ld_out;
} sley_dropout_spec;
#define SLEY_DROPOUT_SPEC_INIT                                                                               \
  { sizeof(sley_dropout_spec), SLEY_F32, 0, 0, 0, 0, 0, 0, NULL, NULL, 0, NULL, 0 }

/* out = in / (1 - p) where the mask keeps, else 0. The mask depends on seed, stream, the row's number and the
 * column alone, so it is the same for every number of ranks, threads and devices, and is drawn again for the
 * gradient, which is the same call on the gradient of out. Source: Philox4x32-10 of Salmon, Moraes, Dror and
 * Shaw, Parallel random numbers: as easy as 1, 2, 3, SC 2011, by their library Random123. Errors also:
 * SLEY_ERR_ARG (p, or more than 2^34 columns), SLEY_ERR_UNSUPPORTED (a build without Random123). Not
 * collective; see above. */
sley_status sley_dropout(sley_comm *comm, const sley_dropout_spec *spec);

typedef struct sley_nll_spec {
  size_t struct_size;
  sley_dtype dtype; /* of logits, grad and log_probs; default SLEY_F32 */
  int64_t rows, classes;
  const void *logits;   /* rows x classes */
  int64_t ld;           /* elements, as the other leading dimensions */
  const int32_t *label; /* rows entries, 0 .. classes - 1; -1: the row is not counted */
  double grad_scale;    /* default 1; 1 / (counted rows of all ranks) for the mean loss */
  double *row_loss; /* NULL, or rows values: -log softmax(logits[i])[label[i]], 0 where it is not counted */
  double *sums;     /* NULL, or 2 values: the sum of the rows' losses, and how many rows are counted */
  void *grad;       /* NULL, or rows x classes: grad_scale (softmax - label), 0 in rows not counted */
  int64_t ld_grad;
  void *log_probs; /* NULL, or rows x classes: log softmax(logits) */
  int64_t ld_log_probs;
} sley_nll_spec;
#define SLEY_NLL_SPEC_INIT                                                                                   \
  { sizeof(sley_nll_spec), SLEY_F32, 0, 0, NULL, 0, NULL, 1, NULL, NULL, NULL, 0, NULL, 0 }

/* Log-softmax and the negative log-likelihood of labels, in double, less each row's greatest logit, so that
 * it overflows nowhere. What is NULL is left out. A label that is neither -1 nor a class makes its row's loss
 * and gradient, and so the sum, NaN. grad or log_probs may be logits, with the same leading dimension, if the
 * other is NULL; no other outputs overlap anything. sums lies in the device's memory; of ranks, it is added
 * up by a collective of 2 values of SLEY_TYPE_F64. Not collective; see above. */
sley_status sley_nll(sley_comm *comm, const sley_nll_spec *spec);

typedef struct sley_adam_spec {
  size_t struct_size;
  sley_dtype dtype; /* of param and grad; default SLEY_F32 */
  int64_t count;    /* values of each array */
  void *param;
  const void *grad;
  void *m, *v;              /* the moments, f64 for f64 and f32 else; zeros before the first step */
  void *master;             /* NULL, or the parameters in that type, from which param is rounded */
  int64_t step;             /* of this call, from 1 */
  double rate;              /* of learning; default 0.001 */
  double beta1, beta2, eps; /* default 0.9, 0.999, 1e-8 */
  double decay;             /* of weights; default 0 */
  bool decoupled;           /* AdamW: decay shrinks the parameters; else it is added to the gradient (L2) */
  double grad_scale;        /* that the gradient is multiplied by first; default 1 */
} sley_adam_spec;
#define SLEY_ADAM_SPEC_INIT                                                                                  \
  {                                                                                                          \
    sizeof(sley_adam_spec), SLEY_F32, 0, NULL, NULL, NULL, NULL, NULL, 1, 0.001, 0.9, 0.999, 1e-8, 0, false, \
        1                                                                                                    \
  }

/* A step of Adam, each value in double: g = grad_scale grad (+ decay x); m = beta1 m + (1 - beta1) g; v =
 * beta2 v + (1 - beta2) g^2; x = x (1 - rate decay, where decoupled) - rate / (1 - beta1^step) m / (sqrt(v /
 * (1 - beta2^step)) + eps), x being master, or param where that is NULL. param, m, v and master are written,
 * each rounded once; no two arrays overlap. The bits are the same on all devices. Sources: Kingma and Ba,
 * ICLR 2015; decoupled: Loshchilov and Hutter, ICLR 2019. Errors also: SLEY_ERR_ARG (step below 1, a beta
 * outside [0, 1), eps below 0). Not collective; see above. */
sley_status sley_adam(sley_comm *comm, const sley_adam_spec *spec);

/* ----------------------------------------------------------------------------------------------------- 5e
 * sparse products */

/* What a sparse product C = A B multiplies and adds by. C[i][j] is the sum of the products of a = A[i][k] and
 * b = B[k][j] over all k where both have entries:
 *
 *                     product                     sum
 *   SLEY_PLUS_TIMES   a b                         s + p
 *   SLEY_PLUS_PAIR    1                           s + p: how many k there are; values are not read
 *   SLEY_MIN_PLUS     a + b                       the smaller; NaN if a product is NaN
 *   SLEY_OR_AND       1 if a, b != 0, else 0      the larger */
typedef enum sley_semiring {
  SLEY_PLUS_TIMES = 0,
  SLEY_PLUS_PAIR = 1,
  SLEY_MIN_PLUS = 2,
  SLEY_OR_AND = 3
} sley_semiring;

typedef struct sley_spgemm_options {
  size_t struct_size;
  sley_semiring semiring;  /* default SLEY_PLUS_TIMES */
  const sley_matrix *mask; /* NULL, or a matrix of C's size: C has entries only where it has, whatever its
                              values and dtype */
  bool transpose_b;        /* C = A B^T */
  int64_t mem_limit;       /* bytes of C and of all memory that the call takes; 0: none */
  int threads;             /* 0: all cores */
} sley_spgemm_options;
#define SLEY_SPGEMM_OPTIONS_INIT                                                                             \
  { sizeof(sley_spgemm_options), SLEY_PLUS_TIMES, NULL, false, 0, 0 }

typedef struct sley_spgemm_info {
  int64_t products;   /* pairs of an entry of A and one of B, before the mask: 2 operations each */
  int64_t nnz;        /* entries of C */
  double compression; /* products / nnz; 0 where C has no entries */
  int64_t peak_bytes; /* of C and of all that the call allocated, at most at a time, but for room in C that
                         was asked for in advance and never written */
  int passes;         /* 1: each row was computed once; 2: rows were counted first, to stay within mem_limit or
                         the machine's memory */
} sley_spgemm_info;

/* C = A B of sparse matrices as a new matrix, in this process alone, by threads. A is m x k, B k x n (with
 * transpose_b n x k), both of one dtype, which C gets too; rows of A, B and C may be empty. C has an entry where
 * there is at least one product, whatever the products come to: where they cancel, an explicit zero. Its
 * columns ascend in each row, each once, in 32 bits where n is below 2^31, else in 64. Repeated entries of A or
 * B count as entries of their own.
 *
 * Bits: the products of an entry are added in the order of A's row, each product and each sum rounded once (f16
 * and bf16: summed in f32, C rounded at the end), so they depend neither on the number of threads nor on
 * mem_limit. info may be NULL. The matrices are read until the call returns; *out is the caller's, NULL on an
 * error. Not collective. Errors: SLEY_ERR_ARG (sizes that do not fit, two dtypes, a semiring, mem_limit or
 * threads that are none), SLEY_ERR_MEMORY (also: C and what is needed to make it do not fit mem_limit; the
 * message says how much would do), SLEY_ERR_INTERRUPTED. Source of the row-wise product: Gustavson, Two fast
 * algorithms for sparse matrices, ACM TOMS 4, 1978. */
sley_status sley_spgemm(const sley_matrix *a, const sley_matrix *b, const sley_spgemm_options *options,
                        sley_matrix **out, sley_spgemm_info *info);

/* The name of a semiring as the command takes it, "plus-times" and so on; NULL: there is none. Static. */
const char *sley_semiring_name(sley_semiring semiring);

/* ----------------------------------------------------------------------------------------------------- 6
 * checks */

typedef struct sley_check {
  int64_t row, col; /* of Y: where the error came closest to, or passed, what rounding allows */
  double max_error; /* there: |Y - A X| / |A||X|, against a float64 product */
  double bound;     /* there: c eps, c the terms summed + 1, eps of the type of sums; with 16 bits also Y's
                       rounding */
  bool ok;          /* every entry is within its bound */
  double relative_error; /* the largest |Y - A X| of all, relative to the largest |A X| */
} sley_check;

/* Compares Y with a float64 product A X (A^T X if transpose), entry by entry. x, y: whole operands. NaN and
 * infinities are values: where A or X has one, Y must have what IEEE 754 makes of it; the errors above are of
 * the entries that are finite. */
sley_status sley_check_spmm(const sley_matrix *matrix, bool transpose, int64_t k, const void *x, int64_t ldx,
                            const void *y, int64_t ldy, int threads, sley_check *out);

/* The same for Y = alpha A X + beta Y0 (|alpha A||X| + |beta Y0| for |A||X|; c: entries of the row + 6). y0:
 * Y before the product; not read if beta is 0. */
sley_status sley_check_scaled(const sley_matrix *matrix, bool transpose, int64_t k, double alpha,
                              const void *x, int64_t ldx, double beta, const void *y0, int64_t ldy0,
                              const void *y, int64_t ldy, int threads, sley_check *out);

/* The same for a product by a plan with wire, or with a kernel on Tensor cores: entries may be off by what
 * its values' roundings allow, and term_roundings and more_roundings, too. info: the plan's. */
sley_status sley_check_wire(const sley_matrix *matrix, bool transpose, int64_t k, double alpha, const void *x,
                            int64_t ldx, double beta, const void *y0, int64_t ldy0, const void *y,
                            int64_t ldy, int threads, const sley_plan_info *info, sley_check *out);

/* The same for Z = (alpha A X) W + beta Z0 by sley_spmm_update (|alpha A||X||W| + |beta Z0| for |A||X|; c:
 * entries of the row + k + 8). x, z0, z: whole operands, z0 not read if beta is 0; update, with w in the
 * host's memory: as it was given. info: the plan's, or NULL where it has neither a wire nor such a
 * kernel. Entries whose
 * float64 sums reach the largest number of the type that they are summed in need only be as finite as these.
 */
sley_status sley_check_update(const sley_matrix *matrix, bool transpose, int64_t k, const void *x,
                              int64_t ldx, const sley_update *update, const void *z0, int64_t ldz0,
                              const void *z, int64_t ldz, int threads, const sley_plan_info *info,
                              sley_check *out);

/* The same for a sparse product C = A B: every entry of C against a sum in float64 (|A||B| for |A||X|; c: the
 * entry's products + 1), and that C has entries exactly where it must. Where an entry is missing, superfluous or
 * out of order, ok is false and row and col name it, max_error and relative_error being infinite. options: as
 * given to sley_spgemm; mem_limit is not looked at. Errors also: SLEY_ERR_ARG (sizes that do not fit),
 * SLEY_ERR_UNSUPPORTED (C has 2^31 columns or more). Not collective. */
sley_status sley_check_spgemm(const sley_matrix *a, const sley_matrix *b, const sley_spgemm_options *options,
                              const sley_matrix *c, sley_check *out);

/* Fills rows [first, first + rows) of a dense operand with values in [-1, 1) that depend on seed, row and
 * column alone. row_names: NULL, or the number that stands for each row. */
sley_status sley_dense_random(uint64_t seed, int64_t first, int64_t rows, int64_t cols,
                              const int64_t *row_names, sley_dtype dtype, void *data, int64_t ld);

/* ------------------------------------------------------------------------------------------------------- 7
 * info */

typedef struct sley_backend {
  const char *kind; /* "device" or "transport" */
  const char *name; /* "cpu", "cuda", "threads", "mpi", ... */
  bool available;
  const char *detail; /* what was found, or why it was not */
} sley_backend;

/* The backends known to this build, looked up now. *out is valid until the calling thread asks again or ends.
 */
sley_status sley_backends(const sley_backend **out, int *count);

/* A kernel that multiplies by a part of A. */
typedef struct sley_kernel {
  const char *name;    /* as sley_plan_options.kernel takes it. Static */
  const char *library; /* NULL: Sley's own; else the library that it calls, such as "cusparse", which plans do
                        * not choose by themselves. Static */
} sley_kernel;

/* The kernels of a device, "cpu" (NULL too) or "cuda": the first `room` are written to out, *count is how
 * many there are. Which of them serve a plan depends on its values, its parts and the processor. Touches no
 * device. Not collective. Errors: SLEY_ERR_ARG (no such device, out or count is NULL), SLEY_ERR_UNSUPPORTED
 * (its module is not there). */
sley_status sley_kernels(const char *device, sley_kernel *out, int room, int *count);

/* SLEY_OK if the transport is there. Touches no device. Errors: SLEY_ERR_ARG (no such transport),
 * SLEY_ERR_UNSUPPORTED (why not). */
sley_status sley_transport_found(const char *name);

#ifdef __cplusplus
}
#endif
#endif
