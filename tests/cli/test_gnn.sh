#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `sley gnn train`: every model learns, every number of ranks gives the same losses, and what is refused.
# Usage: test_gnn.sh SLEY ROOT JSON_FIELD FOLDER_OF_THE_MOCK_DEVICE
set -u
sley=$1 root=$2 json_field=$3 mock_device=$4
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
json=$work/gnn.json
graph="er:n=300,nnz=1500"
planted="--features random:8 --labels planted:3 --hidden 8 --epochs 40 --rate 0.02 --dropout 0.1 --threads 1"

# above FILE FIELD LEAST: the field of the JSON is at least so much.
above() {
  local got
  got=$("$json_field" "$1" "$2")
  awk -v got="$got" -v least="$3" 'BEGIN { exit !(got >= least) }' || fail "$1: $2 is $got, expected at least $3"
}

# near A B: numbers that differ by rounding alone.
near() {
  awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(d <= 1e-3 && d >= -1e-3) }' || fail "$3: $1 and $2"
}

for model in $("$sley" words gnn train --model); do
  echo "$model learns planted labels, on any number of ranks and on the mock device"
  run 0 gnn train "$graph" $planted $(heads $model 2) --model "$model" --device cpu --json "$json"
  silent_err "gnn train $model"
  grep -q '^best  *epoch [0-9]*: right in training' "$work/out" || fail "$model: the best epoch is not told"
  field "$json" epochs 40
  field "$json" model "$model"
  above "$json" epochs.39.train 0.55 # of three classes
  loss=$("$json_field" "$json" epochs.39.loss)
  run 0 gnn train "$graph" $planted $(heads $model 2) --model "$model" --device cpu --ranks 3 --json "$json"
  field "$json" ranks 3
  near "$loss" "$("$json_field" "$json" epochs.39.loss)" "$model: losses of 1 rank and of 3"
  SLEY_MODULE_PATH=$mock_device run 0 gnn train "$graph" $planted $(heads $model 2) --model "$model" --device cuda --ranks 2 --json "$json"
  near "$loss" "$("$json_field" "$json" epochs.39.loss)" "$model: losses of the CPU and of the mock device"
done

echo "reproducible: the same file on any number of ranks and of threads"
wide="er:n=600,nnz=3000" # blocks of rows that ranks share
for model in $("$sley" words gnn train --model); do
  same="--features random:7 --labels planted:3 --hidden 9 $(heads $model 3) --epochs 4 --dropout 0.3 --device cpu --model $model"
  run 0 gnn train "$wide" $same --reproducible --threads 2 --out "$work/one.npz"
  for ranks in 2 3 4 8; do
    run 0 gnn train "$wide" $same --reproducible --threads 1 --ranks $ranks --out "$work/other.npz"
    cmp -s "$work/one.npz" "$work/other.npz" || fail "$model: $ranks ranks have other bits than one"
  done
done

echo "JSON on stdout, patience, a real graph"
run 0 gnn train "$graph" $planted --device cpu --patience 1 --json -
"$json_field" "$work/out" epochs >"$work/epochs"
[ "$(cat "$work/epochs")" -lt 40 ] || fail "patience 1 ran all epochs"
data=${SLEY_DATA:-$root/../shared/data}/gnn
if [ -f "$data/cora.adj.mtx" ]; then
  run 0 gnn train "$data/cora.adj.mtx" --features "$data/cora.features.mtx.gz" --labels "$data/cora.labels.txt" \
    --undirected --normalize --hidden 16 --epochs 30 --device cpu --json "$json"
  field "$json" classes 7
  above "$json" "epochs.$(($("$json_field" "$json" best_epoch) - 1)).test" 0.7
else
  echo "no $data: Cora is not trained"
fi

echo "gradient descent, a curve, ranks as processes, any algorithm for the sums"
run 0 gnn train "$graph" $planted --device cpu --optimizer sgd --rate 0.5 --json "$json"
above "$json" epochs.39.train 0.4
if command -v gnuplot >/dev/null; then
  run 0 gnn train "$graph" $planted --device cpu --plot "$work/curve.png"
  [ "$(head -c 4 "$work/curve.png" | tail -c 3)" = PNG ] || fail "the curve is no PNG"
else
  echo "no gnuplot: the curve is not drawn"
fi
run 0 gnn train "$graph" $planted --device cpu --json "$json"
loss=$("$json_field" "$json" epochs.39.loss)
for algo in bcast-1d cover halo; do
  run 0 gnn train "$graph" $planted --device cpu --ranks 3 --transport tcp --aggregate $algo --json "$json"
  field "$json" transport tcp
  near "$loss" "$("$json_field" "$json" epochs.39.loss)" "losses of 1 rank and of 3 with $algo"
done
echo "a kernel for the sums, by its name"
for kernel in auto f32-portable; do
  run 0 gnn train "$graph" $planted --device cpu --kernel $kernel --json "$json"
  field "$json" kernel $kernel
  near "$loss" "$("$json_field" "$json" epochs.39.loss)" "losses with the kernel $kernel"
done
echo "orders of the rows: the losses, shares and files of the order of the graph"
run 0 generate er:n=40,m=300,nnz=600,seed=2 --out "$work/sparse.mtx"
orders=$("$sley" words gnn train --order)
[ "$(echo "$orders" | grep -vx auto)" = "$("$sley" words order --order)" ] || fail "orders of gnn train: $orders"
for features in random:8 "$work/sparse.mtx"; do
  given="--features $features --labels planted:3 --hidden 8 --epochs 12 --dropout 0.4 --device cpu --out $work/state.npz"
  run 0 gnn train "$graph" $given --json "$json"
  field "$json" order none
  loss=$("$json_field" "$json" epochs.11.loss) right=$("$json_field" "$json" epochs.11.test)
  for order in $orders; do
    # a build may lack the library of an order
    [ $order = auto ] || "$sley" order "$graph" --order $order --perm "$work/perm.npy" >/dev/null 2>&1 || continue
    rm -f "$work/state.npz"
    run 0 gnn train "$graph" $given --order $order --ranks $((RANDOM % 3 + 1)) --json "$json"
    if [ $order = auto ]; then
      grep -q '^order  *[a-z]*, computed in .* predicted ms of a sum: none [0-9.]*, rabbit ' "$work/out" || fail "auto: no choice is told"
      field "$json" orders.0.order none
    else
      field "$json" order $order
    fi
    near "$loss" "$("$json_field" "$json" epochs.11.loss)" "$order: losses"
    awk -v a="$right" -v b="$("$json_field" "$json" epochs.11.test)" 'BEGIN { exit !(a - b < 0.02 && b - a < 0.02) }' || fail "$order: shares"
    # the state's split and fingerprints are those of the graph as it is
    run 0 gnn infer "$graph" --features $features --labels planted:3 --weights "$work/state.npz" --last --device cpu
    silent_err "$order: infer"
  done
done
run 0 gnn train "$graph" $given --order loa --epochs 20 --resume
grep -q '^resumed  *after epoch 12 of ' "$work/out" || fail "another order does not go on"
run 0 gnn train "$graph" $planted --device cpu --order rcm --ranks 2 --transport tcp --json "$json"
field "$json" order rcm
run 2 gnn train "$graph" $planted --order best
one_line "no such order" "rabbit"
run 2 gnn train "$graph" $planted --order loa --sample 3,3
one_line "an order of drawn graphs" "leave one of the two out"

echo "what becomes of rows between the halves of a step, and what they take of memory"
for model in gcn gat; do
  deep="$planted $(heads $model 2) --model $model --layers 6 --epochs 5 --device cpu --ranks 2"
  run 0 gnn train "$graph" $deep --json "$json"
  field "$json" memory keep
  field "$json" memory_bytes 2 # ranks
  grep -q '^start  *graph ready after [0-9.]* s, network planned in [0-9.]* s$' "$work/out" || fail "$model: no times of the start"
  case $("$json_field" "$json" graph_ms):$("$json_field" "$json" plan_ms) in
    *-* | :* | *:) fail "$model: times of the start" ;;
  esac
  grep -q '^memory  *keep: [0-9.]* MiB of rows, .* on rank [01], which takes most' "$work/out" || fail "$model: no memory is told"
  kept=$("$json_field" "$json" memory_bytes.1.rows)
  first=$("$json_field" "$json" epochs.0.loss) last=$("$json_field" "$json" epochs.4.loss)
  for memory in recompute bf16; do
    run 0 gnn train "$graph" $deep --memory $memory --json "$json"
    field "$json" memory $memory
    field "$json" epochs.0.loss "$first"
    [ $memory = bf16 ] || field "$json" epochs.4.loss "$last"
    [ "$("$json_field" "$json" memory_bytes.1.rows)" -lt "$kept" ] || fail "$model: $memory takes no less than $kept bytes"
  done
done
npz=${SLEY_DATA:-$root/../shared/data}/npz/cora.npz
if [ -f "$npz" ]; then
  run 0 gnn train "$npz" --features "$npz" --labels "$npz" --undirected --normalize --hidden 16 --epochs 30 --device cpu --json "$json"
  field "$json" features 1433
  above "$json" "epochs.$(($("$json_field" "$json" best_epoch) - 1)).test" 0.7
else
  echo "no $npz: graph, features and labels of one archive are not read"
fi

echo "values of the graph: a line says that they are ignored, or they count"
printf '%%%%MatrixMarket matrix coordinate real general\n4 4 5\n1 2 1\n2 3 0.5\n3 4 3\n4 1 1\n2 1 1\n' >"$work/weighted.mtx"
printf '0\n1\n0\n1\n\n' >"$work/four"
small="--features random:3 --labels $work/four --device cpu --epochs 3 --train 1 --valid 1"
run 0 gnn train "$work/weighted.mtx" $small --json "$json"
grep -q '^weights  *values of the graph are ignored, and 2 are not 1: --weights uses them$' "$work/out" || fail "ignored values: $(cat "$work/out")"
grep -q '^directed  *3 of 5 entries looked at have no opposite: with --undirected' "$work/out" || fail "a directed graph: $(cat "$work/out")"
grep -q 'validation [0-9.]*, test no rows$' "$work/out" || fail "an empty test: $(cat "$work/out")"
field "$json" settings.weights false
field "$json" settings.hidden 64
loss=$("$json_field" "$json" epochs.2.loss)
run 2 gnn train "$work/weighted.mtx" $small --model gat --weights
one_line "weights of gat" "--weights is for gcn, gin, sage"
for model in $(sed 's/.*--weights is for \(.*\): .*/\1/; s/,//g' "$work/err"); do
  run 0 gnn train "$work/weighted.mtx" $small --model $model --weights --json "$json"
  ! grep -q '^weights' "$work/out" || fail "values that count are said to be ignored"
  [ $model != gcn ] || [ "$loss" != "$("$json_field" "$json" epochs.2.loss)" ] || fail "--weights changes nothing"
  near "$("$json_field" "$json" epochs.2.loss)" "$("$sley" gnn train "$work/weighted.mtx" $small --model $model --weights --ranks 2 --json - 2>/dev/null | "$json_field" /dev/stdin epochs.2.loss)" "$model: weights on 2 ranks"
done
sed 's/ 3$/ nan/' "$work/weighted.mtx" >"$work/nan.mtx"
run 2 gnn train "$work/nan.mtx" $small --weights
one_line "a weight that is no number" "the entry in row 3, column 4 is nan"
sed 's/ 0.5$/ -5/' "$work/weighted.mtx" >"$work/minus.mtx"
run 2 gnn train "$work/minus.mtx" $small --weights
one_line "weights below 0" "the weights of row 2 add up to"

echo "sparse features: the losses of dense ones, in less memory; models that make them dense"
run 0 generate er:n=200,m=300,nnz=600,seed=2 --out "$work/x.mtx"
{ # zeros beside the values: enough of them to be kept dense
  printf '%%%%MatrixMarket matrix coordinate real general\n300 200 18600\n'
  awk '!/^%/ && n++ > 0' "$work/x.mtx"
  awk 'BEGIN { for (i = 1; i <= 300; i++) for (j = 1; j <= 60; j++) print i, j, 0 }'
} >"$work/full.mtx"
for model in gcn gin sage gat; do
  many="--labels planted:3 --model $model --hidden 8 $(heads $model 2) --epochs 5 --device cpu --ranks 2"
  run 0 gnn train "$graph" --features "$work/x.mtx" $many --json "$json"
  field "$json" sparse_features true
  grep -q '^features  *sparse: 600 values, 1 % of all$' "$work/out" || fail "$model: sparse features are not told"
  loss=$("$json_field" "$json" epochs.4.loss)
  run 0 gnn train "$graph" --features "$work/full.mtx" $many --json "$json"
  field "$json" sparse_features false
  near "$loss" "$("$json_field" "$json" epochs.4.loss)" "$model: losses of sparse and of dense features"
done
run 0 gnn train "$graph" --features "$work/x.mtx" --labels planted:3 --model sage-max --epochs 2 --device cpu
grep -q '^features .*made dense' "$work/out" || fail "sage-max: that features are made dense is not told"
printf '%%%%MatrixMarket matrix coordinate real general\n300 9 2\n1 2 1\n7 3 1e39\n' >"$work/large.mtx"
run 2 gnn train "$graph" --features "$work/large.mtx" --labels planted:3
one_line "more than f32" "$work/large.mtx: the feature in row 7, column 3 is 1e+39"

echo "labels: trailing blanks, nan, gaps; what is refused of them"
awk 'BEGIN { for (i = 0; i < 300; i++) printf "%s \r\n", i % 7 == 0 ? "nan" : 1 + i % 3 * 2 }' >"$work/labels"
run 0 gnn train "$graph" --features random:4 --labels "$work/labels" --device cpu --epochs 2
grep -q '^labels  *classes are counted from 0 to the largest label, 5: 3 of these 6 have no row, the first is 0$' "$work/out" || fail "gaps: $(cat "$work/out")"
for wrong in 2147483648 300 -2 1.5 label "1 2" ""; do
  { seq 0 2; echo "$wrong"; yes 1 | head -296; } >"$work/labels"
  run 2 gnn train "$graph" --features random:4 --labels "$work/labels"
  one_line "label '$wrong'" "$work/labels:4: "
done
for features in "$work/none.npy" "$work/none.npz" "$work/none.mtx"; do
  run 2 gnn train "$graph" --features "$features" --labels planted:2
  one_line "no features" "$features"
done
yes "train" | head -300 | sed '5s/.*/train test/' >"$work/split"
run 2 gnn train "$graph" --features random:4 --labels planted:2 --split "$work/split"
one_line "a row of two sets" "$work/split:5: "
yes "none" | head -300 | sed '1,4s/.*/train/; 5,7s/.*/valid/; 8,9s/.*/test/' >"$work/split"
run 0 gnn train "$graph" --features random:4 --labels planted:2 --split "$work/split" --epochs 1
grep -q '^rows  *4 to train on, 3 for validation, 2 for the test$' "$work/out" || fail "the rows of a split: $(cat "$work/out")"
run 2 gnn train "$graph" --features random:4 --labels planted:2 --split "$work/split" --split-seed 1
one_line "a seed for a split that is given" "leave one out"
sed -i 's/train/test/' "$work/split"
run 2 gnn train "$graph" --features random:4 --labels planted:2 --split "$work/split"
one_line "a split without rows to train on" "$work/split: there is no row with a label to train on"
head -c 20000 /dev/zero | tr '\0' ' ' >"$work/long"
run 2 gnn train "$graph" --features random:4 --labels planted:2 --split "$work/long"
one_line "a long line" "$work/long:1: this line is too long"

echo "what is refused"
run 2 gnn
one_line "gnn alone" "say what to do"
run 2 gnn train "$graph" --labels planted:2
one_line "no features" "--features"
run 2 gnn train "$graph" --features random:x --labels planted:2
one_line "random:x" "random:K takes a number"
run 2 gnn train "$graph" --features random:4 --labels planted:0
one_line "planted:0" "planted:C takes a number"
run 2 gnn train "$graph" --features random:4 --labels "$work/none"
one_line "no labels" "$work/none"
printf '0\n1\ntwo\n' >"$work/labels"
run 2 gnn train "$graph" --features random:4 --labels "$work/labels"
one_line "a word among labels" "$work/labels:3: a line has one label"
printf '0\n1\n' >"$work/labels"
run 2 gnn train "$graph" --features random:4 --labels "$work/labels"
one_line "few labels" "$work/labels:3: there are fewer labels"
yes 0 | head -301 >"$work/labels"
run 2 gnn train "$graph" --features random:4 --labels "$work/labels"
one_line "many labels" "$work/labels:301: there are more labels"
yes -- -1 | head -300 >"$work/labels"
run 2 gnn train "$graph" --features random:4 --labels "$work/labels"
one_line "no label at all" "no row with a label"
run 2 gnn train "$graph" --features random:4 --labels planted:2 --aggregate none --ranks 2
one_line "no such algorithm" "there is no algorithm 'none'"
for ranks in 1 2; do
  run 2 gnn train "$graph" --features random:4 --labels planted:2 --device cpu --kernel none --ranks $ranks
  one_line "no such kernel" 'device cpu has no kernel "none": auto, or one of '
done
run 2 gnn train "$graph" --features random:4 --labels planted:2 --device cpu --kernel f64-portable
one_line "a kernel of another type" "kernel f64-portable of device cpu does not serve it: "
for words in ps=0 get=all; do
  run 2 gnn train "$graph" --features random:4 --labels planted:2 --device cpu --aggregate rowwise:$words --ranks $ranks
  one_line "$words of rowwise" "${words%%=*}"
done
run 2 gnn train "$graph" --features random:4 --labels planted:2 --plot "$work/curve.gif"
one_line "no picture" "the ending names no format of it; known: .svg .png"
run 2 gnn train "er:rows=4,cols=5,nnz=6" --features random:4 --labels planted:2
one_line "not square" "a square matrix"
run 2 gnn train "$graph" --features "er:n=20,nnz=30" --labels planted:2
one_line "features of another graph" "features of 20 rows: the graph has 300"
run 2 gnn train "$graph" --features random:4 --labels planted:2 --reproducible --precision tf32
one_line "reproducible with tf32" "reproducible bits do not depend on which kernel"
run 2 gnn train "$graph" --features random:4 --labels planted:2 --reproducible --wire bf16
one_line "reproducible with bf16 on the way" "reproducible bits do not depend on which rows"
run 2 gnn train "$graph" --features random:4 --labels planted:2 --memory half
one_line "no such way" "--memory"
run 2 gnn train "$graph" --features random:4 --labels planted:2 --dropout 1
one_line "dropout 1" "less than 1"

echo "progress: lines only if asked"
SLEY_PROGRESS=0 run 0 gnn train rmat:scale=10 --undirected --features random:4 --labels planted:2 --epochs 1 --ranks 2
for work_done in "loading rmat:scale=10: counting edges" "loading rmat:scale=10: sorting rows" "undirected: transposing" \
  "undirected: merging rows" "planning: copying the graph" "planning: finding the halo"; do
  grep -Eq "$work_done, [0-9]+ %\$" "$work/err" || fail "progress lacks \"$work_done\": $(cut -c 1-60 "$work/err" | sort -u)"
done
grep -Evq '^[a-z:=0-9 ]*, [0-9]+ %$' "$work/err" && fail "progress: $(grep -Ev '^[a-z:=0-9 ]*, [0-9]+ %$' "$work/err" | head -1)"
for quiet in "" 1000 soon -1; do
  SLEY_PROGRESS=$quiet run 0 gnn train rmat:scale=10 --undirected --features random:4 --labels planted:2 --epochs 1 --ranks 2
  silent_err "SLEY_PROGRESS=$quiet"
done

echo "little memory: an end, and one line"
limits=(40000 130000 250000 400000 800000)
(ulimit -v 800000 && exec "$sley" --version >"$work/out" 2>&1) || limits=() # a sanitizer's build needs more
for limit in "${limits[@]}"; do
  got=0
  (ulimit -v $limit && exec timeout 60 "$sley" gnn train "$graph" --features random:4 --labels planted:2 --epochs 2 --threads 1 >"$work/out" 2>"$work/err") </dev/null || got=$?
  case $got in
    0) [ ! -s "$work/err" ] || fail "gnn train below $limit KiB says: $(cat "$work/err")" ;;
    1 | 2) one_line "gnn train below $limit KiB" "memory" ;;
    127) ;; # the system could not load its libraries
    *) fail "gnn train below $limit KiB ends with $got: $(cat "$work/err")" ;;
  esac
done

finish
