/* SPDX-License-Identifier: Apache-2.0 */
/* The pull that brings halos: whole rows, equally long, from memories with equal strides. It runs beside a
 * product for much of that one's time, so it must fill the links with few blocks of few registers: half of
 * the multiprocessors hold one each. */
#include "device/cuda/stages.cuh"

namespace {

using namespace sley;

/* Blocks, and rows of a group in flight. On four H200 33 blocks with 4 rows are as fast alone, but fall
 * behind beside a product; twice as many of either are slower. Bulk copies by way of shared memory, a warp a
 * block, need more multiprocessors for short rows, and slow a product as much. */
enum { BLOCKS = 66, AHEAD = 2 };

struct plain_pull {
  const sl_pull_entry *list;
  char *dst;
  int64_t src_stride, dst_stride;
  unsigned count, vectors; /* of 16 bytes, of a row */
  pull_stages stages;
  const char *src[SL_PULL_SOURCES];
};

union entry_word {
  ulonglong2 word;
  sl_pull_entry entry;
};

__device__ __forceinline__ void load_words(const plain_pull &p, unsigned first, unsigned groups,
                                           ulonglong2 (&out)[AHEAD]) {
#pragma unroll
  for (int u = 0; u < AHEAD; u++)
    if (first + u * groups < p.count)
      out[u] = __ldcs(reinterpret_cast<const ulonglong2 *>(p.list + first + u * groups));
}

/* Entries of the next step are on their way while rows of this one are: so they are not looked at before. */
__global__ void __launch_bounds__(THREADS, 2)
    pull_plain(const __grid_constant__ plain_pull p, int group_log) {
  const unsigned lanes = 1u << group_log, lane = threadIdx.x & (lanes - 1);
  const unsigned thread = blockIdx.x * THREADS + threadIdx.x, groups = gridDim.x * THREADS >> group_log;
  const unsigned mine = thread >> group_log, warps_first = (thread & ~31u) >> group_log;
  stage_watch watch(p.stages);
  ulonglong2 next[AHEAD];
  load_words(p, mine, groups, next);
  for (unsigned done = 0; warps_first + done < p.count; done += groups * AHEAD) {
    const uint4 *from[AHEAD];
    uint4 *to[AHEAD];
#pragma unroll
    for (int u = 0; u < AHEAD; u++)
      if (mine + done + u * groups < p.count) {
        entry_word e;
        e.word = next[u];
        from[u] = reinterpret_cast<const uint4 *>(p.src[e.entry.source] + e.entry.src_row * p.src_stride);
        to[u] = reinterpret_cast<uint4 *>(p.dst + e.entry.dst_row * p.dst_stride);
      }
    load_words(p, mine + done + groups * AHEAD, groups, next);
    for (unsigned v = lane; v < p.vectors; v += lanes) {
      uint4 moved[AHEAD];
#pragma unroll
      for (int u = 0; u < AHEAD; u++)
        if (mine + done + u * groups < p.count)
          moved[u] = __ldcg(from[u] + v);
#pragma unroll
      for (int u = 0; u < AHEAD; u++)
        if (mine + done + u * groups < p.count)
          to[u][v] = moved[u];
    }
    watch.passed(warps_first + done + groups * AHEAD);
  }
  watch.passed(INT64_MAX);
}

} // namespace

/* So that indices of 32 bits do not overflow. */
static const int64_t COUNT_MOST = 1ll << 31;

bool sl_cuda_is_plain_pull(const sl_pull_args *a) {
  uint64_t bits = reinterpret_cast<uintptr_t>(a->dst) | static_cast<uint64_t>(a->dst_stride);
  if (a->add || a->signals || a->count > COUNT_MOST || a->sources == 0)
    return false;
  for (int i = 0; i < a->sources; i++) {
    const sl_pull_source *s = &a->source[i];
    if (s->stride != a->source[0].stride || s->bytes != a->source[0].bytes ||
        s->dst_offset != a->source[0].dst_offset || s->bytes > PIECE_BYTES)
      return false;
    bits |= reinterpret_cast<uintptr_t>(s->src) | static_cast<uint64_t>(s->stride | s->bytes | s->dst_offset);
  }
  return bits % 16 == 0;
}

sley_status sl_cuda_launch_plain_pull(sl_queue *queue, const sl_pull_args *a) {
  plain_pull p = {a->list,
                  static_cast<char *>(a->dst) + a->source[0].dst_offset,
                  a->source[0].stride,
                  a->dst_stride,
                  static_cast<unsigned>(a->count),
                  static_cast<unsigned>(a->source[0].bytes / 16),
                  stages_of(a),
                  {}};
  for (int i = 0; i < a->sources; i++)
    p.src[i] = static_cast<const char *>(a->source[i].src);
  SL_TRY(sl_cuda_use(queue->device));
  const int log = group_log_for(p.vectors);
  const unsigned wanted = blocks_for((a->count + AHEAD - 1) / AHEAD, log, BLOCKS);
  const dim3 grid(wanted > 0 ? wanted : 1); /* at least one, to tell of stages */
  pull_plain<<<grid, THREADS, 0, sl_cuda_stream(queue)>>>(p, log);
  return sl_cuda_launched(queue, "pull");
}
