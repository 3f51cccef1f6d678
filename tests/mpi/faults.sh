#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 3 ranks under mpirun of which one never comes to MPI_Init, is stopped, or is killed: the others end within the time limit and
# 10 s, and say why (of a rank that is killed mpirun does), and no process stays.
# Usage: faults.sh MPIRUN FOLDER_OF_THE_MODULE SLEY ROOT
set -u
mpirun=$1 modules=$2 root=$4
sley=$(realpath "$3")
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
# shellcheck source=tests/mpi/habits.sh
. "$root/tests/mpi/habits.sh"
require "$mpirun" "$modules"
limit=2 most=12000

cat >"$work/rank" <<'END'
#!/bin/bash
# rank FOLDER WHAT COMMAND...: notes its process; rank 1 does not come where WHAT is late.
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
echo $$ >"$1/pid.new.$rank"
mv "$1/pid.new.$rank" "$1/pid.$rank"
[ "$2.$rank" != late.1 ] || exec sleep 60
shift 2
exec "$@"
END
chmod +x "$work/rank"

now_ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }

# lives RANK: whether its process still is one.
lives() {
  kill -0 "$(cat "$work/pid.$1")" 2>/dev/null && ! grep -q '^State:[[:space:]]*Z' "/proc/$(cat "$work/pid.$1")/status"
}

# alive: whether any rank's does.
alive() {
  lives 0 || lives 1 || lives 2
}

# strike WHAT SIGNAL: starts the ranks, sends rank 1 the signal once all are there and at work, and waits for the end.
strike() {
  local what=$1 signal=$2 start pid got=0
  rm -f "$work"/pid.*
  "$mpirun" -n 3 "$work/rank" "$work" "$what" "$sley" spmm twin:cyt:scale=0.02 --algo cover --transport mpi --threads 1 \
    --timeout "$limit" --repeat 1000000 </dev/null >"$work/out" 2>"$work/err" &
  pid=$!
  until [ -e "$work/pid.0" ] && [ -e "$work/pid.1" ] && [ -e "$work/pid.2" ]; do sleep 0.05; done
  [ "$what" = late ] || sleep 1.5
  start=$(now_ms)
  [ -z "$signal" ] || kill -"$signal" "$(cat "$work/pid.1")"
  # Who starts ranks waits for one that is stopped: it is killed once the others have ended. Both name it; but MPICH's mpirun
  # kills the second survivor, often before it has spoken, as soon as the first one has ended.
  if [ "$signal" = STOP ]; then
    until { ! lives 0 && ! lives 2; } || [ $(($(now_ms) - start)) -gt $most ]; do sleep 0.1; done
    [ $(($(now_ms) - start)) -le $most ] || fail "$what: not both survivors have ended in time: $(cat "$work/err")"
    if "$mpirun" --version 2>&1 | grep -qi 'open *mpi\|openrte'; then
      [ "$(grep -o 'rank 1 failed' "$work/err" | wc -l)" -ge 2 ] || fail "$what: not both survivors have named rank 1: $(cat "$work/err")"
    fi
    grep -Eq 'rank 1 (failed|has not)' "$work/err" || fail "$what: rank 1 is not named: $(cat "$work/err")"
    kill -KILL "$(cat "$work/pid.1")" 2>/dev/null
  fi
  wait "$pid" || got=$?
  [ "$got" -ne 0 ] || fail "$what: exit 0"
  [ "$signal" = STOP ] || [ $(($(now_ms) - start)) -le $most ] || fail "$what: ended after $(($(now_ms) - start)) ms"
  for _ in $(seq 50); do alive && sleep 0.1; done
  alive && fail "$what: a rank still runs"
  echo "$what: ended after $(($(now_ms) - start)) ms"
}

strike late ''
grep -q 'MPI_Init_thread of all ranks has not come within 2 s' "$work/err" || fail "late: $(cat "$work/err")"
strike stopped STOP
strike killed KILL
finish
