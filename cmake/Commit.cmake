# SPDX-License-Identifier: Apache-2.0
# Writes SLEY_COMMIT_OUT, a header with the commit that the sources are of, "" if nobody knows, and only if that has changed.
# Usage: cmake -DSLEY_ROOT=FOLDER -DSLEY_COMMIT_OUT=FILE -P Commit.cmake
cmake_minimum_required(VERSION 3.22)
set(commit "$Format:%h$") # which `git archive` fills in
if(NOT commit MATCHES "^[0-9a-f]+$")
  set(commit "")
  if(EXISTS ${SLEY_ROOT}/.git)
    execute_process(COMMAND git -C ${SLEY_ROOT} describe --always --dirty --abbrev=10 --exclude=* OUTPUT_VARIABLE commit
                    OUTPUT_STRIP_TRAILING_WHITESPACE ERROR_QUIET)
  endif()
endif()
file(CONFIGURE OUTPUT ${SLEY_COMMIT_OUT} CONTENT "#define SLEY_COMMIT \"@commit@\"\n" @ONLY)
