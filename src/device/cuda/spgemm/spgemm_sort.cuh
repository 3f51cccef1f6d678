/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts keys in the registers of neighbouring lanes: Batcher's bitonic network in the form in which all
 * comparisons have the same direction (Knuth, volume 3, 5.3.4). */
#ifndef SLEY_DEVICE_CUDA_SPGEMM_SPGEMM_SORT_CUH
#define SLEY_DEVICE_CUDA_SPGEMM_SPGEMM_SORT_CUH

#include "device/cuda/spgemm/spgemm_rows.cuh"

namespace sley {

/* Puts two keys of one lane in order. */
template <class K> __device__ __forceinline__ void order_keys(K *lower, K *higher) {
  const K a = *lower, b = *higher;
  *lower = min(a, b);
  *higher = max(a, b);
}

/* Compares a key with another lane's key: the lower lane keeps the smaller key. */
template <class K> __device__ __forceinline__ K keep_one(K mine, K theirs, bool is_lower) {
  return is_lower ? min(mine, theirs) : max(mine, theirs);
}

/* One stage: compares each key with the key whose number differs in the bits of FLIP, which is less than
 * SIZE. The lower key of a pair has 0 in FLIP's highest bit. */
template <int EACH, int FLIP, class K> __device__ __forceinline__ void sort_stage(K (&key)[EACH]) {
  constexpr int LANES = FLIP / EACH, OWN = FLIP % EACH;
  if (LANES == 0) {
#pragma unroll
    for (int r = 0; r < EACH; r++)
      if ((r ^ OWN) > r)
        order_keys(&key[r], &key[r ^ OWN]);
    return;
  }
  constexpr int HIGHEST = LANES & ~(LANES >> 1); /* LANES is 2^i or 2^i - 1 */
  const bool is_lower = !(lane_of_thread() & HIGHEST);
  K theirs[EACH];
#pragma unroll
  for (int r = 0; r < EACH; r++)
    theirs[r] = __shfl_xor_sync(ALL_LANES, key[r ^ OWN], LANES);
#pragma unroll
  for (int r = 0; r < EACH; r++)
    key[r] = keep_one(key[r], theirs[r], is_lower);
}

template <int EACH, int STEP, class K> __device__ __forceinline__ void sort_halves(K (&key)[EACH]) {
  if constexpr (STEP > 0) {
    sort_stage<EACH, STEP>(key);
    sort_halves<EACH, STEP / 2>(key);
  }
}

/* Sorts the COUNT keys of each group of COUNT / EACH lanes; key number n is key[n % EACH] of lane n / EACH.
 * Called by all lanes of a warp. */
template <int COUNT, int EACH, class K> __device__ __forceinline__ void sort_keys(K (&key)[EACH]) {
  if constexpr (COUNT > 1) {
    sort_keys<COUNT / 2, EACH>(key);
    sort_stage<EACH, COUNT - 1>(key); /* the first with the last, the second with the last but one, and so
                                       * on */
    sort_halves<EACH, COUNT / 4>(key);
  }
}

} // namespace sley

#endif
