/* SPDX-License-Identifier: Apache-2.0 */
/* A loadable transport for the tests: the threads one under another name. */
#include <stdlib.h>

#include "base/module.h"
#include "transport/transport_registry.h"

static sley_status run(const sl_launch *launch, sl_rank_main main, void *arg) {
  setenv("SLEY_MOCK_RAN", "yes", 1);
  const sl_transport_backend *threads;
  SL_TRY(sl_transport_backend_find("threads", &threads));
  return threads->run(launch, main, arg);
}

static const char *describe(void) {
  return "threads, from a module";
}

static const sl_transport_backend mock = {.name = "mock", .run = run, .describe = describe};

const void *sl_transport_module(int abi, int *built_for);

const void *sl_transport_module(int abi, int *built_for) {
  *built_for = SL_MODULE_ABI;
  return abi == SL_MODULE_ABI ? &mock : NULL;
}
