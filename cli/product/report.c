/* SPDX-License-Identifier: Apache-2.0 */
/* Reports of `sley spmm`. */
#include "product/report.h"

#include <inttypes.h>
#include <string.h>

#include "output/table.h"
#include "output/terminal.h"
#include "output/times.h"
#include "product/legend.h"
#include "product/trials.h"
#include "ranks/processes.h"

#define MIB (1024.0 * 1024.0)

/* Ranks in a full workgroup. */
static int workgroup_of(const cli_job *job) {
  int workgroup = job->ranks.workgroup, ranks = job->ranks.ranks;
  return workgroup && workgroup < ranks ? workgroup : ranks;
}

void cli_report_matrix(const cli_job *job, int64_t k, FILE *stream) {
  int workgroup = workgroup_of(job);
  fprintf(stream, "%s: %" PRId64 " x %" PRId64 ", %" PRId64 " nonzeros, %s; k = %" PRId64 "; ",
          cli_shown(job->name), job->info.rows, job->info.cols, job->info.nnz, sley_dtypes()[job->info.dtype],
          k);
  if (workgroup == job->ranks.ranks)
    fprintf(stream, "%d rank%s, direct links\n", job->ranks.ranks, job->ranks.ranks == 1 ? "" : "s");
  else
    fprintf(stream, "%d ranks in workgroups of %d\n", job->ranks.ranks, workgroup);
  cli_sources_print(stream);
  if (job->settings->dtype_from)
    fprintf(stream, "dtype      f64, in which %s is stored or fits; --dtype f32 computes in f32\n",
            cli_shown(job->settings->dtype_from));
}

void cli_report_reason(const char *algo, const char *reason, FILE *stream) {
  size_t length = strlen(algo);
  bool named = strncmp(reason, algo, length) == 0 && reason[length] == ' ';
  if (named)
    fprintf(stream, "%s\n", reason);
  else
    fprintf(stream, "%s: %s\n", algo, reason);
}

void cli_report_memory(const sley_plan_info *info, FILE *stream) {
  fprintf(stream, "needs %.1f MiB of %.1f MiB a rank", (double)info->needed_bytes / MIB,
          (double)info->limit_bytes / MIB);
  if (info->column_blocks > 1)
    fprintf(stream, "; so in %" PRId64 " blocks of %" PRId64 " columns", info->column_blocks,
            info->column_width);
  else if (info->needed_bytes > info->limit_bytes)
    fprintf(stream, "; not one column fits");
}

static const char *verdict(const cli_result *result) {
  return !result->verified ? "-" : result->check.ok ? "ok" : "WRONG";
}

/* If a type for the wire was requested: prints the error that it caused, or that it had no effect. */
static void report_wire(const cli_job *job, const cli_result *result, FILE *stream) {
  double bound = result->info.wire_bound;
  if (bound == 0) {
    if (strcmp(job->settings->common.wire, "none") != 0)
      fprintf(stream, "wire       %s changes nothing: %s\n", job->settings->common.wire,
              job->ranks.ranks == 1 ? "there is one rank, and nothing travels"
                                    : "the values are read in place, or none is needed");
    return;
  }
  fprintf(stream, "wire       %s: ", sley_dtypes()[result->info.wire]);
  if (result->verified)
    fprintf(stream, "the largest error is %.3g of the largest value of Y; ", result->check.relative_error);
  fprintf(stream, "at most %.3g of |A||X|\n", bound);
}

/* If tf32 was allowed: prints the error that it caused, or that nothing was rounded. */
static void report_precision(const cli_job *job, const cli_result *result, FILE *stream) {
  if (strcmp(job->settings->common.precision, "full") == 0)
    return;
  if (!result->info.tf32) {
    fprintf(stream, "precision  tf32 changes nothing: no kernel that rounds to it sums any row\n");
    return;
  }
  fprintf(stream, "precision  tf32: ");
  if (result->verified)
    fprintf(stream, "the largest error is %.3g of the largest value of Y; ", result->check.relative_error);
  fprintf(stream, "each product within %.3g of itself\n", result->info.more_roundings * 0x1p-24);
}

/* Prints the times of the update: fused with the product, and as a separate step. */
static void report_update(const cli_operands *operands, const cli_result *result, FILE *stream) {
  fprintf(stream,
          "update     W %" PRId64 " x %" PRId64 ", %s: median %.3f ms; product and update apart %.3f ms\n",
          operands->k, operands->y_cols,
          result->info.update_fused ? "fused with the product" : "not fused on all ranks", result->median_ms,
          result->apart_ms);
}

/* Prints how many results are NaN or infinite, if any are. */
static void report_not_finite(const cli_result *result, FILE *stream) {
  if (result->not_finite == 0)
    return;
  fprintf(stream, "not finite %" PRId64 " of %" PRId64 " results are NaN or infinite%s\n", result->not_finite,
          result->y_values,
          result->verified && result->check.ok ? ", where A X is or leaves the range of the type" : "");
}

void cli_report_one(const cli_job *job, const cli_operands *operands, const cli_result *result,
                    FILE *stream) {
  const sley_traffic *counted = &result->counted;
  cli_report_matrix(job, operands->k, stream);
  fprintf(stream, "device     %s; transport %s\n", result->device, result->transport);
  fprintf(stream, "algorithm  ");
  cli_report_reason(result->algo, result->reason, stream);
  cli_trials_print(result, stream);
  cli_kernels_print(&result->kernels, stream);
  fprintf(stream, "remote     %" PRId64 " nonzeros, %" PRId64 " halo rows", result->info.remote_nnz,
          result->info.halo_rows);
  if (result->info.cover_rows >= 0)
    fprintf(stream, ", %" PRId64 " cover rows", result->info.cover_rows);
  fprintf(stream, "\ntraffic    %.3f MiB direct, %.3f MiB in %" PRId64 " messages; %s\n",
          (double)counted->direct_bytes / MIB, (double)counted->message_bytes / MIB,
          counted->message_messages,
          !cli_result_as_predicted(result) ? "NOT AS PREDICTED"
          : result->unchanged              ? "X was called unchanged"
                                           : "as predicted");
  if (result->info.column_blocks > 1) {
    fprintf(stream, "memory     ");
    cli_report_memory(&result->info, stream);
    fprintf(stream, ", each copied to and fro\n");
  }
  fprintf(stream, "time       median %.3f ms, min %.3f, 95 %% within %.3f; plan %.1f ms; %.2f GFLOP/s\n",
          result->median_ms, result->min_ms, result->p95_ms, result->plan_ms, result->gflops);
  if (operands->w)
    report_update(operands, result, stream);
  report_wire(job, result, stream);
  report_precision(job, result, stream);
  if (result->verified && result->check.ok)
    fprintf(stream,
            "check      ok: every %sentry within its rounding bound, the largest error is %.3g of |A||X|\n",
            result->not_finite > 0 ? "finite " : "", result->check.max_error);
  else if (result->verified)
    fprintf(stream,
            "check      WRONG at row %" PRId64 ", column %" PRId64
            ": error up to %.3g of |A||X|, allowed there %.3g\n",
            result->check.row, result->check.col, result->check.max_error, result->check.bound);
  report_not_finite(result, stream);
}

void cli_report_all(const cli_job *job, const cli_operands *operands, const cli_result *results, int count,
                    FILE *stream) {
  static const char *const headings[] = {"<algo",        "direct MiB", "message MiB", "messages",
                                         "as predicted", "median ms",  "min ms",      "p95 ms",
                                         "GFLOP/s",      "check",      NULL};
  static cli_table table;
  cli_report_matrix(job, operands->k, stream);
  cli_table_start(&table, headings);
  for (int i = 0; i < count && cli_table_row(&table); i++) {
    const cli_result *result = &results[i];
    cli_table_cell(&table, 0, "%s", result->algo);
    if (result->impossible) {
      for (int column = 1; column < 9; column++)
        cli_table_cell(&table, column, "-");
      cli_table_cell(&table, 9, "not possible");
      continue;
    }
    cli_table_cell(&table, 1, "%.3f", (double)result->counted.direct_bytes / MIB);
    cli_table_cell(&table, 2, "%.3f", (double)result->counted.message_bytes / MIB);
    cli_table_cell(&table, 3, "%" PRId64, result->counted.message_messages);
    cli_table_cell(&table, 4, "%s", cli_result_as_predicted(result) ? "yes" : "NO");
    cli_table_cell(&table, 5, "%.3f", result->median_ms);
    cli_table_cell(&table, 6, "%.3f", result->min_ms);
    cli_table_cell(&table, 7, "%.3f", result->p95_ms);
    cli_table_cell(&table, 8, "%.2f", result->gflops);
    cli_table_cell(&table, 9, "%s", verdict(result));
  }
  cli_table_print(&table, stream);
  if (!job->settings->common.brief)
    cli_legend_spmm(stream);
  for (int i = 0; i < count; i++)
    if (results[i].ran && strcmp(job->settings->common.wire, "none") != 0) {
      fprintf(stream, "%-18s ", results[i].algo);
      report_wire(job, &results[i], stream);
    }
  for (int i = 0; i < count; i++)
    if (results[i].ran && strcmp(job->settings->common.precision, "full") != 0) {
      fprintf(stream, "%-18s ", results[i].algo);
      report_precision(job, &results[i], stream);
    }
  for (int i = 0; i < count; i++)
    if (results[i].ran && operands->w) {
      fprintf(stream, "%-18s ", results[i].algo);
      report_update(operands, &results[i], stream);
    }
  for (int i = 0; i < count; i++)
    if (results[i].ran && results[i].not_finite > 0) {
      fprintf(stream, "%-18s ", results[i].algo);
      report_not_finite(&results[i], stream);
    }
  for (int i = 0; i < count; i++)
    if (results[i].impossible)
      fprintf(stream, "%s is not possible here: %s\n", results[i].algo, results[i].reason);
}

void cli_report_check(const sley_check *check, int width, FILE *stream) {
  fprintf(stream, "%-*s", width, "check");
  if (check->ok)
    fprintf(stream, "every entry within its bound of float64; largest relative error %.2e\n",
            check->relative_error);
  else
    fprintf(stream, "WRONG at row %" PRId64 ", column %" PRId64 ": error %.2e, bound %.2e\n", check->row,
            check->col, check->max_error, check->bound);
}

static sley_socket_counts sockets_counted(void) {
  sley_socket_counts c;
  sley_sockets_counted(&c);
  return c;
}

void cli_report_sockets(FILE *stream) {
  sley_socket_counts c = sockets_counted();
  if (c.sends + c.control_sends == 0)
    return;
  fprintf(stream,
          "sockets    of %s: %" PRId64 " messages with rows in %" PRId64 " sends, %" PRId64
          " bytes and %" PRId64 " of headers; control %" PRId64 " sends, %" PRId64 " bytes\n",
          cli_launched() ? "this rank's whole run" : "the whole run", c.messages, c.sends, c.row_bytes,
          c.header_bytes, c.control_sends, c.control_bytes);
}

/* ---- JSON */

void cli_report_json_sockets(cli_json *json) {
  sley_socket_counts c = sockets_counted();
  if (c.sends + c.control_sends == 0) {
    cli_json_text(json, "sockets", NULL);
    return;
  }
  cli_json sockets = cli_json_start();
  cli_json_int(&sockets, "messages", c.messages);
  cli_json_int(&sockets, "row_bytes", c.row_bytes);
  cli_json_int(&sockets, "header_bytes", c.header_bytes);
  cli_json_int(&sockets, "sends", c.sends);
  cli_json_int(&sockets, "control_bytes", c.control_bytes);
  cli_json_int(&sockets, "control_sends", c.control_sends);
  cli_json_object(json, "sockets", sockets);
}

static cli_json links_json(int64_t self, int64_t direct, int64_t message) {
  cli_json json = cli_json_start();
  cli_json_int(&json, "self", self);
  cli_json_int(&json, "direct", direct);
  cli_json_int(&json, "message", message);
  return json;
}

static void add_traffic(cli_json *json, const char *bytes, const char *messages,
                        const sley_traffic *traffic) {
  cli_json_object(json, bytes,
                  links_json(traffic->self_bytes, traffic->direct_bytes, traffic->message_bytes));
  cli_json_object(json, messages,
                  links_json(traffic->self_messages, traffic->direct_messages, traffic->message_messages));
}

void cli_report_json_predicted(cli_json *json, const sley_traffic *predicted) {
  add_traffic(json, "predicted_bytes", "predicted_messages", predicted);
}

void cli_report_json_traffic(cli_json *json, const sley_traffic *counted, const sley_traffic *predicted,
                             bool as_predicted) {
  add_traffic(json, "volume_bytes", "messages", counted);
  cli_report_json_predicted(json, predicted);
  cli_json_bool(json, "as_predicted", as_predicted);
}

cli_json cli_report_json(const cli_job *job, const cli_job_settings *settings, int64_t k,
                         const sley_plan_info *info) {
  cli_json json = cli_json_start();
  cli_json_text(&json, "sley", sley_version());
  cli_json_text(&json, "matrix", job->name);
  cli_json_int(&json, "ranks", job->ranks.ranks);
  cli_json_int(&json, "workgroup", workgroup_of(job));
  cli_json_int(&json, "rows", job->info.rows);
  cli_json_int(&json, "cols", job->info.cols);
  cli_json_int(&json, "nnz", job->info.nnz);
  cli_json_int(&json, "k", k);
  cli_json_text(&json, "dtype", settings->common.dtype);
  cli_json_text(&json, "order", settings->common.order);
  cli_json_text(&json, "partition", settings->common.partition);
  cli_json_bool(&json, "transpose", settings->transpose);
  cli_json_bool(&json, "reproducible", settings->common.reproducible);
  cli_json_int(&json, "remote_nnz", info->remote_nnz);
  cli_json_int(&json, "halo_rows", info->halo_rows);
  cli_json_int(&json, "cover_rows", info->cover_rows);
  cli_json_real(&json, "load_ms", job->load_ms);
  cli_json_real(&json, "order_ms", job->order_ms);
  return json;
}

void cli_report_json_memory(cli_json *json, const sley_plan_info *info) {
  cli_json_int(json, "needed_bytes", info->needed_bytes);
  cli_json_int(json, "limit_bytes", info->limit_bytes);
  cli_json_int(json, "column_width", info->column_width);
  cli_json_int(json, "column_blocks", info->column_blocks);
}

cli_json cli_report_json_phases(const sley_phases *phases) {
  cli_json json = cli_json_start();
  cli_json_real(&json, "pack", phases->pack_ms);
  cli_json_real(&json, "transfer", phases->transfer_ms);
  cli_json_real(&json, "local", phases->local_ms);
  cli_json_real(&json, "remote", phases->remote_ms);
  cli_json_real(&json, "wait", phases->wait_ms);
  return json;
}

void cli_report_json_check(cli_json *json, const sley_check *check) {
  if (!check) {
    cli_json_text(json, "verify", NULL);
    return;
  }
  cli_json verify = cli_json_start();
  cli_json_real(&verify, "max_error", check->max_error);
  cli_json_real(&verify, "bound", check->bound);
  cli_json_real(&verify, "relative_error", check->relative_error);
  cli_json_bool(&verify, "ok", check->ok);
  cli_json_int(&verify, "row", check->row);
  cli_json_int(&verify, "col", check->col);
  cli_json_object(json, "verify", verify);
}

static cli_json update_json(const cli_result *result) {
  cli_json json = cli_json_start();
  cli_json_int(&json, "n", result->update);
  cli_json_bool(&json, "fused", result->info.update_fused);
  cli_json_real(&json, "apart_ms", result->apart_ms);
  return json;
}

void cli_report_json_add(cli_json *json, const cli_result *result) {
  if (result->impossible) {
    cli_json_text(json, "algo", result->algo);
    cli_json_text(json, "impossible", result->reason);
    return;
  }
  const cli_times times = {.count = result->repeats, .median = result->median_ms, .min = result->min_ms, .p95 = result->p95_ms};
  cli_json_text(json, "algo", result->algo);
  cli_json_text(json, "reason", result->reason);
  cli_json_text(json, "device", result->device);
  cli_json_text(json, "transport", result->transport);
  cli_report_json_traffic(json, &result->counted, &result->info.predicted, cli_result_as_predicted(result));
  cli_json_text(json, "wire", result->info.wire_bound > 0 ? sley_dtypes()[result->info.wire] : NULL);
  cli_json_real(json, "wire_bound", result->info.wire_bound);
  cli_json_text(json, "precision", result->info.tf32 ? "tf32" : "full");
  cli_times_json(json, &times);
  cli_json_real(json, "predicted_ms", result->info.predicted_ms);
  cli_json_object(json, "phases_ms", cli_report_json_phases(&result->info.phases));
  cli_json_real(json, "plan_ms", result->plan_ms);
  cli_json_real(json, "gflops", result->gflops);
  if (result->update > 0)
    cli_json_object(json, "update", update_json(result));
  cli_json_int(json, "memory_bytes", result->info.memory_bytes);
  cli_report_json_memory(json, &result->info);
  cli_json_int(json, "not_finite", result->not_finite);
  cli_trials_json(json, result);
  cli_kernels_json(json, &result->kernels);
  cli_report_json_check(json, result->verified ? &result->check : NULL);
}
