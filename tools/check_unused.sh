#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Finds what nothing uses, and prints each as file:line: what.
#   1 a function or table with linkage in src/ or cli/ that no file uses, that only tests use, or that only its own file
#     uses: make the last static, unless tests use it too. The public interface is in use.
#   2 a function sley_... that no header of include/ declares
#   3 a name in src/module_calls.txt that neither a module nor a header uses
#   4 a function or class of python/sley/ that no module, document or test names, and one with _ that only tests name
# A declaration is no use; the address in a table, and a name in a macro, is one.
# Usage: tools/check_unused.sh [root of the project]
set -eu
tools=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$tools/..}"

# Tests read and change the counts of allocations; the entries of modules are found by their names.
allowed="sl_memory_count sl_memory_fail_at sl_memory_now sl_memory_peak sl_memory_peak_reset sl_device_module sl_transport_module"

report=$(
  find src cli include tests bench examples -type f \( -name '*.c' -o -name '*.h' -o -name '*.cu' -o -name '*.cuh' -o -name '*.in' \) \
    2>/dev/null | sort | xargs awk -v allowed="$allowed" "$(cat "$tools/code.awk")"'
    function note_uses(rest, where,   name) {
      while (match(rest, /[A-Za-z_][A-Za-z0-9_]*/)) {
        name = substr(rest, RSTART, RLENGTH)
        rest = substr(rest, RSTART + RLENGTH)
        if (name !~ /^(sl|sley|cli)_/) continue
        uses[name, where]++
        if (where == "product") in_file[name, FILENAME]++
        if (is_module) by_module[name]
      }
    }
    FNR == 1 {
      where = FILENAME ~ /^(src|cli)\// ? "product" : FILENAME ~ /^include\// ? "public" : "others"
      is_module = FILENAME ~ /\.h$/ || FILENAME ~ /^src\/(device\/cuda|transport\/(mpi|nccl|nvshmem))\// || FILENAME ~ /^tests\/module\//
    }
    {
      code = code_of($0)
      read_declaration(code)
      if (heading != "") code = substr(code, length(heading) + 1)
      else if (declaration != "") code = ""
      if (where == "public" && heading declaration != "") public_text = public_text " " heading declaration
    }
    defined ~ /^(sl|sley|cli)_/ && where == "product" { place[defined] = FILENAME ":" FNR; files[defined] = files[defined] " " FILENAME }
    code ~ /(sl|sley|cli)_/ { note_uses(code, where) }
    END {
      while ((getline line < "src/module_calls.txt") > 0) {
        sub(/.* /, "", line)
        if (line ~ /^sl_/ && !(line in by_module)) print "src/module_calls.txt: neither a module nor a header uses " line
      }
      while (match(public_text, /sley_[a-z0-9_]+/)) {
        declared[substr(public_text, RSTART, RLENGTH)]
        public_text = substr(public_text, RSTART + RLENGTH)
      }
      for (one in place) {
        if (index(" " allowed " ", " " one " ")) continue
        if (one ~ /^sley_/) {
          if (!(one in declared)) print place[one] ": no header of include/ declares " one
          continue
        }
        own = 0
        n = split(files[one], file, " ")
        for (i = 1; i <= n; i++) own += in_file[one, file[i]]
        if (uses[one, "product"] == 0)
          print place[one] ": " (uses[one, "others"] ? "only tests use " : "nothing uses ") one
        else if (uses[one, "product"] == own && uses[one, "others"] == 0)
          print place[one] ": only its own file uses " one ": make it static"
      }
    }'
  find python docs README.md -type f \( -name '*.py' -o -name '*.md' \) 2>/dev/null | grep -v '_c\.py$' | sort | xargs awk '
    FNR == 1 { decorated = 0; where = FILENAME ~ /^python\/tests\// ? "tests" : "others" }
    FILENAME ~ /^python\/sley\// && /^ *(async )?(def|class) / && !decorated {
      name = $0
      sub(/^ *(async )?(def|class) /, "", name)
      sub(/[^A-Za-z0-9_].*/, "", name)
      if (name !~ /^__/) place[name] = FILENAME ":" FNR
    }
    { if ($0 !~ /^ *$/) decorated = /^ *@/
      rest = $0
      while (match(rest, /[A-Za-z_][A-Za-z0-9_]*/)) {
        uses[substr(rest, RSTART, RLENGTH), where]++
        rest = substr(rest, RSTART + RLENGTH)
      } }
    END {
      for (one in place)
        if (uses[one, "others"] == 1 && (one ~ /^_/ || !uses[one, "tests"]))
          print place[one] ": " (uses[one, "tests"] ? "only tests use " : "nothing uses ") one
    }'
)
if [ -n "$report" ]; then
  echo "$report" | sort
  exit 1
fi
echo "unused: nothing"
