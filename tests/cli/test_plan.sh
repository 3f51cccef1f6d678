#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `sley plan`: what it says of its figures. No time decides anything.
# Usage: test_plan.sh SLEY SOURCE JSON_FIELD
set -u
sley=$1 source=$2 json_field=$3
# shellcheck source=tests/cli/lib.sh
. "$source/tests/cli/lib.sh"
export SLEY_MACHINE=builtin

has() { grep -q -- "$2" "$work/out" || fail "$1: stdout lacks \"$2\""; }
lacks() { ! grep -q -- "$2" "$work/out" "$work/err" || fail "$1: \"$2\" is said"; }

echo "figures that nobody measured are named so, and only those"
run 0 plan twin:cyt:scale=0.01 --ranks 2 --device cpu
has "built-in figures" '^machine .*(built-in figures; run sley tune)$'
has "built-in figures" '^choice .*(built-in figures; run sley tune)$'
"$sley" tune --seconds 0.1 --out "$work/mine.machine" >/dev/null || fail "tune"
SLEY_MACHINE=$work/mine.machine run 0 plan twin:cyt:scale=0.01 --ranks 2 --device cpu
lacks "measured figures" "built-in"

echo "the table has every algorithm, so none is said not to be considered"
for ranks in 2 4; do
  run 0 plan twin:cyt:scale=0.01 --ranks $ranks --device cpu
  has "$ranks ranks" '^cover '
  lacks "$ranks ranks" "not considered"
done

echo "no GPU: nobody speaks of one, unless it is asked for"
if [ ! -e /dev/nvidiactl ] && [ ! -e /dev/dxg ]; then
  run 0 spmm twin:cyt:scale=0.001 --ranks 2
  lacks "no GPU" "cuda\|GPU"
  run 2 spmm twin:cyt:scale=0.001 --ranks 2 --device cuda
fi

echo "windows: their intensity, and before an order"
# 32 rows and columns: even rows have entries in all even columns, odd rows in all odd ones.
awk 'BEGIN { print "%%MatrixMarket matrix coordinate pattern general\n32 32 512"
  for (i = 1; i <= 32; i++) for (j = 2 - i % 2; j <= 32; j += 2) print i, j }' >"$work/two.mtx"
run 0 plan "$work/two.mtx" --ranks 2 --device cpu --json "$work/two.json"
has "windows" '^windows *16 rows each, intensity 8.00; 100.0 % of the nonzeros in windows of 2 or more, 100.0 % of 4, 100.0 % of 8$'
lacks "windows, no order" '^unordered'
for name in rows:16 windows:2 columns:64 intensity:8 share_from_2:1 share_from_8:1; do
  field "$work/two.json" windows."${name%%:*}" "${name#*:}"
done
run 0 plan "$work/two.mtx" --ranks 2 --device cpu --order loa --json "$work/two.json"
has "windows of loa" '^windows *16 rows each, intensity 16.00; '
has "windows before" '^unordered *16 rows each, intensity 8.00; '
field "$work/two.json" windows.intensity 16
field "$work/two.json" windows_before.intensity 8
run 0 plan "$work/two.mtx" --scaling 1,2 --device cpu --order loa --json "$work/two.json"
has "windows, scaling" '^windows *16 rows each, intensity 16.00; '
field "$work/two.json" windows.columns 32
run 0 order "$work/two.mtx" --order loa --perm "$work/perm.npy"
grep -q '^intensity of windows of 16 rows: 16.00, before 8.00 ' "$work/err" || fail "order: $(cat "$work/err")"

echo "the ablation is one table of steps"
run 0 plan twin:cyt:scale=0.01 --ranks 4 --workgroup 2 --device cpu --algo cola
has "cola" '^algo .*predicted ms .*x step before'
has "cola" '^cover .*rows of X or of Y'
run 0 spmm twin:cyt:scale=0.01 --ranks 4 --workgroup 2 --device cpu --algo cola --repeat 1
has "cola" '^algo .*median ms .*x step before'
awk '/x step before/ { on = 1; next } !on || / not shown by this run / { next } $1 == "rowwise" { first = $(NF-4) }
  /^(rowwise|halo|cover)/ && $NF != "-" { if ($NF - first / $(NF-4) > 0.02 * $NF + 0.01 || first / $(NF-4) - $NF > 0.02 * $NF + 0.01) bad = 1 }
  /^(rowwise|halo|cover)/ { n++ } END { exit bad || n != 6 }' "$work/out" || fail "cola: the ratios are not those of the times"

echo "a step that a run cannot show is named, and has no ratio"
has "two workgroups have one stage" '^halo-pipelined .* - *-$'
has "two workgroups have one stage" '^halo-pipelined: not shown by this run over threads: its plan equals the plan of the previous step$'
run 0 spmm twin:cyt:scale=0.01 --ranks 3 --workgroup 1 --device cpu --algo cola --repeat 1 --json "$work/cola.json"
grep -q '^halo-fused: not shown .*: no row is needed twice in another workgroup$' "$work/out" || fail "no fusion"
grep -q '^halo-pipelined: not shown' "$work/out" && fail "three workgroups have two stages"
run 0 spmm twin:cyt:scale=0.01 --ranks 4 --workgroup 2 --algo cola --repeat 1 --transport tcp --timeout 200
grep -q '^halo-coalesced: not shown .* over tcp: the step before sends one message per peer already$' "$work/out" ||
  fail "tcp sends one message per peer: $(cat "$work/out")"
grep -q '"not_shown": "no row is needed twice in another workgroup"' "$work/cola.json" || fail "$(cat "$work/cola.json")"

echo "charts"
run 2 plan twin:cyt:scale=0.01 --plot "$work/a.jpg"
one_line "another ending" "a.jpg: the ending names no format of it; known: .svg .png"
run 2 spmm twin:cyt:scale=0.01 --plot "$work/a.svg"
one_line "one algorithm" "several algorithms"
PATH=/nowhere run 2 plan twin:cyt:scale=0.01 --plot "$work/a.svg"
one_line "no gnuplot" "gnuplot, which is not installed"
if command -v gnuplot >/dev/null; then
  run 0 plan twin:cyt:scale=0.01 --ranks 4 --device cpu --plot "$work/a.svg"
  grep -q "halo-coalesced" "$work/a.svg" || fail "the chart lacks an algorithm"
  # A name is text to gnuplot, also one with a command in it.
  # shellcheck disable=SC2016 # the backquotes are the name's
  name='a`touch ran`$(touch ran)"; system "touch ran"; #.mtx'
  printf '%%%%MatrixMarket matrix coordinate pattern general\n2 2 2\n1 2\n2 1\n' >"$work/$name"
  (cd "$work" && "$sley" plan "$name" --ranks 2 --device cpu --plot d.svg >/dev/null) || fail "a plot of a matrix with an odd name"
  [ -s "$work/d.svg" ] && [ ! -e "$work/ran" ] || fail "gnuplot ran a matrix's name"
  # One legend of all algorithms for both charts, though one rank moves nothing.
  run 0 plan "$source/data/karate.mtx" --scaling 1 --device cpu --plot "$work/e.svg"
  for text in '>rowwise<' '>cover<' '>karate.mtx, k = 32<'; do
    [ "$(grep -o "$text" "$work/e.svg" | wc -l)" -eq 1 ] || fail "lines: not one $text"
  done
  run 0 plan twin:cyt:scale=0.01 --scaling 1,2,4 --device cpu --plot "$work/b.png"
  [ "$(head -c 4 "$work/b.png" | tail -c 3)" = PNG ] || fail "no PNG"
  run 0 spmm twin:cyt:scale=0.01 --ranks 2 --device cpu --repeat 1 --algo cola --plot "$work/c.svg"
  grep -q "</svg>" "$work/c.svg" || fail "no SVG"
  run 1 plan twin:cyt:scale=0.01 --ranks 2 --device cpu --plot "$work/none/a.svg"
  if [ -w /dev/full ]; then # a link to it has the ending
    ln -s /dev/full "$work/full.png"
    run 1 plan twin:cyt:scale=0.01 --ranks 2 --device cpu --plot "$work/full.png"
    one_line "a picture on a full disk" "full.png: cannot write: No space left on device"
  fi
fi
finish
