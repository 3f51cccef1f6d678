/* SPDX-License-Identifier: Apache-2.0 */
/* Agreement of ranks. Under a launcher, compares the options of all processes, and samples of the matrix and
 * of X. */
#include "ranks/agree.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "output/terminal.h"

enum { SAMPLES = 4096 };

static const uint64_t FNV_BASIS = UINT64_C(14695981039346656037), FNV_PRIME = UINT64_C(1099511628211);

typedef struct fields {
  int count;
  const char *name[CLI_AGREE_WORDS];
  int64_t value[CLI_AGREE_WORDS];
} fields;

static void add(fields *f, const char *name, int64_t value) {
  f->name[f->count] = name;
  f->value[f->count++] = value;
}

static uint64_t mix(uint64_t hash, const void *data, size_t bytes) {
  const unsigned char *at = data;
  for (size_t i = 0; i < bytes; i++)
    hash = (hash ^ at[i]) * FNV_PRIME;
  return hash;
}

static int64_t hash_text(uint64_t hash, const char *text) {
  return (int64_t)mix(hash, text ? text : "", text ? strlen(text) + 1 : 1);
}

/* Hashes evenly spaced items of an array, including the last one. */
static uint64_t sample(uint64_t hash, const void *data, int64_t count, size_t bytes) {
  int64_t taken = count < SAMPLES ? count : SAMPLES;
  for (int64_t i = 0; i < taken; i++) {
    int64_t at = taken == count ? i : (int64_t)((double)i / (SAMPLES - 1) * (double)(count - 1));
    hash = mix(hash, (const char *)data + (size_t)at * bytes, bytes);
  }
  return hash;
}

static sley_status hash_matrix(const cli_job *job, int64_t *out) {
  sley_csr csr;
  sley_status status = sley_matrix_csr(job->matrix, &csr);
  if (status != SLEY_OK)
    return status;
  uint64_t hash = sample(FNV_BASIS, csr.rowptr, csr.rows + 1, sizeof *csr.rowptr);
  hash = sample(hash, csr.col, job->info.nnz, csr.index == SLEY_I32 ? sizeof(int32_t) : sizeof(int64_t));
  *out = (int64_t)sample(hash, csr.val, job->info.nnz, sley_dtype_bytes(csr.dtype));
  return SLEY_OK;
}

/* Hashes a file's size and samples of its bytes; if the name is not a regular file, hashes the name and the
 * seed. */
static int64_t hash_file(const char *name, int64_t seed) {
  enum { SAMPLE = 64, FILE_SAMPLES = 256 };
  struct stat info;
  int file = stat(name, &info) == 0 && S_ISREG(info.st_mode) ? open(name, O_RDONLY | O_CLOEXEC) : -1;
  if (file < 0)
    return hash_text(mix(FNV_BASIS, &seed, sizeof seed), name);
  int64_t size = info.st_size;
  uint64_t hash = mix(FNV_BASIS, &size, sizeof size);
  for (int64_t i = 0; i < FILE_SAMPLES; i++) {
    char bytes[SAMPLE];
    ssize_t got = pread(file, bytes, sizeof bytes, size / FILE_SAMPLES * i);
    hash = mix(hash, bytes, got > 0 ? (size_t)got : 0);
  }
  close(file);
  return (int64_t)hash;
}

/* Adds hashes of the inputs of which each rank will read its own rows. */
static void add_names(fields *f, const cli_job *job, const cli_measure *measure) {
  const cli_job_settings *settings = job->settings;
  add(f, "the matrix (the file's content, or the generator's words and --seed)",
      hash_file(job->name, settings->common.seed));
  add(f, "--partition", hash_text(FNV_BASIS, settings->common.partition));
  add(f, "X (--x or --seed)", hash_file(measure->x ? measure->x : "", settings->common.seed));
}

/* Adds hashes of the inputs that this process has read. */
static sley_status add_content(fields *f, const cli_job *job, const cli_operands *operands) {
  int64_t matrix = 0, parts = (int64_t)FNV_BASIS, begins = job->ranks.ranks + (int64_t)1;
  sley_status status = hash_matrix(job, &matrix);
  if (status != SLEY_OK)
    return status;
  parts = (int64_t)mix((uint64_t)parts, job->row_begin, (size_t)begins * sizeof *job->row_begin);
  parts = (int64_t)mix((uint64_t)parts, job->col_begin, (size_t)begins * sizeof *job->col_begin);
  size_t value = sley_dtype_bytes(operands->dtype);
  add(f, "the matrix (its rows)", job->info.rows);
  add(f, "the matrix (its columns)", job->info.cols);
  add(f, "the matrix (its nonzeros)", job->info.nnz);
  add(f, "the matrix (its entries: the file, --order or --seed)", matrix);
  add(f, "--partition", parts);
  add(f, "X (--x or --seed)", (int64_t)sample(FNV_BASIS, operands->x, operands->x_rows * operands->k, value));
  return SLEY_OK;
}

/* Collects the values to compare. Options that affect how inputs are read come first, because the inputs'
 * hashes differ if they do, and the first difference is reported. */
static sley_status collect(const cli_job *job, const cli_operands *operands, const cli_measure *measure,
                           fields *f) {
  int64_t algos = (int64_t)FNV_BASIS;
  for (int i = 0; i < measure->algos->count; i++)
    algos = hash_text((uint64_t)algos, measure->algos->name[i]);
  add(f, "--transpose", measure->transpose);
  add(f, "--order", hash_text(FNV_BASIS, job->settings->common.order));
  add(f, "--k", operands ? operands->k : measure->k);
  add(f, "--algo", algos);
  add(f, "--dtype", cli_dtype(job->settings->common.dtype));
  add(f, "--reproducible", measure->reproducible);
  add(f, "--alpha", cli_agree_real(measure->alpha));
  add(f, "--beta", cli_agree_real(measure->beta));
  add(f, "--repeat", measure->repeat);
  add(f, "--warmup", measure->warmup);
  add(f, "--budget", measure->budget > 0);
  add(f, "--wire", hash_text(FNV_BASIS, measure->wire));
  add(f, "--unchanged", measure->unchanged);
  add(f, "--update", job->settings->update);
  add(f, "--local", hash_text(FNV_BASIS, measure->local));
  add(f, "--kernel", hash_text(FNV_BASIS, measure->kernel));
  add(f, "--precision", hash_text(FNV_BASIS, measure->precision));
  add(f, "--verify", measure->verify);
  if (operands)
    return add_content(f, job, operands);
  add_names(f, job, measure);
  return SLEY_OK;
}

/* All values are equal if the minimum over the ranks of each value, and of its complement, equals this rank's
   value and complement. */
sley_status cli_agree_words(sley_comm *comm, const char *const *names, const int64_t *values, int count,
                            bool *told) {
  int64_t low[2 * CLI_AGREE_WORDS] = {0};
  for (int i = 0; i < count; i++) {
    low[i] = values[i];
    low[CLI_AGREE_WORDS + i] = ~values[i];
  }
  sley_status status = sley_comm_allreduce(comm, SLEY_MIN, low, 2 * CLI_AGREE_WORDS);
  for (int i = 0; i < count && status == SLEY_OK; i++)
    if (low[i] != ~low[CLI_AGREE_WORDS + i]) {
      (void)sley_comm_barrier(
          comm); /* a barrier, so that all ranks have compared before the first one ends */
      cli_error("the ranks were given different values of %s: start all with the same words", names[i]);
      *told = true;
      status = SLEY_ERR_ARG;
    }
  return status;
}

int64_t cli_agree_real(double value) {
  int64_t bits;
  memcpy(&bits, &value, sizeof bits);
  return bits;
}

sley_status cli_agree(sley_comm *comm, const cli_job *job, const cli_operands *operands,
                      const cli_measure *measure, bool *told) {
  fields f = {0};
  sley_status status = collect(job, operands, measure, &f);
  return status == SLEY_OK ? cli_agree_words(comm, f.name, f.value, f.count, told) : status;
}

sley_status cli_agree_status(sley_comm *comm, sley_status mine) {
  int64_t worst = mine;
  sley_status agreed = sley_comm_allreduce(comm, SLEY_MAX, &worst, 1);
  return mine != SLEY_OK ? mine : agreed != SLEY_OK ? agreed : (sley_status)worst;
}

/* The largest error in units of its bound; above 1: wrong. */
static double units(const sley_check *check) {
  if (!check->ok)
    return 2;
  return check->bound > 0 ? check->max_error / check->bound : 0;
}

sley_status cli_agree_check(sley_comm *comm, sley_check *check) {
  int size = sley_comm_size(comm);
  void *bytes = NULL, *all = NULL;
  sley_status status = sley_buffer_alloc(size * (int64_t)sizeof(int64_t), &bytes);
  if (status == SLEY_OK)
    status = sley_buffer_alloc(size * (int64_t)sizeof *check, &all);
  for (int r = 0; r < size && status == SLEY_OK; r++)
    ((int64_t *)bytes)[r] = sizeof *check;
  if (status == SLEY_OK)
    status = sley_comm_gather(comm, 0, check, bytes, all);
  for (int r = 1; r < size && status == SLEY_OK && sley_comm_rank(comm) == 0; r++) {
    const sley_check *other = (sley_check *)all + r;
    double relative =
        other->relative_error > check->relative_error ? other->relative_error : check->relative_error;
    if (units(other) > units(check))
      *check = *other;
    check->relative_error = relative; /* the error is relative to the largest value of that rank's rows, not
                                         of all rows */
  }
  sley_buffer_free(all);
  sley_buffer_free(bytes);
  return status;
}
