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
python=/usr/bin/python3 # which may have NumPy, as the package's tests need
$python -c 'import numpy' 2>/dev/null || python=python3
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
one_line "another seed" "is of another training: --seed was 1 and is 9"
run 2 gnn train $words --out "$work/whole.npz" --resume --epochs 1
one_line "fewer epochs" "epochs asks for 1 in all"
run 2 gnn train $words --out "$work/whole.npz" --resume --layers 3
one_line "another network" "--layers was 2 and is 3"
for other in "--rate 0.02" "--decay 0" "--dropout 0.4" "--model sage" "--hidden 17" "--optimizer sgd" "--undirected" "--normalize" \
  "--weights" "--reproducible" "--memory bf16" "--sample 3,3" "--train 19" "--valid 29" "--split-seed 2"; do
  run 2 gnn train $words --out "$work/whole.npz" --resume $other
  case $other in
    "--split-seed 2" | "--train 19" | "--valid 29") one_line "$other" "the split is another" ;;
    *) one_line "$other" "${other%% *}" ;;
  esac
done
run 2 gnn train er:n=2000,nnz=20001 $data --hidden 16 --device cpu --epochs $epochs --out "$work/whole.npz" --resume
one_line "another graph" "the graph is another"

echo "forced: what differs is told, and what was trained on is in no other set"
cp "$work/whole.npz" "$work/forced.npz"
run 0 gnn train $words --epochs $((epochs + 5)) --out "$work/forced.npz" --resume --force --split-seed 7 --rate 0.02 --json "$work/forced.json"
grep -q '^forced .*--rate was 0.01 and is 0.02, .*the split is another; [0-9]* rows that it was trained on are in no set' "$work/out" || fail "forced: $(cat "$work/out")"
field "$work/forced.json" settings.split_seed 7
$python - "$work/whole.npz" "$work/forced.npz" <<'PY' || [ $? -eq 3 ] || fail "rows that were trained on are in another set"
import sys
try:
    import numpy as np
except ImportError:
    sys.exit(3)
before, after = (np.load(name)["split"] for name in sys.argv[1:])
seen = before == 1
assert set(after[seen]) <= {1, 4} and (after == 4).any() and (after == 1).sum() == 60
PY

echo "inference is by the state's own split, and of the state's data"
infer="gnn infer er:n=2000,nnz=20000 $data --weights $work/whole.npz --device cpu"
run 2 $infer --split-seed 9
one_line "another split" "the split is another: give those, or --force"
run 0 $infer --split-seed 9 --force
grep -q '^forced .*the split is another; [0-9]* rows that it was trained on are left out' "$work/out" || fail "forced inference: $(cat "$work/out")"
run 2 $infer --seed 5
one_line "other features" "the features are others"
run 2 gnn infer er:n=2000,nnz=20000,seed=3 $data --weights "$work/whole.npz" --device cpu
one_line "another graph" "the graph is another"
run 0 gnn infer er:n=2000,nnz=20000,seed=3 $data --weights "$work/whole.npz" --device cpu --force --json "$work/infer.json"
grep -q '^right  *of all rows with a label [0-9.]*: which of these rows were trained on is not known' "$work/out" || fail "another graph: $(cat "$work/out")"
[ -z "$("$json_field" "$work/infer.json" test 2>/dev/null)" ] || fail "a share of a test that nobody knows"
if $python -c 'import numpy' 2>/dev/null; then
  $python - "$work/whole.npz" "$work/old.npz" "$work/nan.npz" <<'PY'
import sys
import numpy as np
arrays = dict(np.load(sys.argv[1]))
old = {name: value for name, value in arrays.items() if not name.startswith(("fingerprint", "state"))}
np.savez(sys.argv[2], **old)
arrays["best.0.weight"] = arrays["best.0.weight"].copy()
arrays["best.0.weight"][1, 2] = np.nan
np.savez(sys.argv[3], **arrays)
PY
  run 2 gnn infer er:n=2000,nnz=20000 $data --weights "$work/old.npz" --device cpu
  one_line "an old state" "a state of version 1, and this sley reads version 2: it does not say what it was trained on"
  run 2 gnn train $words --out "$work/old.npz" --resume
  one_line "an old state" "a state of version 1"
  run 2 gnn infer er:n=2000,nnz=20000 $data --weights "$work/nan.npz" --device cpu
  one_line "a weight that is no number" "best.0.weight, row 2, column 3, is nan"
else
  echo "no numpy: states that are made by hand are not read"
fi

echo "Ctrl-C: the state and the JSON of the epochs that are done"
for ranks in 1 "2 --transport tcp"; do
  rm -f "$work/stopped.npz" "$work/stopped.json"
  "$sley" gnn train $words --epochs 100000 --ranks $ranks --out "$work/stopped.npz" --json "$work/stopped.json" >"$work/out" 2>"$work/err" &
  pid=$!
  for ((i = 0; i < 200; i++)); do
    [ -f "$work/stopped.npz" ] && break
    sleep 0.1
  done
  kill -INT $pid
  wait $pid
  code=$?
  [ $code -eq 130 ] || fail "$ranks ranks, Ctrl-C: exit $code: $(cat "$work/err")"
  one_line "Ctrl-C" "interrupted"
  field "$work/stopped.json" ended interrupted
  done=$("$json_field" "$work/stopped.json" epochs)
  run 0 gnn train $words --epochs $((done + 2)) --out "$work/stopped.npz" --resume
  grep -q "^resumed  *after epoch $done " "$work/out" || fail "Ctrl-C after $done epochs: $(grep resumed "$work/out")"
done
echo "training that diverges leaves no state"
run 1 gnn train $words --epochs 5 --rate 1e38 --out "$work/never.npz"
one_line "no number" "not finite: training has diverged"
[ ! -e "$work/never.npz" ] || fail "a state of a training that diverged"
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
one_line "a word of no set" "$work/split:3: a line has one word"

finish
