# SPDX-License-Identifier: Apache-2.0
# How modules reach the library, made from the names in src/module_calls.txt (SLEY_CALLS). Two C files:
#   SLEY_TABLE_OUT   compiled into the library: sl_module_table, the addresses in the order of the names
#   SLEY_THUNKS_OUT  compiled into each module: sl_module_take, which gets that table; a thunk for each function and a copy of
#                    each constant table
# Usage: cmake -DSLEY_CALLS=FILE -DSLEY_TABLE_OUT=FILE -DSLEY_THUNKS_OUT=FILE -P ModuleCalls.cmake
cmake_minimum_required(VERSION 3.22)
file(STRINGS ${SLEY_CALLS} lines REGEX "^[a-z]")
foreach(part declarations addresses thunks includes copies fills)
  set(${part} "")
endforeach()
set(place 0)
foreach(line ${lines})
  string(REPLACE " " ";" words ${line})
  list(POP_BACK words name)
  if(words) # the header of a constant table
    string(APPEND declarations "extern const char ${name}[];\n")
    string(APPEND addresses "    ${name},\n")
    string(APPEND includes "#include \"${words}\"\n")
    string(APPEND copies "COPY(${name})\n")
    string(APPEND fills "  memcpy(copy_of_${name}, table[${place}], sizeof ${name});\n")
  else()
    math(EXPR offset "8 * ${place}")
    string(APPEND declarations "void ${name}(void);\n")
    string(APPEND addresses "    (const void *)${name},\n")
    string(APPEND thunks "THUNK(${name}, ${offset})\n")
  endif()
  math(EXPR place "${place} + 1")
endforeach()
configure_file(${CMAKE_CURRENT_LIST_DIR}/module_table.c.in ${SLEY_TABLE_OUT} @ONLY)
configure_file(${CMAKE_CURRENT_LIST_DIR}/module_thunks.c.in ${SLEY_THUNKS_OUT} @ONLY)
