/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options that several commands share. */
#include "common.h"

#include <stddef.h>

#include "sley.h"

const char *const *cli_partitions(void) {
  static const char *const names[] = {"rows", "nnz", NULL};
  return names;
}

const char *const *cli_devices(void) {
  static const char *const names[] = {"auto", "cpu", "cuda", NULL};
  return names;
}

const char *const *cli_precisions(void) {
  static const char *const names[] = {"full", "tf32", NULL};
  return names;
}

enum { MOST_BUFFERS = 4096 };

#define AT(field) offsetof(cli_common, field)
static const struct {
  unsigned taken;
  cli_option option;
} table[] = {
    {CLI_TAKES_RANKS,
     {.name = "ranks",
      .kind = CLI_INT,
      .value = "P",
      .offset = AT(ranks),
      .least = 1,
      .most = CLI_MOST_RANKS,
      .help = "ranks that share the work; under a launcher as many as it has started"}},
    {CLI_TAKES_WORKGROUP,
     {.name = "workgroup",
      .kind = CLI_INT,
      .value = "G",
      .offset = AT(workgroup),
      .most = CLI_MOST_RANKS,
      .help = "ranks joined by direct links, between groups only messages travel; 0: all ranks"}},
    {CLI_TAKES_THREADS,
     {.name = "threads",
      .kind = CLI_INT,
      .value = "T",
      .offset = AT(threads),
      .most = 4096,
      .help = "threads of each rank; 0: cores / ranks"}},
    {CLI_TAKES_TRANSPORT,
     {.name = "transport",
      .kind = CLI_TEXT,
      .value = "NAME",
      .offset = AT(transport),
      .choices = sley_transports,
      .help =
          "threads (the default): ranks in one process; tcp, mpi, nccl, ...: ranks as processes (sley info "
          "lists them)"}},
    {CLI_TAKES_TIMEOUT,
     {.name = "timeout",
      .kind = CLI_REAL,
      .value = "S",
      .positive = true,
      .offset = AT(timeout),
      .help = "seconds that ranks as processes wait for one that does not come, is stopped or cut off; 0: "
              "SLEY_TIMEOUT, else 60"}},
    {CLI_TAKES_DEVICE,
     {.name = "device",
      .kind = CLI_CHOICE,
      .value = "NAME",
      .offset = AT(device),
      .choices = cli_devices,
      .help = "where ranks compute; auto: cuda, one GPU a rank in turn, where there is any, else cpu"}},
    {CLI_TAKES_KERNEL,
     {.name = "kernel",
      .kind = CLI_TEXT,
      .value = "NAME",
      .offset = AT(kernel),
      .help =
          "the device's kernel that multiplies (sley info lists them); auto: for each part the cheapest that "
          "serves it"}},
    {CLI_TAKES_PRECISION,
     {.name = "precision",
      .kind = CLI_CHOICE,
      .value = "NAME",
      .offset = AT(precision),
      .choices = cli_precisions,
      .help = "tf32: kernels on Tensor cores may round values of f32 to 11 bits"}},
    {CLI_TAKES_WIRE,
     {.name = "wire",
      .kind = CLI_CHOICE,
      .value = "TYPE",
      .offset = AT(wire),
      .choices = sley_wires,
      .help = "type in which values of X travel between ranks, narrower than their own"}},
    {CLI_TAKES_REPRODUCIBLE,
     {.name = "reproducible",
      .kind = CLI_FLAG,
      .offset = AT(reproducible),
      .help = "the same bits for every number of ranks and every algorithm; slower"}},
    {CLI_TAKES_DTYPE,
     {.name = "dtype",
      .kind = CLI_CHOICE,
      .value = "TYPE",
      .offset = AT(dtype),
      .choices = sley_dtypes,
      .help = "type of all values; where no default is named, f64 if a .npz, .sley or .npy file stores f64, "
              "else f32"}},
    {CLI_TAKES_ORDER,
     {.name = "order",
      .kind = CLI_CHOICE,
      .value = "NAME",
      .offset = AT(order),
      .choices = sley_orders,
      .help = "order of rows and columns"}},
    {CLI_TAKES_PARTITION,
     {.name = "partition",
      .kind = CLI_CHOICE,
      .value = "NAME",
      .offset = AT(partition),
      .choices = cli_partitions,
      .help = "what is equal on every rank"}},
    {CLI_TAKES_MACHINE,
     {.name = "machine",
      .kind = CLI_TEXT,
      .value = "FILE",
      .offset = AT(machine),
      .help = "predict for the machine that FILE describes, in place of this one; ranks of a node are a "
              "workgroup"}},
    {CLI_TAKES_SEED,
     {.name = "seed",
      .kind = CLI_INT,
      .value = "N",
      .offset = AT(seed),
      .most = INT64_MAX,
      .help = "of random values, random orders and generators that name none"}},
    {CLI_TAKES_MEM_LIMIT,
     {.name = "mem-limit",
      .kind = CLI_SIZE,
      .value = "SIZE",
      .offset = AT(mem_limit),
      .help = "bytes that a compressed file may unpack to, or that come from a pipe, such as 512M or 8G"}},
    {CLI_TAKES_REPEAT,
     {.name = "repeat",
      .kind = CLI_INT,
      .value = "N",
      .offset = AT(repeat),
      .least = 1,
      .most = CLI_MOST_RUNS,
      .help = "timed runs of each case"}},
    {CLI_TAKES_WARMUP,
     {.name = "warmup",
      .kind = CLI_INT,
      .value = "N",
      .offset = AT(warmup),
      .most = CLI_MOST_RUNS,
      .help = "runs before the timed ones"}},
    {CLI_TAKES_BUDGET,
     {.name = "budget",
      .kind = CLI_REAL,
      .value = "S",
      .positive = true,
      .offset = AT(budget),
      .help = "seconds for the runs of one case, after which no more are begun than 3; 0: no limit"}},
    {CLI_TAKES_VERIFY,
     {.name = "verify",
      .kind = CLI_SWITCH,
      .offset = AT(verify),
      .help = "check the result against a float64 product"}},
    {CLI_TAKES_MKL,
     {.name = "mkl",
      .kind = CLI_TEXT,
      .value = "FILE",
      .offset = AT(mkl),
      .help = "MKL's libmkl_rt.so; else the one that the system's loader finds, if any"}},
    {CLI_TAKES_READING,
     {.name = "format",
      .kind = CLI_TEXT,
      .value = "NAME",
      .offset = AT(reading.format),
      .choices = sley_formats,
      .about = sley_format_summary,
      .help = "what files of matrices are read as (default: told by the file, and reported)"}},
    {CLI_TAKES_READING,
     {.name = "base",
      .also = "0 1",
      .kind = CLI_INT,
      .value = "0|1",
      .offset = AT(reading.base),
      .most = 1,
      .help = "what rows and columns of edge lists, and of triplets without a header, count from (default: "
              "told by the file, and reported)"}},
    {CLI_TAKES_TILES,
     {.name = "grid",
      .kind = CLI_TEXT,
      .value = "RxC",
      .offset = AT(grid),
      .help =
          "in tiles: the ranks as R rows of C; R times C is their number (default: nearest to a square)"}},
    {CLI_TAKES_TILES,
     {.name = "tiles",
      .kind = CLI_TEXT,
      .value = "N|RxC",
      .offset = AT(tiles),
      .help = "in tiles: divide A into N x N or R x C (default: as many rows as the grid has, and for "
              "columns the least multiple of its rows and columns)"}},
    {CLI_TAKES_TILES,
     {.name = "columns",
      .kind = CLI_INT,
      .value = "N",
      .offset = AT(columns),
      .most = CLI_MOST_TILES,
      .help = "in tiles: divide the columns of the right factor and of the product into N tiles; 0: as many "
              "as the grid has"}},
    {CLI_TAKES_BUFFERS,
     {.name = "buffers",
      .kind = CLI_INT,
      .value = "N",
      .offset = AT(buffers),
      .most = MOST_BUFFERS,
      .help = "in tiles: products of two tiles, or pieces of sparse ones, that a rank holds for others; 0: "
              "4"}},
    {CLI_TAKES_BRIEF,
     {.name = "brief",
      .kind = CLI_FLAG,
      .offset = AT(brief),
      .help = "leave out what explains the terms of tables"}},
    {CLI_TAKES_PLOT,
     {.name = "plot",
      .kind = CLI_TEXT,
      .value = "FILE",
      .offset = AT(plot),
      .help = "draw the results, by gnuplot, as .svg or .png"}},
    {CLI_TAKES_JSON,
     {.name = "json",
      .kind = CLI_TEXT,
      .value = "FILE",
      .offset = AT(json),
      .help = "write all figures as JSON; - for stdout, and the text goes to stderr"}},
};

const cli_option *cli_common_option(unsigned taken, int number) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if ((taken & table[i].taken) && number-- == 0)
      return &table[i].option;
  return NULL;
}
