/* SPDX-License-Identifier: Apache-2.0 */
/* Opens cuSPARSE at run time and looks up its functions. */
#include "device/cuda/runtime/cusparse_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

static const char file_name[] = "libcusparse.so.12";

#define FUNCTION(name)                                                                                       \
  { "cusparse" #name, offsetof(sl_cusparse, name) }
static const struct {
  const char *name;
  size_t at;
} functions[] = {FUNCTION(GetErrorString),
                 FUNCTION(Create),
                 FUNCTION(Destroy),
                 FUNCTION(SetStream),
                 FUNCTION(CreateCsr),
                 FUNCTION(DestroySpMat),
                 FUNCTION(CreateDnMat),
                 FUNCTION(DnMatSetValues),
                 FUNCTION(DestroyDnMat),
                 FUNCTION(SpMM_bufferSize),
                 FUNCTION(SpMM_preprocess),
                 FUNCTION(SpMM),
                 FUNCTION(SpMatGetSize),
                 FUNCTION(CsrSetPointers),
                 FUNCTION(SpGEMM_createDescr),
                 FUNCTION(SpGEMM_destroyDescr),
                 FUNCTION(SpGEMM_workEstimation),
                 FUNCTION(SpGEMM_getNumProducts),
                 FUNCTION(SpGEMM_estimateMemory),
                 FUNCTION(SpGEMM_compute),
                 FUNCTION(SpGEMM_copy)};

static pthread_once_t once = PTHREAD_ONCE_INIT;
static sl_cusparse table;
static char why[512]; /* reason why the library could not be opened; "" if it was opened */

/* Loads the library, which is never unloaded. */
static void load(void) {
  void *library = dlopen(file_name, RTLD_NOW | RTLD_LOCAL);
  if (!library) {
    const char *reason = dlerror();
    snprintf(why, sizeof why, "%s", reason ? reason : file_name);
    return;
  }
  for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
    void *function = dlsym(library, functions[i].name);
    if (!function) {
      snprintf(why, sizeof why, "%s lacks %s", file_name, functions[i].name);
      return;
    }
    memcpy((char *)&table + functions[i].at, &function, sizeof function);
  }
}

sley_status sl_cusparse_load(const sl_cusparse **out) {
  *out = NULL;
  pthread_once(&once, load);
  if (why[0])
    return sl_fail(
        SLEY_ERR_UNSUPPORTED,
        "cuSPARSE cannot be used (%s): install it, put its folder in LD_LIBRARY_PATH, or leave out "
        "\"local\"",
        why);
  *out = &table;
  return SLEY_OK;
}
