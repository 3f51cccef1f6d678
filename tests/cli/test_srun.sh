#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ranks that SLURM's srun starts, on this host, by a controller and a node of the test's own. Skipped, saying why,
# where slurm-wlm is not installed or its daemons do not start. Usage: test_srun.sh SLEY MATRIX
sley=$(realpath "$1") matrix=$2
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
skip() {
  echo "skipped: $*"
  exit 77
}
for program in slurmctld slurmd srun sinfo; do
  command -v "$program" >/dev/null || skip "there is no $program (Debian: slurm-wlm)"
done

host=$(hostname -s)
port=$((20000 + RANDOM % 10000))
mkdir "$work/state" "$work/spool"
cat >"$work/slurm.conf" <<EOT
ClusterName=sley
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmdPort=$((port + 1))
AuthType=auth/none
CredType=cred/none
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool
SlurmctldPidFile=$work/controller.pid
SlurmdPidFile=$work/node.pid
SlurmctldLogFile=$work/controller.log
SlurmdLogFile=$work/node.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SlurmdParameters=config_overrides
NodeName=$host NodeAddr=127.0.0.1 CPUs=8 State=UNKNOWN
PartitionName=all Nodes=$host Default=YES State=UP OverSubscribe=FORCE:8
EOT
export SLURM_CONF=$work/slurm.conf
stop() {
  local name
  for name in node controller; do
    [ ! -s "$work/$name.pid" ] || kill "$(cat "$work/$name.pid")" 2>/dev/null
  done
  sleep 1
  rm -rf "$work"
}
trap stop EXIT
slurmctld >"$work/controller.out" 2>&1 || skip "slurmctld: $(tail -n 1 "$work/controller.out")"
slurmd >"$work/node.out" 2>&1 || skip "slurmd: $(tail -n 1 "$work/node.out")"
for ((i = 0; i < 100; i++)); do
  sinfo -h -o %t 2>/dev/null | grep -q idle && break
  sleep 0.2
done
[ $i -lt 100 ] || skip "the node did not become idle: $(tail -n 1 "$work/node.log")"

# job STATUS words...: four tasks of srun run sley; srun ends with the status.
job() {
  local expected=$1 got=0
  shift
  timeout 120 srun -n 4 "$@" >"$work/out" 2>"$work/err" </dev/null || got=$?
  [ "$got" -eq "$expected" ] || fail "srun $*: exit $got, expected $expected: $(cat "$work/err")"
}

for algo in halo cover; do
  job 0 "$sley" spmm "$matrix" --algo "$algo" --device cpu
  grep -q '; 4 ranks' "$work/out" || fail "$algo: not 4 ranks: $(head -n 1 "$work/out")"
  grep -q '^device .*transport tcp' "$work/out" || fail "$algo: not over tcp"
  [ "$(grep -c '^check *ok' "$work/out")" -eq 1 ] || fail "$algo: not checked once: $(cat "$work/out")"
done
job 2 "$sley" spmm "$work/none.mtx" --device cpu
grep -q 'none.mtx: cannot open' "$work/err" || fail "a missing matrix: $(cat "$work/err")"
# One task does not come: the others say which.
# shellcheck disable=SC2016 # the tasks' shell expands it
job 3 sh -c '[ "$SLURM_PROCID" != 1 ] || exit 3; exec "$@"' task "$sley" spmm "$matrix" --device cpu --timeout 3
grep -q 'rank 1 of 4 did not come' "$work/err" || fail "a task that does not come: $(cat "$work/err")"
finish
