/* SPDX-License-Identifier: Apache-2.0 */
#include "device/cpu/spgemm/chunk_places.h"

#include "base/memory.h"

sley_status sl_spgemm_places_begin(int64_t chunks, sl_spgemm_places *out) {
  *out = (sl_spgemm_places){.chunks = chunks};
  out->made = sl_alloc(chunks, sizeof *out->made, "chunks of rows");
  out->place = sl_alloc(chunks + 1, sizeof *out->place, "chunks of rows");
  if (!out->made || !out->place) {
    sl_free(out->made);
    sl_free(out->place);
    return SLEY_ERR_MEMORY;
  }
  for (int64_t c = 0; c < chunks; c++)
    out->made[c] = -1;
  out->place[0] = 0;
  pthread_mutex_init(&out->lock, NULL);
  pthread_cond_init(&out->moved, NULL);
  return SLEY_OK;
}

void sl_spgemm_places_end(sl_spgemm_places *places) {
  pthread_cond_destroy(&places->moved);
  pthread_mutex_destroy(&places->lock);
  sl_free(places->made);
  sl_free(places->place);
}

void sl_spgemm_places_made(sl_spgemm_places *places, int64_t chunk, int64_t entries) {
  pthread_mutex_lock(&places->lock);
  places->made[chunk] = entries;
  const int64_t before = places->known;
  while (places->known < places->chunks && places->made[places->known] >= 0) {
    places->place[places->known + 1] = places->place[places->known] + places->made[places->known];
    places->known++;
  }
  if (places->known != before)
    pthread_cond_broadcast(&places->moved);
  pthread_mutex_unlock(&places->lock);
}

int64_t sl_spgemm_places_of(sl_spgemm_places *places, int64_t chunk, bool wait) {
  pthread_mutex_lock(&places->lock);
  while (wait && places->known < chunk && !places->failed)
    pthread_cond_wait(&places->moved, &places->lock);
  const int64_t place = places->known >= chunk ? places->place[chunk] : -1;
  pthread_mutex_unlock(&places->lock);
  return place;
}

void sl_spgemm_places_fail(sl_spgemm_places *places) {
  pthread_mutex_lock(&places->lock);
  places->failed = true;
  pthread_cond_broadcast(&places->moved);
  pthread_mutex_unlock(&places->lock);
}
