/* SPDX-License-Identifier: Apache-2.0 */
/* What `sley spmm` prints: text for people, JSON for programs. */
#ifndef SLEY_CLI_PRODUCT_REPORT_H
#define SLEY_CLI_PRODUCT_REPORT_H

#include <stdio.h>

#include "output/json.h"
#include "product/measure.h"

/* One algorithm: what ran and why, traffic, time, check. */
void cli_report_one(const cli_job *job, const cli_operands *operands, const cli_result *result, FILE *stream);

/* One line for each of count algorithms. */
void cli_report_all(const cli_job *job, const cli_operands *operands, const cli_result *results, int count,
                    FILE *stream);

/* What went over the sockets between ranks in the whole run, once it has ended (sley_sockets_counted); where
 * there are none, no line, and the field is null. */
void cli_report_sockets(FILE *stream);
void cli_report_json_sockets(cli_json *json);

/* The fields that all algorithms of a run share. */
cli_json cli_report_json(const cli_job *job, const cli_job_settings *settings, int64_t k,
                         const sley_plan_info *info);

/* Adds the fields of one algorithm. */
void cli_report_json_add(cli_json *json, const cli_result *result);

/* Adds what a plan needs on a device, what it may take, and its blocks. */
void cli_report_json_memory(cli_json *json, const sley_plan_info *info);

cli_json cli_report_json_bytes(const sley_traffic *traffic);
cli_json cli_report_json_messages(const sley_traffic *traffic);
cli_json cli_report_json_phases(const sley_phases *phases);

/* "needs ... of ... a rank" and, if all columns do not fit, in how many blocks; without a newline. */
void cli_report_memory(const sley_plan_info *info, FILE *stream);

/* The first line of every report: the matrix, its size and its ranks. */
void cli_report_matrix(const cli_job *job, int64_t k, FILE *stream);

/* "algo: reason" and a newline; the reason alone if it starts with the name. */
void cli_report_reason(const char *algo, const char *reason, FILE *stream);

#endif
