#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ranks that are processes read and write their own rows: the bits, the messages and the files of ranks that are threads.
# Usage: test_spread.sh SLEY ROOT
set -u
sley=$1 root=$2
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
mkdir "$work/y"

echo "the same Y, from every format and partition"
run 0 generate twin:cyt:scale=0.003 -o "$work/m.mtx"
for ending in sley npz el rb mtx.gz el.zst sley.zst; do run 0 convert "$work/m.mtx" "$work/m.$ending"; done
for matrix in "$work/m.mtx" "$work/m.sley" "$work/m.npz" "$work/m.el" "$work/m.rb" "$work/m.mtx.gz" "$work/m.el.zst" "$work/m.sley.zst" \
  twin:cyt:scale=0.002; do
  for extra in "" "--beta 2 --partition nnz"; do
    # shellcheck disable=SC2086 # lists of words
    for transport in threads tcp; do
      run 0 spmm "$matrix" --ranks 3 --k 7 --algo cover --reproducible --repeat 1 --transport $transport $extra --out "$work/y/$transport.npy"
      grep -q '^check *ok' "$work/out" || fail "$matrix over $transport is not checked"
    done
    cmp -s "$work/y/threads.npy" "$work/y/tcp.npy" || fail "$matrix $extra: processes give another Y than threads"
  done
done
run 0 spmm "$work/m.mtx" --ranks 2 --k 7 --repeat 1 --out "$work/x.npy"
run 0 spmm "$work/m.mtx" --ranks 3 --repeat 1 --algo halo --reproducible --transport tcp --x "$work/x.npy" --out "$work/y/tcp.npy"
run 0 spmm "$work/m.mtx" --ranks 2 --repeat 1 --algo halo --reproducible --x "$work/x.npy" --out "$work/y/threads.npy"
cmp -s "$work/y/threads.npy" "$work/y/tcp.npy" || fail "with X of a file processes give another Y than threads"
run 0 spmm "$work/m.mtx" --ranks 2 --k 7 --repeat 1 --transport tcp --out "$work/y/tcp.npy.gz"
gzip -t "$work/y/tcp.npy.gz" || fail "Y is not compressed"

echo "the same messages"
printf '%%%%MatrixMarket matrix coordinate real general\n4 4 3\n1 1 1\n2 5 1\n3 3 1\n' >"$work/bad.mtx"
printf '0 1\n1 2\n2 x\n' >"$work/bad.el"
head -c 300 "$work/m.sley" >"$work/bad.sley"
for words in "$work/bad.mtx" "$work/bad.el" "$work/bad.sley" "$work/none.mtx" "er:n=10" "$work/m.mtx --x $work/m.mtx" \
  "$work/m.mtx --k 3 --x $work/x.npy" "er:n=9,nnz=20 --x $work/x.npy"; do
  # shellcheck disable=SC2086
  run 2 spmm $words --ranks 3
  cp "$work/err" "$work/threads"
  # shellcheck disable=SC2086
  run 2 spmm $words --ranks 3 --transport tcp
  cmp -s "$work/err" "$work/threads" || fail "$words: tcp says '$(cat "$work/err")', threads '$(cat "$work/threads")'"
done
rm -f "$work"/y/*
run 1 spmm "$work/m.mtx" --ranks 3 --repeat 1 --transport tcp --out "$work/nowhere/y.npy"
run 1 spmm "$work/m.mtx" --ranks 3 --repeat 1 --transport tcp --out /dev/full
one_line "a full disk" "/dev/full: cannot write: No space left on device"

echo "nothing is left of a Y that cannot be whole"
# A limit on the size of files: the last rank's rows do not fit, and the file's size may not be set either.
(trap '' XFSZ; ulimit -f 20; "$sley" spmm "$work/m.mtx" --ranks 3 --repeat 1 --transport tcp --out "$work/y/y.npy" >"$work/out" 2>"$work/err") &&
  fail "a file beyond the limit is written"
grep -q 'y.npy: cannot write' "$work/err" || fail "the limit is not told: $(cat "$work/err")"
[ -z "$(ls -A "$work/y")" ] || fail "left $(ls -A "$work/y")"
for after in 0.05 0.15 0.3 0.5 0.8; do
  timeout -s INT "$after" "$sley" spmm er:n=200000,nnz=400000 --k 64 --ranks 4 --repeat 2 --no-verify --algo halo --transport tcp \
    --out "$work/y/y.npy" >"$work/out" 2>&1
  if [ $? = 0 ]; then [ "$(stat -c %s "$work/y/y.npy")" = 51200128 ] || fail "Y is cut"; fi
  rm -f "$work/y/y.npy"
  [ -z "$(ls -A "$work/y")" ] || fail "interrupted after $after s it left $(ls -A "$work/y")"
done
finish
