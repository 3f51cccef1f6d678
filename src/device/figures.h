/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a machine that costs and shapes of kernels read: what the device can do, and the
 * coefficients of the models by which kernels are chosen. Every device has them. A plan has a copy in which
 * figures of a machine description replace the device's (sl_machine_figures). There is one file for each
 * machine on which models were fitted, in device/figures/. */
#ifndef SLEY_DEVICE_FIGURES_H
#define SLEY_DEVICE_FIGURES_H

#include "device/window_model.h"

/* Numbers of threads, warps, blocks, rows, entries or bytes that fill a GPU, proportional to its lanes. */
typedef enum sl_fill {
  SL_FILL_STREAM_THREADS, /* threads of a product by streams, about two waves */
  SL_FILL_STREAM_WARPS,   /* warps of such a product that run at once */
  SL_FILL_NARROW_WARPS,   /* warps of a narrow product */
  SL_FILL_VECTOR_WARPS,   /* warps of a narrow product with k of 1 or 2 */
  SL_FILL_ENTRIES,        /* entries of a product from which on all lanes have work in any case */
  SL_FILL_FEW_ENTRIES,    /* entries below which 4 lanes share a feature of a wide product with long rows */
  SL_FILL_SOME_ENTRIES,   /* entries below which 2 lanes share a feature of a wide product with long rows */
  SL_FILL_LONG_SUMS,      /* bytes that entries load, up to which lanes share a feature for many long rows */
  SL_FILL_SUMS,           /* bytes that entries load, up to which lanes share a feature for a few long rows */
  SL_FILL_ROW_THREADS,    /* small products: threads up to which lanes share a feature */
  SL_FILL_ROW_MOST,       /* most threads of a small product */
  SL_FILL_ROW_BYTES,      /* most bytes that entries of a small product load */
  SL_FILL_WINDOW_WARPS,   /* warps of a product over row windows */
  SL_FILL_WINDOW_ENTRIES, /* entries from which on row windows are considered */
  SL_FILL_DENSE_ENTRIES,  /* entries from which on dense windows are considered */
  SL_FILL_UPDATE_WARPS,   /* warps of a fused update */
  SL_FILL_UPDATE_ROWS,    /* rows from which on an update is fused */
  SL_FILL_PULL_BLOCKS,    /* blocks of a pull */
  SL_FILL_FEW_PULL_BLOCKS, /* blocks of a pull whose rows are needed late */
  SL_FILL_REPEAT_BLOCKS,   /* blocks that look for repeated entries of a sparse factor */
  SL_FILLS
} sl_fill;

enum { SL_NARROW_LOADS = 4 };

/* The time of a dense product: its start, and the time of its products or of its memory, whichever is longer.
 */
typedef struct sl_gemm_figures {
  double start;    /* seconds */
  double products; /* multiply-adds/s */
  double memory;   /* bytes/s */
  double apart;    /* multiply-adds/s if rows of the operands are not aligned */
} sl_gemm_figures;

typedef enum sl_gemm_kind {
  SL_GEMM_PLAIN,      /* terms in order */
  SL_GEMM_LIBRARY,    /* by a library */
  SL_GEMM_SPLIT_SUMS, /* split values, A transposed */
  SL_GEMM_SPLIT_ROWS, /* split values */
  SL_GEMM_KINDS
} sl_gemm_kind;

/* Seconds of products over row windows, beside the model's times of windows (window_model.h). */
typedef struct sl_window_starts {
  double stream;           /* start of a stream kernel, without its entries */
  double second;           /* launch of the second kernel */
  double f32, f16, narrow; /* a slab if nothing else runs: in f32, in 16 bits, with few features */
  double fragment;         /* adding a fragment */
} sl_window_starts;

/* Sparse products on cores. */
typedef struct sl_core_figures {
  double entry;     /* seconds of an entry if everything is in the caches */
  double line;      /* additional seconds for each 64 bytes of the entry's row of X */
  double serial;    /* seconds of one thread below which a product is not shared, because starting and ending
                     * the team takes about as long */
  double part;      /* seconds of the shortest part, ten times the cost of claiming it */
  double part_one;  /* seconds of the shortest part for k = 1, which is longer so that more rows are sorted
                       together */
  double brief;     /* seconds of one thread below which waking another may take longer than what it saves */
  double cycles;    /* cycles per second */
  double update;    /* multiply-adds/s of an update */
  int64_t near;     /* bytes of a near cache, such as L2 */
  int64_t bundled;  /* bytes of A and Y beyond which memory is the limit */
  int64_t far;      /* bytes of X beyond which the first use of a row is slow */
  int64_t streamed; /* bytes of X and Y beyond which Y is written past the caches */
  int64_t by_lines; /* bytes of X and Y beyond which rows of several panels are summed one after the other */
} sl_core_figures;

typedef struct sl_device_figures {
  int64_t processors; /* multiprocessors of a GPU, or cores */
  int64_t lanes;      /* threads that they can hold at once */
  double cache;       /* bytes that the L2 cache keeps until they are used again */
  double launch;      /* seconds of a kernel that does nothing, if other kernels are enqueued */
  double memory;      /* bytes/s at which a kernel copies an array; a copied byte counts once */
  double stream;      /* bytes/s at which entries load their rows of X in a product by streams */
  double plain;       /* bytes/s at which entries load their rows of X in the plain product, or on cores */
  double piece;       /* minimum seconds of a piece of a halo, long compared with the time to report it */
  double pull_start;  /* seconds by which a pull of pieces begins later than sums that need no halo */
  double split_row;   /* seconds, besides its bytes, of a row of Y to which a second product adds */
  double pull_words;  /* words/s, narrower than 16 bytes, that a pull loads over direct links */
  /* Products by streams whose rows of X have more than 64 and at most narrow_most[i] bytes: the share of
   * their time that loads of 16 bytes save, if the width allows only loads of 2^i bytes. */
  double narrow_loads[SL_NARROW_LOADS];
  int64_t narrow_most[SL_NARROW_LOADS];
  int64_t fill[SL_FILLS];
  sl_gemm_figures gemm[SL_GEMM_KINDS];
  sl_window_model windows;
  sl_window_starts window_starts;
  sl_dense_figures dense[SL_DENSE_KINDS];
  sl_core_figures cores;
} sl_device_figures;

/* The figures of GPUs on which models were fitted, and of cores. A member is 0 if the device has no kernels
 * for it. */
extern const sl_device_figures sl_figures_hopper, sl_figures_cores;

/* What the driver reports of a GPU. */
typedef struct sl_gpu_properties {
  const char *name;
  int64_t processors, lanes; /* lanes: threads of all multiprocessors */
  double cache, memory;      /* bytes of the L2 cache, bytes/s of the memory's pins; 0: not known */
} sl_gpu_properties;

/* The figures of a GPU. A whole H200 or H100 has the fitted figures. On other GPUs the numbers that fill the
 * GPU are proportional to its lanes, the cache to its L2 cache, and rates of memory to the rate of its
 * memory. */
sl_device_figures sl_figures_of_gpu(const sl_gpu_properties *gpu);

#endif
