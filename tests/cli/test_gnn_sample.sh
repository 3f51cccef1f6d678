#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `sley gnn train --sample`: every model learns on drawn neighbourhoods, on the CPU and the mock device; where
# all is drawn the loss is that of the whole graph; the same words give the same file, resumed or not.
# Usage: test_gnn_sample.sh SLEY ROOT JSON_FIELD FOLDER_OF_THE_MOCK_DEVICE
set -u
sley=$1 root=$2 json_field=$3 mock_device=$4
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
json=$work/gnn.json
graph="er:n=300,nnz=1500"
planted="--features random:8 --labels planted:3 --hidden 8 --rate 0.02 --dropout 0.1 --threads 1"

# compare A OPERATOR B WHAT: numbers.
compare() {
  awk -v a="$1" -v b="$3" "BEGIN { exit !(a $2 b) }" || fail "$4: $1 $2 $3 does not hold"
}

# near A B WHAT: numbers that differ by rounding alone.
near() {
  awk -v a="$1" -v b="$2" 'BEGIN { d = a - b; exit !(d <= 1e-3 && d >= -1e-3) }' || fail "$3: $1 and $2"
}

for model in $("$sley" words gnn train --model); do
  echo "$model learns planted labels on drawn neighbourhoods"
  # shellcheck disable=SC2086 # the words are meant to be split
  run 2 gnn train "$graph" $planted --model $model --sample 9,9,9,9,9,9,9
  hops=$(($(sed -n 's/.* layers of this model make //p' "$work/err") / 2)) # of a layer
  layers=$((hops > 1 ? 1 : 2))
  drawn=$(printf '4,3,2,2,2,2' | cut -d , -f "1-$((layers * hops))")
  words="$planted $(heads $model 2) --model $model --layers $layers --epochs 12 --sample $drawn --batch 16"
  # shellcheck disable=SC2086 # the words are meant to be split
  run 0 gnn train "$graph" $words --device cpu --json "$json"
  silent_err "gnn train $model --sample"
  grep -q "^sampling   $drawn entries of a row by hops, batches of 16 rows\$" "$work/out" || fail "$model: the sampling is not told"
  grep -q '^epochs     12, median [0-9.]* ms an epoch of 4 steps, [0-9.]* of them to draw; loss' "$work/out" ||
    fail "$model: steps and times are not told"
  field "$json" sample "$drawn"
  field "$json" batch 16
  field "$json" steps_per_epoch 4 # of 60 rows
  compare "$("$json_field" "$json" epochs.11.train)" ">=" 0.55 "$model: right in training, of three classes"
  compare "$("$json_field" "$json" epochs.11.drawn_ms)" ">" 0 "$model: time to draw"
  compare "$("$json_field" "$json" median_drawn_ms)" "<=" "$("$json_field" "$json" median_ms)" "$model: times"
  loss=$("$json_field" "$json" epochs.11.loss)
  # shellcheck disable=SC2086
  SLEY_MODULE_PATH=$mock_device run 0 gnn train "$graph" $words --device cuda --json "$json"
  near "$loss" "$("$json_field" "$json" epochs.11.loss)" "$model: losses of the CPU and of the mock device"
done

echo "all entries, in one batch: the losses of the whole graph"
words="$planted --model sage --dropout 0 --epochs 5 --device cpu"
# shellcheck disable=SC2086
run 0 gnn train "$graph" $words --json "$work/whole.json"
grep -q '^epochs     5, median [0-9.]* ms an epoch of 1 step; loss' "$work/out" || fail "steps of the whole graph are not told"
field "$work/whole.json" steps_per_epoch 1
# shellcheck disable=SC2086
run 0 gnn train "$graph" $words --sample all,all --json "$json"
for epoch in 0 1 2 3 4; do
  for what in loss train test; do
    near "$("$json_field" "$work/whole.json" epochs.$epoch.$what)" "$("$json_field" "$json" epochs.$epoch.$what)" \
      "$what of epoch $epoch, of the whole graph and of all that is drawn"
  done
done
# shellcheck disable=SC2086
run 0 gnn train "$graph" $words --sample 1,1 --json "$json"
[ "$("$json_field" "$work/whole.json" epochs.4.loss)" != "$("$json_field" "$json" epochs.4.loss)" ] ||
  fail "one entry of a row gives the loss of all"

echo "the same words give the same state, in one go or resumed; another seed another"
words="$planted --model gcn --sample 3,all --batch 25 --device cpu"
for out in first second; do
  # shellcheck disable=SC2086
  run 0 gnn train "$graph" $words --epochs 6 --out "$work/$out.npz"
done
cmp "$work/first.npz" "$work/second.npz" || fail "the same words give another state"
# shellcheck disable=SC2086
run 0 gnn train "$graph" $words --epochs 2 --out "$work/part.npz"
# shellcheck disable=SC2086
run 0 gnn train "$graph" $words --epochs 6 --out "$work/part.npz" --resume
cmp "$work/first.npz" "$work/part.npz" || fail "the resumed training ends with another state"
# shellcheck disable=SC2086
run 0 gnn train "$graph" $words --epochs 6 --out "$work/part.npz" --seed 2
cmp -s "$work/first.npz" "$work/part.npz" && fail "another seed gives the same state"

echo "what is refused"
run 2 gnn train "$graph" $planted --sample 10
one_line "too few fan-outs" "--sample 10 has numbers for 1 hops: 2 layers of this model make 2"
run 2 gnn train "$graph" $planted --sample 10,5,5
one_line "too many fan-outs" "--sample 10,5,5 has numbers for 3 hops: 2 layers of this model make 2"
for list in "10," 10,,5 10,x 10,0 10,-1 10,5x "10 5" all,alle 10,99999999999999999999; do
  run 2 gnn train "$graph" $planted --sample "$list"
  one_line "--sample '$list'" "give a whole number from 1 on, or all"
done
run 2 gnn train "$graph" $planted --sample 10,5 --batch 0
one_line "a batch of no rows" "--batch takes a whole number from 1"
for transport in threads tcp; do
  run 2 gnn train "$graph" $planted --sample 10,5 --ranks 2 --transport $transport
  one_line "two ranks over $transport" "--sample trains on one rank, and there are 2"
done

finish
