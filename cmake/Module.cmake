# SPDX-License-Identifier: Apache-2.0
# What loadable modules are made with.

# sley_module_calls(TARGET): makes the module TARGET call the library that loads it, through the thunks of cmake/ModuleCalls.cmake.
# It links no library of Sley's, so it fits the shared library and the one of the tests alike.
function(sley_module_calls target)
  set(SLEY_THUNKS ${CMAKE_BINARY_DIR}/generated/module_thunks.c)
  add_dependencies(${target} sley_module_calls)
  set_source_files_properties(${SLEY_THUNKS} PROPERTIES GENERATED ON)
  target_sources(${target} PRIVATE ${SLEY_THUNKS})
  target_include_directories(${target} PRIVATE ${CMAKE_SOURCE_DIR}/include ${CMAKE_SOURCE_DIR}/src)
  target_link_libraries(${target} PRIVATE sley_abi)
  if(NOT SLEY_SANITIZE) # whose functions the program brings
    target_link_options(${target} PRIVATE -Wl,-z,defs)
  endif()
endfunction()

# sley_module(NAME): the loadable module libNAME.so of the C and CUDA files in the folder that calls it and in those below it,
# except folders with a CMakeLists.txt of their own. It lies beside the library in the build folder, where that looks for it,
# and is installed. What else it links and includes, the folder adds.
function(sley_module name)
  file(GLOB_RECURSE sources CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} *.c *.cu)
  file(GLOB_RECURSE others CONFIGURE_DEPENDS RELATIVE ${CMAKE_CURRENT_SOURCE_DIR} */CMakeLists.txt)
  foreach(other ${others})
    get_filename_component(folder ${other} DIRECTORY)
    list(FILTER sources EXCLUDE REGEX "^${folder}/")
  endforeach()
  add_library(${name} MODULE ${sources})
  sley_module_calls(${name})
  target_link_options(${name} PRIVATE -Wl,--exclude-libs,ALL -Wl,--as-needed)
  # The same path in the build folder and installed: only libraries outside the system's folders are in it.
  set_target_properties(${name} PROPERTIES C_VISIBILITY_PRESET hidden CXX_VISIBILITY_PRESET hidden
                        CUDA_VISIBILITY_PRESET hidden LIBRARY_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/src
                        BUILD_WITH_INSTALL_RPATH ON INSTALL_RPATH_USE_LINK_PATH ON)
  install(TARGETS ${name} LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}/sley COMPONENT ${name})
  set_property(GLOBAL APPEND PROPERTY SLEY_MODULE_TARGETS ${name})
endfunction()
