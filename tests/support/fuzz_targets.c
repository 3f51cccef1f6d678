/* SPDX-License-Identifier: Apache-2.0 */
/* The targets of the fuzzers; tests replay the corpora with them. */
#include "fuzz_targets.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "fuzz_wire.h"
#include "io/cache.h"
#include "io/format.h"
#include "io/io.h"
#include "io/npy.h"

enum {
  MOST_ROWS = 1 << 16
}; /* so that a header of a few bytes cannot cost much time; larger sizes are refused in the same way */

void fuzz_demand(bool true_of_any_input, const char *what) {
  if (true_of_any_input)
    return;
  fprintf(stderr, "broken promise: %s\n", what);
  abort();
}

#define demand fuzz_demand

/* Checks the properties that every reader guarantees for its matrix. */
static void check_matrix(sley_matrix *a, sley_dtype dtype) {
  bool sorted;
  sley_csr csr = sl_matrix_csr(a);
  demand(a->dtype == dtype, "the dtype asked for");
  demand(sl_csr_validate(&csr, NULL, &sorted) == SLEY_OK && sorted, "a valid matrix");
  demand(a->nnz == a->rowptr[a->rows] - a->rowptr[0], "its number of nonzeros");
  demand(a->entries_stored >= 0, "its number of entries");
  volatile double sum = 0; /* reads every value, for the sanitizers */
  for (int64_t e = a->rowptr[0]; e < a->rowptr[a->rows]; e++)
    sum += dtype == SLEY_F32 ? (double)((const float *)a->val)[e] : ((const double *)a->val)[e];
  (void)sum;
  sl_matrix_destroy(a);
}

/* Checks that a refusal has a message of one line. */
static void check_refusal(void) {
  demand(sley_last_error()[0] != 0 && !strchr(sley_last_error(), '\n'), "a message of one line");
}

static sley_status open_memory(const char *name, const uint8_t *bytes, size_t size, sl_input *out) {
  const sl_file file = sl_file_of_memory(name, size > 0 ? (const void *)bytes : "", (int64_t)size);
  return sl_input_load(&file, 0, NULL, out);
}

typedef sley_status (*reader)(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out);

static void run_reader(bool (*sniff)(const sl_input *input), reader read, const char *name,
                       const uint8_t *bytes, size_t size) {
  int64_t before = sl_memory_now();
  sl_input input;
  if (open_memory(name, bytes, size, &input) != SLEY_OK) {
    check_refusal();
  } else {
    sley_dtype dtype = size % 2 ? SLEY_F32 : SLEY_F64;
    sley_matrix *a = NULL;
    input.most_rows = MOST_ROWS;
    if (!sniff || sniff(&input)) {
      if (read(&input, dtype, NULL, &a) == SLEY_OK)
        check_matrix(a, dtype);
      else
        check_refusal();
    }
    sl_input_close(&input);
  }
  demand(sl_memory_now() == before, "no leak");
}

static void run_mtx(const uint8_t *bytes, size_t size) {
  run_reader(sl_mtx_banner, sl_mtx_read, "fuzz.mtx", bytes, size);
}

static void run_mtx_bare(const uint8_t *bytes, size_t size) {
  run_reader(sl_mtx_bare_guess, sl_mtx_bare_read, "fuzz.mtx", bytes, size);
}

static void run_edgelist(const uint8_t *bytes, size_t size) {
  run_reader(NULL, sl_edgelist_read, "fuzz.el", bytes, size);
}

static void run_metis(const uint8_t *bytes, size_t size) {
  run_reader(NULL, sl_metis_read, "fuzz.graph", bytes, size);
}

static void run_rb(const uint8_t *bytes, size_t size) {
  run_reader(sl_rb_banner, sl_rb_read, "fuzz.rb", bytes, size);
}

static void run_npz(const uint8_t *bytes, size_t size) {
  run_reader(sl_npz_banner, sl_npz_read, "fuzz.npz", bytes, size);
}

/* Replaces the checksum of the header by the right one, since a random header would fail at once. */
static void run_cache(const uint8_t *bytes, size_t size) {
  uint8_t *copy = malloc(size + 1);
  demand(copy != NULL, "memory");
  memcpy(copy, bytes, size);
  if (size >= sizeof(sl_cache_header)) {
    sl_cache_header header;
    memcpy(&header, copy, sizeof header);
    header.checksum = sl_cache_checksum(&header);
    memcpy(copy, &header, sizeof header);
  }
  run_reader(sl_cache_banner, sl_cache_read, "fuzz.sley", copy, size);
  free(copy);
}

static void run_npy(const uint8_t *bytes, size_t size) {
  int64_t before = sl_memory_now(), rows, cols;
  sl_input input;
  if (open_memory("fuzz.npy", bytes, size, &input) == SLEY_OK) {
    void *data;
    if (sl_npy_read_input(&input, size % 2 ? SLEY_F32 : SLEY_F64, NULL, 0, -1, &rows, &cols, &data) == SLEY_OK) {
      demand(rows >= 0 && cols >= 0, "sizes");
      sl_free(data);
    } else {
      check_refusal();
    }
    sl_input_close(&input);
  }
  demand(sl_memory_now() == before, "no leak");
}

static sley_status read_whatever(sl_input *input, sley_dtype dtype, sl_team *team, sley_matrix **out) {
  return sl_format_read(input, NULL, dtype, team, out);
}

/* Tests gzip, zstd and the detection of the format. */
static void run_stream(const uint8_t *bytes, size_t size) {
  run_reader(NULL, read_whatever, "fuzz", bytes, size);
}

const fuzz_target fuzz_targets[] = {
    {"mtx", run_mtx},
    {"mtx_bare", run_mtx_bare},
    {"edgelist", run_edgelist},
    {"metis", run_metis},
    {"rb", run_rb},
    {"npz", run_npz},
    {"npy", run_npy},
    {"cache", run_cache},
    {"stream", run_stream},
    {"header", fuzz_header},
    {"wire", fuzz_wire},
    {"collective", fuzz_collective},
    {"claim", fuzz_claim},
    {"entries", fuzz_entries},
    {"visit", fuzz_visit},
};
const int fuzz_target_count = sizeof fuzz_targets / sizeof *fuzz_targets;
