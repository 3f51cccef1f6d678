#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `sley gnn train --out --resume`: killed at random moments, training ends with the same file, to the bit; and
# `sley gnn infer` with such files. SLEY_KILLS: how often it is killed, 10 by default.
# Usage: test_gnn_resume.sh SLEY ROOT JSON_FIELD
set -u
sley=$1 root=$2 json_field=$3
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
kills=${SLEY_KILLS:-10}
epochs=40
data="--features random:8 --labels planted:3"
words="er:n=2000,nnz=20000 $data --hidden 16 --device cpu --threads 1 --save-every 1"

for model in gcn gat; do
  echo "$model: undisturbed, then killed $kills times and resumed"
  # shellcheck disable=SC2086 # the words are meant to be split
  run 0 gnn train $words --model "$model" --epochs $epochs --out "$work/whole.npz"
  rm -f "$work/part.npz"
  killed=0 tries=0 saved=0
  while [ "$killed" -lt "$kills" ] && [ "$tries" -lt 400 ]; do
    tries=$((tries + 1))
    # shellcheck disable=SC2086
    "$sley" gnn train $words --model "$model" --epochs $epochs --out "$work/part.npz" --resume >/dev/null 2>"$work/err" &
    pid=$!
    sleep "0.$((RANDOM % 3))$((RANDOM % 10))"
    kill -9 "$pid" 2>/dev/null
    wait "$pid" 2>/dev/null
    if [ $? -eq 137 ]; then
      killed=$((killed + 1))
      [ ! -f "$work/part.npz" ] || saved=$((saved + 1))
    else # it ended before the signal: the next one begins anew
      rm -f "$work/part.npz"
    fi
  done
  [ "$killed" -ge "$kills" ] || fail "$model: killed $killed times in $tries runs"
  echo "  $saved of $killed times there was a state"
  # shellcheck disable=SC2086
  run 0 gnn train $words --model "$model" --epochs $epochs --out "$work/part.npz" --resume
  cmp "$work/whole.npz" "$work/part.npz" || fail "$model: the resumed training ends with another state"
done

echo "inference: shares of the best epoch, the same on three ranks; logits"
# shellcheck disable=SC2086
run 0 gnn train $words --epochs $epochs --patience 5 --out "$work/whole.npz" --json "$work/train.json"
best=$(($("$json_field" "$work/train.json" best_epoch) - 1))
for ranks in 1 3; do
  # shellcheck disable=SC2086
  run 0 gnn infer er:n=2000,nnz=20000 $data --weights "$work/whole.npz" --device cpu --ranks $ranks --json "$work/infer.json" \
    --out "$work/logits$ranks.npy"
  for set in train valid test; do
    field "$work/infer.json" $set "$("$json_field" "$work/train.json" epochs.$best.$set)"
  done
done
[ "$(stat -c %s "$work/logits1.npy")" = "$(stat -c %s "$work/logits3.npy")" ] || fail "logits of 1 and 3 ranks differ in size"
# shellcheck disable=SC2086
run 0 gnn infer er:n=2000,nnz=20000 --features random:8 --weights "$work/whole.npz" --device cpu --last

echo "what is refused"
# shellcheck disable=SC2086
run 2 gnn train $words --resume
one_line "resume without out" "give it"
run 2 gnn train $words --out "$work/state"
one_line "no .npz" "the ending names no format of it; known: .npz"
run 2 gnn train $words --out "$work/whole.npz" --resume --seed 9
one_line "another seed" "give --seed 1"
run 2 gnn train $words --out "$work/whole.npz" --resume --epochs 1
one_line "fewer epochs" "epochs asks for 1 in all"
run 2 gnn train $words --out "$work/whole.npz" --resume --layers 3
one_line "another network" "its layers is 2, that of the network 3"
head -c 3000 "$work/whole.npz" >"$work/cut.npz"
run 2 gnn train $words --out "$work/cut.npz" --resume
one_line "a file that was cut" "$work/cut.npz"
printf 'not an archive\n' >"$work/text.npz"
run 2 gnn infer er:n=2000,nnz=20000 --features random:8 --weights "$work/text.npz"
one_line "a text" "not an archive of arrays"
run 2 gnn infer er:n=2000,nnz=20000 --features random:8 --weights "$work/none.npz"
one_line "no file" "$work/none.npz"
run 2 gnn infer er:n=2000,nnz=20000 --features random:9 --weights "$work/whole.npz"
one_line "other features" "has 9 features"
yes none | head -2000 | sed '3s/.*/some/' >"$work/split"
run 2 gnn train er:n=2000,nnz=20000 $data --split "$work/split"
one_line "a word of no set" "$work/split:3: a line has a word for each split"

finish
