/* SPDX-License-Identifier: Apache-2.0 */
/* Arguments of the kernel for a step of Adam: the corrections of the moments' biases. */
#include "ops/adam.h"

#include <math.h>

sley_status sl_adam(sl_comm *comm, const sley_adam_spec *spec) {
  const double step = (double)spec->step;
  return sl_kernel_run(comm->queue,
                       &(sl_kernel_args){.op = SL_OP_ADAM,
                                         .adam = {.dtype = spec->dtype,
                                                  .count = spec->count,
                                                  .param = spec->param,
                                                  .grad = spec->grad,
                                                  .m = spec->m,
                                                  .v = spec->v,
                                                  .master = spec->master,
                                                  .grad_scale = spec->grad_scale,
                                                  .beta1 = spec->beta1,
                                                  .beta2 = spec->beta2,
                                                  .eps = spec->eps,
                                                  .l2 = spec->decoupled ? 0 : spec->decay,
                                                  .keep = spec->decoupled ? 1 - spec->rate * spec->decay : 1,
                                                  .rate = spec->rate / (1 - pow(spec->beta1, step)),
                                                  .root = 1 / sqrt(1 - pow(spec->beta2, step))}});
}
