#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Pictures: size, where nonzeros are drawn, the partition's lines, empty and rectangular matrices; axes around them.
# Usage: test_spy.sh SLEY ROOT PNG_PIXEL
set -u
sley=$1 root=$2 png_pixel=$3
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
margin=12 paper=fcfcfa

# pixel X Y WIDTH HEIGHT is|not COLOUR: of $work/a.png, counted from the corner of the matrix's area.
pixel() {
  local got
  got=$("$png_pixel" "$work/a.png" $((margin + $1)) $((margin + $2))) || { fail "no pixel $1 $2"; return; }
  [ "${got% *}" = "$(($3 + 2 * margin)) $(($4 + 2 * margin))" ] || fail "the picture's size is ${got% *}"
  if [ "$5" = is ]; then
    [ "${got##* }" = "$6" ] || fail "pixel $1 $2 is ${got##* }, expected $6"
  else
    [ "${got##* }" != "$6" ] || fail "pixel $1 $2 is $6"
  fi
}

# A diagonal of 4 in 18 pixels: cells of 4, with a gap of one.
run 0 spy diag:n=4 -o "$work/a.png" --bare --size 18
for i in 0 4 8 12; do
  pixel $i $i 16 16 not $paper
  pixel $((i + 2)) $((i + 2)) 16 16 not $paper
  pixel $((i + 3)) $((i + 3)) 16 16 is $paper
  pixel $(((i + 4) % 16)) $i 16 16 is $paper
done
# Two ranks: lines at the middle, behind the nonzeros.
run 0 spy diag:n=4 -o "$work/a.png" --bare --size 18 --ranks 2
pixel 0 8 16 16 not $paper
pixel 8 0 16 16 not $paper
pixel 0 4 16 16 is $paper
pixel 8 8 16 16 not e89460
pixel 0 8 16 16 is e89460
# Denser is darker: a full matrix beside an empty one; a large one shrinks to the size.
run 0 spy dense:rows=100,cols=50 -o "$work/a.png" --bare --size 64
pixel 0 0 32 64 not $paper
pixel 31 63 32 64 not $paper
run 0 spy empty:rows=10,cols=40 -o "$work/a.png" --bare --size 80
pixel 0 0 80 20 is $paper
run 0 spy empty:rows=0,cols=0 -o "$work/a.png" --bare --size 20
# Long and narrow ones are drawn wider than they are, with a scale.
run 0 spy dense:rows=1,cols=3000 -o "$work/a.png" --bare --size 80
pixel 79 8 80 10 not $paper
run 0 spy dense:rows=3000,cols=2 -o "$work/a.png" --bare --size 80
pixel 8 79 10 80 not $paper

# With axes, title and scale: the same pixels between margins, in both formats.
if command -v gnuplot >/dev/null; then
  run 0 spy dense:rows=100,cols=50 -o "$work/a.png" --size 400
  for at in "109 46 000000" "110 446 000000" "130 246 3e76b2"; do
    read -r x y colour <<<"$at"
    got=$("$png_pixel" "$work/a.png" "$x" "$y")
    [ "$got" = "460 504 $colour" ] || fail "axes: pixel $x $y is $got, expected $colour"
  done
  run 0 spy "$root/data/karate.mtx" -o "$work/a.svg" --order rcm --ranks 2
  for text in "karate.mtx: 34 x 34" "order rcm, 2 ranks" ">column<" ">row<"; do
    grep -qF -- "$text" "$work/a.svg" || fail "the SVG lacks $text"
  done
  for matrix in empty:rows=0,cols=0 empty:rows=0,cols=5 empty:rows=3,cols=1 diag:n=1 dense:rows=1,cols=3000 \
    dense:rows=3000,cols=1; do
    for size in 16 800; do
      run 0 spy $matrix -o "$work/a.png" --size $size
      silent_err "spy $matrix, $size pixels"
    done
  done
  run 0 spy twin:cyt:scale=0.05 -o "$work/a.svg"
  grep -qF "nonzeros in a pixel" "$work/a.svg" || fail "there is no scale"
fi
# Without gnuplot: the area alone, and a line.
mkdir "$work/nothing"
PATH=$work/nothing run 0 spy diag:n=4 -o "$work/a.png" --size 18
one_line "no gnuplot" "drawn without axes"
pixel 0 0 16 16 not $paper
PATH=$work/nothing run 2 spy diag:n=4 -o "$work/none.svg"
one_line "no gnuplot, SVG" "SVG needs the program gnuplot"
[ ! -e "$work/none.svg" ] || fail "a refused picture was written"
# A gnuplot that fails is told of; one that Ctrl-C comes to, or that runs when it comes, is an interrupt.
mkdir "$work/failing" "$work/endless" "$work/drawn"
printf '#!/bin/sh\nexit 1\n' >"$work/failing/gnuplot"
printf '#!/bin/sh\necho $$ >"%s/started"\nexec sleep 600\n' "$work" >"$work/endless/gnuplot"
chmod +x "$work"/{failing,endless}/gnuplot
PATH=$work/failing:$PATH run 1 spy diag:n=4 -o "$work/drawn/a.png"
one_line "a failing gnuplot" "gnuplot could not draw it"
set -m # groups of their own, as on a terminal
for to in -- ''; do # the group, or the command alone
  rm -f "$work/started"
  PATH=$work/endless:$PATH "$sley" spy diag:n=4 -o "$work/drawn/a.png" >"$work/out" 2>"$work/err" </dev/null &
  child=$!
  until [ -s "$work/started" ] || ! kill -0 $child 2>/dev/null; do sleep 0.05; done
  kill -INT ${to:+$to -}$child
  code=0
  wait $child || code=$?
  [ $code -eq 130 ] || fail "interrupted beside gnuplot: exit $code"
  one_line "interrupted beside gnuplot" "sley: interrupted"
  kill -0 "$(cat "$work/started")" 2>/dev/null && fail "gnuplot runs still"
done
[ -z "$(ls -A "$work/drawn")" ] || fail "left $(ls -A "$work/drawn")"
finish
