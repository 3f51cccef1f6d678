# SPDX-License-Identifier: Apache-2.0
# What every target is built with against faults that were not found: checked calls of the C library, canaries on the stack, programs
# at random addresses, and tables of addresses that nothing can write once the loader has filled them, before the first call.
# Sanitizers bring checks of their own. tests/install/harden.sh looks at what was built.
include(CheckPIESupported)
check_pie_supported(LANGUAGES C)
add_link_options(LINKER:-z,relro LINKER:-z,now LINKER:-z,noexecstack)
if(NOT SLEY_SANITIZE)
  set(SLEY_HARDEN -fstack-protector-strong)
  if(NOT CMAKE_BUILD_TYPE STREQUAL "Debug") # without optimization it only warns
    list(APPEND SLEY_HARDEN -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=2)
  endif()
  list(JOIN SLEY_HARDEN "," SLEY_HARDEN_HOST)
  add_compile_options("$<$<COMPILE_LANGUAGE:C>:${SLEY_HARDEN}>"
                      "$<$<COMPILE_LANGUAGE:CUDA>:-Xcompiler=${SLEY_HARDEN_HOST}>")
endif()
