#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The command as a step of SLURM's on this host, by a cluster of one node that the test starts for itself: ranks that srun starts
# find each other over tcp, and over mpi where SLURM speaks PMIx; all algorithms are right, and the bits are those of threads.
# Usage: srun.sh FOLDER_OF_THE_MODULE SLEY ROOT
set -u
modules=$1 root=$3
sley=$(realpath "$2")
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
# shellcheck source=tests/mpi/habits.sh
. "$root/tests/mpi/habits.sh"
PATH=$PATH:/usr/sbin:/sbin
for tool in slurmctld slurmd srun; do
  command -v $tool >/dev/null || { echo "skipped: $tool is not installed (Debian: slurm-wlm)"; exit 77; }
done

node=$(hostname -s)
port=$((20000 + $$ % 20000))
cat >"$work/slurm.conf" <<END
ClusterName=sley
SlurmctldHost=$node(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/none
CredType=cred/none
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/linear
SwitchType=switch/none
MpiDefault=none
ReturnToService=2
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
NodeName=$node NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$node Default=YES State=UP OverSubscribe=FORCE:8
END
export SLURM_CONF=$work/slurm.conf
mkdir "$work/state" "$work/spool"
slurmctld -D >"$work/ctld.out" 2>&1 &
ctld=$!
slurmd -D -N "$node" >"$work/slurmd.out" 2>&1 &
slurmd=$!
trap 'kill $ctld $slurmd 2>/dev/null; wait $ctld $slurmd 2>/dev/null; rm -rf "$work"' EXIT
logs() { tail -n 5 "$work"/*.log "$work"/*.out; }
for _ in $(seq 600); do
  state=$(sinfo -h -o %t 2>/dev/null)
  [ "$state" = idle ] && break
  kill -0 $ctld 2>/dev/null && kill -0 $slurmd 2>/dev/null || break
  sleep 0.2
done
if [ "$state" != idle ]; then
  echo "skipped: this system runs no SLURM: $(logs)"
  exit 77
fi

graph=er:n=700,nnz=9000,seed=3
# by RANKS words...: the command as a step.
by() {
  local ranks=$1 got=0
  shift
  srun -n "$ranks" -O --export=ALL "${mpi[@]}" "$sley" spmm "$graph" "$@" --k 24 --threads 1 --repeat 1 --warmup 0 --timeout 60 \
    </dev/null >"$work/step" 2>"$work/err" || got=$?
  [ "$got" -eq 0 ] || fail "srun ${mpi[*]} -n $ranks sley spmm $*: $got: $(cat "$work/err" "$work/step")"
}
# all TRANSPORT: 1 to 4 ranks.
all() {
  for ranks in 1 2 4; do
    by $ranks --algo all --verify --transport "$1"
    [ "$(grep -c ' yes .* ok$' "$work/step")" -ge 5 ] || fail "$1, $ranks ranks: not all algorithms: $(cat "$work/step")"
  done
  by 3 --reproducible --algo halo --out "$work/srun.npy" --transport "$1"
  cmp -s "$work/threads.npy" "$work/srun.npy" || fail "$1 under srun gives other bits than threads"
  echo "$1: ok"
}
run 0 spmm "$graph" --k 24 --reproducible --ranks 3 --repeat 1 --warmup 0 --out "$work/threads.npy"
mpi=()
all tcp
export SLEY_MODULE_PATH=$modules
if "$sley" info | grep -q '^transport *mpi *yes.*Open MPI' && srun --mpi=list 2>&1 | grep -q pmix; then
  mpi=(--mpi=pmix)
  all mpi
else
  echo "mpi: not tried, SLURM has no PMIx here, or the module is not one of Open MPI"
fi
# A step ends as a whole: what is wrong is told once, and a task that does not come is named.
got=0
srun -n 3 -O "$sley" spmm "$work/none.mtx" </dev/null >"$work/step" 2>&1 || got=$?
[ "$got" -eq 2 ] && [ "$(grep -c 'none.mtx: cannot open' "$work/step")" -eq 1 ] || fail "a missing matrix: $got: $(cat "$work/step")"
got=0
# shellcheck disable=SC2016 # the tasks' shell expands it
srun -n 3 -O sh -c '[ "$SLURM_PROCID" != 1 ] || exit 3; exec "$@"' task "$sley" spmm "$graph" --timeout 3 </dev/null >"$work/step" 2>&1 || got=$?
[ "$got" -eq 3 ] && grep -q 'rank 1 of 3 did not connect' "$work/step" || fail "a task that does not come: $got: $(cat "$work/step")"
finish
