/* SPDX-License-Identifier: Apache-2.0 */
#include "product/kernels.h"

#include <string.h>

static const char *const kinds[] = {"local", "halo", "both", "stage"};

sley_status cli_kernels_of(const sley_plan *plan, cli_kernels *out) {
  sley_kernel_use use[CLI_KERNEL_USES];
  *out = (cli_kernels){0};
  sley_status status = sley_plan_kernels(plan, use, CLI_KERNEL_USES, &out->count);
  if (status != SLEY_OK)
    return status;
  out->count = out->count < CLI_KERNEL_USES ? out->count : CLI_KERNEL_USES;
  for (int i = 0; i < out->count; i++) {
    snprintf(out->name[i], CLI_KERNEL_NAME, "%s", use[i].kernel);
    out->kind[i] = use[i].kind;
    out->entries[i] = use[i].entries;
    out->copied[i] = use[i].copied;
    snprintf(out->layout[i], CLI_KERNEL_NAME, "%s", use[i].layout ? use[i].layout : "");
  }
  return SLEY_OK;
}

static double share_of(const cli_kernels *kernels, int index) {
  int64_t all = 0;
  for (int i = 0; i < kernels->count; i++)
    all += kernels->entries[i];
  return (double)kernels->entries[index] / (double)all;
}

/* Returns true if an earlier element names the same kernel. */
static bool named_before(const cli_kernels *kernels, int index) {
  for (int i = 0; i < index; i++)
    if (strcmp(kernels->name[i], kernels->name[index]) == 0)
      return true;
  return false;
}

static void print_layout(const cli_kernels *kernels, int index, FILE *stream) {
  int64_t entries = kernels->entries[index], copied = kernels->copied[index];
  if (copied == entries)
    fprintf(stream, " (%s)", kernels->layout[index]);
  else if (copied > 0)
    fprintf(stream, " (%.1f %% %s)", 100 * (double)copied / (double)entries, kernels->layout[index]);
}

void cli_kernels_print(const cli_kernels *kernels, FILE *stream) {
  const char *before = "kernels    ";
  for (int i = 0; i < kernels->count; i++) {
    if (named_before(kernels, i))
      continue;
    fprintf(stream, "%s%s:", before, kernels->name[i]);
    before = "; ";
    const char *comma = "";
    for (int j = i; j < kernels->count; j++)
      if (strcmp(kernels->name[i], kernels->name[j]) == 0) {
        fprintf(stream, "%s %s %.1f %%", comma, kinds[kernels->kind[j]], 100 * share_of(kernels, j));
        print_layout(kernels, j, stream);
        comma = ",";
      }
  }
  if (kernels->count > 0)
    fprintf(stream, " of the entries\n");
}

void cli_kernels_json(cli_json *json, const cli_kernels *kernels) {
  cli_json list[CLI_KERNEL_USES];
  for (int i = 0; i < kernels->count; i++) {
    list[i] = cli_json_start();
    cli_json_text(&list[i], "kernel", kernels->name[i]);
    cli_json_text(&list[i], "part", kinds[kernels->kind[i]]);
    cli_json_int(&list[i], "entries", kernels->entries[i]);
    cli_json_real(&list[i], "share", share_of(kernels, i));
    cli_json_text(&list[i], "layout", kernels->copied[i] > 0 ? kernels->layout[i] : NULL);
    cli_json_int(&list[i], "copied", kernels->copied[i]);
  }
  cli_json_list(json, "kernels", list, kernels->count);
}
