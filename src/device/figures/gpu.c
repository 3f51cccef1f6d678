/* SPDX-License-Identifier: Apache-2.0 */
/* The figures of a GPU, computed from the figures of the GPUs on which models were fitted. */
#include <string.h>

#include "device/figures.h"

/* The GPUs on which figures were fitted; the first one is also used for GPUs of other names. */
static const sl_gpu_properties fitted[] = {
    {.name = "H200", .processors = 132, .lanes = 132 * 2048, .cache = 60 << 20, .memory = 4.8e12},
    {.name = "H100", .processors = 132, .lanes = 132 * 2048, .cache = 50 << 20, .memory = 3.35e12}};

/* Returns the ratio of a property to the fitted GPU's; 1 if the property is not known. */
static double share(double property, double of) {
  return property > 0 ? property / of : 1;
}

sl_device_figures sl_figures_of_gpu(const sl_gpu_properties *gpu) {
  sl_device_figures f = sl_figures_hopper;
  const sl_gpu_properties *like = NULL;
  for (size_t i = 0; i < sizeof fitted / sizeof *fitted && !like; i++)
    if (strstr(gpu->name, fitted[i].name))
      like = &fitted[i];
  const double faster = like ? 1 : share(gpu->memory, fitted[0].memory);
  like = like ? like : fitted;
  f.processors = gpu->processors;
  f.lanes = gpu->lanes;
  f.cache *= share(gpu->cache, like->cache);
  f.memory *= faster;
  f.stream *= faster;
  f.plain *= faster;
  for (int i = 0; i < SL_FILLS; i++) {
    const int64_t scaled = f.fill[i] * gpu->lanes / like->lanes;
    f.fill[i] = scaled > 1 ? scaled : 1;
  }
  for (int i = 0; i < SL_GEMM_KINDS; i++) {
    f.gemm[i].memory *= faster;
    f.gemm[i].apart *= faster;
  }
  return f;
}
