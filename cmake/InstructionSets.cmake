# SPDX-License-Identifier: Apache-2.0
# Files named for an instruction set are compiled for it, and reached by run-time dispatch only.

# sley_instruction_sets(LIST PROCESSOR): takes the files for other processors out of the list of that name, and gives the rest the
# compiler's options.
function(sley_instruction_sets list processor)
  string(TOLOWER "${processor}" processor)
  set(kept "")
  foreach(source ${${list}})
    if(source MATCHES "_(avx2|avx512)\\.c$" AND NOT processor MATCHES "x86_64|amd64")
      continue()
    elseif(source MATCHES "_neon\\.c$" AND NOT processor MATCHES "aarch64|arm64")
      continue()
    elseif(source MATCHES "_avx2\\.c$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-mavx2;-mfma;-mf16c")
    elseif(source MATCHES "_avx512\\.c$")
      set_source_files_properties(${source} PROPERTIES COMPILE_OPTIONS "-mavx512f;-mavx512vl;-mavx512dq;-mavx512bw;-mfma")
    endif()
    list(APPEND kept ${source})
  endforeach()
  set(${list} ${kept} PARENT_SCOPE)
endfunction()
