#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ctrl-C, and other signals that end a process, at random moments of every command: each ends soon, with 128 and the
# number of the signal, or done, and leaves nothing unfinished.
# Usage: test_interrupt.sh SLEY ROOT [COUNT [SEED]]; COUNT interrupts, each of the commands in turn, from a drawn one on.
# SLEY_TEST_MOST_MS: the most that an end may take. The commands are made to end within 2000 on a machine that does nothing else;
# by default only what hangs fails, because a loaded machine or a sanitizer may take longer (TSan alone waits 1000 at each exit).
set -u
sley=$(realpath "$1") root=$2 count=${3:-}
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
MOST_MS=${SLEY_TEST_MOST_MS:-20000}
seed=${4:-$test_seed}
RANDOM=$seed
[ -n "$count" ] || count=$((share > 4 ? 8 : 32 / share))
mkdir "$work/in" "$work/y"
run 0 generate twin:cyt:scale=0.15 -o "$work/in/a.mtx"
run 0 convert "$work/in/a.mtx" "$work/in/a.sley"
run 0 convert "$work/in/a.mtx" "$work/in/a.mtx.gz"
run 0 convert "$work/in/a.sley" "$work/in/a.npz"

in=$work/in y=$work/y
commands=(
  "spmm $in/a.mtx --repeat 1000000 --out $y/y.npy --json $y/y.json"
  "spmm $in/a.sley --repeat 1000000 --transport tcp --out $y/y.npy --trace $y/t.json --algo halo"
  "spmm $in/a.mtx.gz -k 128 --repeat 1 --transport tcp --out $y/y.npy"
  "spmm $in/a.mtx -k 128 --repeat 1 --ranks 3 --out $y/y.npy.gz"
  "spmm $in/a.npz --algo all --repeat 1000 --order rcm --transpose"
  "plan $in/a.mtx --ranks 64 --json $y/y.json"
  "convert $in/a.mtx $y/b.mtx.gz"
  "convert $in/a.mtx.gz $y/b.npz"
  "convert $in/a.sley $y/b.el.zst"
  "spgemm $in/a.sley --repeat 10000 --out $y/c.npz --json $y/y.json"
  "spgemm $in/a.npz --transpose-b --mem-limit 1G --out $y/c.mtx.gz"
  "generate twin:clj -o $y/b.mtx"
  "spy $in/a.mtx.gz --order rabbit -o $y/b.png"
  "tune --seconds 30 --out $y/m.machine"
  "bench --matrix $in/a.mtx --k 1,8,32,128,512 --repeat 1000 --budget 60 --json $y/y.json"
  "collective allreduce --bytes 8M --repeat 1000000 --device cpu --json $y/y.json"
  "collective allgather --sweep --bytes 64M --repeat 1000 --device cpu --transport tcp --json $y/y.json"
)
if "$sley" order "$root/data/karate.mtx" --order scotch -o "$y/b.sley" >/dev/null 2>&1; then # a build may lack SCOTCH
  commands+=("order $in/a.mtx --order scotch -o $y/b.sley --perm $y/p.npy")
fi

now_ms() { echo $(($(date +%s%N) / 1000000)); }

# Whether a process of the group runs still.
group_runs() { kill -0 -- "-$1" 2>/dev/null; }

# Whether process $1 catches signal $2: before its main it does not yet, and cannot say that it was interrupted.
catches() {
  local caught
  caught=$(sed -n 's/^SigCgt:\s*//p' "/proc/$1/status" 2>/dev/null)
  [ -n "$caught" ] && [ $((0x$caught >> ($(kill -l "$2") - 1) & 1)) -eq 1 ]
}

set -m # each command in a group of its own, as on a terminal
longest=0 done_before=0 first=$((RANDOM % ${#commands[@]}))
signals=(INT HUP TERM QUIT INT XCPU XFSZ USR1)
for ((i = 0; i < count; i++)); do
  words=${commands[(first + i) % ${#commands[@]}]}
  rm -rf "${y:?}"/*
  after=$((RANDOM % 2500)) to=all signal=${signals[RANDOM % ${#signals[@]}]}
  [ $((i / ${#commands[@]} % 3)) -ne 1 ] || to=one # a signal to the command alone, as by kill
  # shellcheck disable=SC2086 # a list of words
  "$sley" $words >"$work/out" 2>"$work/err" </dev/null &
  child=$!
  sleep "$((after / 1000)).$(printf %03d $((after % 1000)))"
  begin=$(now_ms) says=0
  ! catches "$child" $signal || says=1
  if [ $to = all ]; then kill -$signal -- "-$child" 2>/dev/null; else kill -$signal "$child" 2>/dev/null; fi
  wait "$child"
  code=$?
  took=$(($(now_ms) - begin))
  [ $took -le $longest ] || longest=$took
  what="sley ${words//$work\//}, SIG$signal ($to) after $after ms"
  if [ $code -eq 0 ]; then
    done_before=$((done_before + 1))
  else
    [ $code -eq $((128 + $(kill -l $signal))) ] || fail "$what: exit $code: $(cat "$work/err")"
    [ $took -le $MOST_MS ] || fail "$what: took $took ms"
    [ $says -eq 0 ] || [ $signal = INT ] || [ $signal = TERM ] || grep -q "interrupted by SIG$signal" "$work/err" || fail "$what: says $(cat "$work/err")"
    [ "$(grep -c interrupted "$work/err")" -le 1 ] || fail "$what: says it twice: $(cat "$work/err")"
  fi
  for ((wait_more = 0; wait_more < 20; wait_more++)); do
    group_runs "$child" || break
    sleep 0.1
  done
  group_runs "$child" && fail "$what: processes run still"
  left=$(find "$work/y" "$work/in" -name '*.part-*')
  [ -z "$left" ] || fail "$what: left $left"
done
echo "$count interrupts by seed $seed, $done_before of commands that had ended; the longest end took $longest ms"
finish
