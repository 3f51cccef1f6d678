/* SPDX-License-Identifier: Apache-2.0 */
/* Opens cuBLASLt at run time and looks up its functions. */
#include "device/cuda/dense/cublaslt_library.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define FUNCTION(name)                                                                                       \
  { "cublasLt" #name, offsetof(sl_cublaslt, name) }
static const struct {
  const char *name;
  size_t at;
} functions[] = {FUNCTION(GetStatusString),
                 FUNCTION(Create),
                 FUNCTION(Destroy),
                 FUNCTION(Matmul),
                 FUNCTION(MatmulDescCreate),
                 FUNCTION(MatmulDescDestroy),
                 FUNCTION(MatmulDescSetAttribute),
                 FUNCTION(MatrixLayoutCreate),
                 FUNCTION(MatrixLayoutDestroy),
                 FUNCTION(MatmulPreferenceCreate),
                 FUNCTION(MatmulPreferenceDestroy),
                 FUNCTION(MatmulPreferenceSetAttribute),
                 FUNCTION(MatmulAlgoGetHeuristic)};

static sl_cublaslt table;
static bool found;

/* Loads the library, which is never unloaded. */
static void load(void) {
  char file_name[32];
  snprintf(file_name, sizeof file_name, "libcublasLt.so.%d", CUBLAS_VER_MAJOR);
  void *library = dlopen(file_name, RTLD_NOW | RTLD_LOCAL);
  found = library != NULL;
  for (size_t i = 0; i < sizeof functions / sizeof *functions && found; i++) {
    void *function = dlsym(library, functions[i].name);
    found = function != NULL;
    memcpy((char *)&table + functions[i].at, &function, sizeof function);
  }
}

const sl_cublaslt *sl_cublaslt_find(void) {
  static pthread_once_t once = PTHREAD_ONCE_INIT;
  pthread_once(&once, load);
  return found ? &table : NULL;
}
