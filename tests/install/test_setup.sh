#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# tools/setup.sh and CMake where packages are missing: without apt, rights or a password the build goes on with what there is and
# names the rest; what it cannot do without stands in one line. Usage: test_setup.sh ROOT
set -u
root=$1
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }

# stub NAME BODY: a command of that name, the only ones that setup.sh sees.
stub() { printf '#!/bin/sh\n%s\n' "$2" >"$work/bin/$1" && chmod +x "$work/bin/$1"; }
# setup EXIT TEXT: runs it for the tests; the output has the text.
setup() {
  local got=0
  PATH=$work/bin /bin/sh "$root/tools/setup.sh" "${role:-test}" </dev/null >"$work/out" 2>&1 || got=$?
  [ "$got" -eq "$1" ] || fail "exit $got, not $1: $(cat "$work/out")"
  [ -z "$2" ] || grep -qF -- "$2" "$work/out" || fail "lacks \"$2\": $(cat "$work/out")"
}
mkdir "$work/bin"
ln -s "$(command -v env)" "$work/bin/env"

setup 0 'there is no apt here'
grep -q ' cmake .*ninja-build' "$work/out" || fail "does not name cmake: $(cat "$work/out")"
stub dpkg-query 'exit 1'
stub apt-get "echo apt-get \"\$@\" >>$work/calls"
stub id 'echo 1000'
stub uname 'echo x86_64'
setup 0 'neither root nor sudo'
grep -q 'libjansson-dev .*libmpich-dev .*libcmocka-dev.*libc6-dev-arm64-cross qemu-user' "$work/out" || fail "does not name the libraries: $(cat "$work/out")"
stub sudo 'exit 1'
setup 0 'sudo wants a password'
[ ! -e "$work/calls" ] || fail "apt-get ran: $(cat "$work/calls")"
stub sudo '[ "$1" = -n ] || exec "$@"'
setup 0 'installing'
grep -q '^apt-get -q update$' "$work/calls" || fail "no update: $(cat "$work/calls")"
grep -q '^apt-get -q install .*libcmocka-dev' "$work/calls" || fail "no install: $(cat "$work/calls")"
rm "$work/calls"
stub uname 'echo aarch64'
setup 0 'installing'
if grep -qE 'aarch64|arm64|qemu' "$work/calls"; then fail "on aarch64 itself: $(cat "$work/calls")"; fi
rm "$work/calls"
role=run setup 0 'installing'
if grep -qE 'mpi|cmocka' "$work/calls"; then fail "for make run: $(cat "$work/calls")"; fi
role=deb setup 2 'packages cannot be made without (Debian: dpkg, dpkg-dev, file): dpkg-deb dpkg-shlibdeps file'
grep -qE '^apt-get -q install .*libopenmpi-dev.* file dpkg-dev$' "$work/calls" || fail "for make deb: $(cat "$work/calls")"
rm "$work/calls"
stub dpkg-deb : && stub dpkg-shlibdeps : && stub file :
role=deb setup 0 'installing'
rm "$work/bin/dpkg-shlibdeps" "$work/calls"
role=deb setup 2 'without (Debian: dpkg, dpkg-dev, file): dpkg-shlibdeps'
rm "$work/bin/dpkg-deb" "$work/bin/file" "$work/calls"
stub id 'echo 0'
stub apt-get 'exit 100'
setup 0 'apt-get update failed; the build uses what is there'
stub dpkg-query 'echo installed'
rm "$work/bin/apt-get"
stub make : && stub cmake : && stub ninja : && stub cc : && stub pkg-config :
setup 0 ''
[ ! -s "$work/out" ] || fail "nothing is missing, and it says: $(cat "$work/out")"
setup_usage=0
/bin/sh "$root/tools/setup.sh" nothing >/dev/null 2>&1 || setup_usage=$?
[ "$setup_usage" -eq 2 ] || fail "a wrong role ends with $setup_usage"

# Libraries that pkg-config does not know: one line names them all.
if PKG_CONFIG_LIBDIR=$work/none PKG_CONFIG_PATH='' cmake -S "$root" -B "$work/build" -DSLEY_CUDA=OFF >"$work/out" 2>&1; then
  fail "cmake goes on without libraries"
fi
tr -s ' \n' ' ' <"$work/out" | grep -q 'cannot be built without.*: libzstd-dev libzip-dev libjansson-dev' || fail "cmake says: $(cat "$work/out")"
[ "$failures" -eq 0 ] || { echo "$failures failed"; exit 1; }
echo "all passed"
