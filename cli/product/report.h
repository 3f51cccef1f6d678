/* SPDX-License-Identifier: Apache-2.0 */
/* The output of `sley spmm`: text and JSON. */
#ifndef SLEY_CLI_PRODUCT_REPORT_H
#define SLEY_CLI_PRODUCT_REPORT_H

#include <stdio.h>

#include "output/json.h"
#include "product/measure.h"

/* Prints the report of one algorithm: its name and reason, traffic, time, check. */
void cli_report_one(const cli_job *job, const cli_operands *operands, const cli_result *result, FILE *stream);

/* Prints one line per algorithm. */
void cli_report_all(const cli_job *job, const cli_operands *operands, const cli_result *results, int count,
                    FILE *stream);

/* Report the traffic over the sockets between ranks in the whole run (sley_sockets_counted). Call them after
 * the run. Without sockets no line is printed and the JSON field is null. */
void cli_report_sockets(FILE *stream);
void cli_report_json_sockets(cli_json *json);

/* Creates the JSON with the fields that all algorithms of a run share. */
cli_json cli_report_json(const cli_job *job, const cli_job_settings *settings, int64_t k,
                         const sley_plan_info *info);

/* Adds the fields of one algorithm. */
void cli_report_json_add(cli_json *json, const cli_result *result);

/* Adds the memory that a plan needs on a device, its limit, and its blocks of columns. */
void cli_report_json_memory(cli_json *json, const sley_plan_info *info);

/* Add the members of a run that every product has: the counted and the predicted traffic, and the check
 * (NULL: not checked). */
void cli_report_json_traffic(cli_json *json, const sley_traffic *counted, const sley_traffic *predicted,
                             bool as_predicted);
void cli_report_json_check(cli_json *json, const sley_check *check);

/* Prints the finding of a check against float64. width: width of the label before it. */
void cli_report_check(const sley_check *check, int width, FILE *stream);

/* Adds the traffic that a plan predicts. */
void cli_report_json_predicted(cli_json *json, const sley_traffic *predicted);
cli_json cli_report_json_phases(const sley_phases *phases);

/* Prints "needs ... of ... a rank" and, if not all columns fit, the number of blocks; without a newline. */
void cli_report_memory(const sley_plan_info *info, FILE *stream);

/* Prints the first line of every report: the matrix, its size and the ranks. */
void cli_report_matrix(const cli_job *job, int64_t k, FILE *stream);

/* Prints "algo: reason" and a newline, or only the reason if it begins with the name. */
void cli_report_reason(const char *algo, const char *reason, FILE *stream);

#endif
