/* SPDX-License-Identifier: Apache-2.0 */
/* The equations of the roofline between nodes: flops for each byte of memory, and for each byte that travels,
 * of products of two tiles, and what bounds them.
 *
 * Source: Brock, Buluc and Yelick, RDMA-Based Algorithms for Sparse Matrix Multiplication on GPUs, ICS 2024,
 * section 4, which has one number of bytes w for values, column numbers and row pointers, square grids and
 * nonzeros that are spread evenly. */
#ifndef SLEY_ROOFLINE_INTENSITY_H
#define SLEY_ROOFLINE_INTENSITY_H

/* Bytes of the numbers that matrices are stored in. */
typedef struct sl_words {
  double value, index, pointer;
} sl_words;

/* C = A B of tiles: A rows x inner, B inner x cols, dense where entries_b is negative. */
typedef struct sl_product_sizes {
  double rows, inner, cols;
  double entries_a, entries_b, entries_c;
  double products; /* of two numbers */
} sl_product_sizes;

/* The matrix whose tiles stay where they are. */
typedef enum sl_stays { SL_STAYS_C, SL_STAYS_A, SL_STAYS_B } sl_stays;

/* Flops of A B with a dense B: 2 entries_a cols; with a sparse one: 2 products. */
double sl_tile_flops(const sl_product_sizes *t);

/* With a dense B: flops / (bytes of A, B and C), as if each were moved once: an upper bound. With a sparse B
 * the bound of Gu and others, which the paper takes: 2 cf / ((3 + 2 cf) b), where cf = products / entries_c
 * and b are the bytes of an entry, for A, B and C are moved once, and each product is written and read. That
 * is for matrices with as many entries each; of others: 2 products / ((entries of A, B and C + 2 products)
 * b).
 */
double sl_tile_local_bytes(const sl_words *w, const sl_product_sizes *t);

/* flops / bytes; infinite where there are no bytes. */
double sl_intensity(double flops, double bytes);

/* min(roof, bandwidth * intensity), in flop/s. roof 0: there is none. */
double sl_attainable(double roof, double bandwidth, double intensity);

/* Seconds of a rank whose transfers go on beside its sums: the longer of both; and, since nothing is summed
 * before the first of its tasks has come, a task's share of the shorter one. */
double sl_overlapped_seconds(double sums, double transfers, double tasks);

/* Distinct places that `thrown` things hit which are each thrown at one of `places`: places (1 - exp(-thrown
 * / places)); thrown, where places is infinite. */
double sl_places_hit(double places, double thrown);

/* The number of places of which so many things have hit `hit`, at most `thrown`. Infinite where both are
 * equal. */
double sl_places_of(double thrown, double hit);

#endif
