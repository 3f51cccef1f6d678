/* SPDX-License-Identifier: Apache-2.0 */
/* The list of orderings, and the two orderings that ignore the entries. */
#include "order/order.h"

#include <stdio.h>
#include <string.h>

#include "base/names.h"
#include "base/random.h"
#include "order/builtin.h"

static sley_status order_none(const sley_matrix *matrix, uint64_t seed, sl_team *team, int64_t *perm) {
  (void)seed;
  (void)team;
  for (int64_t i = 0; i < matrix->rows; i++)
    perm[i] = i;
  return SLEY_OK;
}

static const sl_ordering in_file_order = {"none", "the order of the file", order_none};

/* Computes a random order, by the shuffle of Fisher and Yates. */
static sley_status order_random(const sley_matrix *matrix, uint64_t seed, sl_team *team, int64_t *perm) {
  order_none(matrix, seed, team, perm);
  for (int64_t i = matrix->rows - 1; i > 0; i--) {
    int64_t j = sl_below(sl_random(seed, 0, (uint64_t)i), i + 1), held = perm[i];
    perm[i] = perm[j];
    perm[j] = held;
  }
  return SLEY_OK;
}

static const sl_ordering shuffled = {"random", "a seeded shuffle, to measure the others against",
                                     order_random};

const sl_ordering *const sl_orderings[] = {
    &in_file_order,   &sl_order_rabbit, &sl_order_rcm,   &sl_order_degree, &sl_order_loa, &sl_order_loa_parts,
    &sl_order_scotch, &sl_order_metis,  &sl_order_cover, &shuffled,        NULL,
};
enum { ORDERINGS = sizeof sl_orderings / sizeof *sl_orderings - 1 };

static const char *name_of(int ordering) {
  return sl_orderings[ordering]->name;
}

const char *const *sl_ordering_names(void) {
  static const char *names[ORDERINGS + 1];
  return sl_names_fill(names, ORDERINGS, name_of);
}

/* The last one cuts the graph, which takes longer and is of use to several ranks. */
const char *const *sl_ordering_candidates(int ranks) {
  static const char *const alone[] = {"none", "rabbit", "loa", NULL};
  static const char *const divided[] = {"none", "rabbit", "loa", "loa-parts", NULL};
  return ranks > 1 ? divided : alone;
}

const sl_ordering *sl_ordering_named(const char *name) {
  for (int i = 0; sl_orderings[i]; i++)
    if (strcmp(sl_orderings[i]->name, name) == 0)
      return sl_orderings[i];
  return NULL;
}

sley_status sl_ordering_find(const char *name, const sl_ordering **out) {
  char names[128] = "";
  *out = sl_ordering_named(name);
  if (*out)
    return SLEY_OK;
  for (int i = 0; sl_orderings[i]; i++) {
    size_t used = strlen(names);
    snprintf(names + used, sizeof names - used, "%s%s", i > 0 ? ", " : "", sl_orderings[i]->name);
  }
  return sl_fail(SLEY_ERR_ARG, "there is no ordering '%s': give one of %s", name, names);
}
