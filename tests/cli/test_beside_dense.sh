#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# bench/collective/beside_dense.py measures small cases and a sweep, writes its JSON, from which bench/tables/collective.py
# makes tables, and refuses in one line what makes no sense. No time decides. Without python3: skipped.
# Usage: test_beside_dense.sh SLEY ROOT JSON_FIELD [BENCH_MPI_ALLREDUCE MPIRUN]
set -u
sley=$1 root=$2 json_field=$3 program=${4:-} mpirun=${5:-}
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
json=$work/found.json
script=$root/bench/collective/beside_dense.py
quick=(--device cpu --threads 1 --bytes 200000 --cases 3 --rounds 2 --repeat 2 --warmup 0 --seed 5)

# script STATUS WORDS...: runs the script and expects the status.
script() {
  local expected=$1 got=0
  shift
  python3 "$script" "$@" >"$work/out" 2>"$work/err" </dev/null || got=$?
  [ "$got" -eq "$expected" ] || fail "$*: exit $got, expected $expected: $(cat "$work/err")"
}

# check WHERE CASES: the last run's JSON, and its table.
check() {
  local last=$(($2 - 1))
  field "$json" where "$1"
  field "$json" seed 5
  field "$json" cases "$2"
  field "$json" machine.commit
  field "$json" summary.drawn.cases 3
  field "$json" summary.all.cases "$2"
  field "$json" cases.0.fixed true
  field "$json" cases.$last.fixed false
  for i in 0 $last; do
    field "$json" "cases.$i.rounds" 2
    field "$json" "cases.$i.wrong" 0
    for name in kind bytes zeros sley_us rival_us ratio least_ratio most_ratio rounds.1.path rounds.1.wire_bytes; do
      field "$json" "cases.$i.$name"
    done
  done
  grep -q "^$1: seed 5, 2 rounds of 2 times [15] runs$" "$work/out" || fail "$1: no seed in the first line"
  grep -qE '^drawn: 3 cases, dense / compressed: geometric mean [0-9.]+, worst [0-9.]+ \(' "$work/out" || fail "$1: no means: $(cat "$work/out")"
  mkdir -p "$work/results"
  cp "$json" "$work/results/$1.json"
}

echo "ranks of one process beside processes"
script 0 gpus "$sley" "${quick[@]}" --rival tcp --json "$json"
check gpus 10
field "$json" cases.0.rounds.0.transport threads
field "$json" cases.0.rounds.0.rival "2 processes over tcp"

echo "ranks of a launcher"
script 0 hosts "$sley" "${quick[@]}" --transport tcp --launch "$root/bench/collective/as_hosts.sh 2" --json "$json"
check hosts 5
field "$json" cases.0.rounds.0.ranks 2
field "$json" cases.0.rounds.0.transport tcp

echo "the same seed draws the same cases, another one others"
sizes() { for i in 7 8 9; do "$json_field" "$1" "cases.$i.bytes"; done; }
cp "$work/results/gpus.json" "$work/one.json"
for seed in 5 6; do
  script 0 gpus "$sley" "${quick[@]}" --rival tcp --rounds 1 --seed $seed --json "$work/$seed.json"
done
[ "$(sizes "$work/one.json")" = "$(sizes "$work/5.json")" ] || fail "one seed drew two lists"
[ "$(sizes "$work/one.json")" != "$(sizes "$work/6.json")" ] || fail "two seeds drew one list"

if [ -n "$program" ]; then
  echo "beside MPI_Allreduce"
  # shellcheck source=tests/mpi/habits.sh
  . "$root/tests/mpi/habits.sh"
  script 0 mpi "$program" "${quick[@]}" --launch "$mpirun -n 2" --json "$json"
  check mpi 5
  field "$json" cases.0.rounds.0.transport mpi
fi

echo "tables"
python3 - "$root/bench" "$work/results" >"$work/out" 2>"$work/err" <<'EOT' || fail "no tables: $(cat "$work/err")"
import sys
sys.path.insert(0, sys.argv[1])
from tables import collective
collective.report(sys.argv[2] + "/none")
collective.report(sys.argv[2])
EOT
grep -q '^## GPUs of one process beside NCCL, 2 ranks$' "$work/out" || fail "no table of GPUs: $(cat "$work/out")"
[ "$(grep -cE '^\| all[a-z]* (\|[^|]*){10}\|$' "$work/out")" -ge 12 ] || fail "rows are missing: $(cat "$work/out")"
[ "$(grep -cE '^\| (all|drawn|fixed) (\|[^|]*){4}\|$' "$work/out")" -ge 4 ] || fail "means are missing: $(cat "$work/out")"

echo "what is refused, and what fails"
script 2 cpus "$sley"
script 2 gpus "$sley" --rounds 0
one_line "no rounds" "--rounds is 0"
script 2 hosts "$sley"
one_line "no launcher" "hosts wants --launch"
script 2 gpus "$sley" --launch "mpirun -n 2"
one_line "a launcher too many" "gpus takes no --launch"
script 2 gpus "$sley" --json "$work/none/x.json"
one_line "no such folder" "no such folder"
script 1 gpus "$work/nothing" "${quick[@]}" --cases 0 --rounds 1
grep -q 'failed: .*No such file' "$work/out" || fail "a command that is missing: $(cat "$work/out")"
script 77 hosts "$sley" "${quick[@]}" --launch "sh -c 'echo no namespaces; exit 77'"
grep -qx 'no namespaces' "$work/out" || fail "why it is skipped is not told"

echo "a sweep"
script 0 sweep "$sley" --device cpu --rival tcp --threads 1 --bytes 1048576 --repeat 1 --warmup 0 --kinds allgather --json "$json"
field "$json" cases 9
field "$json" summary.cases 9
field "$json" machine.commit
for name in size zeros time_us dense_us rival_us share own_share path; do
  field "$json" "cases.8.$name"
done
[ "$(grep -c '^against .* of 9 cases above' "$work/out")" -eq 2 ] || fail "verdicts are missing: $(cat "$work/out")"
script 2 sweep "$sley" --bytes 5
one_line "too few bytes" "--bytes is 5"
script 2 sweep "$sley" --kinds gather
one_line "an unknown collective" "--kinds: there is no 'gather'"
script 1 sweep "$work/nothing" --device cpu
one_line "a missing command" "No such file"
finish
