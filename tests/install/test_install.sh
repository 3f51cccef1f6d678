#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs a build into an empty prefix: everything is there, stripped, with its debug information beside it; an example is built and
# run from it through pkg-config and through find_package; the tree still works at another place, with its modules, and another
# prefix builds nothing; uninstalling leaves nothing. Usage: test_install.sh ROOT BUILD [compiler flags, e.g. of a sanitizer]
set -eu
root=$1 build=$2 flags=${3:-}
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
prefix=$tree/usr
fail() { echo "$*"; exit 1; }

"$root/tools/install.sh" "$build" "$prefix" >"$tree/log" || fail "$(cat "$tree/log")"
for name in bin/sley include/sley.h include/sley_gnn.h include/sley_base.h share/man/man3/sley_gnn_train.3 share/man/man1/sley.1 share/man/man3/sley_spmm.3 share/man/man3/libsley.3 \
  share/bash-completion/completions/sley share/doc/sley/README.md share/doc/sley/docs/FORMATS.md share/doc/sley/examples/01_one_rank.c; do
  [ -f "$prefix/$name" ] || fail "not installed: $name"
done
grep -q 'export LD_LIBRARY_PATH=' "$tree/log" || fail "it does not say how programs find the library: $(cat "$tree/log")"
library=$(find "$prefix" -name 'libsley.so.0')
[ -n "$library" ] || fail "not installed: libsley.so.0"
objdump -p "$library" | grep -q 'SONAME *libsley\.so\.0$' || fail "the SONAME is not libsley.so.0"
"$root/tests/install/runpath.sh" "$prefix"

# No debug information in what runs; gdb finds it by the name in .gnu_debuglink, in the folder .debug.
! readelf -SW "$library" | grep -q '\.debug_info' || fail "the library is not stripped"
for file in "$library" "$prefix/bin/sley"; do
  file=$(readlink -f "$file")
  readelf -SW "$file" | grep -q gnu_debuglink || fail "$file has no .gnu_debuglink"
  readelf -SW "${file%/*}/.debug/${file##*/}.debug" | grep -q '\.debug_info' || fail "no debug information of $file"
done

# The command finds its library by its own place, and the library its modules.
"$prefix/bin/sley" --version | grep -qx 'sley [0-9]*\.[0-9]*\.[0-9]*' || fail "the installed command does not run"
mv "$prefix" "$tree/moved"
for module in "$build"/src/libsley_*.so; do
  name=${module##*/libsley_} name=${name%.so}
  [ "$name" != internal ] && [ -e "$module" ] || continue
  [ -e "$(find "$tree/moved" -name "libsley_$name.so")" ] || fail "the module $name is not installed"
  # It may lack a GPU, but not the file.
  ! "$tree/moved/bin/sley" info | grep "libsley_$name.so is not installed" || fail "the moved tree does not find the module $name"
done
mv "$tree/moved" "$prefix"

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
build_user >"$tree/log" 2>&1 || fail "$(cat "$tree/log")"
"$tree/user/build/by_cmake"

# No prefix is compiled in: another one builds nothing.
chosen=$(sed -n 's/^CMAKE_INSTALL_PREFIX:PATH=//p' "$build/CMakeCache.txt")
[ ! -e "$build/build.ninja" ] || ! grep -E '^ *(DEFINES|FLAGS|LINK_FLAGS) =' "$build/build.ninja" | grep -F "$chosen/lib" || fail "the prefix is compiled in"
! strings -a "$library" | grep -q "$prefix" || fail "the library has its prefix in it"

"$root/tools/uninstall.sh" "$prefix" >"$tree/log" || fail "$(cat "$tree/log")"
[ ! -e "$prefix" ] || [ -z "$(find "$prefix" -type f -o -type l)" ] || fail "left: $(find "$prefix" -type f -o -type l)"
! "$root/tools/uninstall.sh" "$prefix" 2>"$tree/log" || fail "uninstalls what is not there"
echo "install: pkg-config and find_package both work, moved too, and nothing is left"
