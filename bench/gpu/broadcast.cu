/* SPDX-License-Identifier: Apache-2.0 */
/* The rivals of a product on several GPUs: X by NCCL broadcasts or in unified memory, then cuSPARSE. */
#include "broadcast.h"

#define NCCL(call) check((call), #call, __LINE__)
static void check(ncclResult_t result, const char *what, int line) {
  if (result != ncclSuccess)
    bench_fail("%s:%d: %s: %s", __FILE__, line, what, ncclGetErrorString(result));
}

const char *const broadcast_name[BROADCAST_WAYS] = {"bulk", "pipelined", "unified"};

/* Entries of rows [first, last) whose columns are in [from, to); columns are numbered from 0. */
static gpu_csr cut(const sley_csr *csr, bench_dtype dtype, int64_t first, int64_t last, int64_t from,
                   int64_t to) {
  const size_t bytes = bench_dtype_bytes[dtype];
  std::vector<int64_t> rowptr(1, 0);
  std::vector<int32_t> col;
  std::vector<char> val;
  const int32_t *cols = (const int32_t *)csr->col;
  for (int64_t i = first; i < last; i++) {
    for (int64_t e = csr->rowptr[i]; e < csr->rowptr[i + 1]; e++)
      if (cols[e] >= from && cols[e] < to) {
        col.push_back((int32_t)(cols[e] - from));
        const char *value = (const char *)csr->val + (size_t)e * bytes;
        val.insert(val.end(), value, value + bytes);
      }
    rowptr.push_back((int64_t)col.size());
  }
  return gpu_csr_upload(last - first, to - from, rowptr.data(), col.data(), val.data(), dtype, nullptr);
}

static int64_t row_bytes(const broadcast *b) {
  return b->k * (int64_t)bench_dtype_bytes[b->block.dtype];
}

static char *rows_of_x(const broadcast *b, int rank) {
  return (char *)b->x + b->begin[rank] * row_bytes(b);
}

broadcast *broadcast_create(ncclComm_t nccl, int rank, int ranks, const int64_t *begin, const sley_csr *csr,
                            bench_dtype dtype, cudaStream_t stream) {
  broadcast *b = new broadcast();
  b->nccl = nccl;
  b->rank = rank;
  b->ranks = ranks;
  b->begin = begin;
  b->stream = stream;
  CUDA(cudaStreamCreateWithFlags(&b->transfers, cudaStreamNonBlocking));
  CUDA(cudaEventCreateWithFlags(&b->started, cudaEventDisableTiming));
  CUDA(cudaMalloc(&b->token, sizeof(float)));
  CUDA(cudaMemset(b->token, 0, sizeof(float)));
  b->block = cut(csr, dtype, begin[rank], begin[rank + 1], 0, csr->cols);
  for (int s = 0; s < ranks; s++) {
    cudaEvent_t event;
    CUDA(cudaEventCreateWithFlags(&event, cudaEventDisableTiming));
    b->arrived.push_back(event);
    b->tile.push_back(cut(csr, dtype, begin[rank], begin[rank + 1], begin[s], begin[s + 1]));
  }
  return b;
}

void broadcast_prepare(broadcast *b, int64_t k, void *x, void *y, void *unified) {
  b->k = k;
  b->x = x;
  b->unified = unified;
  if (unified)
    b->paged = rival_create(&b->block, nullptr, unified, y, k, b->stream);
  b->whole = rival_create(&b->block, nullptr, x, y, k, b->stream);
  for (int s = 0; s < b->ranks; s++)
    b->part.push_back(rival_create(&b->tile[(size_t)s], nullptr, rows_of_x(b, s), y, k, b->stream));
}

void broadcast_release(broadcast *b) {
  CUDA(cudaStreamSynchronize(b->stream));
  for (rival &part : b->part)
    rival_destroy(&part);
  b->part.clear();
  if (b->unified)
    rival_destroy(&b->paged);
  rival_destroy(&b->whole);
}

bool broadcast_serves(const broadcast *b, int way, int algorithm) {
  if (way == BROADCAST_BULK)
    return b->whole.ok[algorithm];
  if (way == BROADCAST_UNIFIED)
    return b->unified && b->paged.ok[algorithm];
  for (const rival &part : b->part)
    if (!part.ok[algorithm])
      return false;
  return true;
}

static void send_stage(broadcast *b, int s, cudaStream_t stream) {
  char *rows = rows_of_x(b, s);
  size_t count = (size_t)((b->begin[s + 1] - b->begin[s]) * row_bytes(b));
  NCCL(ncclBroadcast(rows, rows, count, ncclChar, s, b->nccl, stream));
}

static void run_bulk(broadcast *b, int algorithm) {
  NCCL(ncclGroupStart());
  for (int s = 0; s < b->ranks; s++)
    send_stage(b, s, b->stream);
  NCCL(ncclGroupEnd());
  rival_run(&b->whole, algorithm, false);
}

static void run_pipelined(broadcast *b, int algorithm) {
  /* Transfers must wait for the previous product, which reads the same rows. */
  CUDA(cudaEventRecord(b->started, b->stream));
  CUDA(cudaStreamWaitEvent(b->transfers, b->started, 0));
  for (int s = 0; s < b->ranks; s++) {
    send_stage(b, s, b->transfers);
    CUDA(cudaEventRecord(b->arrived[(size_t)s], b->transfers));
    CUDA(cudaStreamWaitEvent(b->stream, b->arrived[(size_t)s], 0));
    rival_run(&b->part[(size_t)s], algorithm, s > 0);
  }
}

/* Waits until all ranks have finished their earlier work. */
static void barrier(broadcast *b) {
  NCCL(ncclAllReduce(b->token, b->token, 1, ncclFloat32, ncclSum, b->nccl, b->stream));
}

/* Every product has a new X, as in training: owners write their rows, whose pages move back for that. */
static void run_unified(broadcast *b, int algorithm) {
  int64_t first = b->begin[b->rank] * row_bytes(b), count = b->begin[b->rank + 1] * row_bytes(b) - first;
  barrier(b); /* nobody reads the previous X any more */
  CUDA(cudaMemcpyAsync((char *)b->unified + first, (char *)b->x + first, (size_t)count, cudaMemcpyDefault,
                       b->stream));
  barrier(b);
  rival_run(&b->paged, algorithm, false);
}

void broadcast_run(broadcast *b, int way, int algorithm) {
  static void (*const run[BROADCAST_WAYS])(broadcast *, int) = {run_bulk, run_pipelined, run_unified};
  run[way](b, algorithm);
}

void broadcast_destroy(broadcast *b) {
  for (gpu_csr &tile : b->tile)
    gpu_csr_free(&tile);
  for (cudaEvent_t event : b->arrived)
    CUDA(cudaEventDestroy(event));
  gpu_csr_free(&b->block);
  CUDA(cudaFree(b->token));
  CUDA(cudaEventDestroy(b->started));
  CUDA(cudaStreamDestroy(b->transfers));
  delete b;
}
