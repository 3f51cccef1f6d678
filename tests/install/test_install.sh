#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs a build into an empty prefix, looks that everything is there, and builds and runs an example from it twice:
# through pkg-config, and through find_package from CMake.
# Usage: test_install.sh ROOT BUILD [compiler flags, e.g. of a sanitizer]
set -eu
root=$1 build=$2 flags=${3:-}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
prefix=$tree/usr

cmake --install "$build" --prefix "$prefix" >"$tree/log" || { cat "$tree/log"; exit 1; }
for name in bin/sley include/sley.h share/man/man1/sley.1 share/bash-completion/completions/sley; do
  [ -f "$prefix/$name" ] || { echo "not installed: $name"; exit 1; }
done
library=$(find "$prefix" -name 'libsley.so.0')
[ -n "$library" ] || { echo "not installed: libsley.so.0"; exit 1; }
objdump -p "$library" | grep -q 'SONAME *libsley\.so\.0$' || { echo "the SONAME is not libsley.so.0"; exit 1; }

# The command finds its library by its own place.
"$prefix/bin/sley" --version | grep -qx 'sley [0-9]*\.[0-9]*\.[0-9]*' || { echo "the installed command does not run"; exit 1; }

PKG_CONFIG_PATH=$(dirname "$library")/pkgconfig
LD_LIBRARY_PATH=$(dirname "$library")
export PKG_CONFIG_PATH LD_LIBRARY_PATH
# shellcheck disable=SC2046,SC2086 # lists of flags
cc -std=c11 $flags "$root/examples/01_one_rank.c" -o "$tree/by_pkg_config" $(pkg-config --cflags --libs sley)
"$tree/by_pkg_config"

mkdir "$tree/user"
cp "$root/examples/03_own_arrays.c" "$tree/user/main.c"
cat >"$tree/user/CMakeLists.txt" <<'END'
cmake_minimum_required(VERSION 3.22)
project(user C)
find_package(sley 0.1 REQUIRED)
add_executable(by_cmake main.c)
target_link_libraries(by_cmake sley::sley)
END
build_user() {
  cmake -S "$tree/user" -B "$tree/user/build" -DCMAKE_PREFIX_PATH="$prefix" -DCMAKE_C_FLAGS="$flags"
  cmake --build "$tree/user/build"
}
build_user >"$tree/log" 2>&1 || { cat "$tree/log"; exit 1; }
"$tree/user/build/by_cmake"
echo "install: pkg-config and find_package both work"
