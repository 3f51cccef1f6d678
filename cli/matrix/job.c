/* SPDX-License-Identifier: Apache-2.0 */
/* Loads, orders and partitions a matrix, and takes row blocks. */
#include "matrix/job.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "command.h"
#include "output/terminal.h"
#include "ranks/processes.h"

enum { MOST_THREADS = 4096 };

/* ---- options */

#define AT(field) offsetof(cli_job_settings, field)
const cli_option cli_job_options[] = {
    {.name = "k",
     .letter = 'k',
     .kind = CLI_INT,
     .value = "K",
     .offset = AT(k),
     .most = INT64_MAX,
     .listed = true,
     .help = "columns of X (default 32)"},
    {.name = "mem-limit",
     .kind = CLI_SIZE,
     .value = "SIZE",
     .offset = AT(common.mem_limit),
     .help = "most memory of a rank on its device, with X and Y, such as 512M or 8G: if not all columns fit, "
             "they are multiplied in blocks; also the most bytes that are read from a pipe, or that a "
             "compressed file may contain, for all ranks together"},
    {.name = "transpose", .kind = CLI_FLAG, .offset = AT(transpose), .help = "Y = A^T X instead of A X"},
    {0}};

sley_dtype cli_dtype(const char *name) {
  return (sley_dtype)cli_number_of(name, sley_dtypes());
}

const char *cli_settled_dtype(const char *asked, const char *matrix, const char *other, const char **from) {
  const char *const inputs[] = {matrix, other};
  *from = NULL;
  for (int i = 0; i < 2 && !asked; i++) {
    sley_dtype stored;
    int dims;
    if (inputs[i] && sley_stored_type(inputs[i], &stored, &dims) == SLEY_OK && stored == SLEY_F64) {
      *from = inputs[i];
      return "f64";
    }
  }
  return asked ? asked : "f32";
}

void cli_settle_dtype(cli_job_settings *settings, const char *matrix, const char *x) {
  settings->common.dtype = cli_settled_dtype(settings->common.dtype, matrix, x, &settings->dtype_from);
}

/* ---- steps */

double cli_now_ms(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec * 1e3 + (double)now.tv_nsec * 1e-6;
}

/* Allocates count + 1 whole numbers, freed with sley_buffer_free. */
static sley_status numbers(int64_t count, int64_t **out) {
  void *block = NULL;
  sley_status status = sley_buffer_alloc((count + 1) * (int64_t)sizeof **out, &block);
  *out = block;
  return status;
}

/* Shows that work begins; it ends with cli_watch_end. */
static void show(const char *verb, const char *name) {
  char text[160];
  snprintf(text, sizeof text, "%s %s", verb, name);
  cli_progress(text, 0, 0);
  cli_watch(text);
}

sley_status cli_input_status(sley_status status, const char *name) {
  return status == SLEY_ERR_IO && strcmp(name, "-") != 0 && access(name, F_OK) != 0 ? SLEY_ERR_INPUT : status;
}

/* Converts the options of reading to the library's options. */
static sley_read_options options_of(const cli_reading *reading) {
  sley_read_options options = SLEY_READ_OPTIONS_INIT;
  if (reading) {
    options.format = reading->format;
    options.base = (int)reading->base;
  }
  return options;
}

static void note_source(const char *name, const sley_matrix *matrix) {
  sley_matrix_source source;
  if (sley_matrix_source_get(matrix, &source) == SLEY_OK)
    cli_source_note(name, &source);
}

sley_status cli_load(const char *name, const char *dtype, int64_t threads, int64_t seed, int64_t unpack_limit,
                     const cli_reading *reading, sley_matrix **out) {
  sley_read_options options = options_of(reading);
  options.dtype = cli_dtype(dtype);
  options.threads = (int)threads;
  options.seed = (uint64_t)seed;
  options.unpack_limit = unpack_limit;
  show("loading", name);
  sley_status status = sley_matrix_read(name, &options, out);
  cli_watch_end();
  if (status == SLEY_OK)
    note_source(name, *out);
  return cli_input_status(status, name);
}

sley_status cli_apply_order(sley_matrix **matrix, const char *order, int64_t threads, int64_t seed,
                            int64_t **place) {
  sley_matrix_info info;
  sley_matrix *ordered = NULL;
  *place = NULL;
  sley_status status = sley_matrix_info_get(*matrix, &info);
  if (status != SLEY_OK)
    return status;
  int64_t *found = NULL;
  status = numbers(info.rows, &found);
  if (status != SLEY_OK)
    return status;
  show("ordering by", order);
  status = sley_order(*matrix, order, (uint64_t)seed, (int)threads, found);
  if (status == SLEY_OK)
    status = sley_matrix_permute(*matrix, found, found, (int)threads, &ordered);
  cli_watch_end();
  if (status != SLEY_OK) {
    sley_buffer_free(found);
    return status;
  }
  sley_matrix_destroy(*matrix);
  *matrix = ordered;
  *place = found;
  return SLEY_OK;
}

sley_status cli_partition(const sley_matrix *matrix, const char *partition, int ranks, int64_t **row_begin,
                          int64_t **col_begin) {
  sley_matrix_info info;
  sley_status status = sley_matrix_info_get(matrix, &info);
  if (status != SLEY_OK)
    return status;
  *col_begin = NULL;
  status = numbers(ranks, row_begin);
  if (status == SLEY_OK)
    status = numbers(ranks, col_begin);
  if (status == SLEY_OK)
    status = sley_partition_rows(matrix, partition, ranks, *row_begin);
  if (status == SLEY_OK && info.rows == info.cols)
    memcpy(*col_begin, *row_begin, ((size_t)ranks + 1) * sizeof **col_begin);
  else if (status == SLEY_OK)
    status = sley_partition_equal(info.cols, ranks, *col_begin);
  if (status != SLEY_OK) {
    sley_buffer_free(*row_begin);
    sley_buffer_free(*col_begin);
    *row_begin = *col_begin = NULL;
  }
  return status;
}

sley_status cli_invert_order(const int64_t *place, int64_t rows, int64_t **out) {
  sley_status status = numbers(rows, out);
  if (status != SLEY_OK)
    return status;
  for (int64_t i = 0; i < rows; i++)
    (*out)[place[i]] = i;
  return SLEY_OK;
}

/* Computes the rows of X and Y from the shape of the matrix. */
static void set_operand_rows(cli_job *job) {
  bool transpose = job->settings->transpose;
  job->x_rows = transpose ? job->info.rows : job->info.cols;
  job->y_rows = transpose ? job->info.cols : job->info.rows;
}

/* Maximum number of bytes to which the matrix's file may unpack: the memory limit of all ranks together; 0:
   no limit. */
static int64_t unpack_limit(const cli_job *job) {
  int64_t limit = job->settings->common.mem_limit, all;
  return __builtin_mul_overflow(limit, (int64_t)job->ranks.ranks, &all) ? 0 : all;
}

int64_t cli_stdin_limit(const cli_job_settings *settings) {
  int64_t limit = settings->common.mem_limit, all;
  return __builtin_mul_overflow(limit, settings->common.ranks, &all) ? 0 : all;
}

int64_t cli_job_threads(const cli_job *job) {
  int64_t threads = job->settings->common.threads * job->ranks.ranks;
  return threads < MOST_THREADS ? threads : MOST_THREADS;
}

static sley_status load_whole(cli_job *job) {
  const cli_job_settings *settings = job->settings;
  int64_t threads = cli_job_threads(job);
  double start = cli_now_ms();
  sley_status status = cli_load(job->name, settings->common.dtype, threads, settings->common.seed,
                                unpack_limit(job), &settings->common.reading, &job->matrix);
  job->load_ms = cli_now_ms() - start;
  start = cli_now_ms();
  if (status == SLEY_OK && strcmp(settings->common.order, "none") != 0)
    status =
        cli_apply_order(&job->matrix, settings->common.order, threads, settings->common.seed, &job->place);
  job->order_ms = cli_now_ms() - start;
  if (status == SLEY_OK)
    status = sley_matrix_info_get(job->matrix, &job->info);
  if (status == SLEY_OK && job->place)
    status = cli_invert_order(job->place, job->info.rows, &job->row_name);
  if (status == SLEY_OK)
    status = cli_partition(job->matrix, settings->common.partition, job->ranks.ranks, &job->row_begin,
                           &job->col_begin);
  if (status != SLEY_OK) {
    cli_job_end(job);
    return status;
  }
  set_operand_rows(job);
  return SLEY_OK;
}

sley_status cli_job_read(const cli_job *job, sley_comm *comm, cli_job *out) {
  const cli_job_settings *settings = job->settings;
  sley_read_options options = options_of(&settings->common.reading);
  options.dtype = cli_dtype(settings->common.dtype);
  options.seed = (uint64_t)settings->common.seed;
  options.unpack_limit = unpack_limit(job);
  int ranks = sley_comm_size(comm);
  *out = *job;
  if (sley_comm_rank(comm) == 0)
    show("loading", job->name);
  double start = cli_now_ms();
  sley_status status = numbers(ranks, &out->row_begin);
  if (status == SLEY_OK)
    status = numbers(ranks, &out->col_begin);
  if (status == SLEY_OK)
    status = sley_matrix_read_rows(comm, job->name, &options, settings->common.partition, out->row_begin,
                                   &out->info, &out->block);
  if (status == SLEY_OK)
    status = sley_matrix_source_get(out->block, &out->source);
  out->load_ms = cli_now_ms() - start;
  if (status == SLEY_OK && out->info.rows == out->info.cols)
    memcpy(out->col_begin, out->row_begin, ((size_t)ranks + 1) * sizeof *out->col_begin);
  else if (status == SLEY_OK)
    status = sley_partition_equal(out->info.cols, ranks, out->col_begin);
  if (sley_comm_rank(comm) == 0)
    cli_watch_end();
  if (status != SLEY_OK) {
    cli_job_end(out);
    return cli_input_status(status, job->name);
  }
  set_operand_rows(out);
  return SLEY_OK;
}

sley_status cli_job_start(const char *name, const cli_job_settings *settings, const char *transport,
                          const char *trace, cli_job *job) {
  *job = (cli_job){.name = name, .ranks = SLEY_RANK_OPTIONS_INIT};
  job->ranks.ranks = (int)cli_ranks(settings->common.ranks, transport);
  job->ranks.transport = transport;
  job->ranks.workgroup = (int)settings->common.workgroup;
  job->ranks.threads = (int)settings->common.threads;
  job->ranks.trace = trace;
  job->ranks.device = settings->common.device;
  job->spread = transport && !settings->whole && !settings->transpose && !settings->update &&
                strcmp(settings->common.order, "none") == 0;
  job->settings = settings;
  return job->spread ? SLEY_OK : load_whole(job);
}

sley_status cli_job_divide(cli_job *job, const cli_job_settings *settings, int ranks) {
  sley_buffer_free(job->row_begin);
  sley_buffer_free(job->col_begin);
  job->row_begin = job->col_begin = NULL;
  job->ranks.ranks = ranks;
  return cli_partition(job->matrix, settings->common.partition, ranks, &job->row_begin, &job->col_begin);
}

void cli_job_end(cli_job *job) {
  sley_buffer_free(job->row_begin);
  sley_buffer_free(job->col_begin);
  sley_buffer_free(job->row_name);
  sley_buffer_free(job->place);
  sley_matrix_destroy(job->block);
  sley_matrix_destroy(job->matrix);
  *job = (cli_job){0};
}

sley_status cli_job_block(const cli_job *job, sley_comm *comm, sley_matrix **out) {
  int rank = sley_comm_rank(comm);
  int64_t first = job->row_begin[rank];
  return sley_matrix_row_block(job->matrix, first, job->row_begin[rank + 1] - first, out);
}

static sley_status do_nothing(sley_comm *comm, void *arg) {
  (void)comm;
  (void)arg;
  return SLEY_OK;
}

sley_status cli_check_device(const char *device, const char *transport) {
  sley_rank_options ranks = SLEY_RANK_OPTIONS_INIT;
  if (transport && cli_launched())
    return SLEY_OK; /* the device is checked when the ranks meet */
  /* Over tcp another process looks for the GPU, because no GPU may be used before ranks fork. */
  ranks.transport = transport ? "tcp" : NULL;
  ranks.device = device;
  return strcmp(device, "cuda") == 0 ? sley_run_ranks(&ranks, do_nothing, NULL) : SLEY_OK;
}

bool cli_counts_operands(const sley_comm *comm, int64_t mem_limit) {
  return mem_limit > 0 || strcmp(sley_comm_device(comm), "cpu") != 0;
}
