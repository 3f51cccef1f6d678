#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Builds, for the wheel, the libraries that libsley links, of Debian's sources: static, position independent, and for the symbols of the
# glibc that CC is told, so that the wheel needs nothing of the system but that. Downloads the sources through apt-get.
# Usage: CC=... wheel_libraries.sh FOLDER     afterwards FOLDER/prefix has include, lib, lib/pkgconfig and LICENSES.txt
set -eu
folder=$1
prefix=$folder/prefix
mkdir -p "$folder/apt/partial" "$folder/src" "$prefix"
cd "$folder"
: "${CC:?the compiler}"
export CC CFLAGS="-O2 -fPIC" AR=${AR:-ar} RANLIB=${RANLIB:-ranlib}
jobs=${JOBS:-2}

# The system's own sources of packages, asked for sources instead of binaries.
if [ ! -e sources.list ]; then
  release=$(. /etc/os-release && echo "$VERSION_CODENAME")
  uri=$(sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\) .* main.*/\2/p' /etc/apt/sources.list \
    /etc/apt/sources.list.d/*.list /etc/apt/sources.list.d/*.sources 2>/dev/null | head -1)
  echo "deb-src $uri $release main" >sources.list
fi
apt="apt-get -qq -o Dir::Etc::sourcelist=$folder/sources.list -o Dir::Etc::sourceparts=- -o Dir::State::lists=$folder/apt
  -o APT::Sandbox::User=root"
$apt update

# fetch PACKAGE: its folder of sources, with Debian's patches.
fetch() {
  local made
  made=$(find "$folder/src" -maxdepth 1 -type d -name "${2:-$1}-*" | head -1)
  if [ -z "$made" ]; then
    (cd src && $apt source "$1" >/dev/null)
    made=$(find "$folder/src" -maxdepth 1 -type d -name "${2:-$1}-*" | head -1)
  fi
  echo "$made"
}
# with_cmake FOLDER OPTION...
with_cmake() {
  local source=$1
  shift
  cmake -S "$source" -B "$source/made" -DCMAKE_BUILD_TYPE=Release -DCMAKE_INSTALL_PREFIX="$prefix" -DCMAKE_INSTALL_LIBDIR=lib \
    -DCMAKE_PREFIX_PATH="$prefix" -DBUILD_SHARED_LIBS=OFF -DCMAKE_POSITION_INDEPENDENT_CODE=ON "$@" >"$source/log" 2>&1 &&
    cmake --build "$source/made" --parallel "$jobs" >>"$source/log" 2>&1 && cmake --install "$source/made" >>"$source/log" 2>&1 ||
    { tail -30 "$source/log" >&2; return 1; }
}
# with_configure FOLDER OPTION...    INSTALL_BY: what makes and installs, default all
with_configure() {
  local source=$1
  shift
  (cd "$source" && ./configure --prefix="$prefix" --libdir="$prefix/lib" "$@" && ${INSTALL_BY:-make -j$jobs install}) \
    >"$source/log" 2>&1 || { tail -30 "$source/log" >&2; return 1; }
}
# once NAME FUNCTION: what has been built stays.
once() {
  [ -e "$folder/.$1" ] && return 0
  "$2" && touch "$folder/.$1" && echo "wheel: built $1"
}

hwloc_library() { make -j"$jobs" -C hwloc install && make -C include install && make install-hwlocpkgconfigDATA; }
zlib() { with_configure "$(fetch zlib)" --static; }
zstd() { with_cmake "$(fetch libzstd)/build/cmake" -DZSTD_BUILD_PROGRAMS=OFF -DZSTD_BUILD_SHARED=OFF -DZSTD_BUILD_STATIC=ON; }
libzip() { # HAVE_NULLABLE: words that clang knows and gcc, which reads its header, does not
  with_cmake "$(fetch libzip)" -DHAVE_NULLABLE=0 -DENABLE_BZIP2=OFF -DENABLE_LZMA=OFF -DENABLE_ZSTD=OFF -DENABLE_OPENSSL=OFF -DENABLE_GNUTLS=OFF \
    -DENABLE_MBEDTLS=OFF -DENABLE_COMMONCRYPTO=OFF -DBUILD_TOOLS=OFF -DBUILD_REGRESS=OFF -DBUILD_EXAMPLES=OFF -DBUILD_DOC=OFF
}
sodium() { # its sources have no configure: autoconf, automake and libtool make it
  (cd "$(fetch libsodium)" && { [ -e configure ] || autoreconf -fi >log 2>&1 || { tail log >&2; exit 1; }; })
  with_configure "$(fetch libsodium)" --disable-shared --with-pic --host="$(uname -m)-linux-gnu"
}
hwloc() { # without its programs
  INSTALL_BY=hwloc_library with_configure "$(fetch hwloc)" --disable-shared --enable-static --with-pic --disable-io --disable-libxml2 --disable-cairo \
    --disable-libudev --disable-opencl --disable-cuda --disable-nvml --disable-rsmi --disable-levelzero --disable-plugin-dlopen \
    --disable-plugin-ltdl --host="$(uname -m)-linux-gnu"
}

once zlib zlib
once zstd zstd
once libzip libzip
once sodium sodium
once hwloc hwloc

for each in zlib libzstd libzip libsodium hwloc; do
  echo "==== $each"
  cat "$(fetch "$each")/debian/copyright"
done >"$prefix/LICENSES.txt"
