/* SPDX-License-Identifier: Apache-2.0 */
/* The generators, one function per name. Each reads its keys, and refuses other keys, before it works. */
#ifndef SLEY_GENERATE_GENERATORS_H
#define SLEY_GENERATE_GENERATORS_H

#include "base/spec.h"
#include "generate/generate.h"
#include "matrix/matrix.h"

typedef struct sl_request {
  sl_spec *spec;
  sley_dtype dtype;
  uint64_t seed; /* seed in the specification, or else the caller's seed */
  sl_team *team;
  sl_edge_builder build; /* function that makes a matrix from the edges */
  void *context;
} sl_request;

sley_status sl_generate_er(const sl_request *request, sley_matrix **out);
sley_status sl_generate_rmat(const sl_request *request, sley_matrix **out);
sley_status sl_generate_twin(const sl_request *request, sley_matrix **out);
sley_status sl_generate_dense(const sl_request *request, sley_matrix **out);
sley_status sl_generate_diag(const sl_request *request, sley_matrix **out);
sley_status sl_generate_band(const sl_request *request, sley_matrix **out);
sley_status sl_generate_grid(const sl_request *request, sley_matrix **out);
sley_status sl_generate_windows(const sl_request *request, sley_matrix **out);
sley_status sl_generate_empty(const sl_request *request, sley_matrix **out);

#endif
