#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Lists of numbers for --ranks and --k: a run for each combination, in one table, JSON and picture.
# Usage: test_sweep.sh SLEY ROOT JSON_FIELD
set -u
sley=$1 root=$2 json_field=$3
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
graph=$root/data/karate.mtx
json=$work/sweep.json
export TMPDIR=$work/runs
mkdir "$TMPDIR"

# rows COUNT PATTERN: the table has this many lines of the form.
rows() { [ "$(grep -cE "$2" "$work/out")" = "$1" ] || fail "not $1 lines of $2: $(cat "$work/out")"; }

echo "every combination is run, the last list varies fastest"
run 0 spmm "$graph" --ranks 2,4 -k 3,5,8 --algo tile-c,tile-summa --repeat 2 --json "$json"
silent_err "sweep"
rows 12 '^tile-(c|summa) +[24] +[358]( +[0-9.]+){5} +ok$'
field "$json" command spmm
field "$json" ranks.1 4
field "$json" k.2 8
for n in 0 1 2 3 4 5; do
  field "$json" runs.$n.ranks $((n < 3 ? 2 : 4))
  field "$json" runs.$n.k "$(set -- 3 5 8; shift $((n % 3)); echo "$1")"
  field "$json" runs.$n.algorithms.1.algo tile-summa
done
[ -z "$(ls "$TMPDIR")" ] || fail "files of runs are left: $(ls "$TMPDIR")"

echo "a run is the one of the command alone"
run 0 spmm "$graph" --ranks 4 -k 5 --algo tile-c,tile-summa --repeat 2 --json "$work/one.json"
for name in volume_bytes.direct predicted_bytes.direct flops_imbalance; do
  field "$json" runs.4.algorithms.0.$name "$("$json_field" "$work/one.json" algorithms.0.$name)"
done

echo "sparse products, rooflines and plans; a later option replaces an earlier list, and -- ends options"
run 0 spgemm --ranks=2,3 --algo tile-c,tile-a --verify --repeat 1 -- "$graph"
rows 4 '^tile-[ac] +[23]( +[0-9.]+){5} +ok$'
run 0 roofline "$graph" --ranks 4,9 --k 16 --k 8,32 --algo tile-c,tile-summa --json "$json"
rows 8 '^tile-(c|summa) +[49] +(8|32)( +[0-9.]+){5}$'
field "$json" runs.3.k 32
run 0 roofline "$graph" --ranks 9 --k 32 --algo tile-c,tile-summa --json "$work/one.json"
for name in predicted_ms flops_imbalance stage_imbalance; do
  field "$json" runs.3.algorithms.0.$name "$("$json_field" "$work/one.json" algorithms.0.$name)"
done
run 0 plan "$graph" --ranks 2,4 --algo halo,cover --json -
grep -q '"command": "plan"' "$work/out" || fail "plan prints no JSON"
run 0 plan "$graph" --ranks 2,4 --ranks 3 --algo halo
grep -q '^halo .*3' "$work/out" || grep -q ' 3 ranks' "$work/out" || fail "the last --ranks does not hold: $(cat "$work/out")"

if command -v gnuplot >/dev/null; then
  echo "a picture over the first list, with lines for the numbers of the second"
  run 0 spmm "$graph" --ranks 2,4 -k 3,5 --algo tile-c --repeat 1 --plot "$work/p.svg"
  for text in '>tile-c, k 3<' '>tile-c, k 5<' '>ranks<'; do
    grep -q -- "$text" "$work/p.svg" || fail "the picture lacks $text"
  done
fi

echo "what cannot be done is refused"
run 2 spmm "$graph" --ranks 2,x
one_line "sweep" '--ranks takes a whole number'
run 2 spmm "$graph" --ranks 2,
one_line "sweep" '--ranks takes a whole number'
run 2 spmm "$graph" --ranks 2,4 --out "$work/y.npy"
one_line "sweep" '--out goes with one run'
run 2 spmm - --ranks 2,4 <"$graph"
one_line "sweep" 'cannot read standard input'
RANK=0 WORLD_SIZE=2 run 2 spmm "$graph" --ranks 2,4
one_line "sweep" 'leave the launcher out'
run 2 gnn bench --ranks 2,4
run 2 spmm "$work/none.mtx" --ranks 2,4
grep -q 'the sweep ends at the run that failed, --ranks 2' "$work/err" || fail "the failed run is not named: $(cat "$work/err")"
[ -z "$(ls "$TMPDIR")" ] || fail "files of runs are left: $(ls "$TMPDIR")"
finish
