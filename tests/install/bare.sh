#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The first minutes of a new user: a bare Debian 12 in a folder (debootstrap), in it apt-get update, make, a copy of HEAD, and then
# README's commands by `make`, as root or as a user with sudo: run, deb, install (and uninstall), test. Prints seconds and sizes; fails
# where a command fails, a package of `deb` names nothing that it depends on, an uninstalled file stays, or a test is skipped because
# a package is missing. By hand or by `make test-bare`, as root, some GB below FOLDER; ends with 77 where that cannot be.
# Usage: bare.sh FOLDER root|user [run|deb|install|test]...      default: run test
#        BARE_MIRROR: Debian's mirror; default the one this machine uses. BARE_LOAD: so many busy processes beside it
#        BARE_CCACHE: a folder of ccache's to build with; seconds and sizes then tell nothing. BARE_FIGURES: a file for them
set -eu
cd "$(dirname "$0")/../.."
folder=${1:?a folder} who=${2:?root or user}
shift 2
[ $# -gt 0 ] || set -- run test
skip() { echo "bare.sh: skipped: $1"; exit 77; }
[ "$(id -u)" -eq 0 ] || skip "it wants root"
command -v debootstrap >/dev/null || skip "debootstrap is not installed"
unshare --mount true 2>/dev/null || skip "no right to make a mount namespace"
mirror=${BARE_MIRROR:-$(sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\) bookworm main.*/\2/p' /etc/apt/sources.list \
  /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -1)}
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
root=$folder/$who

if [ ! -e "$folder/base/bin/sh" ] || [ ! -e "$folder/base/.complete" ]; then
  debootstrap --variant=minbase bookworm "$folder/base" "$mirror" >"$folder/debootstrap.log" || { tail "$folder/debootstrap.log"; exit 1; }
  touch "$folder/base/.complete"
fi
rm -rf --one-file-system "$root"
cp -a "$folder/base" "$root"

# What reaches the network outside does so inside.
cp -L /etc/resolv.conf /etc/hosts "$root/etc/"
for file in /etc/apt/apt.conf.d/*; do
  if grep -Eqi 'proxy|check-' "$file"; then cp "$file" "$root/etc/apt/apt.conf.d/"; fi
done
load=()
finish() {
  [ ${#load[@]} -eq 0 ] || kill "${load[@]}" 2>/dev/null || true
}
trap finish EXIT

# within COMMAND...: in the folder as the root of a mount namespace, which goes with the command. Not by chroot: below one no user
# may make namespaces, which tests of hosts need.
within() {
  unshare --mount --propagation private sh -ec '
    root=$1
    mount --rbind "$root" "$root"; mount --make-rprivate "$root"
    mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"; mount --rbind /sys "$root/sys"
    [ -z "$2" ] || mount --bind "$2" "$root/ccache"; shift 2
    mkdir -p "$root/.old"; cd "$root"; pivot_root . .old; umount -l /.old
    exec "$@"' sh "$root" "${BARE_CCACHE:-}" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"
}
as_user() {
  if [ "$who" = root ]; then
    within sh -c "$build_with cd /home/sley && $*"
  else
    within su - new -c "$build_with cd /home/sley && $*"
  fi
}

build_with=
packages=make
if [ -n "${BARE_CCACHE:-}" ]; then
  packages="make ccache"
  mkdir -p "$root/ccache"
  build_with="export CMAKE_C_COMPILER_LAUNCHER=ccache CCACHE_DIR=/ccache CCACHE_BASEDIR=/home CCACHE_NOHASHDIR=1;"
fi
[ "$who" = root ] || packages="$packages sudo"
within sh -c "apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install -y --no-install-recommends $packages" >"$folder/$who.apt.log" 2>&1
mkdir -p "$root/home/sley"
git archive HEAD | tar -x -C "$root/home/sley"
if [ "$who" = user ]; then
  within useradd -m new
  echo 'new ALL=(ALL) NOPASSWD: ALL' >"$root/etc/sudoers.d/new"
  within chown -R new: /home/sley
fi
for ((i = 0; i < ${BARE_LOAD:-0}; i++)); do
  (while :; do :; done) &
  load+=($!)
done

failed=0
megabytes() { du -sm --one-file-system "$1" 2>/dev/null | cut -f1; }
for target in "$@"; do
  log=$folder/$who.$target.log got=0
  before=$(megabytes "$root/usr")
  # What the toolchain takes is measured apart: the network's time is not Sley's.
  start=$(date +%s)
  role=$target
  [ "$target" != install ] || role=build
  as_user "tools/setup.sh $role" >"$log.setup" 2>&1 || got=$?
  installed=$(date +%s)
  [ "$got" -ne 0 ] || as_user "make $target" >"$log" 2>&1 || got=$?
  echo "$who: make $target: exit $got; packages $((installed - start)) s and $(($(megabytes "$root/usr") - before)) MB," \
    "then $(($(date +%s) - installed)) s, $(megabytes "$root/home/sley/build") MB in the build folder"
  if [ "$got" -ne 0 ]; then
    tail -n 40 "$log.setup" "$log" 2>&1 || true
    failed=1
  fi
  if [ -n "${BARE_FIGURES:-}" ]; then
    echo "$target packages_s $((installed - start)) packages_mb $(($(megabytes "$root/usr") - before))" \
      "build_s $(($(date +%s) - installed)) build_mb $(megabytes "$root/home/sley/build")" >>"$BARE_FIGURES"
  fi
  if [ "$target" = deb ] && [ "$got" -eq 0 ]; then
    for package in "$root"/home/sley/build/deb/*.deb; do
      case $package in *-dbgsym_* | *ddeb) continue ;; esac
      depends=$(dpkg-deb -f "$package" Depends)
      echo "  ${package##*/}: $depends"
      case ${package##*/} in
        libsley-dev_*) [[ $depends = *libsley0* ]] ;;
        *) [[ $depends = *libc6* ]] ;;
      esac || { echo "  FAILED: ${package##*/} does not say what it depends on"; failed=1; }
    done
    compgen -G "$root/home/sley/build/deb/*.deb" >/dev/null || { echo "  FAILED: no packages"; failed=1; }
  fi
  if [ "$target" = install ] && [ "$got" -eq 0 ]; then
    within sh -c 'sley version && sley spmm er:n=400,nnz=3000 --ranks 3 --repeat 1' >"$log.run" 2>&1 || { cat "$log.run"; failed=1; }
    as_user "make uninstall" >>"$log" 2>&1 || { tail "$log"; failed=1; }
    left=$(cd "$root/usr/local" && find . -name '*sley*')
    [ -z "$left" ] || { echo "  FAILED: left by make uninstall: $left"; failed=1; }
  fi
  if [ "$target" = test ]; then
    grep -E '(Skipped|Not Run)' "$log" | sed 's/^/  /' || true
    grep -E '^[0-9]+% tests passed' "$log" || true
    # Real matrices, which the checkout does not bring, are skipped for another reason.
    if grep -hE 'skipped: .*(not installed|is missing)' "$log" "$root/home/sley/build/Testing/Temporary/LastTest.log"; then failed=1; fi
  fi
done
exit $failed
