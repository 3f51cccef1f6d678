/* SPDX-License-Identifier: Apache-2.0 */
/* The table of generators, and the call of the generator that a specification names. */
#include "generate/generate.h"

#include <string.h>

#include "generate/generators.h"

typedef struct generator {
  const char *name;
  sley_status (*run)(const sl_request *request, sley_matrix **out);
} generator;

static const generator generators[] = {
    {"er", sl_generate_er},       {"rmat", sl_generate_rmat},   {"twin", sl_generate_twin},
    {"dense", sl_generate_dense}, {"diag", sl_generate_diag},   {"band", sl_generate_band},
    {"grid", sl_generate_grid},   {"empty", sl_generate_empty}, {"windows", sl_generate_windows},
};

static const generator *find(const char *text) {
  size_t length = strcspn(text, ":");
  if (text[length] != ':')
    return NULL;
  for (size_t i = 0; i < sizeof generators / sizeof *generators; i++)
    if (strlen(generators[i].name) == length && strncmp(generators[i].name, text, length) == 0)
      return &generators[i];
  return NULL;
}

bool sl_is_generator(const char *text) {
  return find(text) != NULL;
}

static sley_status build_whole(void *context, const sl_edge_source *source, sley_dtype dtype, sl_team *team,
                               sley_matrix **out) {
  (void)context;
  return sl_csr_of_edges(source, dtype, team, out);
}

sley_status sl_generate(const char *text, sley_dtype dtype, uint64_t seed, sl_team *team, sley_matrix **out) {
  return sl_generate_by(text, dtype, seed, team, build_whole, NULL, out);
}

sley_status sl_generate_by(const char *text, sley_dtype dtype, uint64_t seed, sl_team *team,
                           sl_edge_builder build, void *context, sley_matrix **out) {
  *out = NULL;
  const generator *found = find(text);
  if (!found)
    return sl_fail(SLEY_ERR_ARG,
                   "'%s' names no generator: there are er, rmat, twin, dense, diag, band, grid, empty", text);
  sl_spec spec;
  SL_TRY(sl_spec_parse(text, &spec));
  int64_t own_seed = -1;
  SL_TRY(sl_spec_int(&spec, "seed", 0, INT64_MAX, &own_seed));
  sl_request request = {&spec, dtype, own_seed >= 0 ? (uint64_t)own_seed : seed, team, build, context};
  return found->run(&request, out);
}
