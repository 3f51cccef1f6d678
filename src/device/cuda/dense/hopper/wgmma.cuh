/* SPDX-License-Identifier: Apache-2.0 */
/* Products by the four warps of a warpgroup on the Tensor cores of Hopper (wgmma; PTX ISA, "Asynchronous
 * warpgroup level matrix instructions"), for tf32 values: D (64 x N, f32) += A (64 x 8) B (8 x N).
 *
 * A is in registers. In lane 4 g + t of warp w of the group, a[0] and a[1] are A's rows 16 w + g and 16 w + g
 * + 8 at column t; a[2] and a[3] are the same rows at column t + 4. d[4 j] and d[4 j + 1] are D's row 16 w +
 * g at columns 8 j + 2 t and the next; d[4 j + 2] and d[4 j + 3] are row 16 w + g + 8 at the same columns.
 *
 * B is in shared memory, column by column: PANEL values of a column of B form a line of 128 bytes. Lines are
 * contiguous from a multiple of 1024 bytes on, and bytes 16 c to 16 c + 15 of line n are stored at position c
 * ^ (n % 8) of the line. */
#ifndef SLEY_DEVICE_CUDA_DENSE_HOPPER_WGMMA_CUH
#define SLEY_DEVICE_CUDA_DENSE_HOPPER_WGMMA_CUH

#include <stdint.h>

namespace sley {

enum { PANEL = 32, GROUP_ROWS = 64, GROUP_THREADS = 128 };

/* Offset in bytes, in a panel of B, of group `sixteen` of 16 bytes of a column. */
static __device__ __forceinline__ int panel_place(int column, int sixteen) {
  return column * 128 + (sixteen ^ column % 8) * 16;
}

/* Descriptor of a panel for the instruction: the address, 1024 bytes between groups of 8 columns, a swizzle
 * of 128 bytes. */
static __device__ __forceinline__ uint64_t panel_descriptor(const void *panel) {
  const uint64_t address = static_cast<uint32_t>(__cvta_generic_to_shared(panel));
  return (address & 0x3ffff) >> 4 | 1ull << 16 | 64ull << 32 | 1ull << 62;
}

/* Returns the descriptor of 8 terms, which are step number `step` of a panel. */
static __device__ __forceinline__ uint64_t panel_step(uint64_t descriptor, int step) {
  return descriptor + 2 * step;
}

/* Makes written registers visible to the products that follow. */
static __device__ __forceinline__ void products_begin() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
static __device__ __forceinline__ void products_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
static __device__ __forceinline__ void products_wait() {
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
}

/* Makes this thread's stores to shared memory visible to products. Other threads' stores also need a
 * barrier. */
static __device__ __forceinline__ void panels_stored() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

/* add = false: D starts from 0. */
template <int N>
__device__ __forceinline__ void multiply_panel(float (&d)[N / 2], const uint32_t (&a)[4], uint64_t b,
                                               bool add);

// clang-format off
#define SL_D_8 "%0, %1, %2, %3, %4, %5, %6, %7"
#define SL_D_16 SL_D_8 ", %8, %9, %10, %11, %12, %13, %14, %15"
#define SL_D_24 SL_D_16 ", %16, %17, %18, %19, %20, %21, %22, %23"
#define SL_D_32 SL_D_24 ", %24, %25, %26, %27, %28, %29, %30, %31"
#define SL_D_48 SL_D_32 ", %32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47"
#define SL_D_64 SL_D_48 ", %48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
#define SL_HELD(i) "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3]), \
    "+f"(d[(i) + 4]), "+f"(d[(i) + 5]), "+f"(d[(i) + 6]), "+f"(d[(i) + 7])
#define SL_HELD_8 SL_HELD(0)
#define SL_HELD_16 SL_HELD_8, SL_HELD(8)
#define SL_HELD_24 SL_HELD_16, SL_HELD(16)
#define SL_HELD_32 SL_HELD_24, SL_HELD(24)
#define SL_HELD_48 SL_HELD_32, SL_HELD(32), SL_HELD(40)
#define SL_HELD_64 SL_HELD_48, SL_HELD(48), SL_HELD(56)

/* For N columns, with HELD = N / 2 registers of D; the operands after these are numbered A0 to ADD. */
#define SL_MULTIPLY_PANEL(N, HELD, A0, A1, A2, A3, B, ADD)                                                         \
  template <> __device__ __forceinline__ void multiply_panel<N>(float (&d)[HELD], const uint32_t (&a)[4],          \
                                                                uint64_t b, bool add) {                            \
    asm volatile("{\n.reg .pred add;\nsetp.ne.b32 add, %" #ADD ", 0;\n"                                           \
                 "wgmma.mma_async.sync.aligned.m64n" #N "k8.f32.tf32.tf32 {" SL_D_##HELD "}, "                     \
                 "{%" #A0 ", %" #A1 ", %" #A2 ", %" #A3 "}, %" #B ", add, 1, 1;\n}"                                \
                 : SL_HELD_##HELD                                                                                  \
                 : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(static_cast<int>(add)));                \
  }
SL_MULTIPLY_PANEL(16, 8, 8, 9, 10, 11, 12, 13)
SL_MULTIPLY_PANEL(32, 16, 16, 17, 18, 19, 20, 21)
SL_MULTIPLY_PANEL(48, 24, 24, 25, 26, 27, 28, 29)
SL_MULTIPLY_PANEL(64, 32, 32, 33, 34, 35, 36, 37)
SL_MULTIPLY_PANEL(96, 48, 48, 49, 50, 51, 52, 53)
SL_MULTIPLY_PANEL(128, 64, 64, 65, 66, 67, 68, 69)
// clang-format on

} // namespace sley

#endif
