/* SPDX-License-Identifier: Apache-2.0 */
/* What this build contains and what it finds on the machine: names of types and formats, backends, kernels,
 * transports. */
#ifndef SLEY_INFO_H
#define SLEY_INFO_H

#include "sley_base.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Return lists of names, NULL-terminated, static: the types of matrices, by sley_dtype; the types of arrays and
 * of collectives, by sley_type, of which the first are the types of matrices; the values of
 * sley_plan_options.wire; the reductions, by sley_reduce; and the routes of compressed arrays, by
 * sley_collective_way. */
const char *const *sley_dtypes(void);
const char *const *sley_types(void);
const char *const *sley_wires(void);
const char *const *sley_reduces(void);
const char *const *sley_collective_ways(void);

/* A format of sley_formats in a few words, with the ending under which it is written; NULL if there is no
 * such format. Static. */
const char *sley_format_summary(const char *format);

typedef struct sley_backend {
  const char *kind; /* "device" or "transport" */
  const char *name; /* name, such as "cpu", "cuda", "threads" or "mpi" */
  bool available;
  const char *detail; /* what was found, or why nothing was found */
} sley_backend;

/* Looks up the backends known to this build. *out is valid until the calling thread asks again or ends. */
sley_status sley_backends(const sley_backend **out, int *count);

/* A kernel that multiplies a part of A by dense rows. */
typedef struct sley_kernel {
  const char *name;    /* as in sley_plan_options.kernel; static */
  const char *library; /* NULL: Sley's own kernel; else the library that contains it, such as "cusparse". A plan
                          uses such a kernel only if an option names it. Static */
} sley_kernel;

/* Lists the kernels of a device, "cpu" (also NULL) or "cuda": the first `room` are written to out, *count is
 * their number. Which of them serve a plan depends on its values, its parts and the processor. Touches no
 * device. Not collective. Errors: SLEY_ERR_ARG (no such device, out or count is NULL), SLEY_ERR_UNSUPPORTED
 * (its module is not installed). */
sley_status sley_kernels(const char *device, sley_kernel *out, int room, int *count);

/* The names of the transports that this build knows, NULL-terminated; static. Other modules, which are found
 * by their file names, are not listed. */
const char *const *sley_transports(void);

/* Returns SLEY_OK if the transport is available. Touches no device. Errors: SLEY_ERR_ARG (no such transport),
 * SLEY_ERR_UNSUPPORTED (the message says why not). */
sley_status sley_transport_found(const char *name);

#ifdef __cplusplus
}
#endif
#endif
