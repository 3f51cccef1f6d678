#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `sley collective`: columns, JSON and formulas of all kinds, right results on transports and devices, sweeps, and
# what is refused. No time decides.
# Usage: test_collective.sh SLEY ROOT JSON_FIELD FOLDER_OF_THE_MOCK_DEVICE
set -u
sley=$1 root=$2 json_field=$3 mock_device=$4
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
json=$work/collective.json
small="--bytes 300K --threads 1 --repeat 2 --warmup 1"

# number FIELD: of the JSON.
number() { "$json_field" "$json" "$1"; }

# holds EXPRESSION WHAT: of awk.
holds() { awk "BEGIN { exit !($1) }" || fail "$2: $1 does not hold"; }

# near A B WHAT: equal but for rounding.
near() { holds "($1) >= ($2) * 0.999999 && ($1) <= ($2) * 1.000001" "$3"; }

# bytes_of KIND RANKS SIZE WIRE: what a rank reads and writes in its memory, by docs/COLLECTIVES.md; WIRE: of a rank.
bytes_of() {
  case $1:$2 in
    allgather:*) echo "($3) + ($3) / $2 + ($4) + ($4) / ($2 - 1)" ;;
    allreduce:*) echo "2 * ($3) + ($3) / $2 + 2 * ($4)" ;;
    *) echo "($3) + ($3) / $2 + 2 * ($4)" ;;
  esac
}

# check_bound AT KIND RANKS: the bound of a case that was compressed; a dense one has none.
check_bound() {
  local wire name
  if [ "$(number "$1.arrays")" -eq 0 ]; then
    for name in bound_us bound_share copy_bandwidth link_bandwidth; do field "$json" "$1.$name" null; done
    return
  fi
  wire="$(number "$1.wire_bytes") / $3"
  near "$(number "$1.bound_us")" "1e6 * (($(bytes_of "$2" "$3" "$(number "$1.size")" "$wire")) / $(number "$1.copy_bandwidth") + \
    ($wire) / $(number "$1.link_bandwidth"))" "$1: bound"
  near "$(number "$1.bound_share")" "$(number "$1.bound_us") / $(number "$1.time_us")" "$1: share of the bound"
  holds "$(number "$1.copy_bandwidth") > 0 && $(number "$1.link_bandwidth") > 0" "$1: bandwidths"
}

# check_case INDEX RANKS BUS: a case's fields; BUS, the factor of busbw.
check_case() {
  local at="cases.$1" field
  for field in type redop zeros path reason p10_us p90_us dense_p10_us dense_p90_us; do field "$json" "$at.$field"; done
  field "$json" "$at.wrong" 0
  holds "$(number "$at.time_us") > 0 && $(number "$at.dense_us") > 0" "$at: times"
  near "$(number "$at.algbw")" "$(number "$at.size") / $(number "$at.time_us") / 1000" "$at: algbw"
  near "$(number "$at.busbw")" "$(number "$at.algbw") * $3" "$at: busbw"
  near "$(number "$at.ratio")" "$(number "$at.time_us") / $(number "$at.dense_us")" "$at: ratio"
  holds "$(number "$at.p10_us") <= $(number "$at.time_us")" "$at: p10"
  holds "$(number "$at.time_us") <= $(number "$at.p90_us")" "$at: p90"
  [ "$2" -eq 1 ] || holds "$(number "$at.dense_wire_bytes") > 0" "$at: bytes of the dense collective"
  near "$(number "$at.dense_arrays") + $(number "$at.pici_arrays") + $(number "$at.coo_arrays")" \
    "$(number "$at.arrays")" "$at: formats"
}

# check_kind KIND RANKS WORDS...: measures KIND, and checks it.
check_kind() {
  local kind=$1 ranks=$2 bus parts=$2 redop=sum
  shift 2
  bus="2 * ($ranks - 1) / $ranks"
  [ "$kind" = allreduce ] || bus="($ranks - 1) / $ranks"
  [ "$kind" != allreduce ] || parts=1
  [ "$kind" != allgather ] || redop=none
  # shellcheck disable=SC2086 # the words are meant to be split
  run 0 collective "$kind" $small --ranks "$ranks" --json "$json" "$@"
  silent_err "$kind"
  field "$json" collective "$kind"
  field "$json" ranks "$ranks"
  field "$json" cases 1
  [ "${op:-}" = max ] || field "$json" cases.0.redop $redop
  check_case 0 "$ranks" "$bus"
  [ "$ranks" -eq 1 ] || check_bound cases.0 "$kind" "$ranks"
  near "$(number cases.0.size)" "$(number cases.0.count) * $parts * ${bytes:-4}" "$kind: size and count"
  holds "$(number cases.0.size) <= 300 * 1024 && $(number cases.0.size) > 299 * 1024" "$kind: size"
  [ "$(grep -c "^ *[0-9]" "$work/out")" -eq 1 ] || fail "$kind: not one line in the table"
}

for kind in allreduce allgather reducescatter; do
  for ranks in 1 3 4; do
    echo "$kind, $ranks ranks"
    check_kind $kind $ranks --device cpu --format pici
    holds "$(number cases.0.density_in) > 0.005 && $(number cases.0.density_in) < 0.015" "$kind: density"
    holds "$(number cases.0.density_out) >= $(number cases.0.density_in) * 0.9" "$kind: density of the result"
    [ $ranks -gt 1 ] || field "$json" cases.0.bound_us null
    if [ $ranks -gt 1 ]; then
      holds "$(number cases.0.wire_bytes) < $(number cases.0.dense_wire_bytes) / 4" "$kind: bytes of 1 % of values"
      field "$json" cases.0.path direct
      grep -qE ' [0-9.]+ +[0-9.]+  direct pici$' "$work/out" || fail "$kind: what ran is not in the table"
    fi
  done
  echo "$kind over tcp, and on a device"
  check_kind $kind 3 --transport tcp --device cpu --format coo --blocks 64 --zeros 0.9
  field "$json" transport tcp
  SLEY_MODULE_PATH=$mock_device check_kind $kind 2 --device cuda --format pici
  field "$json" device cuda
done

echo "types, other operators, without compression, without a check, and the table's heading"
for dtype in f64 f16 bf16; do
  bytes=2
  [ $dtype != f64 ] || bytes=8
  check_kind allreduce 3 --device cpu --dtype $dtype --zeros 0.5
  field "$json" cases.0.type $dtype
done
for dtype in i8 u8; do
  for format in pici coo none; do
    bytes=1 check_kind allgather 3 --device cpu --dtype $dtype --format $format --zeros 0.97
    field "$json" cases.0.type $dtype
    [ $format = none ] || holds "$(number cases.0.wire_bytes) < $(number cases.0.dense_wire_bytes) / 2" "$dtype, $format: bytes"
  done
done
bytes=8 check_kind allreduce 3 --device cpu --dtype i64 --format pici --way ring
unset bytes
op=max
check_kind allreduce 2 --device cpu --format none --op max
field "$json" cases.0.redop max
field "$json" cases.0.path dense
grep -qE ' - +-  dense$' "$work/out" || fail "a dense run has a bound"
unset op
check_kind reducescatter 3 --device cpu --zeros 0 --any-order
field "$json" any_order true
field "$json" cases.0.density_in 1
# shellcheck disable=SC2086
run 0 collective allgather $small --device cpu --no-check --zeros 1 --json -
cp "$work/out" "$json"
field "$json" cases.0.wrong null
field "$json" cases.0.density_out 0
grep -q ' N/A ' "$work/err" || fail "what was not checked is told as right"
grep -qE '^ *size B +count +type +redop +time us +algbw GB/s +busbw GB/s +#wrong ' "$work/err" ||
  fail "the heading lacks columns of nccl-tests"

echo "every way: the results are right, and in both formats"
for kind in allreduce allgather reducescatter; do
  for way in direct ring two-level; do
    check_kind $kind 4 --device cpu --workgroup 2 --way $way --format coo
    field "$json" way $way
    field "$json" cases.0.path $way
    holds "$(number cases.0.coo_arrays) > 0 && $(number cases.0.pici_arrays) == 0" "$kind, $way: formats"
  done
done
for way in recursive-doubling split-allgather split-dense; do
  for words in "3 --transport tcp" "4 --workgroup 2" 7; do
    # shellcheck disable=SC2086
    check_kind allreduce $words --device cpu --way $way --format coo
    field "$json" cases.0.path $way
    holds "$(number cases.0.coo_arrays) > 0" "$way, $words ranks: no sparse array"
    if [ $way = split-dense ]; then
      field "$json" cases.0.allgather_dense_arrays "$(number cases.0.allgather_arrays)"
    else
      field "$json" cases.0.dense_arrays 0
    fi
  done
  run 2 collective allgather --way $way
  one_line "$way of an all-gather" "--way $way is for allreduce only"
done
bytes=2 check_kind allreduce 3 --device cpu --way ring --format pici --dtype bf16 --zeros 0.2

echo "densities above which arrays travel dense"
for way in ring two-level; do
  for above in 0,0,0 1,1,1 0.001,1,1 1,0.001,1 1,1,0.001; do
    check_kind allreduce 4 --device cpu --workgroup 2 --way $way --format pici --dense-above $above
    IFS=, read -r inter intra gathered <<<"$above"
    for of in inter:$inter intra:$intra allgather:$gathered; do
      made=$(number "cases.0.${of%:*}_arrays") dense=$(number "cases.0.${of%:*}_dense_arrays")
      field "$json" "dense_above_${of%:*}" "${of#*:}"
      if [ "${of#*:}" = 1 ]; then
        [ "$dense" -eq 0 ] || fail "$way, $above: $dense of $made ${of%:*} arrays are dense"
      else
        [ "$dense" -eq "$made" ] || fail "$way, $above: only $dense of $made ${of%:*} arrays are dense"
      fi
    done
    [ $above = 1,1,1 ] || grep -q '^# .* dense arrays: inter ' "$work/out" ||
      fail "$way, $above: the dense arrays are not shown"
  done
done
check_kind allreduce 3 --device cpu --dense-above ,,0.5
field "$json" dense_above_inter null
field "$json" dense_above_allgather 0.5
field "$json" cases.0.path direct

echo "blocks of zeros that cross the pieces in which arrays are drawn"
run 0 collective allreduce --bytes 9M --blocks 700000 --zeros 0.5 --ranks 2 --threads 1 --repeat 1 --warmup 0 --device cpu

echo "the same seed draws the same zeros"
# shellcheck disable=SC2086
for seed in 5 5 6; do
  run 0 collective allreduce $small --device cpu --seed $seed --json "$json"
  number cases.0.density_out >>"$work/densities"
done
[ "$(sed -n 1p "$work/densities")" = "$(sed -n 2p "$work/densities")" ] || fail "one seed, two densities"
[ "$(sed -n 1p "$work/densities")" != "$(sed -n 3p "$work/densities")" ] || fail "two seeds, one density"

echo "a sweep"
run 0 collective allreduce --sweep --bytes 1100K --threads 1 --repeat 1 --warmup 0 --ranks 2 --device cpu --json "$json"
field "$json" cases 18
for i in 0 8 9 17; do check_case $i 2 1; done
field "$json" cases.0.zeros 0
field "$json" cases.8.zeros 0.999
field "$json" cases.8.size 1048576
field "$json" cases.9.size 1126400
[ "$(grep -c "^ *[0-9]" "$work/out")" -eq 18 ] || fail "the table does not have a line for each case"
tail -2 "$work/out" | tr '\n' ' ' | grep -qE '^# time / dense of 18 cases: geometric mean [0-9.]+ # worst [0-9.]+: [0-9]+ B, zeros [0-9.]+ $' ||
  fail "the sweep has no summary"
holds "$(number worst) >= $(number geomean)" "the worst"
if command -v gnuplot >/dev/null; then
  run 0 collective allgather --sweep --bytes 1M --threads 1 --repeat 1 --warmup 0 --ranks 2 --device cpu \
    --plot "$work/sweep.svg"
  grep -q '99.9 % zeros' "$work/sweep.svg" || fail "the picture names no share of zeros"
fi

if [ -c /dev/full ]; then
  echo "a disk that is full"
  for transport in threads tcp; do
    # shellcheck disable=SC2086
    run 1 collective allreduce $small --ranks 2 --device cpu --transport $transport --json /dev/full
    one_line "JSON to a full disk, $transport" "/dev/full: cannot write"
  done
  for words in "" "--json -"; do
    got=0
    # shellcheck disable=SC2086
    "$sley" collective allreduce $small --ranks 2 --device cpu $words >/dev/full 2>"$work/err" || got=$?
    [ $got -eq 1 ] || fail "a full stdout, $words: exit $got"
    [ "$(grep -c '^sley: stdout: cannot write' "$work/err")" -eq 1 ] || fail "a full stdout, $words: $(cat "$work/err")"
  done
fi

echo "what is refused"
run 2 collective
one_line "no kind" "too few words"
run 2 collective allreduce --format dense
one_line "the former word for none" "--format has no \"dense\""
run 2 collective allreduse
one_line "a wrong kind" '"allreduce"'
run 2 collective broadcast
one_line "another collective" "known are allreduce reducescatter allgather"
run 2 collective allreduce --zeros 1.5
one_line "a share above 1" "--zeros is 1.5"
run 2 collective allreduce --zeros -1
one_line "a negative share" "--zeros takes a finite number from 0"
run 2 collective allreduce --bytes many
one_line "no size" "--bytes takes"
run 2 collective allreduce --bytes 3 --device cpu
one_line "less than a value" "give more"
run 2 collective allgather --bytes 40 --ranks 4 --device cpu
one_line "less than a part for each rank" "give more"
run 2 collective allreduce --blocks 0
one_line "no blocks" "--blocks takes a whole number from 1"
for above in 0.5 0.5,0.5 0.5,0.5,0.5,0.5 2,0,0 -1,0,0 0.5,x,0 0.5,0.5,0.5x; do
  run 2 collective allreduce --dense-above $above
  one_line "densities $above" "three densities from 0 to 1"
done
run 2 collective allreduce --format csr
one_line "no such format" "--format"
run 2 collective allreduce --way square
one_line "no such way" "--way"
run 2 collective allreduce --dtype i16
one_line "no such type" "--dtype"
run 2 collective reducescatter --dtype u8
one_line "bytes that would be reduced" "--dtype u8 is not for reducescatter"
run 2 collective allreduce --repeat 0
one_line "no runs" "--repeat takes a whole number from 1"
run 2 collective allreduce --plot "$work/one.svg"
one_line "a picture of one case" "give --sweep"
run 2 collective allreduce --sweep --plot "$work/one.gif"
one_line "no such picture" "known: .svg .png"
run 2 collective allreduce --transport pigeon
one_line "no such transport" "pigeon"
run 1 collective allreduce --json "$work/none/x.json"
one_line "no such folder" "none/x.json"

finish
