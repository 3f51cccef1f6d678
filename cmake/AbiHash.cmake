# SPDX-License-Identifier: Apache-2.0
# Writes SLEY_ABI_OUT, a header with the number of the internal interfaces: a hash of the names and contents of the headers below
# SLEY_ABI_ROOT that modules are compiled against. The file is left alone where the number is the one that it has.
# Usage: cmake -DSLEY_ABI_ROOT=DIR -DSLEY_ABI_OUT=FILE -P AbiHash.cmake
include(${CMAKE_CURRENT_LIST_DIR}/AbiHeaders.cmake)
set(all "")
foreach(header ${SLEY_ABI_HEADERS})
  file(SHA256 ${header} hash)
  file(RELATIVE_PATH name ${SLEY_ABI_ROOT} ${header})
  string(APPEND all "${name} ${hash}\n")
endforeach()
string(SHA256 hash "${all}")
string(SUBSTRING ${hash} 0 7 number) # an int on both sides of the call
file(CONFIGURE OUTPUT ${SLEY_ABI_OUT} CONTENT "/* SPDX-License-Identifier: Apache-2.0 */
/* The number of the internal interfaces, derived from their headers by cmake/AbiHash.cmake. */
#ifndef SLEY_BASE_ABI_H
#define SLEY_BASE_ABI_H

enum { SL_MODULE_ABI = 0x${number} };

#endif
" @ONLY)
