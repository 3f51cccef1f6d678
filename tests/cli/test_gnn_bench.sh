#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `sley gnn bench`: every kind of work is told for every model, all together are a split step, and what is
# refused. No time decides.
# Usage: test_gnn_bench.sh SLEY ROOT JSON_FIELD FOLDER_OF_THE_MOCK_DEVICE
set -u
sley=$1 root=$2 json_field=$3 mock_device=$4
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
json=$work/bench.json
graph="er:n=300,nnz=1500"
small="--features random:8 --labels planted:3 --hidden 8 --heads 2 --threads 1 --warmup 0"
read -r -d "" -a models < <("$sley" words gnn train --model)
kinds=(exchange spmm attention gemm loss optimizer other)

# number FIELD: of the JSON.
number() { "$json_field" "$json" "$1"; }

# holds A OP B WHAT: a comparison of numbers.
holds() {
  awk -v a="$1" -v b="$3" "BEGIN { exit !(a $2 b) }" || fail "$4: $1 $2 $3 does not hold"
}

# all_work INDEX MODEL RANKS: the kinds of work of a model, of one step.
all_work() {
  local at="models.$1" sum=0 i kind
  field "$json" "$at.model" "$2"
  holds "$(number "$at.step_ms")" ">" 0 "$2: the step"
  for i in "${!kinds[@]}"; do
    kind=${kinds[$i]}
    field "$json" "$at.work.$i.work" "$kind"
    holds "$(number "$at.work.$i.slowest_ms")" ">=" "$(number "$at.work.$i.ms")" "$2: the slowest rank's $kind"
    sum=$(awk -v a="$sum" -v f="$(number "$at.work.$i.forward_ms")" -v b="$(number "$at.work.$i.backward_ms")" \
      'BEGIN { printf "%.9f", a + f + b }')
    case "$kind,$2" in
      attention,gat) holds "$(number "$at.work.$i.ms")" ">" 0 "$2: $kind" ;;
      spmm,gat | attention,*)
        holds "$(number "$at.work.$i.ms")" == 0 "$2 has no $kind" ;;
      exchange,*)
        [ "$3" -eq 1 ] || holds "$(number "$at.work.$i.ms")" ">" 0 "$2: $kind" ;;
      *) holds "$(number "$at.work.$i.ms")" ">" 0 "$2: $kind" ;;
    esac
  done
  # Numbers of one step: they are the whole, but for rounding.
  holds "$sum" "<=" "$(awk -v s="$(number "$at.split_ms")" 'BEGIN { printf "%.9f", s + 1e-5 }')" "$2: the sum of the work"
  holds "$sum" ">=" "$(awk -v s="$(number "$at.split_ms")" 'BEGIN { printf "%.9f", s - 1e-5 }')" "$2: the sum of the work"
  field "$json" "$at.work" ${#kinds[@]}
}

for ranks in 1 3; do
  echo "all models, $ranks ranks"
  # shellcheck disable=SC2086 # the words are meant to be split
  run 0 gnn bench "$graph" $small --device cpu --ranks $ranks --repeat 1 --json "$json"
  silent_err "gnn bench"
  field "$json" ranks $ranks
  field "$json" repeat 1
  for i in "${!models[@]}"; do
    all_work "$i" "${models[$i]}" $ranks
    grep -q "^${models[$i]}  *step [0-9.]* ms" "$work/out" || fail "${models[$i]} is not in the table"
  done
  for kind in "${kinds[@]}"; do
    [ "$(grep -c "^$kind " "$work/out")" -eq ${#models[@]} ] || fail "$kind is not told of each model"
  done
done

echo "a list, each model once; other transports and devices; JSON on stdout; several steps"
# shellcheck disable=SC2086
run 0 gnn bench "$graph" $small --device cpu --model gat,gcn,gat --ranks 2 --transport tcp --repeat 1 --json "$json"
field "$json" models 2
field "$json" transport tcp
all_work 0 gcn 2
all_work 1 gat 2
# shellcheck disable=SC2086
SLEY_MODULE_PATH=$mock_device run 0 gnn bench "$graph" $small --device cuda --model sage-max,gat --ranks 2 --repeat 1 --json "$json"
field "$json" device cuda
all_work 0 sage-max 2
all_work 1 gat 2
# shellcheck disable=SC2086
run 0 gnn bench "$graph" $small --device cpu --model gin --repeat 3 --optimizer sgd --dropout 0 --layers 1 --aggregate halo --wire bf16 --ranks 2 --json -
cp "$work/out" "$json"
field "$json" models.0.model gin
field "$json" repeat 3
field "$json" wire bf16
holds "$(number models.0.step_p10_ms)" "<=" "$(number models.0.step_p90_ms)" "percentiles of the step"
grep -q '^optimizer ' "$work/err" || fail "with --json - the table is not on stderr"

echo "what becomes of rows, and what networks take of memory"
for memory in keep recompute bf16; do
  # shellcheck disable=SC2086
  run 0 gnn bench "$graph" $small --device cpu --model gin,gat --layers 7 --ranks 2 --repeat 1 --memory $memory --json "$json"
  field "$json" memory $memory
  [ "$(grep -c "^memory  *$memory: .* MiB of rows" "$work/out")" -eq 2 ] || fail "$memory: memory is not told of each model"
  for model in 0 1; do
    field "$json" "models.$model.memory_bytes" 2
    [ $memory = keep ] || holds "$(number "models.$model.memory_bytes.1.rows")" "<" "$(cat "$work/kept.$model")" "$memory"
    [ $memory != keep ] || number "models.$model.memory_bytes.1.rows" >"$work/kept.$model"
  done
done

echo "an order of the rows"
for order in none loa auto; do
  # shellcheck disable=SC2086
  run 0 gnn bench "$graph" $small --device cpu --model gcn,gat --order $order --ranks 2 --repeat 1 --json "$json"
  [ $order = auto ] || field "$json" order $order
  [ $order != auto ] || field "$json" orders.1.order rabbit
done

echo "a graph alone is enough"
run 0 gnn bench "$root/data/karate.mtx" --device cpu --threads 1 --repeat 1 --warmup 0 --model gcn
grep -q '64 features, 8 classes' "$work/out" || fail "features and labels are not drawn"

echo "what is refused"
run 2 gnn bench
one_line "no graph" "too few words"
run 2 gnn bench "$graph" --model gcm
one_line "a wrong model" '"gcn"'
run 2 gnn bench "$graph" --model gcn,,gat
one_line "an empty name" '""'
run 2 gnn bench "$graph" --model gcn,all
one_line "all in a list" "takes all, or names of models"
run 2 gnn bench "$graph" --repeat 0
one_line "no steps" "--repeat takes a whole number from 1"
run 2 gnn bench "$graph" --epochs 3
one_line "epochs" "unknown option --epochs"
run 2 gnn bench "$graph" --dropout 1
one_line "dropout 1" "gnn bench: --dropout is 1"
run 2 gnn bench "$graph" --memory half
one_line "no such way" "--memory"
run 2 gnn bench "$graph" --aggregate none --ranks 2
one_line "no such algorithm" "there is no algorithm 'none'"
run 2 gnn bench "er:rows=4,cols=5,nnz=6"
one_line "not square" "a square matrix"

finish
