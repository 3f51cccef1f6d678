/* SPDX-License-Identifier: Apache-2.0 */
/* The table of options that several commands share. */
#include "common.h"

#include <stddef.h>

#include "sley.h"

static const char *const *partitions(void) {
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
      .listed = true,
      .help = "ranks that share the work; under a launcher as many as it has started"}},
    {CLI_TAKES_WORKGROUP,
     {.name = "workgroup",
      .kind = CLI_INT,
      .value = "G",
      .offset = AT(workgroup),
      .most = CLI_MOST_RANKS,
      .help =
          "number of ranks joined by direct links; between these groups only messages travel; 0: all ranks"}},
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
      .help = "threads (the default): ranks are threads of one process; tcp, mpi, nccl and others: ranks are "
              "processes (sley info lists the transports)"}},
    {CLI_TAKES_TIMEOUT,
     {.name = "timeout",
      .kind = CLI_REAL,
      .value = "S",
      .positive = true,
      .offset = AT(timeout),
      .help = "seconds that ranks which are processes wait for a rank that does not answer; 0: the value of "
              "SLEY_TIMEOUT, else 60"}},
    {CLI_TAKES_DEVICE,
     {.name = "device",
      .kind = CLI_CHOICE,
      .value = "NAME",
      .offset = AT(device),
      .choices = cli_devices,
      .help = "the device on which ranks compute; auto: cuda if there is a GPU, else cpu; ranks take the "
              "GPUs in turn"}},
    {CLI_TAKES_KERNEL,
     {.name = "kernel",
      .kind = CLI_TEXT,
      .value = "NAME",
      .offset = AT(kernel),
      .help =
          "the kernel that multiplies (sley info lists the kernels of each device); auto: for each part the "
          "fastest kernel that supports it"}},
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
      .help = "compute the same bits for every number of ranks and every algorithm, which is slower"}},
    {CLI_TAKES_DTYPE,
     {.name = "dtype",
      .kind = CLI_CHOICE,
      .value = "TYPE",
      .offset = AT(dtype),
      .choices = sley_dtypes,
      .help = "type of all values; if no default is shown: f64 if a .npz, .sley or .npy file stores f64, "
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
      .choices = partitions,
      .help = "the quantity that is divided equally among the ranks"}},
    {CLI_TAKES_MACHINE,
     {.name = "machine",
      .kind = CLI_TEXT,
      .value = "FILE",
      .offset = AT(machine),
      .help = "predict times for the machine that FILE describes instead of this machine; the ranks of a "
              "node are a workgroup"}},
    {CLI_TAKES_SEED,
     {.name = "seed",
      .kind = CLI_INT,
      .value = "N",
      .offset = AT(seed),
      .most = INT64_MAX,
      .help = "seed of random values, of random orders and of generators without a seed of their own"}},
    {CLI_TAKES_MEM_LIMIT,
     {.name = "mem-limit",
      .kind = CLI_SIZE,
      .value = "SIZE",
      .offset = AT(mem_limit),
      .help =
          "most bytes that are read from a pipe, or that a compressed file may contain, such as 512M or 8G"}},
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
      .help = "seconds for the runs of one case; after that time only as many runs follow as make 3; 0: no "
              "limit"}},
    {CLI_TAKES_VERIFY,
     {.name = "verify",
      .kind = CLI_SWITCH,
      .offset = AT(verify),
      .help = "check the result against a float64 product"}},
    {CLI_TAKES_READING,
     {.name = "format",
      .kind = CLI_TEXT,
      .value = "NAME",
      .offset = AT(reading.format),
      .choices = sley_formats,
      .about = sley_format_summary,
      .help = "format of the files of matrices (default: detected from the file, and reported)"}},
    {CLI_TAKES_READING,
     {.name = "base",
      .also = "0 1",
      .kind = CLI_INT,
      .value = "0|1",
      .offset = AT(reading.base),
      .most = 1,
      .help = "first number of rows and columns in edge lists and in triplets without a header (default: "
              "detected from the file, and reported)"}},
    {CLI_TAKES_TILES,
     {.name = "grid",
      .kind = CLI_TEXT,
      .value = "RxC",
      .offset = AT(grid),
      .help =
          "in tiles: arrange the ranks in R rows and C columns; their number is R times C (default: the grid "
          "nearest to a square)"}},
    {CLI_TAKES_TILES,
     {.name = "tiles",
      .kind = CLI_TEXT,
      .value = "N|RxC",
      .offset = AT(tiles),
      .help =
          "in tiles: divide A into N x N or R x C tiles (default: as many rows as the grid has, and as many "
          "columns as the least common multiple of its rows and columns)"}},
    {CLI_TAKES_TILES,
     {.name = "columns",
      .kind = CLI_INT,
      .value = "N",
      .offset = AT(columns),
      .most = CLI_MOST_TILES,
      .help = "in tiles: divide the columns of the right factor and of the product into N tiles; 0: as many "
              "as the grid has columns"}},
    {CLI_TAKES_BUFFERS,
     {.name = "buffers",
      .kind = CLI_INT,
      .value = "N",
      .offset = AT(buffers),
      .most = MOST_BUFFERS,
      .help = "in tiles: number of buffers of a rank for products that go to other ranks; 0: 4"}},
    {CLI_TAKES_BRIEF,
     {.name = "brief",
      .kind = CLI_FLAG,
      .offset = AT(brief),
      .help = "leave out the explanations of the terms in tables"}},
    {CLI_TAKES_PLOT,
     {.name = "plot",
      .kind = CLI_TEXT,
      .value = "FILE",
      .offset = AT(plot),
      .help = "draw the results as .svg or .png; needs gnuplot"}},
    {CLI_TAKES_JSON,
     {.name = "json",
      .kind = CLI_TEXT,
      .value = "FILE",
      .offset = AT(json),
      .help = "write all figures as JSON; with - to stdout, and the text to stderr"}},
};

const cli_option *cli_common_option(unsigned taken, int number) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++)
    if ((taken & table[i].taken) && number-- == 0)
      return &table[i].option;
  return NULL;
}
