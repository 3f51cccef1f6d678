# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=sh
# To be read by scripts for machines where nothing can be installed: `. tools/unpack_debs.sh`, with $build the build folder. Unpacks the
# packages of SLEY_DEBS, a folder of .deb files, beside the build, once, and lets programs and CMake find them: sets the environment,
# and $@ to CMake's options. Without SLEY_DEBS $@ is empty.
#
# What is needed: libcmocka-dev libcmocka0 libjansson-dev libjansson4 libzip-dev libzip4 libzstd-dev libzstd1 libsodium-dev libsodium23
# libhwloc-dev libhwloc15 librandom123-dev zlib1g-dev zlib1g libpng-dev libpng16-16 libbz2-1.0 liblzma5, and, where pkg-config lacks,
# pkgconf pkgconf-bin libpkgconf3.
if [ -n "${SLEY_DEBS:-}" ]; then
  machine=$(uname -m)-linux-gnu
  prefix=$build/debs
  if [ ! -e "$prefix/done" ]; then
    mkdir -p "$prefix"
    for deb in "$SLEY_DEBS"/*.deb; do
      dpkg -x "$deb" "$prefix"
    done
    # Links that name a place of the whole system name it inside the prefix, where that has it.
    find "$prefix" -type l | while read -r link; do
      target=$(readlink "$link")
      case "$target" in
        /*) [ ! -e "$prefix$target" ] || ln -sf "$prefix$target" "$link" ;;
      esac
    done
    touch "$prefix/done"
  fi
  libraries=$prefix/usr/lib/$machine:$prefix/lib/$machine
  LD_LIBRARY_PATH=$libraries${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
  PATH=$PATH:$prefix/usr/bin
  PKG_CONFIG_PATH=$prefix/usr/lib/$machine/pkgconfig
  PKG_CONFIG_SYSROOT_DIR=$prefix
  export LD_LIBRARY_PATH PATH PKG_CONFIG_PATH PKG_CONFIG_SYSROOT_DIR
  set -- "-DCMAKE_PREFIX_PATH=$prefix/usr" "-DCMAKE_LIBRARY_ARCHITECTURE=$machine" \
    "-DCMAKE_EXE_LINKER_FLAGS=-Wl,-rpath-link,$libraries" "-DCMAKE_SHARED_LINKER_FLAGS=-Wl,-rpath-link,$libraries"
else
  set --
fi
