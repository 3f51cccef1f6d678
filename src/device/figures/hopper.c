/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of NVIDIA H200 and H100 SXM GPUs, which differ in their memory and cache only. Each group states
 * the GPU on which it was fitted; no group was fitted on both. */
#include "device/figures.h"

const sl_device_figures sl_figures_hopper = {
    .processors = 132,
    .lanes = 132 * 2048,
    /* H200: part of Y that is still in the L2 cache when a product over row windows ends. */
    .cache = 40e6,
    .launch = 2.5e-6, /* H200 */
    /* Estimates that rank the kernels of an operation. */
    .memory = 2e12,
    .stream = 5e12,
    .plain = 1e12,
    .piece = 15e-6, /* fitted on the H200, like the next figure */
    .pull_start = 15e-6,
    /* Two H200, twins of cyt and clj, R-MAT and uniform graphs, k of 20 to 117. */
    .split_row = 5e-11,
    /* Two H200, rows of 36, 68 and 92 bytes: 14, 14 and 19 billion. */
    .pull_words = 16e9,
    /* H200, widths of 9 to 482, four graphs of 2 to 15 million entries. Loads of 8 bytes are as fast. Of
     * wider rows loads of 4 bytes are at most 15 % slower, with the copy of X up to 30 % faster. */
    .narrow_loads = {0, 0.8, 0.45, 0},
    .narrow_most = {0, 1024, 192, 0},
    /* H200. Streams: within a factor of two either way the times differ by a few percent. Rows of small
     * products: 38 matrices of 20,000 to 3 million entries. Pulls: on two H200, twins of clj, prd and spk, k
     * of 32 to 128, products take 1 to 3 % less time with 48 blocks than with 60, and up to 65 % more with
     * 132, which load no faster; with 40 they take 1 % less if the pull ends early, and 3 % more if not. On
     * four H200, 33 blocks are as fast alone, but become slower while a product runs. */
    .fill = {[SL_FILL_STREAM_THREADS] = 270000, [SL_FILL_STREAM_WARPS] = 4224,
             [SL_FILL_NARROW_WARPS] = 1200,     [SL_FILL_VECTOR_WARPS] = 2200,
             [SL_FILL_ENTRIES] = 4000000,       [SL_FILL_FEW_ENTRIES] = 50000,
             [SL_FILL_SOME_ENTRIES] = 400000,   [SL_FILL_LONG_SUMS] = 120000000,
             [SL_FILL_SUMS] = 240000000,        [SL_FILL_ROW_THREADS] = 92000,
             [SL_FILL_ROW_MOST] = 200000,       [SL_FILL_ROW_BYTES] = 35000000,
             [SL_FILL_WINDOW_WARPS] = 8448,     [SL_FILL_WINDOW_ENTRIES] = 300000,
             [SL_FILL_DENSE_ENTRIES] = 20000,   [SL_FILL_UPDATE_WARPS] = 3168,
             [SL_FILL_UPDATE_ROWS] = 60000,     [SL_FILL_PULL_BLOCKS] = 48,
             [SL_FILL_FEW_PULL_BLOCKS] = 40,    [SL_FILL_REPEAT_BLOCKS] = 1024},
    /* H100 80GB HBM3, f32; the plain product is an estimate. */
    .gemm = {[SL_GEMM_PLAIN] = {.start = 1e-5, .products = 2e12},
             [SL_GEMM_LIBRARY] = {.start = 5e-6, .products = 1.9e13, .memory = 1.5e12},
             [SL_GEMM_SPLIT_SUMS] = {.start = 12e-6, .products = 3e13, .memory = 2.5e12, .apart = 1.4e12},
             [SL_GEMM_SPLIT_ROWS] = {.start = 12e-6, .products = 6e13, .memory = 2.5e12, .apart = 1.4e12}},
    /* H200: band matrices, a dense matrix, graphs, windows of one kind, k from 9 to 300
     * (bench/results/kernels-h200 among them). Figures that these do not determine stay near those of similar
     * cases; tf32 uses f32's figures, which are somewhat too high. */
    .windows = {{[SL_WINDOWS_F32] = {.tensor = {0.0557, 1.4, 1, 0.706, 0.57, 0.551, 2.05, 3.62, 17.2},
                                     .stream = {0.0307, 0.00533, 0.00628, 0.00512, 0.006, 0.0148, 1.12, 0.345,
                                                0.0189}},
                 [SL_WINDOWS_TF32] = {.tensor = {0.0557, 1.4, 1, 0.706, 0.57, 0.551, 2.05, 3.62, 17.2},
                                      .stream = {0.0307, 0.00533, 0.00628, 0.00512, 0.006, 0.0148, 1.12,
                                                 0.345, 0.0189}},
                 [SL_WINDOWS_F16] = {.tensor = {0.224, 2.01, 0.429, 0.302, 0.306, 1.33, 1.43, 3.78, 20.1},
                                     .stream = {0.0195, 0.0114, 0.0104, 0.012, 0.0237, 0.0172, 0.913, 0.138,
                                                0.00995}}}},
    /* H200, with the figures of windows. */
    .window_starts =
        {.stream = 6e-6, .second = 4e-6, .f32 = 1.7e-6, .f16 = 1.5e-6, .narrow = 0.6e-6, .fragment = 1.5e-6},
    /* Fitted to times of a band, of blocks and of a matrix of which 30 % is full, on an H200: within 14 %
     * (f64) to 23 % (16 bits), one standard deviation. */
    .dense = {[SL_DENSE_16] = {.cell = {4.9e-5, 3.1e-5, 3.0e-5, 2.1e-5},
                               .load = 1.8e-4,
                               .store = 6.7e-4,
                               .start = 1.04e4},
              [SL_DENSE_F32] = {.cell = {13.4e-5, 8.9e-5, 7.2e-5, 5.3e-5},
                                .load = 2.4e-4,
                                .store = 13e-4,
                                .start = 1.16e4},
              [SL_DENSE_F64] = {
                  .cell = {9.1e-5, 6.4e-5, 4.3e-5}, .load = 6.7e-4, .store = 27e-4, .start = 1.75e4}}};
