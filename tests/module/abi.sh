#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The number of the internal interfaces: that of the build is that of its headers, it is the same wherever they lie, and any change
# of one of them changes it. Usage: abi.sh CMAKE SOURCE_DIR HEADER_OF_THE_BUILD
set -u
cmake=$1 source=$2 header=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

# number ROOT: of the headers below it.
number() {
  rm -f "$work/abi.h"
  "$cmake" -DSLEY_ABI_ROOT="$1" -DSLEY_ABI_OUT="$work/abi.h" -P "$source/cmake/AbiHash.cmake" >&2 || echo "no number"
  grep -o 'SL_MODULE_ABI = 0x[0-9a-f]*' "$work/abi.h"
}

built=$(grep -o 'SL_MODULE_ABI = 0x[0-9a-f]*' "$header")
[ -n "$built" ] || fail "the build has no number"
[ "$(number "$source")" = "$built" ] || fail "the build's number is not that of its headers"
mkdir -p "$work/copy/src/transport"
cp -R "$source/include" "$work/copy/"
cp -R "$source"/src/{base,device,socket,bootstrap,transport,module_calls.txt} "$work/copy/src/"
[ "$(number "$work/copy")" = "$built" ] || fail "the same headers elsewhere have another number"
for name in include/sley_base.h src/base/status.h src/device/kernel.h src/socket/mesh.h src/bootstrap/place.h \
  src/transport/transport.h src/transport/process/process.h src/module_calls.txt; do
  cp "$work/copy/$name" "$work/kept"
  echo "/* changed */" >>"$work/copy/$name"
  [ "$(number "$work/copy")" != "$built" ] || fail "a change of $name does not change the number"
  cp "$work/kept" "$work/copy/$name"
done
[ "$(number "$work/copy")" = "$built" ] || fail "the headers as they were have another number"
echo "enum { NEW };" >"$work/copy/src/transport/new.h"
[ "$(number "$work/copy")" != "$built" ] || fail "a new header does not change the number"
rm "$work/copy/src/transport/new.h"
echo "static int own;" >>"$work/copy/src/transport/transport.c"
[ "$(number "$work/copy")" = "$built" ] || fail "a source file changes the number"
[ $failures -eq 0 ] || { echo "$failures failed"; exit 1; }
echo "the number follows the headers: $built"
