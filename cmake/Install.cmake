# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where: library, header, command, pkg-config file, CMake package, man page, completion.
# Modules install themselves: cmake/Module.cmake.
include(CMakePackageConfigHelpers)

# The command has one RUNPATH, as built and as installed, so installing changes no file and another prefix builds none. In the
# build folder the library's folder is a link. CMake's own way, to replace the path on installing, leaves an empty element in
# the path of what is built, and the loader takes that for the current folder.
set_target_properties(sley_command PROPERTIES BUILD_WITH_INSTALL_RPATH ON
                      INSTALL_RPATH "$ORIGIN/../${CMAKE_INSTALL_LIBDIR}")
get_filename_component(SLEY_BUILT_LIBDIR ${CMAKE_BINARY_DIR}/${CMAKE_INSTALL_LIBDIR} ABSOLUTE)
get_filename_component(SLEY_BUILT_LIBDIR_PARENT ${SLEY_BUILT_LIBDIR} DIRECTORY)
if(NOT EXISTS ${SLEY_BUILT_LIBDIR})
  file(MAKE_DIRECTORY ${SLEY_BUILT_LIBDIR_PARENT})
  file(CREATE_LINK ${CMAKE_BINARY_DIR}/src ${SLEY_BUILT_LIBDIR} SYMBOLIC)
endif()
install(TARGETS sley EXPORT sleyTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR}
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS sley_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR})
install(FILES ${CMAKE_SOURCE_DIR}/include/sley.h DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(FILES ${CMAKE_SOURCE_DIR}/docs/man/sley.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1)
install(FILES ${CMAKE_SOURCE_DIR}/completions/sley.bash RENAME sley
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions)

# The pkg-config file finds its prefix from its own place, so an installed tree can be moved.
file(RELATIVE_PATH SLEY_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/sley.pc.in ${CMAKE_BINARY_DIR}/sley.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/sley.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig)

set(SLEY_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/sley)
install(EXPORT sleyTargets NAMESPACE sley:: DESTINATION ${SLEY_PACKAGE_DIR})
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/sleyConfig.cmake.in ${CMAKE_BINARY_DIR}/sleyConfig.cmake
                              INSTALL_DESTINATION ${SLEY_PACKAGE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/sleyConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/sleyConfig.cmake ${CMAKE_BINARY_DIR}/sleyConfigVersion.cmake
        DESTINATION ${SLEY_PACKAGE_DIR})
