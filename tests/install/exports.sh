#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What the built library and modules show: the library exports the functions of the public headers and nothing else; a module exports only
# what the library asks it for, needs no library of Sley's, and every name it may use is of the kind that the list says.
# Usage: exports.sh ROOT BUILD
set -u
root=$1 build=$2
failures=0
fail() { echo "FAILED: $*"; failures=$((failures + 1)); }
exported() { nm -D --defined-only "$1" | awk '$2 != "A" { sub(/@.*/, "", $3); print $3 }' | sort -u; }

exported "$build/src/libsley.so" >/tmp/exports.$$
trap 'rm -f /tmp/exports.$$ /tmp/declared.$$' EXIT
grep -ohE '\bsley_[a-z0-9_]+\(' "$root"/include/*.h | tr -d '(' | sort -u >/tmp/declared.$$
foreign=$(grep -v '^sley_' /tmp/exports.$$)
[ -z "$foreign" ] || fail "libsley.so exports $foreign"
hidden=$(comm -23 /tmp/exports.$$ /tmp/declared.$$)
[ -z "$hidden" ] || fail "libsley.so exports what no public header declares: $hidden"
[ "$(wc -l </tmp/exports.$$)" -ge 50 ] || fail "libsley.so exports only $(wc -l </tmp/exports.$$) functions"

for module in "$build"/src/libsley_*.so; do
  case $module in *_internal.so | *'*'*) continue ;; esac
  for name in $(exported "$module"); do
    case $name in
      sl_module_take | sl_device_module | sl_transport_module) ;;
      *) fail "${module##*/} exports $name" ;;
    esac
  done
  ! readelf -d "$module" | grep -q 'NEEDED.*libsley' || fail "${module##*/} needs a library of Sley's"
  echo "${module##*/}: ok"
done

# nm's letter of a function is T or t, of a constant table d, r or one of their capitals.
nm "$build/src/libsley_internal.so" | awk '{ print $3, $2 }' >/tmp/exports.$$
while read -r first second; do
  case $first in '#'* | '') continue ;; esac
  name=${second:-$first} kinds='[Tt]'
  [ -z "$second" ] || kinds='[DdRr]'
  grep -q "^$name $kinds\$" /tmp/exports.$$ || fail "src/module_calls.txt: $name is not what the list says: $(grep "^$name " /tmp/exports.$$)"
done <"$root/src/module_calls.txt"
[ $failures -eq 0 ] || { echo "$failures failed"; exit 1; }
echo "only sley_* is exported"
