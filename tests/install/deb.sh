#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The packages of `make deb` in a bare Debian 12 (the folder of bare.sh): apt installs them with what they need, the command runs and
# finds its modules, a program is built with libsley-dev, the manual pages are there, and after a purge no file of theirs is left.
# By hand, as root. Usage: deb.sh FOLDER FOLDER_OF_THE_PACKAGES
set -eu
folder=${1:?a folder} packages=${2:?the folder of the packages}
root=$folder/deb
[ -e "$folder/base/.complete" ] || { echo "deb.sh: no $folder/base: bare.sh makes it" >&2; exit 1; }
rm -rf --one-file-system "$root"
cp -a "$folder/base" "$root"
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
for file in /etc/apt/apt.conf.d/*; do
  if grep -Eqi 'proxy|check-' "$file"; then cp "$file" "$root/etc/apt/apt.conf.d/"; fi
done
mkdir "$root/packages"
cp "$packages"/*.deb "$root/packages/"
cp "$(dirname "$0")/../../examples/01_one_rank.c" "$root/packages/"
mount -t proc proc "$root/proc"
trap 'umount "$root/proc"' EXIT
within() { chroot "$root" /usr/bin/env -i HOME=/root PATH=/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 DEBIAN_FRONTEND=noninteractive "$@"; }
fail() { echo "FAILED: $*"; exit 1; }
# files: all that packages may change.
files() { (cd "$root" && find usr etc opt -xdev \( -path usr/share/man -prune \) -o -print | sort); }

within apt-get -qq update
# What they need is installed first, so that what is left can be told from it.
within sh -c 'apt-get -qq install -y --no-install-recommends gcc libc6-dev pkg-config /packages/*.deb' >"$folder/deb.log" 2>&1 ||
  fail "apt: $(tail -20 "$folder/deb.log")"
within sh -c 'cd /packages && for f in *.deb; do dpkg-deb -f $f Package; done' >"$folder/names"
echo "installed: $(tr '\n' ' ' <"$folder/names")"
within sley --version
within sley spmm er:n=400,nnz=3000 --ranks 3 --transport tcp | tail -1 | grep -q 'check *ok' || fail "the command does not run"
within sley info >"$folder/info"
if grep -q '^libsley-mpi$' "$folder/names"; then
  grep -q '^transport *mpi *yes' "$folder/info" || fail "the module mpi is not found: $(cat "$folder/info")"
fi
within sh -c 'cd /packages && cc -std=c11 01_one_rank.c -o one $(pkg-config --cflags --libs sley) && ./one' || fail "a program is not built"
within sh -c 'ls /usr/share/man/man3/sley_spmm.3* /usr/share/man/man1/sley.1*' >/dev/null || fail "no manual pages"
"$(dirname "$0")/runpath.sh" "$root"/usr/bin/sley "$root"/usr/lib/*/libsley* "$root"/usr/lib/*/sley
# shellcheck disable=SC2046 # names
within apt-get -qq purge -y $(cat "$folder/names") >>"$folder/deb.log" 2>&1 || fail "purge: $(tail "$folder/deb.log")"
left=$(files | grep -i sley || true)
[ -z "$left" ] || fail "left after the purge: $left"
! within dpkg -l | grep -i sley || fail "dpkg still knows them"
echo "packages install, run and purge"
