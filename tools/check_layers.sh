#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks the rules of form that a script can check, and prints each violation as file:line: what. The layers are those of
# docs/ARCHITECTURE.md.
#   1 a file of src/ includes its own folder and folders of lower layers, nothing else of src/, and names no function
#     that another folder of its own or of a higher layer defines (tables that it names may be filled above); a file of
#     python/sley/ imports files of its own and of lower layers
#   2 vendor headers stay in their folders
#   3 SLEY_HAVE_ stands in the two registries only
#   4 nothing below cli/ exits, aborts, asserts or prints to stdout (the forked ranks of src/bootstrap/spawn.c exit)
#   5 cli/, examples/ and bench/ include the public header, and nothing of src/; paths in cli/ begin at cli/
#   6 no source file, of C or of Python, is longer than 600 lines, but the generated python/sley/_c.py
#   7 every source file starts with its licence line; the guard of a header of src/, cli/ and include/ is its path
#   8 no folder has more than 40 files, data aside
#   9 figures of a machine (times, rates: numbers with an exponent) stand in src/device/figures/, not in kernels, plans or
#     predictions; 1e9 and 1e-9 convert units
# Usage: tools/check_layers.sh [root of the project]
set -eu
tools=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$tools/..}"

# The sources of C, and of Python, below folders, of which some may be missing.
sources() { find "$@" -type f \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.c.in' -o -name '*.cu.in' \) 2>/dev/null || :; }
modules() { find "$@" -type f -name '*.py' 2>/dev/null || :; }
every_file() { sources src include cli examples bench tests; modules python bench; }
# check PROGRAM: runs it over the files that stdin names.
check() { sort | xargs awk "$(cat "$tools/code.awk")$1" /dev/null; }

report=$(
  sources src | check '
    BEGIN {
      read_layers()
      home["mpi.h"] = "src/transport/mpi/ src/bootstrap/mpi/"
      home["nccl.h"] = "src/transport/nccl/"
      home["nvshmem.h"] = home["nvshmemx.h"] = "src/transport/nvshmem/"
      home["cuda_runtime.h"] = home["cuda_runtime_api.h"] = home["cuda.h"] = home["cuda_fp16.h"] = home["cuda_bf16.h"] = \
        "src/device/cuda/ src/transport/nccl/ src/transport/nvshmem/"
      home["sodium.h"] = "src/socket/"
      home["scotch.h"] = home["metis.h"] = "src/order/"
      home["hwloc.h"] = "src/base/"
      home["cblas.h"] = "src/device/cpu/"
      home["cublasLt.h"] = "src/device/cuda/"
      home["Random123/philox.h"] = "src/device/"
      home["zip.h"] = home["zlib.h"] = home["zstd.h"] = "src/io/"
    }
    function say(what) { print FILENAME ":" FNR ": " what }
    FNR == 1 {
      mine = layer_key(FILENAME)
      if (!(mine in layer)) say("folder " mine " is in no layer")
    }
    { was_comment = in_comment; code = code_of($0); read_declaration(code) }
    defined != "" && is_function { definer[defined, ++definers[defined]] = mine }
    # The line of the first use of each name with a prefix of the library.
    code ~ /(^|[^A-Za-z0-9_])sl(ey)?_/ {
      rest = code
      while (match(rest, /[A-Za-z_][A-Za-z0-9_]*/)) {
        name = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        if (name ~ /^sl(ey)?_/ && !((mine, name) in used)) used[mine, name] = FILENAME ":" FNR
      }
    }
    /^[ \t]*#[ \t]*include[ \t]*"/ && !was_comment {
      split($0, quoted, "\"")
      path = quoted[2]
      if (path ~ /^sley(_[a-z]+)?\.h$/) next
      if (split(path, step, "/") < 2) { say("includes \"" path "\": write folder/name"); next }
      other = "src/" step[1]
      if (!(other in layer)) say("includes \"" path "\", which is in no layer")
      else if (other != mine && layer[other] >= layer[mine])
        say(mine " (layer " layer[mine] ") includes \"" path "\" (layer " layer[other] ")")
    }
    /^[ \t]*#[ \t]*include[ \t]*</ {
      split($0, angled, /[<>]/)
      header = angled[2]
      if (header in home) {
        fine = 0
        n = split(home[header], folder, " ")
        for (i = 1; i <= n; i++) if (index(FILENAME, folder[i]) == 1) fine = 1
        if (!fine) say("<" header "> belongs in " home[header])
      }
    }
    FILENAME ~ /^src\/(device|algo|exec|graph|ops|plan|predict|roofline|tile)\// && FILENAME !~ /^src\/device\/figures\// {
      rest = code
      while (match(rest, /[0-9.]+[eE][-+]?[0-9]+/)) {
        number = substr(rest, RSTART, RLENGTH)
        before = RSTART > 1 ? substr(rest, RSTART - 1, 1) : ""
        rest = substr(rest, RSTART + RLENGTH)
        size = number; sub(/.*[eE][-+]?/, "", size); size += 0
        if (before ~ /[A-Za-z0-9_]/ || size < 5 || size > 14) continue
        if (number ~ /^1e-?(9|12)$/ && (number !~ /12/ || FILENAME !~ /device/)) continue
        say(number " is a figure of a machine: move it to src/device/figures/") } }
    code ~ /SLEY_HAVE_/ && FILENAME != "src/device/device_registry.c" && FILENAME != "src/transport/transport_registry.c" {
      say("SLEY_HAVE_ outside the registries") }
    code ~ /(^|[^A-Za-z0-9_.>])(exit|_exit|_Exit|quick_exit|abort|assert)[ \t]*\(/ && code !~ /(\.|->)abort[ \t]*\(/ {
      if (FILENAME != "src/bootstrap/spawn.c") say("ends the process: return a status") }
    code ~ /(^|[^A-Za-z0-9_])(printf|puts|putchar|vprintf)[ \t]*\(/ || code ~ /[(, ]stdout[,) ;]/ {
      say("prints to stdout") }
    END {
      for (key in used) {
        split(key, use, SUBSEP)
        # Backends may define a name each: one definition within reach is enough.
        lowest = ""
        for (d = 1; d <= definers[use[2]]; d++) {
          other = definer[use[2], d]
          if (other == use[1]) { lowest = other; break }
          if (lowest == "" || layer[other] < layer[lowest]) lowest = other
        }
        if (lowest != "" && lowest != use[1] && layer[lowest] >= layer[use[1]])
          print used[key] ": " use[1] " (layer " layer[use[1]] ") uses " use[2] " of " lowest " (layer " layer[lowest] ")"
      }
    }'
  modules python/sley | check '
    BEGIN { read_layers() }
    FNR == 1 { mine = layer_key(FILENAME); if (!(mine in layer)) print FILENAME ":1: " mine " is in no layer" }
    {
      for (i = read_import($0); i > 0; i--)
        if (layer[layer_key(imported[i])] > layer[mine])
          print FILENAME ":" FNR ": layer " layer[mine] " imports " imported[i] " of layer " layer[layer_key(imported[i])]
    }'
  sources cli examples bench | check '
    FNR == 1 { folder = FILENAME; if (!sub(/^cli\/.*/, "cli", folder)) sub(/\/[^\/]*$/, "", folder) }
    /^[ \t]*#[ \t]*include[ \t]*"/ {
      split($0, quoted, "\"")
      if (quoted[2] ~ /^sley(_[a-z]+)?\.h$/) next
      if (quoted[2] ~ /\.\.\// || (quoted[2] ~ /\// && folder != "cli") || !is_file(folder "/" quoted[2]))
        print FILENAME ":" FNR ": includes \"" quoted[2] "\": only public headers and those of cli/, or of its own folder"
    }'
  every_file | grep -v '^python/sley/_c\.py$' | check '
    FNR == 1 && !/SPDX-License-Identifier: Apache-2\.0/ && !(/^#!/ && /python/) { print FILENAME ":1: no SPDX line" }
    FNR == 2 && shebang && !/SPDX-License-Identifier: Apache-2\.0/ { print FILENAME ":2: no SPDX line" }
    FNR == 1 { shebang = /^#!/ }
    FNR == 601 { print FILENAME ":601: longer than 600 lines: split it by purpose" }
    /^#ifndef SLEY_.*H$/ && FILENAME ~ /^(src|cli|include)\// {
      guard = FILENAME
      sub(/^src\//, "sley/", guard) || sub(/^include\//, "", guard) || sub(/^/, "sley/", guard)
      gsub(/[^A-Za-z0-9]/, "_", guard)
      if ($2 != toupper(guard)) print FILENAME ":" FNR ": the guard is " $2 ", not " toupper(guard)
    }'
  every_file | while read -r file; do [ -s "$file" ] || echo "$file:1: empty"; done
  # Results, corpora and what Python leaves behind are data.
  find src include cli examples bench tests tools cmake python -type f 2>/dev/null |
    grep -v -e '^bench/results/' -e '^tests/fuzz/corpus/' -e '/__pycache__/' | sed 's|/[^/]*$||' | sort | uniq -c |
    awk '$1 > 40 { print $2 ": " $1 " files, 40 at most: divide it by families" }'
)
if [ -n "$report" ]; then
  echo "$report"
  exit 1
fi
echo "layers: every rule holds"
