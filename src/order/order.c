/* SPDX-License-Identifier: Apache-2.0 */
/* The list of orderings, and the two that ignore the entries. */
#include "order/order.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "order/builtin.h"

const sl_ordering *const sl_orderings[] = {
    &sl_order_none,  &sl_order_rabbit, &sl_order_rcm, &sl_order_degree, &sl_order_loa, &sl_order_scotch,
    &sl_order_metis, &sl_order_random, NULL,
};

static const char *words[sizeof sl_orderings / sizeof *sl_orderings];

static void take_words(void) {
  for (int i = 0; sl_orderings[i]; i++)
    words[i] = sl_orderings[i]->name;
}

const char *const *sl_ordering_names(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, take_words);
  return words;
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

static sley_status order_none(const sley_matrix *matrix, uint64_t seed, sl_team *team, int64_t *perm) {
  (void)seed;
  (void)team;
  for (int64_t i = 0; i < matrix->rows; i++)
    perm[i] = i;
  return SLEY_OK;
}

const sl_ordering sl_order_none = {"none", "the order of the file", order_none};

/* The shuffle of Fisher and Yates. */
static sley_status order_random(const sley_matrix *matrix, uint64_t seed, sl_team *team, int64_t *perm) {
  order_none(matrix, seed, team, perm);
  for (int64_t i = matrix->rows - 1; i > 0; i--) {
    int64_t j = sl_below(sl_random(seed, 0, (uint64_t)i), i + 1), held = perm[i];
    perm[i] = perm[j];
    perm[j] = held;
  }
  return SLEY_OK;
}

const sl_ordering sl_order_random = {"random", "a seeded shuffle, to measure the others against",
                                     order_random};
