/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the result of a run against the library's float64 product. */
#include "output/terminal.h"
#include "product/measure.h"

sley_status cli_measure_verify(const cli_job *job, const cli_operands *operands, const cli_measure *measure,
                               cli_result *result) {
  int64_t k = operands->k;
  double beta = operands->y_start ? measure->beta : 0; /* without initial values Y was zero */
  cli_progress("verifying", 0, 0);
  sley_update update = cli_update(operands, measure);
  update.beta = beta;
  sley_status status =
      operands->w ? sley_check_update(job->matrix, measure->transpose, k, operands->x, k, &update,
                                      operands->y_start, operands->y_cols, operands->y, operands->y_cols, 0,
                                      &result->info, &result->check)
                  : sley_check_wire(job->matrix, measure->transpose, k, measure->alpha, operands->x, k, beta,
                                    operands->y_start, k, operands->y, k, 0, &result->info, &result->check);
  cli_progress_clear();
  result->verified = status == SLEY_OK;
  return status;
}
