/* SPDX-License-Identifier: Apache-2.0 */
/* Places of chunks of rows in C. Threads take chunks in ascending order and complete them in any order. The
 * place of a chunk is known as soon as all chunks before it are complete. */
#ifndef SLEY_DEVICE_CPU_SPGEMM_CHUNK_PLACES_H
#define SLEY_DEVICE_CPU_SPGEMM_CHUNK_PLACES_H

#include <pthread.h>

#include "base/status.h"

typedef struct sl_spgemm_places {
  pthread_mutex_t lock;
  pthread_cond_t moved;
  int64_t chunks, known; /* known: the places of chunks 0 .. known have been computed */
  int64_t *made;         /* entries of each chunk; -1: the chunk is not complete yet */
  int64_t *place;        /* first entry of each chunk in C; chunks + 1 elements */
  bool failed;           /* a thread has failed, and no thread waits any more */
} sl_spgemm_places;

/* Starts with no chunk complete. Errors: SLEY_ERR_MEMORY; sl_spgemm_places_end must then not be called. */
sley_status sl_spgemm_places_begin(int64_t chunks, sl_spgemm_places *out);
void sl_spgemm_places_end(sl_spgemm_places *places);

/* Reports that the chunk is complete and has this many entries. */
void sl_spgemm_places_made(sl_spgemm_places *places, int64_t chunk, int64_t entries);

/* Returns the place of the chunk. -1: not known yet, or with wait: another thread has failed. A thread that
 * waits must have no incomplete chunk before this one. */
int64_t sl_spgemm_places_of(sl_spgemm_places *places, int64_t chunk, bool wait);

/* Reports that this thread will complete no more chunks. */
void sl_spgemm_places_fail(sl_spgemm_places *places);

#endif
