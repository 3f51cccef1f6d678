#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The scripts of papers' tables in bench/gnn: each measures a small graph, writes its JSON, says what the command does not
# offer, and refuses in one line what it does not know. Without python3: skipped.
# Usage: test_papers.sh SLEY ROOT JSON_FIELD
set -u
sley=$1 root=$2 json_field=$3
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
command -v python3 >/dev/null || { echo "skipped: no python3"; exit 77; }
json=$work/found.json
quick=(--device cpu --threads 1 --epochs 2 --warm 1 --rounds 1)

# script STATUS NAME WORDS...: runs a script and expects the status.
script() {
  local expected=$1 name=$2 got=0
  shift 2
  python3 "$root/bench/gnn/$name.py" "$sley" "$@" >"$work/out" 2>"$work/err" </dev/null || got=$?
  [ "$got" -eq "$expected" ] || fail "$name $*: exit $got, expected $expected: $(cat "$work/err")"
}

# says TEXT: the last script's output has it.
says() { grep -qF -- "$1" "$work/out" || fail "the output lacks \"$1\": $(cat "$work/out")"; }

echo "CoLa's table 11: ways beside halo-pipelined, and the paper's ratio"
script 0 cola_table11 "${quick[@]}" --graphs cyt --scale 0.001 --aggregate rowwise,halo-pipelined,cover --seed 7 --json "$json"
silent_err "cola_table11"
says "seed 7, 1 rounds of 2 epochs after 1"
grep -q '^cyt  *rowwise  *MGG .* 22\.15 .* twin x 0\.001, 2 x cpu, threads$' "$work/out" || fail "no row of rowwise: $(cat "$work/out")"
grep -q '^mean  *rowwise  *MGG .* 22\.15 ' "$work/out" || fail "no mean: $(cat "$work/out")"
field "$json" cases 3
field "$json" cases.1.ratio 1
field "$json" cases.0.ms
field "$json" machine.processor
field "$json" options.seed 7

echo "MGG's figures: epochs, sums, and what is not offered"
script 0 mgg_figures "${quick[@]}" --graphs prd --scale 0.0005 --aggregate rowwise,cover --ranks 1,2 --json "$json"
silent_err "mgg_figures"
for text in "DGL: not offered" "figures 10a to 10c, prd, 2 ranks: not offered on cpu" "prd, 1 ranks: not offered on cpu" "no twins of these graphs"; do
  says "$text"
done
field "$json" cases 18 # two ways of two models and two widths on 1 rank and 2, and a search on each
field "$json" cases.0.model gcn
field "$json" cases.8.figure 10

echo "MGG's table 3: accuracy and time"
script 0 mgg_table3 "${quick[@]}" --files "er:n=200,nnz=900" random:4 planted:2 --train 20 --valid 20 --more=--normalize --models gcn --json "$json"
silent_err "mgg_table3"
grep -q '^er:n=200,nnz=900  *gcn  *full .* files, 2 x cpu, threads$' "$work/out" || fail "no row of the full graph: $(cat "$work/out")"
grep -q ' gcn  *sampled .* files, 1 x cpu, threads$' "$work/out" || fail "no row of samples: $(cat "$work/out")"
field "$json" cases.0.test.0

echo "HC-SpMM's tables: kernels, updates, layouts, plans"
script 0 hc_tables "${quick[@]}" --matrix "band:n=300,width=3" --kernels f32-portable,auto --json "$json"
silent_err "hc_tables"
for text in "Training: an epoch" "Update: in one kernel" "Layout: a product by orders" "Plan: products"; do
  says "$text"
done
field "$json" cases 9 # two models with two kernels, one update, three orders, one plan
field "$json" cases.1.kernel auto
script 1 hc_tables "${quick[@]}" --matrix "band:n=300,width=3" --kernels none,auto --parts training
says 'device cpu has no kernel "none"'

echo "a launcher"
script 0 cola_table11 "${quick[@]}" --graphs cyt --scale 0.001 --aggregate cover --launch "env SLEY_TIMEOUT=60"
says "1 x cpu, threads"
script 77 cola_table11 "${quick[@]}" --graphs cyt --scale 0.001 --aggregate cover --launch "sh -c 'echo no hosts here; exit 77'"
says "no hosts here"
script 1 cola_table11 "${quick[@]}" --graphs cyt --scale 0.001 --aggregate cover --launch "$work/none"
says "failed"

echo "what is refused"
for words in "--ranks 0" "--ranks two" "--epochs 0" "--warm -1" "--rounds 0" "--scale 0" "--launch env --ranks 2" "--device tpu" \
  "--json $work/none/found.json" "--graphs none"; do
  for name in cola_table11 mgg_figures mgg_table3; do
    # shellcheck disable=SC2086 # a list of words
    script 2 $name $words
    silent_out "$name $words"
    one_line "$name $words" "$name.py: "
  done
done
script 2 cola_table11 --aggregate none
one_line "no such way" "there is no 'none'; known are bcast-1d "
script 2 mgg_figures --figures 6
one_line "no such figure" "known are 7 8 9 10 11"
script 2 mgg_table3 --sample 10,x
one_line "no number" "--sample takes whole numbers"
script 2 hc_tables --parts none
one_line "no such part" "known are training update layout plan"
sley=$work/none script 2 hc_tables
one_line "no command" "cannot be run"
finish
