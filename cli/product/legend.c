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

/* Says where algorithms with another layout are compared. */
static void print_others(FILE *stream) {
  fprintf(stream, "\nAlgorithms in tiles divide A, X and Y in two dimensions, and are not in this list: sley "
                  "spmm --algo tile-all runs them, and sley roofline predicts them.\n");
}

void cli_legend_plan(FILE *stream, int measured) {
  static const term terms[] = {
      {"remote nonzeros", "entries of A whose row of X another rank owns, of all ranks"},
      {"halo rows", "the distinct rows of X that those name, rank by rank: what a rank needs of the others"},
      {"cover rows", "the fewest rows of X and partial rows of Y that serve in their place"},
      {"intensity", "nonzeros per distinct column of 16 consecutive rows of A, over all such windows"},
      {"direct MiB", "what a product moves over direct links, inside workgroups, of all ranks"},
      {"message MiB", "what it moves in messages, between workgroups"},
      {"messages", "those messages"},
      {"a rank", "transfers and messages that a rank receives, of the rank that receives most"},
      {"predicted ms", "time of a product; the second table divides it:"},
      {"  pack", "gathering rows for messages"},
      {"  transfer", "rows on their way, as far as no sum hides it"},
      {"  local", "sums of nonzeros whose rows of X the rank owns, and storing Y"},
      {"  remote", "sums of the others, partial sums, and adding them to Y"},
      {"  wait", "for other ranks"},
      {"needed MiB", "memory of the rank that needs most, X and Y included"},
      {"blocks", "of columns, multiplied in turn where all do not fit; 1: all at once"},
  };
  static const term times[] = {
      {"measured", "median ms of products on this machine"},
      {"predicted/measured", "above 1: it was faster than predicted"},
  };
  print_terms("terms", terms, COUNT(terms), stream);
  if (measured)
    print_terms("measured", times, COUNT(times), stream);
  print_others(stream);
}

void cli_legend_tiles(FILE *stream) {
  static const term terms[] = {
      {"compute ms", "products of tiles"},
      {"communicate ms", "waiting for tiles of other ranks"},
      {"accumulate ms", "sending products to other ranks, and adding products that they sent"},
      {"imbalance ms", "waiting for slower ranks at the end"},
      {"tile products", "the products of two tiles that the rank computed"},
      {"stolen", "the products of these that it took over from other ranks"},
      {"Mflop", "millions of operations of its products"},
  };
  print_terms("terms", terms, COUNT(terms), stream);
}

void cli_legend_spmm(FILE *stream) {
  static const term terms[] = {
      {"direct MiB", "what a product moved over direct links, inside workgroups, of all ranks"},
      {"message MiB", "what it moved in messages, between workgroups"},
      {"messages", "those messages"},
      {"as predicted", "whether both are what the plan predicted"},
      {"median, min, p95", "time of a product, of the slowest rank; 95 of 100 take p95 at most"},
      {"GFLOP/s", "2 nonzeros k per median time"},
      {"check", "Y against a product in double precision: every entry within its rounding bound"},
  };
  print_terms("terms", terms, COUNT(terms), stream);
  print_others(stream);
}
