/* SPDX-License-Identifier: Apache-2.0 */
/* The pull of halos: whole rows of equal length, from memories with equal strides. It runs beside a product
 * for much of the product's time, so it must fill the links with few blocks of few registers: half of the
 * multiprocessors hold one block each. */
#include "device/cuda/rows/pull.cuh"

namespace {

using namespace sley;

struct plain_pull {
  plain_rows rows;
  int64_t src_stride;
  pull_pieces pieces;
  const char *src[SL_PULL_SOURCES];
};

__global__ void __launch_bounds__(THREADS, 2)
    pull_plain(const __grid_constant__ plain_pull p, int group_log) {
  pull_rows(
      p.rows, [&](const sl_pull_entry &e) { return p.src[e.source] + e.src_row * p.src_stride; }, group_log,
      piece_watch(p.pieces));
}

} // namespace

bool sl_cuda_is_plain_pull(const sl_pull_args *a) {
  uint64_t bits = reinterpret_cast<uintptr_t>(a->dst) | static_cast<uint64_t>(a->dst_stride);
  if (a->add || a->signals || a->count >= PLAIN_ENTRIES || a->sources == 0)
    return false;
  for (int i = 0; i < a->sources; i++) {
    const sl_pull_source *s = &a->source[i];
    if (s->stride != a->source[0].stride || s->bytes != a->source[0].bytes ||
        s->dst_offset != a->source[0].dst_offset || s->bytes > FRAGMENT_BYTES)
      return false;
    bits |= reinterpret_cast<uintptr_t>(s->src) | static_cast<uint64_t>(s->stride | s->bytes | s->dst_offset);
  }
  return bits % 16 == 0;
}

sley_status sl_cuda_launch_plain_pull(sl_queue *queue, const sl_pull_args *a) {
  plain_pull p = {{a->list, static_cast<char *>(a->dst) + a->source[0].dst_offset, a->dst_stride,
                   static_cast<unsigned>(a->count), static_cast<unsigned>(a->source[0].bytes / 16)},
                  a->source[0].stride,
                  pieces_of(a),
                  {}};
  for (int i = 0; i < a->sources; i++)
    p.src[i] = static_cast<const char *>(a->source[i].src);
  SL_TRY(sl_cuda_use(queue->device));
  const int log = group_log_for(p.rows.vectors);
  const unsigned wanted =
      blocks_for((a->count + PULL_AHEAD - 1) / PULL_AHEAD, log, pull_blocks(queue, a->unhurried));
  const dim3 grid(wanted > 0 ? wanted : 1); /* at least one block, which signals the pieces */
  pull_plain<<<grid, THREADS, 0, sl_cuda_stream(queue)>>>(p, log);
  return sl_cuda_launched(queue, "pull");
}
