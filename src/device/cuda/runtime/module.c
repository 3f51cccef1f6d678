/* SPDX-License-Identifier: Apache-2.0 */
/* Entry point of libsley_cuda.so. */
#include "base/module.h"
#include "device/cuda/cuda.h"

__attribute__((visibility("default"))) const void *sl_device_module(int abi, int *built_for);

const void *sl_device_module(int abi, int *built_for) {
  *built_for = SL_MODULE_ABI;
  return abi == SL_MODULE_ABI ? &sl_cuda_ops : NULL;
}
