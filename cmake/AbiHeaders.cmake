# SPDX-License-Identifier: Apache-2.0
# The headers that modules are compiled against, and the list of what they call, below SLEY_ABI_ROOT, in a fixed order: SLEY_ABI_HEADERS. Folders that one module
# or the library has for itself are not among them. SLEY_ABI_GLOB: further words of file(GLOB), such as CONFIGURE_DEPENDS.
file(GLOB SLEY_ABI_HEADERS ${SLEY_ABI_GLOB} ${SLEY_ABI_ROOT}/include/*.h ${SLEY_ABI_ROOT}/src/base/*.h
     ${SLEY_ABI_ROOT}/src/device/*.h ${SLEY_ABI_ROOT}/src/device/op/*.h ${SLEY_ABI_ROOT}/src/socket/*.h ${SLEY_ABI_ROOT}/src/bootstrap/*.h
     ${SLEY_ABI_ROOT}/src/transport/*.h ${SLEY_ABI_ROOT}/src/transport/process/*.h ${SLEY_ABI_ROOT}/src/module_calls.txt)
list(SORT SLEY_ABI_HEADERS)
