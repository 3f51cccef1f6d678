#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs through apt what Sley is built with, and only what is missing. Where there is no apt, or no right to install, it names
# what is missing and ends with 0: the build uses what is there, and says itself what it cannot do without.
# Packages for others need tools without which they would be wrong: where these are missing, role deb ends with 2.
# Usage: setup.sh run|build|deb|test
#   run    the library and the command
#   build  also the transport mpi: what `make` and `make install` need
#   deb    also what makes Debian packages: file tells programs from other files, dpkg-shlibdeps finds what they depend on
#   test   also what only the tests use
set -eu
role=${1:-build}

# A package, and, after a colon, a command that serves as well, wherever it comes from.
run="gcc:cc libc6-dev make:make cmake:cmake ninja-build:ninja pkg-config:pkg-config zlib1g-dev libzstd-dev libzip-dev
  libjansson-dev libsodium-dev libhwloc-dev libpng-dev"
optional="libscotch-dev libmetis-dev libopenblas-pthread-dev librandom123-dev"
deb="file:file dpkg-dev:dpkg-shlibdeps"
mpi="libopenmpi-dev:mpicc openmpi-bin:mpirun"
test="libopenmpi-dev openmpi-bin libmpich-dev mpich libcmocka-dev iproute2 strace:strace util-linux gzip zstd binutils
  python3:python3 gnuplot-nox:gnuplot python3-numpy python3-scipy python3-pytest python3-hypothesis
  python3-pycparser python3-mpi4py python3-venv spin:spin"
# On x86-64 the kernels for NEON are cross-compiled and emulated.
machine=$(uname -m 2>/dev/null || true)
[ "$machine" != x86_64 ] || test="$test gcc-aarch64-linux-gnu:aarch64-linux-gnu-gcc libc6-dev-arm64-cross qemu-user:qemu-aarch64"
case $role in
  run) packages="$run $optional" ;;
  build) packages="$run $optional $mpi" ;;
  deb) packages="$run $optional $mpi $deb" ;;
  test) packages="$run $optional $test" ;;
  *) echo "usage: tools/setup.sh run|build|deb|test" >&2; exit 2 ;;
esac

# finish: with 0, but for packages whose tools are not there.
finish() {
  absent=""
  if [ "$role" = deb ]; then
    for tool in dpkg-deb dpkg-shlibdeps file; do command -v $tool >/dev/null 2>&1 || absent="$absent $tool"; done
  fi
  [ -z "$absent" ] || { echo "setup: packages cannot be made without (Debian: dpkg, dpkg-dev, file):$absent" >&2; exit 2; }
  exit 0
}

# Without dpkg only commands can be looked for; of libraries CMake says what is missing.
missing=""
for entry in $packages; do
  package=${entry%%:*} command=${entry#*:}
  if [ "$command" != "$entry" ] && command -v "$command" >/dev/null 2>&1; then continue; fi
  if command -v dpkg-query >/dev/null 2>&1; then
    state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" != installed ] || continue
  elif [ "$command" = "$entry" ]; then
    continue
  fi
  missing="$missing $package"
done
[ -n "$missing" ] || finish

go_on() {
  echo "setup: $1; the build uses what is there. Not found (names of Debian's packages):$missing" >&2
  finish
}

command -v apt-get >/dev/null 2>&1 || go_on "there is no apt here"
root=""
if [ "$(id -u)" -ne 0 ]; then
  command -v sudo >/dev/null 2>&1 || go_on "neither root nor sudo"
  # A password can be asked for only where somebody sits.
  [ -t 0 ] || sudo -n true 2>/dev/null || go_on "sudo wants a password"
  root=sudo
fi

echo "setup: installing$missing" >&2
# shellcheck disable=SC2086 # the lists are meant to be split
{
  $root apt-get -q update >&2 || go_on "apt-get update failed"
  $root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing >&2 ||
    go_on "apt-get install failed"
}
finish
