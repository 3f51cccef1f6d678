#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The command over MPI, 1 to 8 ranks: all algorithms are right and move what was predicted, and the bits are those of threads.
# Usage: spmm.sh MPIRUN FOLDER_OF_THE_MODULE SLEY ROOT
set -u
mpirun=$1 modules=$2 root=$4
sley=$(realpath "$3")
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
# shellcheck source=tests/mpi/habits.sh
. "$root/tests/mpi/habits.sh"
require "$mpirun" "$modules"
graph=er:n=700,nnz=9000,seed=3

# by RANKS words...: sley under mpirun.
by() {
  local ranks=$1 got=0 try
  shift
  for try in 1 2; do
    got=0
    "$mpirun" -n "$ranks" "$sley" spmm "$graph" "$@" --transport mpi --threads 1 --repeat 1 --warmup 0 --timeout 60 </dev/null >"$work/out" 2>"$work/err" || got=$?
    # On a loaded machine the mpiexec of MPICH 4.0 was seen to fail by itself, once in some hundred starts.
    grep -q 'mpiexec.*HYD_pmcd_pmiserv_proxy_init_cb.*assert' "$work/err" || break
    echo "mpiexec failed, start $try: $(head -n 1 "$work/err")"
  done
  [ "$got" -eq 0 ] || fail "$ranks ranks: $*: $(cat "$work/err")"
}

compared=0 products=0
run 0 spmm "$graph" --k 24 --reproducible --ranks 3 --repeat 1 --warmup 0 --out "$work/threads.npy"
for ranks in 1 2 3 8; do
  for group in $(printf "%s\n" 1 "$ranks" | sort -un); do
    by "$ranks" --k 24 --workgroup "$group" --algo all --verify
    products=$((products + $(grep -c ' yes .* ok$' "$work/out")))
    [ "$ranks" -eq 1 ] || [ "$(grep -c ' yes .* ok$' "$work/out")" -ge 9 ] || fail "$ranks ranks: not all algorithms: $(cat "$work/out")"
  done
  for algo in halo halo-pipelined cover; do
    by "$ranks" --k 24 --reproducible --algo "$algo" --out "$work/mpi.npy"
    cmp -s "$work/threads.npy" "$work/mpi.npy" || fail "$algo on $ranks ranks gives other bits than threads"
    compared=$((compared + 1))
  done
done
# mpirun ends all ranks once one has ended: what is wrong is told before.
for transport in mpi tcp; do
  for round in 1 2 3; do
    got=0
    "$mpirun" -n 4 "$sley" spmm "$work/none.mtx" --transport "$transport" --timeout 60 </dev/null >"$work/out" 2>&1 || got=$?
    [ "$got" -eq 2 ] && [ "$(grep -c 'none.mtx: cannot open' "$work/out")" -eq 1 ] ||
      fail "a missing matrix over $transport, round $round: exit $got: $(cat "$work/out")"
  done
done
echo "$products products right and as predicted, $compared with the bits of threads"
finish
