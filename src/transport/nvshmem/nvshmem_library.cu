/* SPDX-License-Identifier: Apache-2.0 */
/* This file is C++ because NVSHMEM's headers are. It has no device code. */
#include "transport/nvshmem/nvshmem_library.h"

#include <cstring>
#include <dlfcn.h>
#include <nvshmem_host.h>

static void *open_library() {
  void *handle = dlopen("libnvshmem_host.so.3", RTLD_NOW | RTLD_GLOBAL);
  return handle ? handle : dlopen(SLEY_NVSHMEM_LIBRARIES "/libnvshmem_host.so.3", RTLD_NOW | RTLD_GLOBAL);
}

sley_status sl_nvshmem_load(sl_nvshmem_library *library) {
  library->handle = open_library();
  if (!library->handle)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "NVSHMEM is not installed: %s", dlerror());
  const struct {
    const char *name;
    void *slot;
  } symbols[] = {{"nvshmemx_get_uniqueid", &library->get_uniqueid},
                 {"nvshmemx_set_attr_uniqueid_args", &library->set_uniqueid},
                 {"nvshmemx_hostlib_init_attr", &library->init},
                 {"nvshmemx_hostlib_finalize", &library->finalize},
                 {"nvshmem_malloc", &library->malloc},
                 {"nvshmem_ptr", &library->ptr}};
  for (const auto &each : symbols) {
    void *symbol = dlsym(library->handle, each.name);
    if (!symbol)
      return sl_fail(SLEY_ERR_UNSUPPORTED, "libnvshmem_host.so.3 has no %s: install NVSHMEM 3.3 or later",
                     each.name);
    std::memcpy(each.slot, &symbol, sizeof symbol);
  }
  return SLEY_OK;
}

sley_status sl_nvshmem_name(const sl_nvshmem_library *library, sl_nvshmem_id *out) {
  nvshmemx_uniqueid_t id = NVSHMEMX_UNIQUEID_INITIALIZER;
  static_assert(sizeof id == sizeof out->bytes, "an identifier is as large as NVSHMEM's");
  const auto get = reinterpret_cast<decltype(&nvshmemx_get_uniqueid)>(library->get_uniqueid);
  const int result = get(&id);
  if (result != 0)
    return sl_fail(SLEY_ERR_UNSUPPORTED, "nvshmemx_get_uniqueid: error %d; see NVSHMEM_DEBUG=INFO", result);
  std::memcpy(out->bytes, &id, sizeof id);
  return SLEY_OK;
}

sley_status sl_nvshmem_begin(const sl_nvshmem_library *library, int rank, int size, const sl_nvshmem_id *id) {
  nvshmemx_init_attr_t attributes = NVSHMEMX_INIT_ATTR_INITIALIZER;
  nvshmemx_uniqueid_t given;
  std::memcpy(&given, id->bytes, sizeof given);
  const auto set = reinterpret_cast<decltype(&nvshmemx_set_attr_uniqueid_args)>(library->set_uniqueid);
  const auto init = reinterpret_cast<decltype(&nvshmemx_hostlib_init_attr)>(library->init);
  int result = set(rank, size, &given, &attributes);
  if (result == 0)
    result = init(NVSHMEMX_INIT_WITH_UNIQUEID, &attributes);
  return result == 0 ? SLEY_OK
                     : sl_fail(SLEY_ERR_UNSUPPORTED,
                               "NVSHMEM cannot be initialised: error %d; see NVSHMEM_DEBUG=INFO", result);
}
