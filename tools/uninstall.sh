#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Removes what tools/install.sh has installed below a prefix, and folders that are empty then. Usage: uninstall.sh PREFIX
set -eu
prefix=${DESTDIR:-}$1
record=$prefix/share/doc/sley/installed-files
if [ ! -f "$record" ]; then
  echo "uninstall: nothing of Sley is installed below $prefix: there is no $record (give the PREFIX it was installed with)" >&2
  exit 1
fi
list=$(cat "$record")
echo "$list" | while IFS= read -r name; do
  case $name in /* | ../* | */../*) echo "uninstall: passed over: $name" >&2; continue ;; esac
  rm -f "$prefix/$name"
done
# The folders that may be Sley's alone, the deepest first; rmdir leaves what is not empty.
echo "$list" | awk -F/ '{ path = $1; for (i = 2; i < NF; i++) { path = path "/" $i; print path } }' | sort -ru |
  while IFS= read -r folder; do rmdir "$prefix/$folder" 2>/dev/null || true; done
PATH=$PATH:/sbin:/usr/sbin
if [ -z "${DESTDIR:-}" ] && [ "$(id -u)" -eq 0 ] && command -v ldconfig >/dev/null 2>&1; then ldconfig || true; fi
echo "removed $(echo "$list" | grep -c .) files below $prefix"
