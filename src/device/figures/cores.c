/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of cores, fitted on two cores of an AMD EPYC server with AVX-512, a virtual machine. They are per
 * thread. They apply to every processor; only the number of cores is the machine's own. */
#include "device/figures.h"

const sl_device_figures sl_figures_cores = {
    .processors = 2,
    .lanes = 2,
    .memory = 8e9,
    .plain = 1e10,
    .piece = 15e-6, /* the same value as on GPUs; so are the next two */
    .pull_start = 15e-6,
    .split_row = 5e-11,
    .gemm = {[SL_GEMM_PLAIN] = {.start = 1e-9, .products = 2.5e9}, [SL_GEMM_LIBRARY] = {.products = 2e10}},
    .cores = {.entry = 0.4e-9,
              .line = 0.2e-9,
              .serial = 3e-6,
              .part = 1e-6,
              .part_one = 2.5e-6,
              .brief = 200e-6,
              .cycles = 2.5e9,
              .update = 2e10,
              .near = 5 << 18,
              .bundled = 16 << 20,
              .far = 8 << 20,
              .streamed = 16 << 20,
              .by_lines = 40 << 20}};
