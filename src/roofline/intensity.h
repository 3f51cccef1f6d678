/* SPDX-License-Identifier: Apache-2.0 */
/* The equations of the roofline between nodes: flops per byte of memory, and per byte that travels, for
 * products of two tiles, and their bounds.
 *
 * Source: Brock, Buluc and Yelick, RDMA-Based Algorithms for Sparse Matrix Multiplication on GPUs, ICS 2024,
 * section 4, which has one number of bytes w for values, column numbers and row pointers, square grids and
 * evenly spread nonzeros. */
#ifndef SLEY_ROOFLINE_INTENSITY_H
#define SLEY_ROOFLINE_INTENSITY_H

/* Bytes of the numbers in stored matrices. */
typedef struct sl_words {
  double value, index, pointer;
} sl_words;

/* A product C = A B of tiles: A rows x inner, B inner x cols, dense if entries_b is negative. */
typedef struct sl_product_sizes {
  double rows, inner, cols;
  double entries_a, entries_b, entries_c;
  double products; /* products of two numbers */
} sl_product_sizes;

/* The matrix whose tiles stay in place. */
typedef enum sl_stays { SL_STAYS_C, SL_STAYS_A, SL_STAYS_B } sl_stays;

/* Flops of A B: 2 entries_a cols with a dense B, 2 products with a sparse one. */
double sl_tile_flops(const sl_product_sizes *t);

/* Bytes and intensity of the memory traffic. With a dense B: the intensity is flops / (bytes of A, B and C),
 * as if each were moved once: an upper bound. With a sparse B: the bound of Gu and others, which the paper
 * uses: 2 cf / ((3 + 2 cf) b), where cf = products / entries_c and b are the bytes of an entry, because A, B
 * and C are moved once, and each product is written and read. This is for matrices with equally many entries;
 * for others: 2 products / ((entries of A, B and C + 2 products) b). */
double sl_tile_local_bytes(const sl_words *w, const sl_product_sizes *t);

/* flops / bytes; infinite if bytes is 0. */
double sl_intensity(double flops, double bytes);

/* min(roof, bandwidth * intensity), in flop/s. roof 0: no roof. */
double sl_attainable(double roof, double bandwidth, double intensity);

/* Seconds of a rank whose transfers overlap with its sums: the longer of both; and, because no sum can start
 * before the first task has arrived, one task's share of the shorter one. */
double sl_overlapped_seconds(double sums, double transfers, double tasks);

/* Returns the expected number of distinct places that are hit if each of `thrown` items is thrown at a random
 * one of `places` places: places (1 - exp(-thrown / places)); thrown if places is infinite. */
double sl_places_hit(double places, double thrown);

/* The number of places of which `thrown` items have hit `hit`, where hit <= thrown. Infinite if both are
 * equal. */
double sl_places_of(double thrown, double hit);

#endif
