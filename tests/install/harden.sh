#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The command, the library and its modules are built as cmake/Harden.cmake says: position-independent, tables of addresses read-only from
# the start, no stack that can be run, canaries, and checked calls of the C library. In a build with a sanitizer, whose checks stand
# for them, the last two are not looked for; without optimization there are no checked calls.
# Usage: harden.sh BUILD
set -u
build=$1
failures=0 looked=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
sanitized=$(sed -n 's/^SLEY_SANITIZE:[A-Z]*=//p' "$build/CMakeCache.txt") type=$(sed -n 's/^CMAKE_BUILD_TYPE:[A-Z]*=//p' "$build/CMakeCache.txt")

for file in "$build/cli/sley" "$build/src/libsley.so" "$build"/src/libsley_*.so; do
  case $file in *_internal.so | *'*'*) continue ;; esac
  looked=$((looked + 1))
  name=${file##*/}
  readelf -hW "$file" | grep -q 'Type: *DYN' || fail "$name is not position-independent"
  readelf -lW "$file" >"/tmp/harden.$$"
  grep -q GNU_RELRO "/tmp/harden.$$" || fail "$name has no part that becomes read-only (-z relro)"
  stack=$(awk '$1 == "GNU_STACK" { print $7 }' "/tmp/harden.$$")
  [ "$stack" = RW ] || fail "$name: the stack is \"$stack\", expected RW (-z noexecstack)"
  readelf -dW "$file" | grep -Eq '\((BIND_NOW|FLAGS|FLAGS_1)\).*\bNOW\b|\(BIND_NOW\)' || fail "$name binds its calls one by one (-z now)"
  ! readelf -dW "$file" | grep -q TEXTREL || fail "$name has code that the loader changes"
  [ -z "$sanitized" ] || continue
  nm -D --undefined-only "$file" >"/tmp/harden.$$"
  grep -q ' __stack_chk_fail' "/tmp/harden.$$" || fail "$name has no canaries (-fstack-protector-strong)"
  # A module may call nothing of what can be checked.
  case $type:$name in Debug:* | *:libsley_*) ;; *) grep -q ' __[a-z]*_chk\b' "/tmp/harden.$$" || fail "$name has no checked calls (-D_FORTIFY_SOURCE=2)" ;; esac
done
rm -f "/tmp/harden.$$"
[ $looked -ge 2 ] || fail "only $looked files"
[ $failures -eq 0 ] || { echo "$failures failed"; exit 1; }
echo "$looked files are hardened"
