/* SPDX-License-Identifier: Apache-2.0 */
/* What a sparse collective is asked for, and what a run reports. */
#ifndef SLEY_COLLECTIVE_SPARSE_SPEC_H
#define SLEY_COLLECTIVE_SPARSE_SPEC_H

#include "device/op/op_compress.h"
#include "transport/dense_collective.h"

/* What arrays travel in. One that would be longer than dense travels dense. */
typedef enum sl_sparse_choice {
  SL_SPARSE_AUTO,  /* each message by itself; the whole collective is dense where that is faster */
  SL_SPARSE_DENSE, /* with SL_SPARSE_WAY_AUTO: the dense collective */
  SL_SPARSE_PICI,  /* pici32, or pici64 where offsets of 32 bits are too short */
  SL_SPARSE_COO,   /* pici64 for arrays of more than 2^32 values */
  SL_SPARSE_CHOICES
} sl_sparse_choice;

typedef enum sl_sparse_way {
  SL_SPARSE_WAY_AUTO, /* the faster one of direct and two-level; the latter where bits allow it */
  SL_SPARSE_WAY_DIRECT,
  SL_SPARSE_WAY_RING,
  SL_SPARSE_WAY_TWO_LEVEL,
  SL_SPARSE_WAYS
} sl_sparse_way;

typedef struct sl_sparse_spec {
  sl_dense_spec dense; /* the collective that it does */
  sl_sparse_choice format;
  sl_sparse_way way;
  /* Of SL_SPARSE_AUTO: the density, of all ranks' arrays together, above which a run is dense. 0: as
   * predicted from the machine; it is at most 1. */
  double dense_above;
} sl_sparse_spec;

typedef enum sl_sparse_path {
  SL_SPARSE_PATH_DENSE,
  SL_SPARSE_PATH_DIRECT,
  SL_SPARSE_PATH_RING,
  SL_SPARSE_PATH_TWO_LEVEL
} sl_sparse_path;

/* Why a run took its path. */
typedef enum sl_sparse_reason {
  SL_SPARSE_ASKED,        /* the spec names it */
  SL_SPARSE_ALONE,        /* one rank, or no values */
  SL_SPARSE_NO_KERNELS,   /* the device has no kernels that compress */
  SL_SPARSE_SMALL,        /* dense is faster whatever the values are */
  SL_SPARSE_ENOUGH_ZEROS, /* sparse is faster */
  SL_SPARSE_FEW_ZEROS,    /* dense is faster */
  SL_SPARSE_MISSED,       /* a sparse run's arrays were denser than what it was chosen by */
  SL_SPARSE_HELD,         /* dense was faster when last looked at */
  SL_SPARSE_REASONS
} sl_sparse_reason;

/* In a few words; static. */
const char *sl_sparse_path_text(sl_sparse_path path);
const char *sl_sparse_reason_text(sl_sparse_reason reason);

/* Of arrays. */
typedef struct sl_sparse_counts {
  int64_t values, nonzeros;
} sl_sparse_counts;

/* What the last run of this rank has done. */
typedef struct sl_sparse_report {
  sl_sparse_path path;
  bool in_place; /* peers' arrays were read where they are */
  sl_sparse_reason reason;
  /* Of the arrays of src that this rank has compressed, or, in a run that was dense, of what it was chosen
   * by: a sample that was counted, or the arrays of a run before. */
  int64_t values, nonzeros;
  int64_t result_nonzeros;                        /* values of dst that are not zero; -1: not known */
  int64_t arrays, formats[SL_COMPRESSED_FORMATS]; /* compressed arrays that it has made, and of each format */
  int64_t sent, received; /* bytes, headers too; what goes to several peers counts as often */
  int64_t dense_sent;     /* bytes that the dense collective sends */
} sl_sparse_report;

#endif
