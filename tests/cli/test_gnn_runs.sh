#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `sley gnn train --runs`: each run has the figures of the command alone with its split and seed, to the bit; what they come to;
# splits that are drawn and those of a file; Ctrl-C; what is refused.
# Usage: test_gnn_runs.sh SLEY ROOT JSON_FIELD FOLDER_OF_THE_MOCK_DEVICE
set -u
sley=$1 root=$2 json_field=$3 mock_device=$4
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
MOST_MS=${SLEY_TEST_MOST_MS:-20000}
graph="er:n=300,nnz=1500,seed=3"
awk 'BEGIN { srand(5); for (i = 0; i < 300; i++) print int(3 * rand()) }' >"$work/labels"
data="--features er:n=8,m=300,nnz=1200,seed=4 --labels $work/labels"
small="$data --hidden 8 --rate 0.02 --train 12 --valid 20 --threads 1 --epochs 6"

# same RUN FILE: run number RUN of runs.json has the figures of FILE, which is of the command alone.
same() {
  local best last field
  best=$("$json_field" "$2" best_epoch) last=$(($("$json_field" "$2" epochs) - 1))
  field "$work/runs.json" "runs.$1.best_epoch" "$best"
  field "$work/runs.json" "runs.$1.epochs" $((last + 1))
  field "$work/runs.json" "runs.$1.loss" "$("$json_field" "$2" epochs.$last.loss)"
  for field in train valid test; do
    field "$work/runs.json" "runs.$1.$field" "$("$json_field" "$2" epochs.$((best - 1)).$field)"
  done
}

# check WORDS...: 2 x 2 runs, each also alone. MOCK=1: on the mock device.
check() {
  local i
  [ -z "${MOCK:-}" ] || export SLEY_MODULE_PATH=$mock_device
  run 0 gnn train "$graph" "$@" --runs 2x2 --seed 7 --split-seed 11 --json "$work/runs.json"
  field "$work/runs.json" runs 4
  for i in 0 1 2 3; do
    field "$work/runs.json" "runs.$i.split" $((i / 2 + 1))
    field "$work/runs.json" "runs.$i.split_seed" $((11 + i / 2))
    field "$work/runs.json" "runs.$i.seed" $((7 + i))
    run 0 gnn train "$graph" "$@" --seed $((7 + i)) --split-seed $((11 + i / 2)) --json "$work/alone.json"
    same $i "$work/alone.json"
  done
  unset SLEY_MODULE_PATH
}

for model in $("$sley" words gnn train --model); do
  echo "$model: runs are those of the command alone"
  # shellcheck disable=SC2086 # the words are meant to be split
  check $small $(heads $model 2) --model $model --device cpu
  [ "$("$json_field" "$work/runs.json" runs.0.loss)" != "$("$json_field" "$work/runs.json" runs.1.loss)" ] ||
    fail "$model: two seeds give the same loss"
  # shellcheck disable=SC2086
  MOCK=1 check $small $(heads $model 2) --model $model --device cuda --dropout 0
done
echo "over ranks, made again, on drawn neighbourhoods, ended early"
# shellcheck disable=SC2086
check $small --device cpu --ranks 3
# shellcheck disable=SC2086
check $small --device cpu --ranks 2 --transport tcp
# shellcheck disable=SC2086
check $small --device cpu --layers 4 --memory recompute
# shellcheck disable=SC2086
check $small --device cpu --sample 4,3 --batch 16
# shellcheck disable=SC2086
check $small --device cpu --patience 2

echo "what is told, and what runs come to"
# shellcheck disable=SC2086
run 0 gnn train "$graph" $small --device cpu --runs 3x2 --json "$work/runs.json"
silent_err "gnn train --runs"
grep -q '^runs       6: 3 splits by seeds from 1 on, 2 trainings on each; weights and dropout by seeds 1 to 6$' "$work/out" ||
  fail "the runs are not told"
[ "$(grep -c '^run  *[1-6] of 6: split [1-3] by seed [1-3], weights by seed [1-6]: best epoch [1-6] of 6, right in validation 0\.' "$work/out")" -eq 6 ] ||
  fail "there is no line for each run"
for i in 0 1 2 3 4 5; do "$json_field" "$work/runs.json" runs.$i.test; done >"$work/tests"
awk '{ s += $1; q[NR] = $1; if (NR == 1 || $1 < least) least = $1; if ($1 > most) most = $1 }
  END { m = s / NR; for (i in q) d += (q[i] - m) ^ 2; printf "%.4f %.4f %.4f %.4f\n", m, sqrt(d / (NR - 1)), least, most }' \
  "$work/tests" >"$work/expected"
tail -1 "$work/out" | awk '{ print $2, $3, $4, $5 }' >"$work/told"
cmp -s "$work/told" "$work/expected" || fail "the table has $(cat "$work/told"), expected $(cat "$work/expected")"
for name in mean deviation least greatest; do
  printf '%.4f ' "$("$json_field" "$work/runs.json" summary.$name)"
done | sed 's/ $/\n/' >"$work/told"
cmp -s "$work/told" "$work/expected" || fail "the summary has $(cat "$work/told"), expected $(cat "$work/expected")"
field "$work/runs.json" summary.runs 6
# shellcheck disable=SC2086
run 0 gnn train "$graph" $small --device cpu --runs 1 --json -
field "$work/out" runs 1
field "$work/out" summary.deviation null
# shellcheck disable=SC2086
run 0 gnn train "$graph" $small --device cpu --runs 4 --json "$work/runs.json"
field "$work/runs.json" splits 4
field "$work/runs.json" trainings_per_split 1

echo "splits of a file, the first of them"
awk 'BEGIN { srand(9); split("none train valid test", word); for (i = 0; i < 300; i++) {
  for (j = 0; j < 3; j++) printf "%s%s", word[1 + int(4 * rand())], j < 2 ? " " : "\n" } }' >"$work/splits"
# shellcheck disable=SC2086
run 0 gnn train "$graph" $small --device cpu --split "$work/splits" --runs 2x2 --seed 5 --json "$work/runs.json"
grep -qF "runs       4: 2 of the 3 splits in $work/splits, 2 trainings on each" "$work/out" || fail "the file's splits are not told"
grep -q '^rows       [0-9]* to [0-9]* to train on, ' "$work/out" || fail "rows of splits that differ are not told"
for i in 0 1 2 3; do
  "$json_field" "$work/runs.json" runs.$i.split_seed >/dev/null 2>&1 && fail "a split of a file has a seed"
  awk -v column=$((i / 2 + 1)) '{ print $column }' "$work/splits" >"$work/split"
  # shellcheck disable=SC2086
  run 0 gnn train "$graph" $small --device cpu --split "$work/split" --seed $((5 + i)) --json "$work/alone.json"
  same $i "$work/alone.json"
done

echo "Ctrl-C: the runs that have ended are told"
set -m
# shellcheck disable=SC2086
"$sley" gnn train "$graph" $small --device cpu --runs 1000x50 --json "$work/cut.json" >"$work/out" 2>"$work/err" </dev/null &
child=$!
for ((i = 0; i < 600; i++)); do
  [ "$(grep -c '^run ' "$work/out")" -lt 3 ] || break
  sleep 0.1
done
begin=$(date +%s%N)
kill -INT -- "-$child"
wait "$child"
code=$?
took=$((($(date +%s%N) - begin) / 1000000))
set +m
[ $code -eq 130 ] || fail "interrupted: exit $code"
[ $took -le "$MOST_MS" ] || fail "interrupted: took $took ms"
one_line "interrupted" "interrupted"
runs=$(grep -c '^run ' "$work/out")
[ "$runs" -ge 3 ] || fail "interrupted: $runs runs are told"
if [ $took -lt 900 ]; then # else it was ended before it could sum up
  grep -q "^ended      $runs of 50000 runs$" "$work/out" || fail "interrupted: it is not told how many runs ended"
  field "$work/cut.json" runs "$runs"
  field "$work/cut.json" summary.runs "$runs"
fi

echo "what is refused"
for words in 0 x 3x x3 0x3 3x0 -1 +2 " 2" 2x2x2 10y3 3.5 99999999999999999999; do
  # shellcheck disable=SC2086
  run 2 gnn train "$graph" $small --runs "$words"
  one_line "--runs '$words'" "give splits, or splits x trainings on each"
done
for words in 1001 1000x101; do
  # shellcheck disable=SC2086
  run 2 gnn train "$graph" $small --runs $words
  one_line "--runs $words" "at most 1000 splits and 100000 trainings"
done
# shellcheck disable=SC2086
run 2 gnn train "$graph" $small --runs 2 --out "$work/state.npz"
one_line "--runs with --out" "--out is of one training"
# shellcheck disable=SC2086
run 2 gnn train "$graph" $small --runs 2 --out "$work/state.npz" --resume
one_line "--runs with --resume" "--out is of one training"
# shellcheck disable=SC2086
run 2 gnn train "$graph" $small --runs 2 --plot "$work/curve.svg"
one_line "--runs with --plot" "--plot is of one training"
# shellcheck disable=SC2086
run 2 gnn train "$graph" $small --runs 4 --split "$work/splits"
one_line "too few splits" "$work/splits: it has 3 splits, --runs asks for 4"
# shellcheck disable=SC2086
run 2 gnn train "$graph" $small --split "$work/splits" --split-seed 1
one_line "a seed for splits that are given" "leave one out"
sed '7s/ [a-z]*$//' "$work/splits" >"$work/short"
# shellcheck disable=SC2086
run 2 gnn train "$graph" $small --runs 2 --split "$work/short"
one_line "a line with fewer words" "$work/short:7: this line has another number of words than the first"
sed '8s/$/ some/' "$work/splits" >"$work/other"
# shellcheck disable=SC2086
run 2 gnn train "$graph" $small --split "$work/other"
one_line "a word of no set" "$work/other:8: a line has a word for each split"
awk '{ print $1, "test" }' "$work/splits" >"$work/untrained"
# shellcheck disable=SC2086
run 2 gnn train "$graph" $small --runs 2 --split "$work/untrained"
one_line "a split without rows to train on" "$work/untrained: split 2 has no row to train on"
head -c 20000 /dev/zero | tr '\0' ' ' >"$work/long"
# shellcheck disable=SC2086
run 2 gnn train "$graph" $small --split "$work/long"
one_line "a long line" "$work/long:1: this line is too long"

finish
