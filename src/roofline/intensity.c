/* SPDX-License-Identifier: Apache-2.0 */
#include "roofline/intensity.h"

#include <math.h>

/* Returns the bytes of a sparse tile: entries (value + index) + (rows + 1) pointer. */
static double csr_bytes(const sl_words *w, double rows, double entries) {
  return entries * (w->value + w->index) + (rows + 1) * w->pointer;
}

static double bytes_a(const sl_words *w, const sl_product_sizes *t) {
  return csr_bytes(w, t->rows, t->entries_a);
}

static double bytes_b(const sl_words *w, const sl_product_sizes *t) {
  return t->entries_b < 0 ? t->inner * t->cols * w->value : csr_bytes(w, t->inner, t->entries_b);
}

static double bytes_c(const sl_words *w, const sl_product_sizes *t) {
  return t->entries_b < 0 ? t->rows * t->cols * w->value : csr_bytes(w, t->rows, t->entries_c);
}

double sl_tile_flops(const sl_product_sizes *t) {
  return 2 * (t->entries_b < 0 ? t->entries_a * t->cols : t->products);
}

double sl_tile_local_bytes(const sl_words *w, const sl_product_sizes *t) {
  if (t->entries_b < 0)
    return bytes_a(w, t) + bytes_b(w, t) + bytes_c(w, t);
  return (t->entries_a + t->entries_b + t->entries_c + 2 * t->products) * (w->value + w->index);
}

double sl_intensity(double flops, double bytes) {
  return bytes > 0 ? flops / bytes : INFINITY;
}

double sl_attainable(double roof, double bandwidth, double intensity) {
  const double slope = bandwidth * intensity;
  return roof > 0 && roof < slope ? roof : slope;
}

double sl_overlapped_seconds(double sums, double transfers, double tasks) {
  return fmax(sums, transfers) + (tasks > 1 ? fmin(sums, transfers) / tasks : fmin(sums, transfers));
}

double sl_places_hit(double places, double thrown) {
  return isinf(places) ? thrown : places > 0 ? -places * expm1(-thrown / places) : 0;
}

double sl_places_of(double thrown, double hit) {
  enum { HALVINGS = 100 };
  if (hit >= thrown)
    return INFINITY;
  double low = hit, high = hit > 0 ? hit : 1;
  while (sl_places_hit(high, thrown) < hit && high < 1e300)
    high *= 2;
  for (int i = 0; i < HALVINGS; i++) {
    const double middle = low + (high - low) / 2;
    *(sl_places_hit(middle, thrown) < hit ? &low : &high) = middle;
  }
  return high;
}
