#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Matrices in tiles between workgroups: with MPI's windows, and by sockets where MPI provides no MPI_THREAD_MULTIPLE or makes no
# window, as the command then says. The bits are those of threads.
# Usage: windows.sh MPIRUN FOLDER_OF_THE_MODULE SLEY ROOT WRAPPER
set -u
mpirun=$1 modules=$2 root=$4 wrapper=$5
sley=$(realpath "$3")
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
# shellcheck source=tests/mpi/habits.sh
. "$root/tests/mpi/habits.sh"
require "$mpirun" "$modules"
graph=er:n=900,nnz=9000,seed=3

# tiles NAME [VARIABLE=VALUE...]: two algorithms under mpirun, whose output goes to $work/NAME.
tiles() {
  local name=$1 got=0
  shift
  for algo in tile-c tile-a; do
    env "$@" "$mpirun" -n 3 "$sley" spmm "$graph" --algo "$algo" --workgroup 1 --tiles 3 --k 24 --transport mpi --threads 1 \
      --repeat 2 --warmup 0 --timeout 60 --out "$work/mpi.npy" </dev/null >"$work/$name" 2>&1 || got=$?
    [ "$got" -eq 0 ] || fail "$name, $algo: exit $got: $(cat "$work/$name")"
    cmp -s "$work/$algo.npy" "$work/mpi.npy" || fail "$name, $algo: other bits than threads"
  done
}

for algo in tile-c tile-a; do
  run 0 spmm "$graph" --algo "$algo" --ranks 3 --tiles 3 --k 24 --threads 1 --repeat 1 --warmup 0 --out "$work/$algo.npy"
done
tiles windows
grep -q 'by sockets' "$work/windows" && fail "no windows: $(cat "$work/windows")"
tiles serialized LD_PRELOAD="$wrapper" SLEY_MPI_LEVEL=2
grep -zq 'by[[:space:]]*sockets:[[:space:]]*this[[:space:]]*MPI[[:space:]]*does[[:space:]]*not[[:space:]]*provide' "$work/serialized" ||
  fail "threads: nothing is said of sockets: $(cat "$work/serialized")"
if "$mpirun" --version 2>&1 | grep -qi 'open.*mpi\|OpenRTE'; then # whose components for windows can be left out
  tiles refused OMPI_MCA_osc='^rdma,sm,pt2pt,ucx'
  grep -zq 'by[[:space:]]*sockets:[[:space:]]*this[[:space:]]*MPI[[:space:]]*cannot' "$work/refused" ||
    fail "windows: nothing is said of sockets: $(cat "$work/refused")"
fi
finish
