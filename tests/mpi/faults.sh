#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# 3 ranks under mpirun of which one never comes to MPI_Init, is stopped, or is killed: the others end within the time limit and
# three times what a whole job takes here, at least 10 s, and say why (of a rank that is killed mpirun does), and no process stays.
# The limits follow a job without a fault, and a fault comes once rank 0 counts products: load makes the test longer, not wrong.
# Usage: faults.sh MPIRUN FOLDER_OF_THE_MODULE SLEY ROOT
set -u
mpirun=$1 modules=$2 root=$4
sley=$(realpath "$3")
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
# shellcheck source=tests/mpi/habits.sh
. "$root/tests/mpi/habits.sh"
require "$mpirun" "$modules"

export TERM=xterm
cat >"$work/rank" <<'END'
#!/bin/bash
# rank FOLDER WHAT COMMAND...: notes its process; rank 1 does not come where WHAT is late. Rank 0 gets a terminal, on which the
# command counts its products, in FOLDER/terminal. Where WHAT is stopped, ranks 0 and 2 end together: mpirun kills the others as
# soon as one has ended with an error, often before they have spoken.
rank=${OMPI_COMM_WORLD_RANK:-$PMI_RANK}
folder=$1 what=$2
note="echo \$\$ >$folder/pid.new.$rank; mv $folder/pid.new.$rank $folder/pid.$rank; exec"
shift 2
[ "$what.$rank" = late.1 ] && set -- sleep 600
if [ "$rank" = 0 ]; then
  script -qefc "$note $*" "$folder/terminal"
else
  bash -c "$note $*"
fi
status=$?
touch "$folder/ended.$rank"
if [ "$what" = stopped ]; then
  for _ in {1..600}; do
    [ -e "$folder/ended.0" ] && [ -e "$folder/ended.2" ] && break
    sleep 0.1
  done
fi
exit $status
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

# job WHAT REPEAT LIMIT: starts the ranks; pid is mpirun's.
job() {
  rm -f "$work"/pid.* "$work"/ended.* "$work/terminal"
  "$mpirun" -n 3 "$work/rank" "$work" "$1" "$sley" spmm twin:cyt:scale=0.02 --algo cover --transport mpi --threads 1 \
    --timeout "$3" --repeat "$2" </dev/null >"$work/out" 2>"$work/err" &
  pid=$!
}

said() { cat "$work/err" "$work/out" "$work/terminal" 2>/dev/null; }

# at_work: all ranks have made a product: rank 0 is beyond its first.
at_work() { grep -aqE '\] ([2-9]|[1-9][0-9]+)/10000[0-9][0-9]' "$work/terminal" 2>/dev/null; }

# strike WHAT SIGNAL: starts the ranks, sends rank 1 the signal once all are there and at work, and waits for the end.
strike() {
  local what=$1 signal=$2 start got=0
  job "$what" 1000000 "$limit"
  until { [ -e "$work/pid.0" ] && [ -e "$work/pid.1" ] && [ -e "$work/pid.2" ]; } && { [ "$what" = late ] || at_work; }; do
    if ! kill -0 "$pid" 2>/dev/null; then
      fail "$what: ended before the fault: $(said)"
      return
    fi
    sleep 0.05
  done
  start=$(now_ms)
  [ -z "$signal" ] || kill -"$signal" "$(cat "$work/pid.1")"
  # Who starts ranks waits for one that is stopped: it is killed once the others have ended.
  if [ "$signal" = STOP ]; then
    until { ! lives 0 && ! lives 2; } || [ $(($(now_ms) - start)) -gt $most ]; do sleep 0.1; done
    [ $(($(now_ms) - start)) -le $most ] || fail "$what: not both survivors have ended in time: $(said)"
    kill -KILL "$(cat "$work/pid.1")" 2>/dev/null
  fi
  wait "$pid" || got=$?
  [ "$got" -ne 0 ] || fail "$what: exit 0"
  # mpirun has passed on all that was said.
  [ "$signal" != STOP ] || [ "$(said | grep -aoE 'rank 1 (failed|has not)' | wc -l)" -ge 2 ] ||
    fail "$what: not both survivors have named rank 1: $(said)"
  [ "$signal" = STOP ] || [ $(($(now_ms) - start)) -le $most ] || fail "$what: ended after $(($(now_ms) - start)) ms"
  until ! alive || [ $(($(now_ms) - start)) -gt $((2 * most)) ]; do sleep 0.1; done
  alive && fail "$what: a rank still runs"
  echo "$what: ended after $(($(now_ms) - start)) ms"
}

start=$(now_ms)
job none 1 120
wait "$pid" || fail "without a fault: $(said)"
took=$(($(now_ms) - start))
limit=$((3 * took / 1000)) most=$((3 * took))
[ "$limit" -ge 2 ] || limit=2
[ "$most" -ge 10000 ] || most=10000
most=$((most + 1000 * limit))
echo "a job takes $took ms: --timeout $limit, and the end within $most ms"

strike late ''
said | grep -aq "MPI_Init_thread of all ranks has not come within $limit s" || fail "late: $(said)"
strike stopped STOP
strike killed KILL
finish
