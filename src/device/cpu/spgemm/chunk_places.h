/* SPDX-License-Identifier: Apache-2.0 */
/* Where the entries of a chunk of rows go in C. Threads take chunks in ascending order and make them in any:
 * the place of a chunk is known as soon as all before it are made, while later ones are still being made. */
#ifndef SLEY_DEVICE_CPU_SPGEMM_CHUNK_PLACES_H
#define SLEY_DEVICE_CPU_SPGEMM_CHUNK_PLACES_H

#include <pthread.h>

#include "base/status.h"

typedef struct sl_spgemm_places {
  pthread_mutex_t lock;
  pthread_cond_t moved;
  int64_t chunks, known; /* places of chunks 0 .. known are known */
  int64_t *made;         /* entries of each chunk; -1: not made yet */
  int64_t *place;        /* chunks + 1 */
  bool failed;           /* nobody need wait any more */
} sl_spgemm_places;

/* Errors: SLEY_ERR_MEMORY, and then there is nothing to end. */
sley_status sl_spgemm_places_begin(int64_t chunks, sl_spgemm_places *out);
void sl_spgemm_places_end(sl_spgemm_places *places);

/* The chunk has so many entries. */
void sl_spgemm_places_made(sl_spgemm_places *places, int64_t chunk, int64_t entries);

/* The place of the chunk; -1: not known yet, or, with wait, another thread has failed. A thread that waits
 * has no chunk before this one to make. */
int64_t sl_spgemm_places_of(sl_spgemm_places *places, int64_t chunk, bool wait);

/* This thread makes no more chunks. */
void sl_spgemm_places_fail(sl_spgemm_places *places);

#endif
