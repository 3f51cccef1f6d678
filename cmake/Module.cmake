# SPDX-License-Identifier: Apache-2.0
# sley_module(NAME): the loadable module libNAME.so of the C and CUDA files in the folder that calls it. It lies beside the
# library in the build folder, where that looks for it, and is installed. What else it links and includes, the folder adds.
function(sley_module name)
  file(GLOB sources CONFIGURE_DEPENDS *.c *.cu)
  add_library(${name} MODULE ${sources})
  target_include_directories(${name} PRIVATE ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${name} PRIVATE sley)
  set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden
                        CUDA_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/src
                        LINK_OPTIONS "-Wl,--exclude-libs,ALL;-Wl,--as-needed" INSTALL_RPATH "$ORIGIN/..")
  install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/sley)
endfunction()
