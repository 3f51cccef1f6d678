#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Checks the rules of form that a script can check, and prints each violation as file:line: what.
#   1 a file of src/ includes its own folder and folders of lower layers, nothing else of src/
#   2 vendor headers stay in their folders
#   3 SLEY_HAVE_ stands in the two registries only
#   4 nothing below cli/ exits, aborts, asserts or prints to stdout (the forked ranks of src/bootstrap/spawn.c exit)
#   5 cli/, examples/ and bench/ include the public header, and nothing of src/; paths in cli/ begin at cli/
#   6 no source file is longer than 600 lines, but the one public header
#   7 every source file starts with its licence line
#   8 no folder has more than 40 files, data aside
#   9 figures of a machine (times, rates: numbers with an exponent) stand in src/device/figures/, not in kernels, plans or
#     predictions; 1e9 and 1e-9 convert units
# Usage: tools/check_layers.sh [root of the project]
set -eu
cd "${1:-$(dirname "$0")/..}"

sources() { find "$@" -type f \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.c.in' -o -name '*.cu.in' \) 2>/dev/null | sort; }

report=$(
  for file in $(sources src); do
    awk '
      BEGIN {
        layers = "base 0 matrix 1 device 1 socket 1 bootstrap 2 io 2 generate 2 check 2 transport 3 order 3 partition 3 parallel_io 4 machine 4 plan 4 algo 5 exec 5 predict 6 collective 6 tile 6 ops 7 graph 7 gnn 8 tune 8 roofline 8 api 9"
        n = split(layers, word, " ")
        for (i = 1; i < n; i += 2) layer[word[i]] = word[i + 1]
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
        split(FILENAME, part, "/")
        mine = part[2]
        if (!(mine in layer)) say("folder " mine " is in no layer")
      }
      { code = $0; sub(/\/\/.*/, "", code); gsub(/"([^"\\]|\\.)*"/, "\"\"", code)
        if (inside) { if (!sub(/.*\*\//, "", code)) code = ""; else inside = 0 }
        gsub(/\/\*[^*]*(\*[^\/*][^*]*)*\*\//, "", code)
        if (sub(/\/\*.*/, "", code)) inside = 1 }
      /^[ \t]*#[ \t]*include[ \t]*"/ && !inside {
        split($0, quoted, "\"")
        path = quoted[2]
        if (path ~ /^sley(_[a-z]+)?\.h$/) next
        if (split(path, step, "/") < 2) { say("includes \"" path "\": write folder/name"); next }
        other = step[1]
        if (!(other in layer)) say("includes \"" path "\", which is in no layer")
        else if (other != mine && layer[other] + 0 >= layer[mine] + 0)
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
    ' "$file"
  done
  for file in $(sources cli examples bench); do
    folder=$(dirname "$file")
    case $file in cli/*) folder=cli ;; esac
    awk -v folder="$folder" '
      /^[ \t]*#[ \t]*include[ \t]*"/ {
        split($0, quoted, "\"")
        if (quoted[2] ~ /^sley(_[a-z]+)?\.h$/) next
        if (quoted[2] ~ /\.\.\// || (quoted[2] ~ /\// && folder != "cli") || (getline line < (folder "/" quoted[2])) < 0)
          print FILENAME ":" FNR ": includes \"" quoted[2] "\": only public headers and those of cli/, or of its own folder"
        close(folder "/" quoted[2])
      }' "$file"
  done
  for file in $(sources src include cli examples bench tests); do
    awk 'FNR == 1 && !/SPDX-License-Identifier: Apache-2\.0/ { print FILENAME ":1: no SPDX line" }
         FNR == 601 { print FILENAME ":601: longer than 600 lines: split it by purpose" }' "$file"
    [ -s "$file" ] || echo "$file:1: empty"
  done
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
