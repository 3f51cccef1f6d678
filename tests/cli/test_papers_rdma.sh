#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The scripts of the RDMA paper in bench/papers/rdma on small matrices, in one process each; and that docs/RDMA.md agrees with the
# results. Without python3: skipped.
# Usage: test_papers_rdma.sh SLEY ROOT JSON_FIELD
set -u
sley=$1 root=$2 json_field=$3
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
graph=$root/data/karate.mtx
json=$work/found.json

# script STATUS NAME WORDS...: runs a script and expects the status.
script() {
  local expected=$1 name=$2 got=0
  shift 2
  python3 "$root/bench/papers/rdma/$name.py" "$@" --sley "$sley" --json "$json" --plot "$work/p.svg" >"$work/out" 2>"$work/err" </dev/null || got=$?
  [ "$got" -eq "$expected" ] || fail "$name $*: exit $got, expected $expected: $(cat "$work/err")"
}

echo "table 1: the fullest of 10 x 10 tiles, counted here again"
script 0 table1 --matrices "$graph"
expected=$(awk '!/^%/ { if (seen++) { for (n = 0; n < 2; n++) { i = n ? $2 : $1; j = n ? $1 : $2; if (n && i == j) continue
  a = i - 1; b = j - 1; t[int(a < 16 ? a / 4 : 4 + (a - 16) / 3), int(b < 16 ? b / 4 : 4 + (b - 16) / 3)]++; all++ } } }
  END { for (k in t) if (t[k] > most) most = t[k]; printf "%.6f", most * 100 / all }' "$graph")
awk -v got="$("$json_field" "$json" rows.0.imbalance)" -v wanted="$expected" 'BEGIN { exit !(got - wanted < 1e-5 && wanted - got < 1e-5) }' ||
  fail "the imbalance is $("$json_field" "$json" rows.0.imbalance), expected $expected"

echo "figure 1: both factors of each seed"
script 0 figure1 --scale 8 --grid 4 --seeds 3
for n in 0 1 2; do
  awk -v end="$("$json_field" "$json" rows.$n.end)" -v stages="$("$json_field" "$json" rows.$n.stages)" 'BEGIN { exit !(end >= 1 && stages >= end) }' ||
    fail "factors of seed $((n + 1)): $(cat "$work/out")"
done
field "$json" paper.stages
field "$json" machine.commit
grep -q "paper, stages: 2.3" "$work/p.svg" || fail "the picture lacks the paper's figure"

echo "table 2 and figures 3 and 5: products of all algorithms, checked"
script 0 table2 --scale 7 --k 8 --ranks 4 --ways here --repeat 1
for name in compute communicate accumulate imbalance ms bytes; do field "$json" cases.7.$name; done
script 0 scaling 3 --matrices "$graph" --k 4 --ranks 1,4 --repeat 1
[ "$("$json_field" "$json" cases.15.ranks)" = 4 ] || fail "not 8 algorithms on 1 and 4 ranks"
script 0 scaling 5 --matrices "$graph" --ranks 2 --ways here --repeat 1
grep -q ">LA WS S-C RDMA<" "$work/p.svg" || fail "the picture lacks a name of the paper"

echo "what is not known is refused in one line"
script 2 scaling 3 --algo tile-x
one_line "scaling" "there is no 'tile-x'"
script 2 scaling 6

if [ -f "$root/docs/RDMA.md" ]; then
  echo "the page agrees with the results"
  python3 "$root/bench/papers/rdma/page.py" --check 2>"$work/err" || fail "$(cat "$work/err")"
fi
finish
