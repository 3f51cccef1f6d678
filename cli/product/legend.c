/* SPDX-License-Identifier: Apache-2.0 */
/* The text of the explanations. */
#include "product/legend.h"

#include <string.h>

#include "sley.h"

typedef struct term {
  const char *name, *meaning;
} term;

static void print_terms(const char *title, const term *terms, size_t count, FILE *stream) {
  fprintf(stream, "\n%s:\n", title);
  for (size_t i = 0; i < count; i++)
    fprintf(stream, "  %-19s %s\n", terms[i].name, terms[i].meaning);
}

void cli_legend_algorithms(const char *(*name)(const void *context, int i), const void *context, int count,
                           FILE *stream) {
  fprintf(stream, "\nalgorithms:\n");
  for (int i = 0; i < count; i++) {
    const char *one = name(context, i), *summary = one ? sley_algorithm_summary(one) : NULL;
    if (summary)
      fprintf(stream, "  %-19s %s\n", one, summary);
  }
}

#define COUNT(terms) (sizeof(terms) / sizeof *(terms))

/* Prints where algorithms with another layout are compared. */
static void print_others(FILE *stream) {
  fprintf(
      stream,
      "\nHere each rank owns whole rows of A, X and Y. Algorithms in tiles divide these in two dimensions: "
      "sley spmm --algo tile-all compares them, and sley roofline predicts their times.\n");
}

void cli_legend_plan(FILE *stream, int measured) {
  static const term terms[] = {
      {"remote nonzeros", "entries of A whose row of X belongs to another rank, summed over the ranks"},
      {"halo rows", "distinct rows of X that a rank needs from other ranks, summed over the ranks"},
      {"cover rows", "the fewest rows of X and partial rows of Y that replace the halo rows"},
      {"floor", "the fewest rows that can be moved if the owner of its row or of its column multiplies each "
                "nonzero"},
      {"intensity", "nonzeros per distinct column in windows of 16 consecutive rows of A"},
      {"direct MiB", "data that a product moves over direct links, inside workgroups, by all ranks"},
      {"message MiB", "data that it moves in messages, between workgroups"},
      {"messages", "number of these messages"},
      {"a rank", "transfers and messages that the busiest rank receives"},
      {"predicted ms", "predicted time of a product; the second table has its parts:"},
      {"  pack", "gathering rows for messages"},
      {"  transfer", "transfer of rows, without the part that overlaps with sums"},
      {"  local", "sums over the entries whose rows of X the rank owns, and storing Y"},
      {"  remote", "sums over the other entries, partial sums, and adding them to Y"},
      {"  wait", "waiting for other ranks"},
      {"needed MiB", "memory of the rank that needs most, with X and Y"},
      {"blocks", "number of blocks of columns that are multiplied one after the other; 1: all at once"},
  };
  static const term times[] = {
      {"measured", "median time of a product on this machine, in ms"},
      {"predicted/measured", "predicted time divided by measured time; above 1: faster than predicted"},
  };
  print_terms("terms", terms, COUNT(terms), stream);
  if (measured)
    print_terms("measured", times, COUNT(times), stream);
  print_others(stream);
}

static const term product_terms[] = {
    {"direct MiB", "data that a product moved over direct links, inside workgroups, by all ranks"},
    {"message MiB", "data that it moved in messages, between workgroups"},
    {"messages", "number of these messages"},
    {"as predicted", "whether bytes and messages equal the prediction"},
    {"median, min, p95", "times of a product on the slowest rank; 95 % of them are at most p95"},
    {"GFLOP/s", "operations (for dense X 2 x nonzeros x k) divided by the median time"},
    {"check", "comparison of the result with a product in double precision: every entry is within its "
              "rounding bound"},
};

void cli_legend_tiles(FILE *stream, bool several) {
  static const term terms[] = {
      {"compute ms", "products of tiles"},
      {"communicate ms", "waiting for tiles of other ranks"},
      {"accumulate ms", "sending products to other ranks, and adding products that they sent"},
      {"imbalance ms", "waiting for slower ranks at the end"},
      {"tile products", "the products of two tiles that the rank computed"},
      {"stolen", "the products of these that it took over from other ranks"},
      {"Mflop", "millions of operations of its products"},
  };
  if (several)
    print_terms("terms of all algorithms", product_terms, COUNT(product_terms), stream);
  print_terms("terms", terms, COUNT(terms), stream);
}

void cli_legend_roofline(FILE *stream) {
  static const term terms[] = {
      {"grid, tiles", "rows x columns of ranks; tiles down and across A, and across the right factor"},
      {"MiB, flop/B", "data that travels between nodes (between ranks if there is one node), of all ranks; "
                      "operations for each byte of it"},
      {"local GFLOP/s", "rate that the memory and the arithmetic of a rank allow"},
      {"network GFLOP/s", "rate that the network allows: its bandwidth times flop/B"},
      {"bound", "the resource that sets the lower of these two rates"},
      {"at best ms", "time at the lower rate if all ranks had equal work"},
      {"predicted ms", "predicted time of the slowest rank, with the latency of messages"},
      {"work", "operations of the rank with most, divided by the mean of all ranks"},
      {"by stages",
       "the same if the ranks wait for each other after each stage: the sum of the most operations of "
       "a rank in each stage, divided by the mean operations of a rank"},
      {"measured, ratio", "time from --measured in ms; predicted time divided by it; above 1: faster than "
                          "predicted"},
  };
  print_terms("terms", terms, COUNT(terms), stream);
}

void cli_legend_spmm(FILE *stream) {
  print_terms("terms", product_terms, COUNT(product_terms), stream);
  print_others(stream);
}
