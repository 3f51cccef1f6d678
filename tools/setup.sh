#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs what Sley is built with, through apt, and only what is missing.
set -eu

packages="build-essential cmake ninja-build pkg-config libcmocka-dev zlib1g-dev libzstd-dev libzip-dev libjansson-dev libpng-dev libscotch-dev libmetis-dev libhwloc-dev libopenmpi-dev openmpi-bin libmpich-dev mpich"

if ! command -v dpkg-query >/dev/null 2>&1 || ! command -v apt-get >/dev/null 2>&1; then
  echo "setup: there is no apt here; if the build fails, install what these Debian packages contain: $packages" >&2
  exit 0
fi

missing=""
for package in $packages; do
  state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$state" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

root=""
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null 2>&1; then
    echo "setup: neither root nor sudo: ask an administrator to run: apt-get install$missing" >&2
    exit 1
  fi
  root=sudo
fi

echo "setup: installing$missing" >&2
# shellcheck disable=SC2086 # the lists are meant to be split
{
  $root apt-get -q update >&2
  $root env DEBIAN_FRONTEND=noninteractive apt-get -q install -y --no-install-recommends $missing >&2
}
