#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `sley bench ops`: the lines and the JSON, what is checked, and what is refused. No time decides anything.
# Usage: test_bench_ops.sh SLEY ROOT JSON_FIELD FOLDER_OF_THE_MOCK_DEVICE
set -u
sley=$1 root=$2 json_field=$3 mock_device=$4
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
json=$work/ops.json
bench="bench ops --device cpu --threads 1 --repeat 2"
small="rmat:scale=6,edgefactor=4"
all="spmm sum mean min max sddmm gat gatv2 dot softmax"

# lines NAME: the lines of an operation in the last table go to $work/lines.
lines() { sed -n '/^matrix /,/^$/p' "$work/out" | awk -v op="$1" '$2 == op' >"$work/lines"; }

# cases: how many the JSON has.
cases() { "$json_field" "$json" cases; }

# all_ok: every case of the JSON was right, in values that were compared.
all_ok() {
  local i pass
  for ((i = 0; i < $(cases); i++)); do
    field "$json" "cases.$i.result" ok
    for ((pass = 0; pass < $("$json_field" "$json" "cases.$i.passes"); pass++)); do
      [ "$("$json_field" "$json" "cases.$i.passes.$pass.checked")" -gt 0 ] || fail "case $i, pass $pass: nothing was compared"
    done
  done
}

echo "a line for each pass of each operation, and the same in JSON"
# shellcheck disable=SC2086 # a list of words
run 0 $bench --matrix "$small" --k 8,16 --heads 1,4 --json "$json"
silent_err "bench ops"
for op in $all; do
  case $op in
    spmm) expected=2 ;;             # 2 widths
    gat | gatv2 | dot) expected=8 ;; # 2 widths x 2 numbers of heads x 2 passes
    *) expected=4 ;;                # 2 widths, of the softmax numbers of heads, x 2 passes
  esac
  lines $op
  [ "$(wc -l <"$work/lines")" -eq "$expected" ] || fail "$op has $(wc -l <"$work/lines") lines, expected $expected"
  awk -v number='^[0-9]+\\.?[0-9]*$' '$3 != "forward" && $3 != "backward" || !($6 > 0) || $8 !~ number || $9 !~ number || $10 !~ number || $NF != "ok" { exit 1 }' \
    "$work/lines" || fail "a line of $op has another shape: $(cat "$work/lines")"
  [ $op = spmm ] || grep -q "^  $op *forward  *[0-9]* cases\?, geometric mean [0-9.]*, worst [0-9.]* (" "$work/out" ||
    [ $op = softmax ] || fail "there is no mean of $op"
done
grep -q '^device     cpu, 1 rank of 1 thread; f32; seed 1; 2 turns each' "$work/out" || fail "it is not said what ran"
[ "$(cases)" -eq 26 ] || fail "$(cases) cases"
all_ok
field "$json" ranks 1
field "$json" device cpu
field "$json" turns 2
field "$json" cases.0.op spmm
field "$json" cases.0.nnz "$("$json_field" "$json" cases.25.nnz)"
field "$json" cases.1.op sum
field "$json" cases.1.k 8
field "$json" cases.1.passes 2
field "$json" cases.1.passes.0.turns 2
for name in median_ms p10_ms p90_ms spread_ms entries_per_s bytes bytes_per_s by_spmm; do
  field "$json" "cases.1.passes.1.$name"
done
field "$json" cases.25.op softmax
field "$json" cases.25.heads 4
field "$json" cases.25.k 0

echo "alone there is no product"
# shellcheck disable=SC2086 # a list of words
run 0 $bench --matrix "$small" --k 8 --ops max --alone --json "$json"
[ "$(cases)" -eq 1 ] || fail "$(cases) cases"
field "$json" cases.0.op max
field "$json" cases.0.spmm_ms null
! grep -q "time / time of spmm" "$work/out" || fail "times are compared with a product that was not measured"
all_ok

echo "bytes are those of the operands and results, once"
# shellcheck disable=SC2086 # a list of words
run 0 $bench --matrix er:n=50,nnz=300 --k 16 --ops mean,sddmm --dtype f64 --json "$json"
nnz=$("$json_field" "$json" cases.0.nnz)
field "$json" cases.0.passes.0.bytes $((nnz * (4 + 8) + 50 * 8 + 2 * 50 * 16 * 8)) # columns, A, rows, X, Y
field "$json" cases.1.op mean
field "$json" cases.1.passes.0.bytes $((nnz * 4 + 50 * 8 + 2 * 50 * 16 * 8))
field "$json" cases.2.op sddmm
field "$json" cases.2.passes.0.bytes $((nnz * (4 + 8) + 50 * 8 + 2 * 50 * 16 * 8))
field "$json" cases.2.passes.1.bytes $((nnz * (4 + 8) + 50 * 8 + 4 * 50 * 16 * 8))
[ "$(cases)" -eq 3 ] || fail "--ops of two: $(cases) cases"

echo "every type, several ranks, and matrices that are empty or not square"
printf '%%%%MatrixMarket matrix coordinate real general\n5 70 4\n1 1 1.0\n1 70 2.0\n3 9 -1.0\n5 1 0.5\n' >"$work/wide.mtx"
printf '%%%%MatrixMarket matrix coordinate real general\n4 4 0\n' >"$work/empty.mtx"
for dtype in f32 f64 f16 bf16; do
  # shellcheck disable=SC2086 # a list of words
  run 0 $bench --matrix "$small $work/wide.mtx" --k 12 --heads 3 --ranks 3 --dtype $dtype --json "$json"
  field "$json" dtype $dtype
  field "$json" ranks 3
  [ "$(cases)" -eq 20 ] || fail "$dtype on 3 ranks: $(cases) cases"
  all_ok
done
# shellcheck disable=SC2086 # a list of words
run 0 $bench --matrix "$work/empty.mtx" --k 4 --heads 1 --json "$json"

echo "JSON on stdout"
# shellcheck disable=SC2086 # a list of words
run 0 $bench --matrix "$small" --k 8 --ops softmax --json -
cp "$work/out" "$json"
field "$json" cases.0.op spmm
grep -q '^matrix ' "$work/err" || fail "with --json - the lines do not go to stderr"

echo "a wrong product is an error"
SLEY_MOCK_WRONG=yes SLEY_MODULE_PATH=$mock_device run 1 bench ops --device cuda --repeat 1 --matrix "$small" --k 8 --ops sum --json "$json"
grep -q ' WRONG: the result of spmm ' "$work/out" || fail "the line does not say so: $(cat "$work/out")"
one_line "a wrong product" "the result of spmm "
field "$json" cases.0.result wrong
field "$json" cases.0.passes 0
field "$json" cases.1.result ok

echo "a device that the host cannot address"
SLEY_MODULE_PATH=$mock_device run 0 bench ops --device cuda --repeat 1 --matrix "$small" --k 8 --heads 2 --json "$json"
field "$json" device cuda
all_ok

echo "heads that do not divide a width, and a matrix that cannot be read"
# shellcheck disable=SC2086 # a list of words
run 0 $bench --matrix "$small" --k 6 --heads 1,4 --ops gat --json "$json"
one_line "4 heads of 6" "attention with k = 6 is left out for 4 heads"
[ "$(cases)" -eq 2 ] || fail "4 heads of 6: $(cases) cases"
# shellcheck disable=SC2086 # a list of words
run 2 $bench --matrix "$work/absent.mtx $small" --k 8 --ops sum --json "$json"
one_line "an absent file" "$work/absent.mtx"
[ "$(cases)" -eq 2 ] || fail "the others are not measured: $(cases) cases"

echo "what is refused"
for list in 0 x 8, ,8 8,,9 8x 99999999 -1; do
  run 2 bench ops "--k=$list"
  one_line "--k $list" "--k takes whole numbers from 1"
  silent_out "--k $list"
  run 2 bench ops "--heads=$list"
  one_line "--heads $list" "--heads takes whole numbers from 1"
done
run 2 bench ops --ops sum,sdmm
one_line "no such operation" "--ops has no \"sdmm\"; the nearest is \"sddmm\""
run 2 bench ops --ranks 0
one_line "no ranks" "--ranks takes a whole number from 1"
run 2 bench ops --cases 3x3
one_line "an option of another mode" "bench ops: unknown option --cases"
run 2 bench ops karate.mtx
one_line "a word too many" "one word too many; usage: sley bench ops"
finish
