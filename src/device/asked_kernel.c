/* SPDX-License-Identifier: Apache-2.0 */
#include "device/asked_kernel.h"

#include <stdio.h>
#include <string.h>

const char *sl_kernel_short_name(const sl_kernel *kernel) {
  static const char operation[] = "spmm-";
  size_t length = sizeof operation - 1;
  return strncmp(kernel->name, operation, length) == 0 ? kernel->name + length : kernel->name;
}

sley_status sl_kernel_named(const char *device, const sl_kernel *const *kernels, const char *name,
                            const sl_kernel **out) {
  char list[512] = "";
  size_t length = 0;
  *out = NULL;
  for (const sl_kernel *const *each = kernels; *each; each++) {
    if ((*each)->op != SL_OP_SPMM)
      continue;
    const char *own = sl_kernel_short_name(*each);
    if (strcmp(own, name) == 0) {
      *out = *each;
      return SLEY_OK;
    }
    if (length < sizeof list)
      length += (size_t)snprintf(list + length, sizeof list - length, "%s%s", length ? ", " : "", own);
  }
  return sl_fail(SLEY_ERR_ARG, "device %s has no kernel \"%s\": auto, or one of %s", device, name, list);
}

bool sl_kernel_is_there(const sl_kernel *const *kernels, const char *name) {
  for (const sl_kernel *const *each = kernels; *each; each++)
    if ((*each)->op == SL_OP_SPMM && strcmp(sl_kernel_short_name(*each), name) == 0)
      return true;
  return false;
}

static bool serves(const sl_kernel *kernel, const sl_spmm_problem *problem) {
  sl_kernel_args args = {.op = SL_OP_SPMM, .spmm = {.problem = problem}};
  return kernel->ok(&args);
}

bool sl_kernel_takes_far(const sl_kernel *kernel, sley_dtype dtype, int64_t k) {
  sl_spmm_matrix a = {.index = SLEY_I32, .dtype = dtype};
  sl_spmm_problem problem = {.a = &a, .k = k, .x_rows = 1, .far_rows = 1};
  return !kernel || serves(kernel, &problem);
}

bool sl_kernel_takes_resident(const sl_kernel *kernel, sley_dtype dtype, int64_t k) {
  sl_spmm_matrix a = {.index = SLEY_I32, .dtype = dtype, .resident = true};
  sl_spmm_problem problem = {.a = &a, .k = k, .x_rows = 1};
  return !kernel || serves(kernel, &problem);
}

/* ---- reasons: the predicate is tried on problems that differ in one property, to name that property */

static void as_stored(sl_spmm_problem *p, sl_spmm_matrix *a) {
  (void)a;
  p->in_order = false;
}

static void as_known(sl_spmm_problem *p, sl_spmm_matrix *a) {
  (void)a;
  p->arrives = false;
}

static void as_one_memory(sl_spmm_problem *p, sl_spmm_matrix *a) {
  (void)a;
  p->far_rows = 0;
  p->pieces = 0;
}

static void as_copied(sl_spmm_problem *p, sl_spmm_matrix *a) {
  (void)a;
  p->pages = NULL;
  p->segment = NULL;
}

static void as_in_place(sl_spmm_problem *p, sl_spmm_matrix *a) {
  static const uintptr_t pages[1];
  static const int64_t segment[2] = {0, SL_X_PAGE};
  a->rowid = NULL;
  p->far_rows = 0;
  p->pages = pages;
  p->segment = segment;
  p->segments = 1;
  p->own = 0;
}

static void as_host(sl_spmm_problem *p, sl_spmm_matrix *a) {
  (void)p;
  a->resident = false;
}

static void as_numbered(sl_spmm_problem *p, sl_spmm_matrix *a) {
  (void)p;
  a->rowid = NULL;
}

static void as_short(sl_spmm_problem *p, sl_spmm_matrix *a) {
  (void)p;
  a->index = SLEY_I32;
}

static void as_many_columns(sl_spmm_problem *p, sl_spmm_matrix *a) {
  enum { WIDE = 256 };
  (void)a;
  p->k = WIDE;
}

typedef struct difference {
  void (*make)(sl_spmm_problem *problem, sl_spmm_matrix *a);
  const char *reason;
} difference;

static const difference differences[] = {
    {as_stored, "it does not sum rows in the order of their columns, as a reproducible plan asks"},
    {as_known, "the entries come from another rank with each product"},
    {as_one_memory, "the rows of X lie in two memories"},
    {as_copied, "the rows of X are read in place, in the memories of several ranks"},
    {as_in_place,
     "it reads rows of X in place in the memories of the ranks, as the algorithm rowwise has them"},
    {as_host, "the entries lie in the device's memory already"},
    {as_numbered, "the part has some of the rows only"},
    {as_short, "the columns need 64 bits"},
    {as_many_columns, "it is for products of more columns"},
};

/* Returns whether the kernel supports values of another dtype. */
static bool serves_other_values(const sl_kernel *kernel, const sl_spmm_problem *problem) {
  static const sley_dtype dtypes[] = {SLEY_F32, SLEY_F64, SLEY_F16, SLEY_BF16};
  sl_spmm_matrix a = *problem->a;
  sl_spmm_problem p = *problem;
  p.a = &a;
  for (size_t i = 0; i < sizeof dtypes / sizeof *dtypes; i++) {
    a.dtype = dtypes[i];
    if (a.dtype != problem->a->dtype && serves(kernel, &p))
      return true;
  }
  return false;
}

static const char *reason_of(const sl_kernel *kernel, const sl_spmm_problem *problem) {
  if (serves_other_values(kernel, problem))
    return "it is for values of another type";
  for (size_t i = 0; i < sizeof differences / sizeof *differences; i++) {
    sl_spmm_matrix a = *problem->a;
    sl_spmm_problem p = *problem;
    p.a = &a;
    differences[i].make(&p, &a);
    if (serves(kernel, &p))
      return differences[i].reason;
  }
  return "this machine lacks what it needs, or several things differ from what it is for";
}

sley_status sl_kernel_refuse(const char *device, const sl_kernel *kernel, const sl_spmm_problem *problem) {
  return sl_fail(SLEY_ERR_UNSUPPORTED, "kernel %s of device %s does not serve it: %s",
                 sl_kernel_short_name(kernel), device, reason_of(kernel, problem));
}
