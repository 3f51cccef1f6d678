#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Nothing of what was asked for changes without a word: options without effect, transports and types that are others, and
# traffic that is not what was predicted.
# Usage: test_changes.sh SLEY ROOT JSON_FIELD FOLDER_OF_THE_MOCK_TRANSPORT PYTHON
set -u
sley=$1 root=$2 json_field=$3 mock=$4 python=$5
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
graph=$root/data/karate.mtx
quick=(--threads 1 --repeat 1 --warmup 0)

# changed NAME TEXT: the last run has said one line with the text, and its JSON has it.
changed() {
  grep -qF -- "$2" "$work/err" || fail "$1: stderr lacks \"$2\": $(cat "$work/err")"
  grep -F '"changed"' -A 20 "$work/c.json" | grep -qF -- "$2" || fail "$1: the JSON lacks \"$2\""
}

echo "a transport that cannot be had is named, by every command"
run 0 spmm "$graph" --transport nvshmem --device cpu --timeout 100 "${quick[@]}" --json "$work/c.json"
changed spmm 'transport tcp'
run 0 spmm "$graph" --algo tile-c --transport nvshmem --timeout 100 "${quick[@]}" --json "$work/c.json"
changed tile 'transport tcp'
run 0 collective allreduce --bytes 4096 --transport nvshmem --device cpu --repeat 1 --iters 1 --json "$work/c.json"
changed collective 'transport tcp'

echo "a file of f64 is computed in f64, unless f32 is asked for"
if [ -n "$python" ] && "$python" -c 'import scipy' 2>"$work/none"; then
  "$python" -c "import scipy.sparse as s, sys; s.save_npz(sys.argv[1], s.eye(40, format='csr') * 0.1)" "$work/a.npz"
  for command in "spmm --algo tile-c" "roofline"; do
    # shellcheck disable=SC2086 # a list of words
    run 0 $command "$work/a.npz" --json "$work/c.json"
    grep -q "dtype f64, in which $work/a.npz is stored" "$work/err" || fail "$command: $(cat "$work/err")"
    field "$work/c.json" dtype f64
    # shellcheck disable=SC2086 # a list of words
    run 0 $command "$work/a.npz" --dtype f32 --json "$work/c.json"
    field "$work/c.json" dtype f32
    silent_err "$command --dtype f32"
  done
else
  echo "skipped: scipy is not installed"
fi

echo "options without effect"
run 0 spmm "$graph" --timeout 5 --algo halo --workgroup 9 --device cpu "${quick[@]}" --json "$work/c.json"
changed spmm '--timeout has no effect: ranks are threads'
changed spmm '--workgroup 9 is more than the 4 ranks'
run 0 spmm "$graph" --algo rowwise:ps=4 --device cpu "${quick[@]}" --json "$work/c.json"
changed spmm 'the parameters of rowwise:ps=4 have no effect: they shape a kernel of GPUs'
run 0 plan "$graph" --seed 3 --json "$work/c.json"
changed plan '--seed has no effect: nothing is drawn'
run 0 spmm "$graph" --algo tile-c --buffers 2 --timeout 5 --workgroup 9 "${quick[@]}" --json "$work/c.json"
changed tile '--buffers has no effect'
changed tile '--timeout has no effect'
changed tile '--workgroup 9 is more'
run 0 spgemm "$graph" --ranks 4 --seed 2 --timeout 5 --workgroup 9 --buffers 2 "${quick[@]}" --json "$work/c.json"
changed spgemm '--seed has no effect'
changed spgemm '--buffers has no effect'
changed spgemm '--timeout has no effect'
changed spgemm '--workgroup 9 is more'
run 0 spmm "$graph" --algo halo --grid 2x2 --tiles 3 --columns 2 --buffers 2 "${quick[@]}" --json "$work/c.json"
for option in grid tiles columns buffers; do
  changed spmm "--$option has no effect: no algorithm that runs is in tiles"
done
run 0 roofline "$graph" --seed 2 --compression 2 --json "$work/c.json"
changed roofline '--seed has no effect'
changed roofline '--compression has no effect'
run 0 spgemm "$graph" --seed 2 --tiles 4 --workgroup 1 --json "$work/c.json"
changed spgemm '--seed has no effect'
changed spgemm '--tiles has no effect'
changed spgemm '--workgroup has no effect'
run 0 collective allgather --op max --any-order --bytes 4096 --repeat 1 --iters 1 --json "$work/c.json"
changed collective '--op has no effect'
changed collective '--any-order has no effect'
awk 'BEGIN { for (i = 0; i < 34; i++) print i % 3 ? "train" : "valid" }' >"$work/split"
gnn=(gnn train "$root/data/karate.mtx" --features random:4 --labels planted:2 --epochs 1 --device cpu --json "$work/c.json")
run 0 "${gnn[@]}" --heads 2 --layers 1 --hidden 9 --wire bf16 --aggregate halo --batch 7 --save-every 3 --split "$work/split" --train 5 --valid 6
for option in heads hidden wire batch save-every train valid; do
  changed "gnn train" "--$option has no effect"
done
run 0 "${gnn[@]}" --model gat --heads 2 --hidden 9 --sample 3 --layers 1 --batch 7 --order auto
changed "gnn train" '--hidden has no effect'
changed "gnn train" '--order has no effect'
! grep -q -e '--heads' -e '--batch' "$work/err" || fail "options that have an effect: $(cat "$work/err")"
run 0 order "$graph" --order rcm --seed 3 --perm "$work/perm.npy"
grep -q -- '--seed has no effect' "$work/err" || fail "order --seed"
run 0 bench --matrix er:n=500,nnz=2000 --k 8 --repeat 1 --precision tf32 --device cpu --json "$work/c.json"
changed bench '--precision has no effect'
run 0 bench ops --matrix er:n=500,nnz=2000 --ops sddmm --k 2 --heads 2 --alone --repeat 1 --device cpu --json "$work/c.json"
changed 'bench ops' '--heads has no effect'
run 0 bench ops --matrix er:n=500,nnz=2000 --ops gat --k 2 --heads 2 --alone --repeat 1 --device cpu --json "$work/c.json"
silent_err "heads of gat"
run 0 spmm er:n=100,nnz=300 --seed 3 --device cpu "${quick[@]}" --json "$work/c.json"
silent_err "a seed that is used"
grep -q '"changed"' "$work/c.json" && fail "nothing has changed"

echo "traffic that is not what was predicted"
export SLEY_MODULE_PATH=$mock
run 0 spmm "$graph" --transport mock --workgroup 2 --algo halo,cover --device cpu "${quick[@]}"
SLEY_MOCK_ADDS=yes run 1 spmm "$graph" --transport mock --workgroup 2 --algo halo,cover --device cpu "${quick[@]}" --json "$work/c.json"
[ "$(grep -c '^\(halo\|cover\) .* NO ' "$work/out")" = 2 ] || fail "a byte more is as predicted: $(cat "$work/out")"
grep -q '"as_predicted": false' "$work/c.json" || fail "the JSON says that it is as predicted"
SLEY_MOCK_ADDS=yes run 1 spmm "$graph" --transport mock --workgroup 2 --algo halo --device cpu "${quick[@]}"
grep -q '; NOT AS PREDICTED$' "$work/out" || fail "a byte more is as predicted: $(cat "$work/out")"
finish
