# SPDX-License-Identifier: Apache-2.0
# What `cmake --install` puts where: library, header, command, pkg-config file, CMake package, manual pages, completion, documents.
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
# A component is one Debian package, by whose name it goes: cmake/Packages.cmake.
install(TARGETS sley EXPORT sleyTargets
        LIBRARY DESTINATION ${CMAKE_INSTALL_LIBDIR} COMPONENT libsley0 NAMELINK_COMPONENT libsley-dev
        INCLUDES DESTINATION ${CMAKE_INSTALL_INCLUDEDIR})
install(TARGETS sley_command RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT sley)
file(GLOB SLEY_HEADERS CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/include/*.h)
list(SORT SLEY_HEADERS)
install(FILES ${SLEY_HEADERS}
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} COMPONENT libsley-dev)
install(FILES ${CMAKE_SOURCE_DIR}/docs/man/sley.1 DESTINATION ${CMAKE_INSTALL_MANDIR}/man1 COMPONENT sley)
install(FILES ${CMAKE_SOURCE_DIR}/completions/sley.bash RENAME sley
        DESTINATION ${CMAKE_INSTALL_DATADIR}/bash-completion/completions COMPONENT sley)

# The reference: a manual page for each function of the headers.
set(SLEY_MAN3 ${CMAKE_BINARY_DIR}/man/man3)
add_custom_command(OUTPUT ${CMAKE_BINARY_DIR}/man/list
                   COMMAND ${CMAKE_COMMAND} -E rm -rf ${SLEY_MAN3}
                   COMMAND ${CMAKE_COMMAND} -E make_directory ${SLEY_MAN3}
                   COMMAND awk -v folder=${SLEY_MAN3} -v version=${PROJECT_VERSION} -f ${CMAKE_SOURCE_DIR}/tools/man3.awk
                           -v list=${CMAKE_BINARY_DIR}/man/list ${SLEY_HEADERS}
                   DEPENDS ${SLEY_HEADERS} ${CMAKE_SOURCE_DIR}/tools/man3.awk
                   COMMENT "Writing the manual pages of the functions" VERBATIM)
add_custom_target(sley_man3 ALL DEPENDS ${CMAKE_BINARY_DIR}/man/list)
add_dependencies(sley_product sley_man3)
install(DIRECTORY ${SLEY_MAN3} DESTINATION ${CMAKE_INSTALL_MANDIR} COMPONENT libsley-dev)

set(SLEY_DOC ${CMAKE_INSTALL_DATADIR}/doc)
file(GLOB SLEY_PAGES CONFIGURE_DEPENDS ${CMAKE_SOURCE_DIR}/docs/*.md)
install(FILES ${CMAKE_SOURCE_DIR}/README.md ${CMAKE_SOURCE_DIR}/CHANGELOG.md ${CMAKE_SOURCE_DIR}/LICENSE
        DESTINATION ${SLEY_DOC}/sley COMPONENT sley)
install(FILES ${SLEY_PAGES} DESTINATION ${SLEY_DOC}/sley/docs COMPONENT sley)
install(DIRECTORY ${CMAKE_SOURCE_DIR}/docs/img DESTINATION ${SLEY_DOC}/sley/docs COMPONENT sley
        FILES_MATCHING PATTERN "*.png" PATTERN "*.svg")
install(DIRECTORY ${CMAKE_SOURCE_DIR}/examples DESTINATION ${SLEY_DOC}/sley COMPONENT libsley-dev
        PATTERN CMakeLists.txt EXCLUDE)

# The pkg-config file finds its prefix from its own place, so an installed tree can be moved.
file(RELATIVE_PATH SLEY_PC_UP /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${CMAKE_CURRENT_LIST_DIR}/sley.pc.in ${CMAKE_BINARY_DIR}/sley.pc @ONLY)
install(FILES ${CMAKE_BINARY_DIR}/sley.pc DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig COMPONENT libsley-dev)

set(SLEY_PACKAGE_DIR ${CMAKE_INSTALL_LIBDIR}/cmake/sley)
install(EXPORT sleyTargets NAMESPACE sley:: DESTINATION ${SLEY_PACKAGE_DIR} COMPONENT libsley-dev)
configure_package_config_file(${CMAKE_CURRENT_LIST_DIR}/sleyConfig.cmake.in ${CMAKE_BINARY_DIR}/sleyConfig.cmake
                              INSTALL_DESTINATION ${SLEY_PACKAGE_DIR})
write_basic_package_version_file(${CMAKE_BINARY_DIR}/sleyConfigVersion.cmake COMPATIBILITY SameMinorVersion)
install(FILES ${CMAKE_BINARY_DIR}/sleyConfig.cmake ${CMAKE_BINARY_DIR}/sleyConfigVersion.cmake
        DESTINATION ${SLEY_PACKAGE_DIR} COMPONENT libsley-dev)
include(${CMAKE_CURRENT_LIST_DIR}/Packages.cmake)
