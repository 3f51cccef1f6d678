#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# --kernel: each kernel that `sley info` lists multiplies or is refused with a reason, and what plans say of kernels.
# Usage: test_kernel.sh SLEY ROOT JSON_FIELD FOLDER_OF_THE_MOCK_DEVICE
set -u
sley=$1 root=$2 json_field=$3 mock_device=$4
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
graph=$root/data/karate.mtx

# field FILE NAME VALUE
field() {
  [ "$("$json_field" "$1" "$2")" = "$3" ] || fail "$2 is $("$json_field" "$1" "$2"), expected $3"
}

# kernels DEVICE: those that sley info lists, one a line.
kernels() {
  run 0 info
  sed -n "s/^kernels of $1: //p" "$work/out" | tr ' ' '\n' >"$work/kernels"
  [ -s "$work/kernels" ] || fail "sley info lists no kernels of $1"
}

echo "every kernel of the CPU serves one type at most, and says so of the others"
kernels cpu
served=0
while read -r kernel; do
  for dtype in f32 f64 f16 bf16; do
    if "$sley" spmm "$graph" --device cpu --ranks 3 --repeat 1 --dtype $dtype --kernel "$kernel" --json "$work/k.json" \
      >"$work/out" 2>"$work/err" </dev/null; then
      served=$((served + 1))
      field "$work/k.json" kernels.0.kernel "$kernel"
      field "$work/k.json" verify.ok true
      case $kernel in $dtype-*) ;; *) fail "$kernel multiplied $dtype" ;; esac
    else
      case $kernel in
        $dtype-portable) fail "$kernel does not serve $dtype: $(cat "$work/err")" ;;
        $dtype-*) one_line "$kernel, $dtype" "kernel $kernel of device cpu does not serve it: this machine lacks" ;;
        *)
          one_line "$kernel, $dtype" "kernel $kernel of device cpu does not serve it: "
          [[ $kernel != *-portable ]] || one_line "$kernel, $dtype" "it is for values of another type"
          ;;
      esac
    fi
  done
done <"$work/kernels"
[ $served -ge 4 ] || fail "$served kernels served"

echo "the same bits by the portable kernel for plans that are reproducible"
run 0 spmm "$graph" --device cpu --ranks 2 --reproducible --kernel f32-portable --out "$work/a.npy"
run 0 spmm "$graph" --device cpu --ranks 2 --reproducible --out "$work/b.npy"
cmp -s "$work/a.npy" "$work/b.npy" || fail "the portable kernel has other bits"

echo "what plans say of kernels"
run 0 spmm "$graph" --device cpu --ranks 4 --workgroup 2 --algo halo-coalesced --k 512 --repeat 1 --kernel f32-portable --json "$work/k.json"
grep -q '^kernels    f32-portable: local [0-9.]* %, halo [0-9.]* % of the entries$' "$work/out" || fail "the report: $(cat "$work/out")"
local_entries=$("$json_field" "$work/k.json" kernels.0.entries) halo_entries=$("$json_field" "$work/k.json" kernels.1.entries)
[ $((local_entries + halo_entries)) -eq 156 ] || fail "$local_entries local and $halo_entries halo entries are not 156"
field "$work/k.json" kernels.0.part local
field "$work/k.json" kernels.1.part halo
field "$work/k.json" kernels.0.copied 0
field "$work/k.json" remote_nnz "$halo_entries"
run 0 plan "$graph" --device cpu --ranks 4 --workgroup 2 --algo halo-coalesced --k 512 --kernel f32-portable --json "$work/p.json"
grep -q '^kernels    f32-portable: local ' "$work/out" || fail "sley plan names no kernel: $(cat "$work/out")"
grep -q '^  kernel    f32-portable: [0-9]* local entries' "$work/out" || fail "rank 0's plan names no kernel: $(cat "$work/out")"
field "$work/p.json" algorithms.0.kernels.0.entries "$local_entries"
field "$work/p.json" algorithms.0.kernels.1.entries "$halo_entries"
run 0 spmm "$graph" --device cpu --ranks 4 --algo all --repeat 1 --kernel f32-portable --json "$work/all.json"
for ((i = 0; i < $("$json_field" "$work/all.json" algorithms); i++)); do
  field "$work/all.json" "algorithms.$i.kernels.0.kernel" f32-portable
done

echo "narrow products are of bundles, wide ones are not, and so say plans"
for k in 8 512; do
  for command in "spmm --repeat 1" plan; do
    # shellcheck disable=SC2086 # a list of words
    run 0 $command "$graph" --device cpu --ranks 2 --workgroup 1 --algo halo-coalesced --k $k --json "$work/k.json"
    at=
    [ "$command" != plan ] || at=algorithms.0.
    if [ $k -eq 8 ]; then
      grep -q '^kernels    f32-[a-z0-9]*: local [0-9.]* % (bundles), halo [0-9.]* % (bundles) of the entries$' "$work/out" ||
        fail "$command: no bundles at k = 8: $(cat "$work/out")"
      field "$work/k.json" ${at}kernels.0.layout bundles
      field "$work/k.json" ${at}kernels.0.copied "$("$json_field" "$work/k.json" ${at}kernels.0.entries)"
    else
      ! grep -q bundles "$work/out" || fail "$command: bundles at k = 512: $(cat "$work/out")"
      field "$work/k.json" ${at}kernels.0.copied 0
    fi
  done
done
run 0 plan "$graph" --device cpu --ranks 1 --algo halo --k 8
grep -q '^  kernel    f32-[a-z0-9]*: 156 local entries, 100.0 %, 100.0 % of them in bundles$' "$work/out" ||
  fail "rank 0's plan does not say bundles: $(cat "$work/out")"

echo "rows of X that are read in place are not summed in bundles"
run 0 spmm "$graph" --device cpu --ranks 2 --algo halo --k 8 --repeat 1 --json "$work/k.json"
field "$work/k.json" kernels.0.part both
field "$work/k.json" kernels.0.copied 0

echo "a device with memory of its own"
export SLEY_MODULE_PATH=$mock_device
kernels cuda
grep -qx mock-spmm-rowwise "$work/kernels" || fail "the mock's kernels are $(cat "$work/kernels")"
for algo in halo halo-pipelined cover bcast-1d; do
  run 0 spmm "$graph" --device cuda --ranks 3 --algo $algo --repeat 1 --kernel mock-spmm --json "$work/k.json"
  field "$work/k.json" kernels.0.kernel mock-spmm
done
run 2 spmm "$graph" --device cuda --ranks 3 --algo halo --repeat 1 --kernel mock-spmm-rowwise
one_line "a kernel for another algorithm" "kernel mock-spmm-rowwise of device cuda does not serve it: it reads rows of X in place"
grep -q 'part ".*" of halo, [0-9]* entries: ' "$work/err" || fail "the part is not named: $(cat "$work/err")"
run 0 spmm "$graph" --device cuda --ranks 3 --algo rowwise --repeat 1 --kernel mock-spmm-rowwise --json "$work/k.json"
field "$work/k.json" kernels.0.part both
for words in "" :ps=4,dist=2,wpb=3 :partitions=off,wpb=2 :interleave=off :memory=shared :get=thread,ps=2 :ps=8,get=block; do
  run 0 spmm "$graph" --device cuda --ranks 3 --algo rowwise$words --repeat 1 --json "$work/k.json"
  field "$work/k.json" algo rowwise$words
  [ "$("$json_field" "$work/k.json" tuned.0.workload)" -gt 0 ] || fail "rowwise$words: no workload in the JSON"
  [ -z "$words" ] || grep -q '^ *ps  *dist  *wpb  *WPW  *SMEM bytes  *warps  *blocks ' "$work/out" ||
    fail "rowwise$words: no table of shapes: $(cat "$work/out")"
done
run 0 spmm "$graph" --device cuda --ranks 3 --algo rowwise:ps=4,dist=2,halo,rowwise:wpb=2 --repeat 1 --json "$work/k.json"
field "$work/k.json" algorithms.0.algo rowwise:ps=4,dist=2
field "$work/k.json" algorithms.1.algo halo
field "$work/k.json" algorithms.2.algo rowwise:wpb=2
run 0 spmm "$graph" --device cuda --ranks 3 --algo rowwise:ps=4,dist=2,wpb=3 --repeat 1 --json "$work/k.json"
field "$work/k.json" tuned 1
field "$work/k.json" tuned.0.wpb 3
field "$work/k.json" tuned.0.chosen true
run 2 spmm "$graph" --device cuda --ranks 3 --algo halo:ps=4 --repeat 1
one_line "parameters of another algorithm" 'halo: "ps=4" is not known: it takes no parameters'
run 2 spmm "$graph" --device cuda --ranks 3 --algo rowwise --repeat 1 --kernel mock-spmm
one_line "a kernel that reads nothing in place" "does not serve it: the rows of X are read in place"
run 0 spmm "$graph" --device cuda --ranks 3 --algo halo --repeat 1 --k 9 --kernel mock-spmm-wide
run 2 spmm "$graph" --device cuda --ranks 3 --algo halo --repeat 1 --k 8 --kernel mock-spmm-wide
one_line "a kernel for wider products" "kernel mock-spmm-wide of device cuda does not serve it: it is for products of more columns"
run 2 spmm "$graph" --device cuda --ranks 3 --kernel tensor
one_line "a kernel of another device" 'device cuda has no kernel "tensor": auto, or one of '
unset SLEY_MODULE_PATH

echo "what is refused"
for transport in "" "--transport tcp"; do
  # shellcheck disable=SC2086 # a list of words
  run 2 spmm "$graph" --device cpu --ranks 2 $transport --kernel stream
  one_line "an unknown kernel" 'device cpu has no kernel "stream": auto, or one of '
  grep -q 'f32-portable' "$work/err" || fail "the names are not listed: $(cat "$work/err")"
done
run 2 spmm "$graph" --device cpu --local cusparse --kernel f32-portable
one_line "two owners" "the kernel f32-portable is of sley, but the plan asks for kernels of cusparse"
run 0 spmm "$graph" --device cpu --local sley --kernel f32-portable --repeat 1
run 0 spmm "$graph" --device cpu --kernel auto --repeat 1
for words in ps=33 get=lane memory=shared,memory=registers get=block,memory=registers ps; do
  run 2 spmm "$graph" --device cpu --ranks 2 --algo rowwise:$words
  one_line "rowwise:$words" "rowwise: "
done
for words in ps=33 lanes=2; do
  run 2 spmm "$graph" --device cpu --ranks 2 --algo rowwise:$words
  one_line "rowwise:$words" "rowwise: \"$words\" is not known; its parameters are ps=1..32, dist=1..16, wpb=1..16, partitions=on|off, "
done
run 0 spmm "$graph" --device cpu --ranks 2 --algo rowwise:get=block --repeat 1
grep -q '^parameters get=block change nothing: ' "$work/out" || fail "switches on a CPU: $(cat "$work/out")"
run 2 plan "$graph" --machine "$work/other.machine" --kernel f32-portable
one_line "another machine" "--kernel names a kernel of this machine's device"
finish
