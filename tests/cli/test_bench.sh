#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `sley bench`: the lines and the JSON, what is checked, and what is refused. No time decides anything.
# Usage: test_bench.sh SLEY ROOT JSON_FIELD FOLDER_OF_THE_MOCK_DEVICE
set -u
sley=$1 root=$2 json_field=$3 mock_device=$4
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
run 0 generate er:n=300,nnz=3000 -o "$work/er.mtx"
run 0 generate rmat:scale=8,edgefactor=8 -o "$work/rmat.sley"
bench="bench --device cpu --threads 1 --repeat 2"

# field NAME [VALUE]: a field of the JSON is there, and is VALUE.
field() {
  local got
  got=$("$json_field" "$work/bench.json" "$1") || fail "the JSON lacks $1"
  [ $# -lt 2 ] || [ "$got" = "$2" ] || fail "$1 is $got, expected $2"
}

echo "a line for each contender of each case, and the same in JSON"
export SLEY_MODULE_PATH=$mock_device
run 0 bench --device cuda --repeat 2 --matrix "$work/er.mtx $work/rmat.sley" --k 1,9,33 --json "$work/bench.json"
silent_err bench
grep -q '^device     cuda, .*; f32; seed 1; 2 turns each' "$work/out" || fail "it is not said what ran: $(cat "$work/out")"
[ "$("$json_field" "$work/bench.json" cases)" -eq 6 ] &&
  [ "$(grep -c ', 3[0-9]* x .* entries; k = [0-9]*; auto takes \|rmat.sley, 256 x 256, .*; auto takes ' "$work/out")" -eq 6 ] ||
  fail "not 6 cases of 2 matrices x 3 widths: $(cat "$work/out")"
grep -q '^contender  *ms  *spread  */ auto$' "$work/out" || fail "the headings are others: $(cat "$work/out")"
for line in 'auto  *[0-9.]*  *[0-9.]*' 'mock-spmm  *[0-9.]*  *[0-9.]*  *[0-9.]*' 'mock-rival  *[0-9.]*  *[0-9.]*  *[0-9.]*  best rival'; do
  [ "$(grep -c "^  $line\$" "$work/out")" -eq 6 ] || fail "there are not 6 lines $line: $(cat "$work/out")"
done
[ "$(grep -c '^  mock-spmm-wide  *[0-9]' "$work/out")" -eq 4 ] && [ "$(grep -c '^  mock-spmm-wide  *-$' "$work/out")" -eq 2 ] ||
  fail "a kernel for wide products: $(cat "$work/out")"
grep -q '^best rival  *6  *[0-9.]*  *[0-9.]*  .*, k = ' "$work/out" || fail "there is no mean of all: $(cat "$work/out")"
grep -q '^fastest kernel  *6  ' "$work/out" || fail "nothing is said of auto's choice"
grep -q "^mock-spmm-wide  *4  *[0-9.]*  *[0-9.]*  .*, k = " "$work/out" || fail "a kernel for wide products: $(cat "$work/out")"
grep -q "^mock-rival  *6  *[0-9.]*  *[0-9.]*  .*, k = " "$work/out" || fail "there is no mean of the rival: $(cat "$work/out")"
field seed 1
field rivals.cases 6
field rivals.geomean
field choice.worst
last=$(($("$json_field" "$work/bench.json" contenders) - 1))
field contenders.$last.name mock-rival
field contenders.$last.rival true
field contenders.$last.geomean "$("$json_field" "$work/bench.json" rivals.geomean)"
for ((i = 0; i < 6; i++)); do
  field "cases.$i.times.0.name" auto
  field "cases.$i.times.0.turns" 2
  field "cases.$i.best_rival" mock-rival
  field "cases.$i.kernels.0.part" local
  field "cases.$i.kernels.0.share" 1
  read -r low median high <<<"$(for name in p10 median p90; do "$json_field" "$work/bench.json" "cases.$i.times.0.${name}_ms"; done | tr '\n' ' ')"
  awk "BEGIN { exit !(0 < $low && $low <= $median && $median <= $high && $high < 1e6) }" || fail "times of $low, $median and $high ms"
done

echo "a wrong product is an error"
SLEY_MOCK_WRONG=yes run 1 bench --device cuda --repeat 2 --matrix "$work/er.mtx" --k 9 --json "$work/bench.json"
for name in auto mock-rival; do
  grep -q "wrong result of $name at row 0, column 0" "$work/err" || fail "the wrong $name is not named: $(cat "$work/err")"
done
grep -q '^  auto  *WRONG$' "$work/out" || fail "the line does not say so: $(cat "$work/out")"
field cases.0.times.0.wrong true
field cases.0.best_rival null
field rivals.cases 0
unset SLEY_MODULE_PATH

echo "the CPU's kernels, f64, JSON on stdout, k = 1"
# shellcheck disable=SC2086 # a list of words
run 0 $bench --matrix "$work/er.mtx" --k 1 --dtype f64 --json -
cp "$work/out" "$work/bench.json"
field cases.0.k 1
field cases.0.matrix "$work/er.mtx"
field cases.0.best_rival null
field dtype f64
grep -q '^  f64-portable ' "$work/err" || fail "with --json - the lines do not go to stderr"
grep -q '^best rival  *0  *there is no rival here$' "$work/err" || fail "a rival on the CPU: $(cat "$work/err")"

echo "a matrix that cannot be read is named, and the others are measured"
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1.0\n4 1 2.0\n' >"$work/bad.mtx"
for bad in bad absent; do
  # shellcheck disable=SC2086 # a list of words
  run 2 $bench --matrix "$work/$bad.mtx er:n=300,nnz=3000" --k 9 --json "$work/bench.json"
  one_line "a file that cannot be read" "$work/$bad.mtx"
  field cases 1
done

echo "what is refused"
for list in 0 x 8, ,8 8,,9 8x 99999999 -1; do
  run 2 bench "--k=$list"
  one_line "--k $list" "bench: --k takes whole numbers from 1"
  silent_out "--k $list"
done
run 2 bench --repeat 0
one_line "no turns" "--repeat takes a whole number from 1"
run 2 bench karate.mtx
one_line "a word too many" "one word too many"
# shellcheck disable=SC2086 # a list of words
run 0 $bench --matrix er:n=3000,nnz=30000 --k 2,8 --mem-limit 100K
[ "$(grep -c "is left out: X and Y take" "$work/err")" = 1 ] || fail "a case beyond --mem-limit is not told of: $(cat "$work/err")"
finish
