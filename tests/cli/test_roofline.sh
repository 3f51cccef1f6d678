#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sley roofline: figures that are known, measured runs, JSON, pictures, and refusals.
# Usage: test_roofline.sh SLEY ROOT JSON_FIELD
set -u
sley=$1 root=$2 json_field=$3
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
graph=$root/data/karate.mtx
export SLEY_MACHINE=builtin

echo "figures are printed, for each algorithm and each rank"
run 0 roofline "$graph" --algo all --workgroup 1 --network-bandwidth 0.1 --latency 20 --per-rank
silent_err roofline
for word in 'machine ' 'a rank  *memory .*network 0.1 GB' 'algo ' tile-c tile-a tile-b tile-summa summa-2d 'tile-c by ranks'; do
  grep -q "^$word" "$work/out" || fail "roofline prints no line of $word"
done
[ "$(sed -n '/by ranks/,/^$/p' "$work/out" | grep -c '^ *[0-3] ')" -eq 4 ] || fail "not a line for each rank"
run 0 roofline "$graph" --spgemm --ranks 6 --grid 3x2 --tiles 4x6 --columns 2 --json "$work/s.json"
grep -q 'times itself' "$work/out" || fail "it does not tell that the product is A A"
field "$work/s.json" ranks 6
field "$work/s.json" compression
run 0 roofline "$graph" "$graph" --spgemm --compression 2 --dtype f64

echo "bytes are those that a run counts, and its time stands beside the predicted one"
run 0 spmm "er:n=400,nnz=3000" --ranks 4 --workgroup 1 --device cpu --k 16 --algo summa-2d,halo --repeat 1 --json "$work/m.json"
run 0 roofline "er:n=400,nnz=3000" --ranks 4 --workgroup 1 --k 16 --algo summa-2d --measured "$work/m.json" --json "$work/r.json"
bytes=$(sed -n 's/.*"message": \([0-9]*\),*/\1/p' "$work/m.json" | head -1)
predicted=$(sed -n 's/.*"network_bytes": \([0-9.]*\),*/\1/p' "$work/r.json" | head -1)
[ "$bytes.0" = "$predicted" ] || fail "$predicted bytes are predicted, $bytes were counted"
grep -q '^summa-2d .* [0-9.]* *[0-9.]*$' "$work/out" || fail "no ratio of the measured run"
grep -q '^halo ' "$work/out" || fail "no line of an algorithm that was measured alone"
run 0 roofline "$graph" --measured-ms 2 --json -
grep -q '"measured_ms": 2.0' "$work/out" || fail "--measured-ms is not in the JSON"
grep -q '^tile-c' "$work/err" || fail "--json - prints no text on stderr"

echo "what bounds is the lower of the roofs"
# bound WORD options...
bound() {
  run 0 roofline "$graph" --workgroup 1 "${@:2}" --json "$work/b.json"
  grep -q "\"bound\": \"$1\"" "$work/b.json" || fail "${*:2}: not bound by $1"
}
bound network --network-bandwidth 0.001 --memory-bandwidth 1
bound memory --network-bandwidth 1000 --memory-bandwidth 0.001
bound arithmetic --network-bandwidth 1000 --memory-bandwidth 1000 --peak 0.001
field "$work/b.json" peak_gflops 0.001
printf '%s\n' 'name slow sums' 'meeting 1e-6' 'pack-bandwidth 1e9' 'stream-bandwidth 1e10' 'spmm-bandwidth 1e6' \
  'link direct 0 1e9' 'link message 1e-6 1e9' >"$work/slow.machine"
bound sums --machine "$work/slow.machine"

echo "pictures"
if command -v gnuplot >/dev/null; then
  run 0 roofline "er:n=400,nnz=3000" --k 16 --workgroup 1 --algo all --measured "$work/m.json" --plot "$work/a.svg"
  grep -q '<svg' "$work/a.svg" || fail "no picture"
  for name in tile-c tile-b summa-2d halo predicted measured 'local roof'; do
    grep -q ">$name<" "$work/a.svg" || fail "the picture lacks $name"
  done
  run 0 roofline "$graph" --ranks 1 --plot "$work/b.png" # nothing travels
  [ -s "$work/b.png" ] || fail "no picture of one rank"
fi

echo "what cannot be done is refused in one line"
# refused TEXT options...
refused() {
  run 2 roofline "${@:2}"
  one_line "roofline ${*:2}" "$1"
}
refused 'there is no algorithm "tile-d"; the nearest is "tile-c"' "$graph" --algo tile-d
refused "names tile-c twice" "$graph" --algo tile-c,tile-c
refused 'there is no algorithm ""' "$graph" --algo tile-c,,tile-a
refused '--grid is "2"' "$graph" --grid 2
refused '--tiles is "0x2"' "$graph" --tiles 0x2
refused "a grid of 3 x 1 does not have 4 ranks" "$graph" --grid 3x1
refused "at most 16777216 products" "$graph" --tiles 16777216
refused "summa-2d multiplies a dense X only" "$graph" --spgemm --algo summa-2d
refused "goes with --spgemm" "$graph" "$graph"
refused "A has 34 columns and B 35 rows" "$graph" "er:n=35,nnz=100" --spgemm
refused "at least 1 product" "$graph" --spgemm --compression 0.5
refused "its k is 16, but here it is 32" "er:n=400,nnz=3000" --measured "$work/m.json"
refused "its nnz is 3000" "$graph" --k 16 --measured "$work/m.json"
refused "line 1:" "$graph" --measured "$graph"
refused "unable to open" "$graph" --measured "$work/absent.json"
echo '{"algorithms": [{"algo": "halo"}]}' >"$work/empty.json"
refused "no algorithm and time in it" "$graph" --measured "$work/empty.json"
refused "No such file" "$graph" --machine "$work/absent.machine"
refused "the ending names no format of it; known: .svg .png" "$graph" --plot "$work/a.gif"
run 1 roofline "$graph" --json "$work/absent/r.json"

finish
