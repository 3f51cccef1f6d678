#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The first minutes of a new user: a bare Debian 12 in a folder (debootstrap), in it apt-get update, make, a copy of HEAD, and then
# `make run` and `make test`, as root or as a user with sudo. Prints seconds and sizes; fails where a command fails or a test is
# skipped because a package is missing. By hand, as root, some GB below FOLDER.
# Usage: bare.sh FOLDER root|user [run|test]...      default: run test
#        BARE_MIRROR: Debian's mirror; default the one this machine uses. BARE_LOAD: so many busy processes beside it
set -eu
cd "$(dirname "$0")/../.."
folder=${1:?a folder} who=${2:?root or user}
shift 2
[ $# -gt 0 ] || set -- run test
mirror=${BARE_MIRROR:-$(sed -n 's/^URIs: *//p; s/^deb \(\[[^]]*\] \)\?\([^ ]*\) bookworm main.*/\2/p' /etc/apt/sources.list \
  /etc/apt/sources.list.d/debian.sources 2>/dev/null | head -1)}
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
    root=$1; shift
    mount --rbind "$root" "$root"; mount --make-rprivate "$root"
    mount -t proc proc "$root/proc"; mount --rbind /dev "$root/dev"; mount --rbind /sys "$root/sys"
    mkdir -p "$root/.old"; cd "$root"; pivot_root . .old; umount -l /.old
    exec "$@"' sh "$root" /usr/bin/env -i HOME=/root PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin LANG=C.UTF-8 "$@"
}
as_user() {
  if [ "$who" = root ]; then
    within sh -c "cd /home/sley && $*"
  else
    within su - new -c "cd /home/sley && $*"
  fi
}

packages=make
[ "$who" = root ] || packages="make sudo"
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
  as_user "tools/setup.sh $target" >"$log.setup" 2>&1 || got=$?
  installed=$(date +%s)
  [ "$got" -ne 0 ] || as_user "make $target" >"$log" 2>&1 || got=$?
  echo "$who: make $target: exit $got; packages $((installed - start)) s and $(($(megabytes "$root/usr") - before)) MB," \
    "then $(($(date +%s) - installed)) s, $(megabytes "$root/home/sley/build") MB in the build folder"
  if [ "$got" -ne 0 ]; then
    tail -n 40 "$log.setup" "$log" 2>&1 || true
    failed=1
  fi
  if [ "$target" = test ]; then
    grep -E '(Skipped|Not Run)' "$log" | sed 's/^/  /' || true
    grep -E '^[0-9]+% tests passed' "$log" || true
    # Real matrices, which the checkout does not bring, are skipped for another reason.
    if grep -hE 'skipped: .*(not installed|is missing)' "$log" "$root/home/sley/build/Testing/Temporary/LastTest.log"; then failed=1; fi
  fi
done
exit $failed
