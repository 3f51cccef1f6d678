#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs a build: `cmake --install`, then what it does not do. The debug information goes into files of its own in a folder .debug
# beside each program and library, where gdb looks for it; a list of all files is kept for tools/uninstall.sh; the loader is told.
# Usage: install.sh BUILD PREFIX        DESTDIR is put before all paths
set -eu
build=$1 prefix=$2 dest=${DESTDIR:-}

cmake --install "$build" --prefix "$prefix" >"$build/install.log" || { cat "$build/install.log" >&2; exit 1; }
list=$build/install_list.txt
sed "s|^$prefix/||" "$build/install_manifest.txt" >"$list"
echo >>"$list" # the manifest's last line has no end

if command -v objcopy >/dev/null 2>&1; then
  grep -E '^bin/|\.so' "$list" >"$list.elf"
  while IFS= read -r name; do
    file=$dest$prefix/$name folder=$dest$prefix/${name%/*} base=${name##*/}
    [ -f "$file" ] && [ ! -L "$file" ] || continue
    mkdir -p "$folder/.debug"
    objcopy --only-keep-debug "$file" "$folder/.debug/$base.debug"
    chmod -x "$folder/.debug/$base.debug"
    # In a file beside it: a program that runs keeps the old one.
    (cd "$folder/.debug" && objcopy --strip-unneeded --add-gnu-debuglink="$base.debug" "../$base" "../$base.stripped")
    mv "$file.stripped" "$file"
    echo "${name%/*}/.debug/$base.debug" >>"$list"
  done <"$list.elf"
fi

record=share/doc/sley/installed-files
echo "$record" >>"$list"
grep . "$list" | sort -u >"$dest$prefix/$record"
echo "installed $(grep -c . "$dest$prefix/$record") files below $dest$prefix; remove them with: make uninstall PREFIX=$prefix"

# The command finds its library by its own place. Programs that link the library ask the loader.
[ -z "$dest" ] || exit 0
library=$prefix/$(grep 'libsley\.so\.0$' "$list")
folder=${library%/*}
PATH=$PATH:/sbin:/usr/sbin
if command -v ldconfig >/dev/null 2>&1 && ldconfig -v -N 2>/dev/null | grep -q "^$folder:"; then
  if [ "$(id -u)" -eq 0 ] && ldconfig; then exit 0; fi
  echo "programs that link libsley find it once an administrator has run: ldconfig"
else
  echo "programs that link libsley find it with: export LD_LIBRARY_PATH=$folder (or by an rpath of their own)"
fi
