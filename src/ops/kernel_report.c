/* SPDX-License-Identifier: Apache-2.0 */
#include "ops/kernel_report.h"

#include <stdio.h>

#include "device/asked_kernel.h"

/* Lists the uses that have entries, in the order of the kinds. Returns their number. */
static int list(const sl_device *device, const sl_kernel_use *use, sley_kernel_use *out, int room) {
  const sl_kernel *kernel;
  int count = 0;
  for (int kind = 0; kind < SL_PART_KINDS; kind++)
    for (int i = 0; i < SL_KERNELS_MOST && (kernel = sl_kernel_numbered(device, i)); i++) {
      if (use->entries[kind][i] == 0)
        continue;
      if (count < room)
        out[count] = (sley_kernel_use){.kernel = sl_kernel_short_name(kernel),
                                       .kind = (sley_part_kind)kind,
                                       .entries = use->entries[kind][i],
                                       .layout = use->copied[kind][i] > 0 ? kernel->product->layout : NULL,
                                       .copied = use->copied[kind][i]};
      count++;
    }
  return count;
}

sley_status sl_kernel_use_of_all(sl_comm *comm, const sl_kernel_use *own, sley_kernel_use *out, int room,
                                 int *count) {
  sl_kernel_use all = *own;
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, &all.entries[0][0], SL_PART_KINDS * SL_KERNELS_MOST));
  SL_TRY(comm->ops->allreduce(comm, SL_SUM, &all.copied[0][0], SL_PART_KINDS * SL_KERNELS_MOST));
  *count = list(comm->device, &all, out, room);
  return SLEY_OK;
}

/* Writes ", 97.0 % of them in bundles"; nothing if all entries are read from the matrix's rows. */
static void describe_layout(const sley_kernel_use *use, char *text, size_t bytes) {
  text[0] = '\0';
  if (use->copied > 0)
    snprintf(text, bytes, ", %.1f %% of them in %s", 100.0 * (double)use->copied / (double)use->entries,
             use->layout);
}

size_t sl_kernel_use_describe(const sl_device *device, const sl_kernel_use *own, char *text, size_t bytes) {
  static const char *const kinds[] = {"local entries", "halo entries", "local and halo entries",
                                      "entries of stages"};
  sley_kernel_use uses[SL_KERNEL_LINES];
  int64_t all = 0;
  size_t used = 0;
  int count = list(device, own, uses, SL_KERNEL_LINES);
  count = count < SL_KERNEL_LINES ? count : SL_KERNEL_LINES;
  for (int i = 0; i < count; i++)
    all += uses[i].entries;
  for (int i = 0; i < count && used < bytes; i++) {
    char layout[SL_KERNEL_LINE / 2];
    describe_layout(&uses[i], layout, sizeof layout);
    used += (size_t)snprintf(text + used, bytes - used, "  kernel    %s: %lld %s, %.1f %%%s\n",
                             uses[i].kernel, (long long)uses[i].entries, kinds[uses[i].kind],
                             100.0 * (double)uses[i].entries / (double)all, layout);
  }
  return used < bytes ? used : bytes - 1;
}
