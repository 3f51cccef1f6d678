/* SPDX-License-Identifier: Apache-2.0 */
#include "plan/machine.h"

const sl_machine sl_machine_threads = {.name = "threads on one host",
                                       .direct_bandwidth = 6e9,
                                       .message_bandwidth = 2.5e9,
                                       .message_latency = 0.4e-6,
                                       .exchange_latency = 15e-6,
                                       .spmm_bandwidth = 9e9,
                                       .stream_bandwidth = 8e9};

const sl_machine sl_machine_h200 = {.name = "NVIDIA H200, NVLink",
                                    .direct_bandwidth = 340e9,
                                    .message_bandwidth = 5e9,
                                    .message_latency = 20e-6,
                                    .exchange_latency = 8e-6,
                                    .spmm_bandwidth = 6e12,
                                    .stream_bandwidth = 3.5e12,
                                    .overlaps = true};

const sl_machine *sl_machine_of(const sl_device *device) {
  return device->ops->host_addresses ? &sl_machine_threads : &sl_machine_h200;
}
