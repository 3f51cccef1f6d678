/* SPDX-License-Identifier: Apache-2.0 */
/* Converts CSR to blocks. Every entry has a key, the number of its block among all possible blocks of A; the
 * distinct keys are the blocks, in the order of rows. */
#include "blocks.h"

#include <climits>
#include <new>

#include <thrust/device_vector.h>
#include <thrust/sort.h>
#include <thrust/unique.h>

/* Bytes of the values of one matrix in blocks. */
static const double MOST_BYTES = 4.0 * (1 << 30);

typedef thrust::device_vector<int64_t> key_vector;

/* A, and the blocks that contain its entries, for the kernels below. */
struct block_map {
  int64_t rows, nnz;
  const int32_t *rowptr, *col;
  int64_t size, block_cols;
  const int64_t *key; /* distinct, ascending */
  int64_t keys;
};

/* The last row that begins at or before the entry. */
static __device__ int64_t row_of(const block_map &m, int64_t entry) {
  int64_t low = 0, high = m.rows;
  while (high - low > 1) {
    int64_t middle = low + (high - low) / 2;
    if (m.rowptr[middle] <= entry)
      low = middle;
    else
      high = middle;
  }
  return low;
}

static __device__ int64_t key_of(const block_map &m, int64_t row, int64_t entry) {
  return row / m.size * m.block_cols + m.col[entry] / m.size;
}

/* The number of keys below `key`. */
static __device__ int64_t keys_below(const block_map &m, int64_t key) {
  int64_t low = 0, high = m.keys;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (m.key[middle] < key)
      low = middle + 1;
    else
      high = middle;
  }
  return low;
}

static __device__ int64_t first_item(void) {
  return (int64_t)blockIdx.x * blockDim.x + threadIdx.x;
}

static __device__ int64_t item_step(void) {
  return (int64_t)gridDim.x * blockDim.x;
}

static __global__ void write_keys(block_map m, int64_t *key) {
  for (int64_t e = first_item(); e < m.nnz; e += item_step())
    key[e] = key_of(m, row_of(m, e), e);
}

static __global__ void write_rowptr(block_map m, int64_t block_rows, int32_t *rowptr) {
  for (int64_t i = first_item(); i <= block_rows; i += item_step())
    rowptr[i] = (int32_t)keys_below(m, i * m.block_cols);
}

/* width: width of Blocked-ELL; 0: BSR. */
static __global__ void write_columns(block_map m, const int32_t *rowptr, int64_t width, int32_t *col) {
  for (int64_t b = first_item(); b < m.keys; b += item_step()) {
    int64_t row = m.key[b] / m.block_cols, at = width > 0 ? row * width + b - rowptr[row] : b;
    col[at] = (int32_t)(m.key[b] % m.block_cols);
  }
}

/* T: an integer of the values' size; values are only moved. */
template <typename T>
static __global__ void write_values(block_map m, const int32_t *rowptr, int64_t width, const T *from,
                                    T *val) {
  for (int64_t e = first_item(); e < m.nnz; e += item_step()) {
    int64_t row = row_of(m, e), block = keys_below(m, key_of(m, row, e)), i = row % m.size,
            j = m.col[e] % m.size;
    int64_t slot = block - rowptr[row / m.size];
    int64_t at = width > 0 ? (row * width + slot) * m.size + j : (block * m.size + i) * m.size + j;
    val[at] = from[e];
  }
}

enum { BLOCKS = 4096, THREADS = 256 };

/* Finds the keys of all blocks that have entries, and stores them in m. Returns false if memory is
 * exhausted. */
static bool find_blocks(block_map *m, key_vector *keys) try {
  keys->resize((size_t)m->nnz);
  write_keys<<<BLOCKS, THREADS>>>(*m, thrust::raw_pointer_cast(keys->data()));
  CUDA(cudaGetLastError());
  thrust::sort(keys->begin(), keys->end());
  keys->erase(thrust::unique(keys->begin(), keys->end()), keys->end());
  m->key = thrust::raw_pointer_cast(keys->data());
  m->keys = (int64_t)keys->size();
  return true;
} catch (const std::bad_alloc &) {
  (void)cudaGetLastError(); /* otherwise a later call would report it */
  return false;
}

static int64_t widest_row(const int32_t *rowptr, int64_t rows) {
  std::vector<int32_t> host((size_t)rows + 1);
  int32_t widest = 0;
  CUDA(cudaMemcpy(host.data(), rowptr, host.size() * sizeof host[0], cudaMemcpyDeviceToHost));
  for (size_t i = 0; i < (size_t)rows; i++)
    widest = host[i + 1] - host[i] > widest ? host[i + 1] - host[i] : widest;
  return widest;
}

/* Why blocks with this many values are not made; empty: they are made. */
static std::string refusal(const gpu_csr *a, double values) {
  if (a->nnz == 0)
    return "A has no entries";
  if (values >= GPU_BLOCK_PADDING * (double)a->nnz)
    return bench_format("its blocks hold %.1f values an entry", values / (double)a->nnz);
  if (values > INT_MAX || values * (double)bench_dtype_bytes[a->dtype] > MOST_BYTES)
    return "its blocks take more than 4 GiB or 2^31 values";
  return "";
}

static void copy_values(const block_map &m, const gpu_csr *a, const gpu_blocks *b) {
  if (bench_dtype_bytes[a->dtype] == 8)
    write_values<<<BLOCKS, THREADS>>>(m, b->rowptr, b->width, (const uint64_t *)a->val, (uint64_t *)b->val);
  else if (bench_dtype_bytes[a->dtype] == 4)
    write_values<<<BLOCKS, THREADS>>>(m, b->rowptr, b->width, (const uint32_t *)a->val, (uint32_t *)b->val);
  else
    write_values<<<BLOCKS, THREADS>>>(m, b->rowptr, b->width, (const uint16_t *)a->val, (uint16_t *)b->val);
  CUDA(cudaGetLastError());
}

static void fill(const block_map &m, const gpu_csr *a, gpu_blocks *b) {
  size_t bytes = (size_t)(b->count * b->size * b->size) * bench_dtype_bytes[a->dtype];
  CUDA(cudaMalloc(&b->val, bytes));
  CUDA(cudaMemset(b->val, 0, bytes));
  CUDA(cudaMalloc(&b->col, (size_t)b->count * sizeof *b->col));
  CUDA(cudaMemset(b->col, 255, (size_t)b->count * sizeof *b->col)); /* -1 */
  write_columns<<<BLOCKS, THREADS>>>(m, b->rowptr, b->width, b->col);
  CUDA(cudaGetLastError());
  copy_values(m, a, b);
}

gpu_blocks gpu_blocks_make(const gpu_csr *a, gpu_block_form form, int size) {
  gpu_blocks b = {};
  b.form = form;
  b.size = size;
  b.rows = (a->rows + size - 1) / size;
  b.cols = (a->cols + size - 1) / size;
  b.why_not = refusal(a, 0);
  if (!b.why_not.empty())
    return b;
  block_map m = {a->rows, a->nnz, a->rowptr, a->col, size, b.cols, nullptr, 0};
  key_vector keys;
  CUDA(cudaDeviceSynchronize());
  double begin = bench_now();
  if (!find_blocks(&m, &keys)) {
    b.why_not = "out of memory to find its blocks";
    return b;
  }
  CUDA(cudaMalloc(&b.rowptr, (size_t)(b.rows + 1) * sizeof *b.rowptr));
  write_rowptr<<<BLOCKS, THREADS>>>(m, b.rows, b.rowptr);
  CUDA(cudaGetLastError());
  b.width = form == GPU_BLOCKED_ELL ? widest_row(b.rowptr, b.rows) : 0;
  b.count = form == GPU_BLOCKED_ELL ? b.rows * b.width : m.keys;
  b.why_not = refusal(a, (double)b.count * size * size);
  if (b.why_not.empty())
    fill(m, a, &b);
  CUDA(cudaDeviceSynchronize());
  b.made_ms = 1e3 * (bench_now() - begin);
  if (!b.why_not.empty() || form == GPU_BLOCKED_ELL) {
    CUDA(cudaFree(b.rowptr));
    b.rowptr = nullptr;
  }
  return b;
}

void gpu_blocks_free(gpu_blocks *blocks) {
  CUDA(cudaFree(blocks->rowptr));
  CUDA(cudaFree(blocks->col));
  CUDA(cudaFree(blocks->val));
  *blocks = gpu_blocks{};
}
