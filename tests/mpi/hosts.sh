#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# mpirun over 2 hosts that are network namespaces, 2 ranks on each: all algorithms are right and move what was predicted, hosts
# share memory in themselves alone, and the bits are those of threads. Usage: hosts.sh MPIRUN FOLDER_OF_THE_MODULE SLEY ROOT JSON_FIELD
set -u
mpirun=$1 modules=$2 root=$4 json_field=$5
sley=$(realpath "$3")
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
# shellcheck source=tests/mpi/habits.sh
. "$root/tests/mpi/habits.sh"
require "$mpirun" "$modules"
hosts=$root/tests/hosts/hosts.sh
"$hosts" --per-host 1 -- true 2>/dev/null || exit $?
graph=twin:cyt:scale=0.02

# on words...: sley on 4 ranks, whose first one's output goes to $work/ranks/0.out.
on() {
  local got=0
  rm -rf "$work/ranks"
  "$hosts" --out "$work/ranks" --limit 120 --mpirun "$mpirun" -- "$sley" spmm "$graph" "$@" --transport mpi --threads 1 --repeat 1 \
    --warmup 0 --timeout 60 >"$work/log" 2>&1 || got=$?
  [ "$got" -eq 0 ] || fail "sley spmm $*: $(cat "$work/log" "$work/ranks/0.err")"
}

on --k 24 --algo all --verify --json "$work/all.json"
[ "$(grep -c ' yes .* ok$' "$work/ranks/0.out")" -ge 10 ] || fail "not all algorithms: $(cat "$work/ranks/0.out")"
[ "$("$json_field" "$work/all.json" algorithms.0.volume_bytes.message)" -gt 0 ] || fail "all links count as direct"
[ "$(awk '{ sent += $6 } END { printf "%.0f\n", sent }' "$work/ranks/links.txt")" -gt \
  "$("$json_field" "$work/all.json" algorithms.0.volume_bytes.message)" ] || fail "the messages did not go over the links"
run 0 spmm "$graph" --k 24 --reproducible --ranks 3 --repeat 1 --warmup 0 --out "$work/threads.npy"
for algo in halo cover; do
  on --k 24 --reproducible --algo "$algo" --out "$work/mpi.npy"
  cmp -s "$work/threads.npy" "$work/mpi.npy" || fail "$algo gives other bits than threads"
done
finish
