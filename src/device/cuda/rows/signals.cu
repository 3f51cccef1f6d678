/* SPDX-License-Identifier: Apache-2.0 */
/* Pulls among devices that signal each other. Through boards in their memories they report when rows may be
 * read, where the rows lie, and when they have been read. Every rank's pull first writes to its peers' boards
 * and then waits at its own. So the pulls of all ranks may run in any order, if each rank has its own device.
 */
#include "device/cuda/rows/pull.cuh"

namespace {

using namespace sley;

struct pull_round {
  sl_signals signals;
  sl_offer lend[SL_PULL_SOURCES];
  pulled rows;
  int sources;
  uint64_t bits; /* bitwise or of the addresses and sizes that the host knows */
  pull_pieces pieces;
  int64_t count;
  int64_t fragments;
  int64_t longest; /* bytes of the longest row */
  bool equal;      /* moved rows have equal lengths, and equal offsets in the destination rows */
  int64_t dst_offset;
  bool add;
  sley_dtype dtype;
};

__device__ uint64_t load_acquire(const uint64_t *word) {
  uint64_t value;
  asm volatile("ld.acquire.sys.global.u64 %0, [%1];" : "=l"(value) : "l"(word) : "memory");
  return value;
}

__device__ void store_release(uint64_t *word, uint64_t value) {
  asm volatile("st.release.sys.global.u64 [%0], %1;" ::"l"(word), "l"(value) : "memory");
}

/* Waits until the word reaches the round. Returns false if all ranks are to stop or the peer has closed its
 * board. */
__device__ bool wait_for(const uint64_t *word, uint64_t round, const uint32_t *stop) {
  for (unsigned polls = 1;; polls++) {
    const uint64_t reached = load_acquire(word);
    if (reached >= round)
      return reached != SL_BOARD_CLOSED;
    if (polls % 64 == 0 && *static_cast<const volatile uint32_t *>(stop) != 0)
      return false;
    if (polls > 64)
      __nanosleep(200);
  }
}

template <bool FEW, class V, class Join> __device__ void move_wide(const pull_round &r, const pulled &rows) {
  const int log = group_log_for(r.longest / static_cast<int64_t>(sizeof(V)));
  if constexpr (FEW) {
    move_fragments<V, Join>(rows, r.count, r.fragments, log);
    piece_watch(r.pieces).passed(INT64_MAX);
  } else {
    move_rows<V, Join>(rows, r.count, r.fragments, log, piece_watch(r.pieces));
  }
}

template <bool FEW, class T>
__device__ void add_by_width(const pull_round &r, const pulled &rows, int width) {
  if (width == 16)
    move_wide<FEW, uint4, add<uint4, T>>(r, rows);
  else if (width == 8)
    move_wide<FEW, uint2, add<uint2, T>>(r, rows);
  else
    move_wide<FEW, typename word<sizeof(T)>::type, add<typename word<sizeof(T)>::type, T>>(r, rows);
}

template <bool FEW> __device__ void move_by_width(const pull_round &r, const pulled &rows, int width) {
  if (r.add && r.dtype == SLEY_F32)
    add_by_width<FEW, float>(r, rows, width);
  else if (r.add && r.dtype == SLEY_F64)
    add_by_width<FEW, double>(r, rows, width);
  else if (r.add && r.dtype == SLEY_F16)
    add_by_width<FEW, f16>(r, rows, width);
  else if (r.add)
    add_by_width<FEW, bf16>(r, rows, width);
  else if (width == 16)
    move_wide<FEW, uint4, replace<uint4>>(r, rows);
  else if (width == 8)
    move_wide<FEW, uint2, replace<uint2>>(r, rows);
  else if (width == 4)
    move_wide<FEW, unsigned, replace<unsigned>>(r, rows);
  else if (width == 2)
    move_wide<FEW, unsigned short, replace<unsigned short>>(r, rows);
  else
    move_wide<FEW, unsigned char, replace<unsigned char>>(r, rows);
}

/* The usual pull of rows of X, which must be as fast as a pull without signals. */
__device__ void move_plain(const pull_round &r, const pulled &rows) {
  const plain_rows p = {rows.list, rows.dst + r.dst_offset, rows.dst_stride, static_cast<unsigned>(r.count),
                        static_cast<unsigned>(r.longest / 16)};
  pull_rows(
      p,
      [&](const sl_pull_entry &e) {
        const sl_pull_source &s = rows.source[e.source];
        return static_cast<const char *>(s.src) + e.src_row * s.stride;
      },
      group_log_for(p.vectors), piece_watch(r.pieces));
}

/* FEW: see are_few in rows.cuh. */
template <bool FEW>
__global__ void __launch_bounds__(THREADS, 2) pull_signalled(const __grid_constant__ pull_round r) {
  __shared__ pulled rows;
  __shared__ unsigned long long bits;
  __shared__ int stopped;
  __shared__ bool last;
  const sl_signals &s = r.signals;
  const uint64_t round = s.own->round + 1;
  const int thread = threadIdx.x;
  if (s.opens && s.own->stopped == 0 && blockIdx.x == 0 && blockIdx.y == 0 && thread < s.lends) {
    sl_board_slot *slot = &r.lend[thread].board->slot[s.rank];
    slot->src = r.lend[thread].src;
    slot->stride = r.lend[thread].stride;
    store_release(&slot->ready, round);
  }
  if (thread == 0) {
    bits = r.bits;
    stopped = 0;
    rows.list = r.rows.list;
    rows.dst = r.rows.dst;
    rows.dst_stride = r.rows.dst_stride;
  }
  __syncthreads();
  if (thread < r.sources) {
    const sl_pull_source &from = r.rows.source[thread];
    const sl_board_slot *slot = &s.own->slot[from.peer];
    if (!wait_for(&slot->ready, round, s.stop))
      atomicExch(&stopped, 1);
    rows.source[thread] = from;
    rows.source[thread].src = *static_cast<const void *const volatile *>(&slot->src);
    rows.source[thread].stride = *static_cast<const volatile int64_t *>(&slot->stride);
    atomicOr(&bits, reinterpret_cast<unsigned long long>(rows.source[thread].src) |
                        static_cast<unsigned long long>(rows.source[thread].stride));
  }
  __syncthreads();
  if (!FEW && !stopped && r.equal && bits % 16 == 0)
    move_plain(r, rows);
  else if (!stopped)
    move_by_width<FEW>(r, rows, width_of(bits));
  else
    piece_watch(r.pieces).passed(INT64_MAX);
  __syncthreads();
  if (thread == 0) {
    __threadfence();
    last = atomicAdd(&s.own->done, 1u) == gridDim.x * gridDim.y - 1;
  }
  __syncthreads();
  if (!last)
    return;
  if (thread == 0) {
    __threadfence();
    s.own->done = 0;
    if (stopped)
      s.own->stopped = 1;
    else if (s.closes) /* not after a stop, because await would wait for a round that never took place */
      s.own->round = round;
  }
  __syncthreads();
  if (thread < r.sources && !stopped && !s.keeps)
    store_release(&r.rows.source[thread].board->slot[s.rank].taken, round);
}

struct lenders {
  sl_signals signals;
  int peer[SL_PULL_SOURCES];
};

__global__ void await_taken(const __grid_constant__ lenders l) {
  if (threadIdx.x < l.signals.lends)
    wait_for(&l.signals.own->slot[l.peer[threadIdx.x]].taken, l.signals.own->round, l.signals.stop);
}

} // namespace

/* Returns whether rows meet the requirements of move_plain, as far as the host knows. */
static bool are_equal(const sl_pull_args *a, int64_t longest, int64_t *offset) {
  bool equal = !a->add && a->count < PLAIN_ENTRIES && longest > 0 && longest <= FRAGMENT_BYTES;
  *offset = 0;
  for (int i = 0, moving = 0; i < a->sources; i++) {
    const sl_pull_source *s = &a->source[i];
    if (s->bytes == 0)
      continue;
    *offset = moving++ == 0 ? s->dst_offset : *offset;
    equal = equal && s->bytes == longest && s->dst_offset == *offset;
  }
  return equal;
}

sley_status sl_cuda_launch_pull_signalled(sl_queue *queue, const sl_pull_args *a) {
  pull_round r = {};
  r.signals = *a->signals;
  r.signals.lend = nullptr;
  for (int i = 0; i < a->signals->lends; i++)
    r.lend[i] = a->signals->lend[i];
  r.rows.list = a->list;
  r.rows.dst = static_cast<char *>(a->dst);
  r.rows.dst_stride = a->dst_stride;
  r.sources = a->sources;
  r.bits = reinterpret_cast<uintptr_t>(a->dst) | static_cast<uint64_t>(a->dst_stride);
  for (int i = 0; i < a->sources; i++) {
    r.rows.source[i] = a->source[i];
    r.bits |= static_cast<uint64_t>(a->source[i].bytes | a->source[i].dst_offset);
    r.longest = a->source[i].bytes > r.longest ? a->source[i].bytes : r.longest;
  }
  r.pieces = pieces_of(a);
  r.equal = are_equal(a, r.longest, &r.dst_offset);
  r.count = r.longest > 0 ? a->count : 0;
  r.fragments = (r.longest + FRAGMENT_BYTES - 1) / FRAGMENT_BYTES;
  r.add = a->add;
  r.dtype = a->dtype;
  SL_TRY(sl_cuda_use(queue->device));
  const int log = group_log_for(r.longest / 16);
  const int64_t most = pull_blocks(queue, false), fragments = r.fragments < most ? r.fragments : most;
  const unsigned across = fragments < 1 ? 1 : static_cast<unsigned>(fragments);
  const unsigned blocks =
      blocks_for((r.count + PULL_AHEAD - 1) / PULL_AHEAD, log, (most + across - 1) / across);
  const dim3 grid(blocks > 0 ? blocks : 1, across);
  if (are_few(r.count, r.longest))
    pull_signalled<true><<<grid, THREADS, 0, sl_cuda_stream(queue)>>>(r);
  else
    pull_signalled<false><<<grid, THREADS, 0, sl_cuda_stream(queue)>>>(r);
  return sl_cuda_launched(queue, "pull with signals");
}

sley_status sl_cuda_launch_await(sl_queue *queue, const sl_await_args *a) {
  lenders l = {};
  l.signals = *a->signals;
  l.signals.lend = nullptr;
  for (int i = 0; i < a->signals->lends; i++)
    l.peer[i] = a->signals->lend[i].peer;
  SL_TRY(sl_cuda_use(queue->device));
  await_taken<<<1, SL_PULL_SOURCES, 0, sl_cuda_stream(queue)>>>(l);
  return sl_cuda_launched(queue, "await");
}
