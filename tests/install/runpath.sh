#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# No RUNPATH or RPATH has an element that is empty or relative to the current folder: the loader would take libraries from wherever
# the program is started. Looks at every ELF file below the folders. Usage: runpath.sh FOLDER...
set -u
looked=0 failures=0
while IFS= read -r file; do
  [ "$(head -c 4 "$file" 2>/dev/null | tr -d '\0')" = $'\x7fELF' ] || continue
  looked=$((looked + 1))
  path=$(readelf -d "$file" 2>/dev/null | sed -n 's/.*(R\(UN\)\?PATH).*\[\(.*\)\]/\2/p')
  [ -n "$path" ] || continue
  while IFS= read -r element; do
    case $element in
      /* | '$ORIGIN' | '$ORIGIN/'*) ;;
      *) echo "FAILED: $file: RUNPATH [$path] has the element \"$element\""; failures=$((failures + 1)) ;;
    esac
  done <<<"${path//:/$'\n'}"
done < <(find "$@" -type f \( -perm /111 -o -name '*.so*' \))
[ $looked -gt 0 ] || { echo "FAILED: no ELF file below $*"; exit 1; }
[ $failures -eq 0 ] || { echo "$failures failed"; exit 1; }
echo "$looked ELF files, none with an empty element"
