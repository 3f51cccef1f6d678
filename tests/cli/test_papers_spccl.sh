#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The scripts of the SpCCL paper in bench/papers/spccl on short arrays, between processes of this machine; and that docs/SPCCL.md
# agrees with the results. Without python3: skipped.
# Usage: test_papers_spccl.sh SLEY ROOT JSON_FIELD
set -u
sley=$1 root=$2 json_field=$3
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
json=$work/found.json

# script STATUS NAME WORDS...: runs a script and expects the status.
script() {
  local expected=$1 name=$2 got=0
  shift 2
  python3 "$root/bench/papers/spccl/$name.py" "$@" --sley "$sley" --json "$json" --plot "$work/p.svg" >"$work/out" 2>"$work/err" </dev/null || got=$?
  [ "$got" -eq "$expected" ] || fail "$name $*: exit $got, expected $expected: $(cat "$work/err")"
}

echo "figure 2: thresholds are shares of zeros, 0: dense at full arrays only, 1: always dense"
script 0 figure2 --rate 0 --layout 2x2 --bytes 64K --zeros 0.9 --steps 1 --repeat 1 --rounds 2
silent_err figure2
field "$json" rows 4
for row in 0 1 2 3; do
  inter=$((row / 2)) intra=$((row % 2))
  field "$json" rows.$row.inter $inter
  field "$json" rows.$row.intra $intra
  for of in inter:$inter intra:$intra; do
    made=$("$json_field" "$json" "rows.$row.${of%:*}_arrays") dense=$("$json_field" "$json" "rows.$row.${of%:*}_dense_arrays")
    [ "$made" -eq 6 ] || fail "row $row: $made ${of%:*} arrays" # three hops of four ranks, half of them between hosts
    [ "$dense" -eq $((${of#*:} * made)) ] || fail "row $row: $dense of $made ${of%:*} arrays are dense"
  done
done
grep -q '<svg' "$work/p.svg" || fail "no picture"

echo "figure 9: every way, with its path"
script 0 figure9 --rate 0 --layouts 3x1 --bytes 1M --repeat 1
silent_err figure9
field "$json" rows 72
for way in 36:recursive-doubling 45:split-allgather 54:split-dense 63:ring; do
  field "$json" "rows.${way%:*}.path" "${way#*:}"
done

echo "what is refused, and the page"
script 2 figure2 --layout 4
one_line "a layout" "HOSTSxRANKS"
script 2 figure9 --repeat 0
one_line "no repeats" "--repeat is 0"
python3 "$root/bench/papers/spccl/page.py" --check || fail "docs/SPCCL.md is of other results"
finish
