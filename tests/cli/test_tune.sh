#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `sley tune` on a device that stands for GPUs: the description is whole, is used for ranks on that device alone, and
# lies beside the one for cores. No time decides anything.
# Usage: test_tune.sh SLEY ROOT JSON_FIELD FOLDER_OF_THE_MOCK_DEVICE
set -u
sley=$1 root=$2 json_field=$3 mock_device=$4
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
graph=$root/data/karate.mtx
export XDG_CACHE_HOME=$work/cache
unset SLEY_MACHINE

# source DEVICE: where the machine comes from that plans for the device predict for.
source_of() {
  run 0 plan "$graph" --device "$1" --json "$work/plan.json"
  "$json_field" "$work/plan.json" machine_source
}

# Every number of the description FILE is finite and above 0, but for those where 0 means that nothing is said and for
# latencies.
check_figures() {
  awk '/^#/ || /^name/ || /^device/ || /^overlap/ { next }
    { for (i = 2; i <= NF; i++) {
        if ($i ~ /^(self|direct|message)$/ || ($1 == "pass" && i == 2)) continue
        zero = $1 ~ /^(nodes|ranks-per-node|threads|cores)$/ || ($1 == "link" && i == 3) || ($1 == "pass" && i == 4)
        if ($i !~ /^[0-9.]+(e[-+]?[0-9]+)?$/ || (!zero && $i + 0 <= 0)) print FILENAME ": " $0 } }' "$1" >"$work/wrong"
  [ ! -s "$work/wrong" ] || fail "figures that cannot be: $(cat "$work/wrong")"
}

# has FILE LINES...: the description has a line that begins so.
has() {
  local file=$1 line
  shift
  for line in "$@"; do
    grep -q "^$line" "$file" || fail "$file lacks a line '$line'"
  done
}

echo "no GPU"
export CUDA_VISIBLE_DEVICES=
run 2 tune --device cuda --seconds 1 --out "$work/none.machine"
one_line "no GPU or no module" "cuda"
unset CUDA_VISIBLE_DEVICES
export SLEY_MODULE_PATH=$mock_device
SLEY_MOCK_DEVICES=0 run 2 tune --device cuda --seconds 1 --out "$work/none.machine"
one_line "no GPU" "device cuda: no GPU is visible"
run 2 tune --device cuda --transport tcp --seconds 1 --out "$work/none.machine"
one_line "ranks that would be forked" "launcher"
run 2 tune --device auto
[ ! -e "$work/none.machine" ] || fail "a description was written without a GPU"

echo "cores, in little time: smaller things, and every kind of figure"
run 0 tune --seconds 0.5 --out "$work/cores.machine"
silent_err "tune of cores"
check_figures "$work/cores.machine"
has "$work/cores.machine" "device cpu" "gather 16 " "spmm 16 " "spmm 64 " "spmm 256 " "spmm 512 " "near " "message self 64 " "message direct 64 " \
  "fetch direct 64 " "pass pici "
run 0 plan "$graph" --ranks 4 --machine "$work/cores.machine"

echo "several GPUs: everything is measured"
run 0 tune --device cuda --seconds 1 --out "$work/gpus.machine"
silent_err "tune"
check_figures "$work/gpus.machine"
has "$work/gpus.machine" "device cuda" "launch " "overlap yes" "name .*, 3 GPUs, threads" "cores 0" "gather 16 " "spmm 64 "
! grep -q "^near" "$work/gpus.machine" || fail "plans on GPUs are to sample their blocks"
for class in self direct message; do
  has "$work/gpus.machine" "link $class " "message $class 64 " "message $class 1.04858e+06 "
done
for pass in nonzeros pici coo decompress sum sum-own reduce copy; do has "$work/gpus.machine" "pass $pass "; done
has "$work/gpus.machine" "fetch direct 64 " "fetch message 64 "
run 0 plan "$graph" --ranks 4 --machine "$work/gpus.machine"
grep -q '^machine .*gpus.machine' "$work/out" || fail "plan does not name the machine: $(cat "$work/out")"
run 0 plan "$graph" --ranks 8 --machine "$work/gpus.machine" --algo halo

echo "one GPU: the links are those built in; the description goes to the cache"
for device in cpu cuda; do
  [ "$(source_of $device)" = "built in" ] || fail "$device: without a description it is $(source_of $device)"
done
SLEY_MOCK_DEVICES=1 run 0 tune --device cuda --seconds 1
for file in "$work"/cache/sley/*.cuda.machine; do
  [ -f "$file" ] || fail "tune has left nothing for cuda in $work/cache/sley"
  grep -qF "$file" "$work/out" || fail "tune does not say where it wrote: $(cat "$work/out")"
  check_figures "$file"
  has "$file" "name .*, 1 GPU, threads" "overlap yes" "link direct 0 3.4e+11" "link message 4e-05 1e+10" "meeting 3e-05" \
    "message self 64 " "spmm 64 "
  if grep -q '^message direct\|^message message\|^fetch' "$file"; then
    fail "one GPU has measured links: $(cat "$file")"
  fi
done

echo "each device has a description of its own in the cache, and both can be there"
for file in "$work"/cache/sley/*.cuda.machine; do
  [ "$(source_of cuda)" = "$file" ] || fail "cuda: $(source_of cuda) instead of $file"
  [ "$(source_of cpu)" = "built in" ] || fail "cpu: $(source_of cpu) instead of the one built in"
  sed 's/^device cuda/device cpu/' "$file" >"${file%.cuda.machine}.machine"
  [ "$(source_of cuda)" = "$file" ] || fail "cuda: $(source_of cuda) instead of $file"
  [ "$(source_of cpu)" = "${file%.cuda.machine}.machine" ] || fail "cpu: $(source_of cpu) instead of its own"
  run 0 spmm "$graph" --device cuda --ranks 2 --repeat 1 --json "$work/spmm.json"
done

echo "SLEY_MACHINE names one file, for its device alone"
export SLEY_MACHINE=$work/gpus.machine
[ "$(source_of cuda)" = "$SLEY_MACHINE" ] || fail "cuda: $(source_of cuda) instead of $SLEY_MACHINE"
[ "$(source_of cpu)" = "built in" ] || fail "cpu: $(source_of cpu) instead of the one built in"
SLEY_MACHINE=builtin
[ "$(source_of cuda)" = "built in" ] || fail "cuda: $(source_of cuda) instead of the one built in"

finish
