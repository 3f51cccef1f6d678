/* SPDX-License-Identifier: Apache-2.0 */
/* The specification of a sparse collective, and the report of a run. */
#ifndef SLEY_COLLECTIVE_SPARSE_SPEC_H
#define SLEY_COLLECTIVE_SPARSE_SPEC_H

#include "device/op/op_compress.h"
#include "transport/dense_collective.h"

/* The format in which arrays travel. An array that would become longer by compression travels dense. */
typedef enum sl_sparse_choice {
  SL_SPARSE_AUTO,  /* chosen for each message; the whole collective is dense if that is faster */
  SL_SPARSE_DENSE, /* with SL_SPARSE_WAY_AUTO: the dense collective */
  SL_SPARSE_PICI,  /* pici32, or pici64 if 32-bit offsets are too short */
  SL_SPARSE_COO,   /* pici64 for arrays of more than 2^32 values */
  SL_SPARSE_CHOICES
} sl_sparse_choice;

/* The classes of messages for which users set densities. An all-gather, and the second half of an all-reduce,
 * are one class, because gathered arrays do not become denser on the way. */
typedef enum sl_message_class {
  SL_INTER,    /* to be reduced, between workgroups */
  SL_INTRA,    /* to be reduced, inside a workgroup */
  SL_GATHERED, /* gathered */
  SL_MESSAGE_CLASSES
} sl_message_class;

/* The density above which the messages of a class travel dense. */
typedef struct sl_sparse_bound {
  bool is_set; /* false: chosen by predicted time */
  double density;
} sl_sparse_bound;

typedef struct sl_sparse_spec {
  sl_dense_spec dense; /* the collective to perform */
  sl_sparse_choice format;
  sley_collective_way way; /* SLEY_WAY_AUTO: the faster of direct and two-level; two-level only if the bits
                              allow it */
  /* For SL_SPARSE_AUTO: the density, of all ranks' arrays together, above which a run is dense; at most 1. 0:
   * predicted from the machine. */
  double dense_above;
  /* By sl_message_class. If one is set, no run is dense as a whole, and the format of a message is the
   * spec's, or dense. */
  sl_sparse_bound above[SL_MESSAGE_CLASSES];
} sl_sparse_spec;

static inline bool sl_sparse_has_bounds(const sl_sparse_spec *spec) {
  return spec->above[SL_INTER].is_set || spec->above[SL_INTRA].is_set || spec->above[SL_GATHERED].is_set;
}

/* Why a run took its path. */
typedef enum sl_sparse_reason {
  SL_SPARSE_ASKED,        /* the spec requests it */
  SL_SPARSE_ALONE,        /* one rank, or no values */
  SL_SPARSE_NO_KERNELS,   /* the device has no kernels that compress */
  SL_SPARSE_SMALL,        /* dense is faster whatever the values are */
  SL_SPARSE_ENOUGH_ZEROS, /* the arrays have enough zeros: sparse is faster */
  SL_SPARSE_FEW_ZEROS,    /* the arrays have few zeros: dense is faster */
  SL_SPARSE_MISSED,       /* the last run's arrays were denser than estimated */
  SL_SPARSE_HELD,         /* dense was faster at the last estimate */
  SL_SPARSE_REASONS
} sl_sparse_reason;

/* A text of a few words; static. */
const char *sl_sparse_reason_text(sl_sparse_reason reason);

/* Counts of arrays. */
typedef struct sl_sparse_counts {
  int64_t values, nonzeros;
} sl_sparse_counts;

/* Report on the last run on this rank. */
typedef struct sl_sparse_report {
  const char *path; /* name of the way that ran, or "dense"; static */
  bool in_place;    /* peers' arrays were read in place */
  sl_sparse_reason reason;
  /* Counts of the arrays of src that this rank compressed. In a dense run: counts on which the choice was
   * based, of a sample or of the arrays of an earlier run. */
  int64_t values, nonzeros;
  int64_t result_nonzeros;                        /* number of nonzero values of dst; -1: not known */
  int64_t arrays, formats[SL_COMPRESSED_FORMATS]; /* number of compressed arrays that this rank made, in total
                                                     and by format */
  int64_t made[SL_MESSAGE_CLASSES], made_dense[SL_MESSAGE_CLASSES]; /* the same arrays by class: all, dense */
  int64_t sent, received; /* bytes with headers; an array sent to several peers counts several times */
  int64_t dense_sent;     /* bytes that the dense collective sends */
} sl_sparse_report;

#endif
