/* SPDX-License-Identifier: Apache-2.0 */
/* Copies neighbouring rows to rows that begin at multiples of 16 bytes. Each thread stores 16 bytes of the
 * destination at a time, which it loads in words as wide as the source allows. Bytes behind the rows of the
 * destination are not written. */
#include "device/cuda/rows/rows.cuh"

namespace {

using namespace sley;

enum { ALIGN_BLOCK = 256, ALIGN_ITEMS = 4 };

struct aligning {
  const char *src;
  char *dst;
  int64_t src_stride, dst_stride, items; /* items: of 16 bytes or less, `each` to a row */
  unsigned each, bytes;
};

template <class WORD>
__global__ void __launch_bounds__(ALIGN_BLOCK) align(const __grid_constant__ aligning a) {
  constexpr unsigned WORDS = 16 / sizeof(WORD);
  union item {
    uint4 whole;
    WORD word[WORDS];
  };
  const int64_t first = static_cast<int64_t>(blockIdx.x) * (ALIGN_BLOCK * ALIGN_ITEMS), row = first / a.each;
  const unsigned offset = static_cast<unsigned>(first - row * a.each) + threadIdx.x;
  item got[ALIGN_ITEMS];
#pragma unroll
  for (unsigned i = 0; i < ALIGN_ITEMS; i++) {
    const unsigned at = offset + i * ALIGN_BLOCK, of = at / a.each, begin = (at - of * a.each) * 16;
    const char *from = a.src + (row + of) * a.src_stride + begin;
    if (first + threadIdx.x + i * ALIGN_BLOCK < a.items)
#pragma unroll
      for (unsigned w = 0; w < WORDS; w++)
        if (begin + w * sizeof(WORD) < a.bytes)
          got[i].word[w] = reinterpret_cast<const WORD *>(from)[w];
  }
#pragma unroll
  for (unsigned i = 0; i < ALIGN_ITEMS; i++) {
    const unsigned at = offset + i * ALIGN_BLOCK, of = at / a.each, begin = (at - of * a.each) * 16;
    char *to = a.dst + (row + of) * a.dst_stride + begin;
    if (first + threadIdx.x + i * ALIGN_BLOCK >= a.items)
      continue;
    if (begin + 16 <= a.bytes) {
      *reinterpret_cast<uint4 *>(to) = got[i].whole;
      continue;
    }
#pragma unroll
    for (unsigned w = 0; w < WORDS; w++)
      if (begin + w * sizeof(WORD) < a.bytes)
        reinterpret_cast<WORD *>(to)[w] = got[i].word[w];
  }
}

int64_t align_blocks(const sl_rows_args *a) {
  return (a->count * ((a->bytes + 15) / 16) + ALIGN_BLOCK * ALIGN_ITEMS - 1) / (ALIGN_BLOCK * ALIGN_ITEMS);
}

} // namespace

bool sl_cuda_rows_align(const sl_rows_args *a, int width) {
  return !a->add && !a->src_rows && !a->dst_rows && width >= 2 && width < 16 && a->bytes > 16 &&
         a->bytes <= FRAGMENT_BYTES && (reinterpret_cast<uintptr_t>(a->dst) | a->dst_stride) % 16 == 0 &&
         align_blocks(a) <= INT32_MAX;
}

sley_status sl_cuda_launch_align(sl_queue *queue, const sl_rows_args *a, int width) {
  const unsigned each = static_cast<unsigned>((a->bytes + 15) / 16);
  const aligning of = {static_cast<const char *>(a->src) + a->src_first * a->src_stride,
                       static_cast<char *>(a->dst) + a->dst_first * a->dst_stride,
                       a->src_stride,
                       a->dst_stride,
                       a->count * each,
                       each,
                       static_cast<unsigned>(a->bytes)};
  const unsigned blocks = static_cast<unsigned>(align_blocks(a));
  SL_TRY(sl_cuda_use(queue->device));
  if (width == 8)
    align<uint2><<<blocks, ALIGN_BLOCK, 0, sl_cuda_stream(queue)>>>(of);
  else if (width == 4)
    align<unsigned><<<blocks, ALIGN_BLOCK, 0, sl_cuda_stream(queue)>>>(of);
  else
    align<unsigned short><<<blocks, ALIGN_BLOCK, 0, sl_cuda_stream(queue)>>>(of);
  return sl_cuda_launched(queue, "rows");
}
