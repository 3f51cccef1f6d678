# SPDX-License-Identifier: Apache-2.0
# Read by cpack before it makes packages. Without these tools they would lack what they depend on, or their debug information, without
# a word.
if(CPACK_GENERATOR STREQUAL "DEB")
  foreach(tool dpkg-deb dpkg-shlibdeps file)
    find_program(found_${tool} ${tool})
    if(NOT found_${tool})
      message(FATAL_ERROR "Debian packages cannot be made without ${tool} (Debian: dpkg, dpkg-dev, file)")
    endif()
  endforeach()
endif()
