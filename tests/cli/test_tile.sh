#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Products in tiles, of sley spmm and sley spgemm: checks, figures, grids and tiles, transports, devices, files, and refusals;
# sley tile, which stands for both.
# Usage: test_tile.sh SLEY ROOT JSON_FIELD FOLDER_OF_THE_MOCK_DEVICE
set -u
sley=$1 root=$2 json_field=$3 mock=$4
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
graph=$root/data/karate.mtx

echo "products are checked, and figures are printed"
run 0 spmm "$graph" --algo tile-all --repeat 2
silent_err "tile"
for word in 'matrix .*34 x 34' 'ranks  *4 as a grid of 2 x 2' 'tiles  *A 2 x 2, X 2 x 2, Y 2 x 2' nonzeros 'tile-c ' tile-a tile-b \
  'tile-c-steal ' tile-c-steal-local 'tile-a-steal ' tile-a-steal-local 'tile-b-steal ' tile-b-steal-local tile-summa 'tile-two-level ' \
  'moved .*as predicted' 'work ' 'rank  *compute' 'mean ' 'check  *every entry'; do
  grep -q "^$word" "$work/out" || fail "tile prints no line of $word"
done
[ "$(grep -c '^[0-3] ' "$work/out")" = 44 ] || fail "not a line for each rank and algorithm"
[ "$(grep -cE '^tile-[a-z-]*( +[0-9.]+){3} +(yes|-)( +[0-9.]+){4} +ok$' "$work/out")" = 11 ] || fail "the table does not have each algorithm"
awk '/^[0-3] / { for (i = 2; i <= 5; i++) sum[i] += $i }
     /^mean / { for (i = 2; i <= 5; i++) { if ($i < sum[i] / 4 - 0.002 || $i > sum[i] / 4 + 0.002) exit 1; sum[i] = 0 } }' "$work/out" ||
  fail "the mean of the times is not that of the ranks' times"

if command -v gnuplot >/dev/null; then
  echo "a picture of the time of each rank"
  run 0 spmm "$graph" --algo tile-a --ranks 3 --plot "$work/ranks.svg"
  for text in '>rank 0<' '>rank 2<' '>compute<' '>communicate<' '>accumulate<' '>imbalance<' '>tile-a<'; do
    grep -q -- "$text" "$work/ranks.svg" || fail "the picture lacks $text"
  done
fi

echo "types, grids and tiles of any number"
for dtype in f32 f64 f16 bf16; do
  run 0 spmm "$graph" --algo tile-a,tile-b --dtype $dtype --ranks 6 --grid 3x2 --tiles 5x7 --columns 3 --repeat 1 --warmup 0 -k 5
done
run 0 spmm "$graph" --algo tile-c --ranks 7 --tiles 40 --repeat 1 --warmup 0 -k 0
run 0 spmm "$graph" --ranks 5 --grid 1x5 --algo tile-all --buffers 1 --repeat 1 --warmup 0 -k 1

echo "the work of the busiest rank, and by stages, is what sley roofline counts from the tiles"
for algo in tile-c tile-a tile-b tile-summa; do
  words=("$graph" --ranks 6 --grid 3x2 --tiles 5x7 --columns 3 --algo "$algo" --dtype f64)
  run 0 spmm "${words[@]}" -k 5 --repeat 2 --json "$work/t.json"
  run 0 roofline "${words[@]}" -k 5 --json "$work/r.json"
  run 0 spgemm "${words[@]}" --repeat 2 --json "$work/s.json"
  run 0 roofline "${words[@]}" --spgemm --json "$work/q.json"
  for name in flops_imbalance stage_imbalance; do
    for pair in "t r" "s q"; do
      read -r got wanted <<<"$(for file in $pair; do "$json_field" "$work/$file.json" algorithms.0.$name; done | tr '\n' ' ')"
      awk "BEGIN { exit !($got >= 1 && $got - $wanted < 1e-9 && $wanted - $got < 1e-9) }" || fail "$algo: $name is $got, sley roofline says $wanted"
    done
  done
done

echo "sparse times sparse: what sley spgemm makes, in every semiring"
for semiring in plus-times plus-pair min-plus or-and; do
  run 0 spgemm "$graph" --verify --algo tile-c --dtype f32 --semiring $semiring --tiles 5 --ranks 3 --repeat 2 --json "$work/c.json"
  field "$work/c.json" algorithms.0.verify.ok true
  read -r low middle high <<<"$(for name in min median p95; do "$json_field" "$work/c.json" algorithms.0.time_ms.$name; done | tr '\n' ' ')"
  awk "BEGIN { exit !($low <= $middle && $middle <= $high) }" || fail "the median $middle is not within $low .. $high"
  grep -q "^C .* nonzeros of .* products, $semiring" "$work/out" || fail "spgemm in tiles does not tell of C"
done
run 0 spgemm "$graph" --json "$work/s.json"
for name in nnz products; do
  field "$work/c.json" algorithms.0.$name "$("$json_field" "$work/s.json" $name)"
done
run 2 spgemm "$graph" "er:n=35,nnz=100" --ranks 4 --algo tile-c
one_line "tile" "A has 34 columns and B 35 rows"
run 0 spgemm "$graph" --verify --algo tile-all --tiles 5 --ranks 3 --buffers 1 --repeat 1 --json "$work/a.json"
for n in 0 1 2 3 4 5 6 7 8; do
  field "$work/a.json" algorithms.$n.verify.ok true
  field "$work/a.json" algorithms.$n.nnz "$("$json_field" "$work/s.json" nnz)"
done


echo "a mask, and a limit of memory"
run 0 spgemm "$graph" --mask "$graph" --json "$work/s.json"
run 0 spgemm "$graph" --mask "$graph" --mem-limit 1M --verify --algo tile-all --tiles 5 --ranks 3 --repeat 1 --json "$work/m.json"
grep -q "^mask .* nonzeros" "$work/out" || fail "tile prints no line of the mask"
for n in 0 1 2 3 4 5 6 7 8; do
  field "$work/m.json" algorithms.$n.verify.ok true
  field "$work/m.json" algorithms.$n.nnz "$("$json_field" "$work/s.json" nnz)"
done
field "$work/m.json" mem_limit 1048576
run 2 spgemm "$graph" --ranks 4 --algo tile-c --mem-limit 1K
one_line "tile" "a mem_limit of 1024 bytes leaves no room to work"
run 2 spgemm "$graph" --ranks 4 --algo tile-c --mask "er:n=35,nnz=100"
one_line "tile" "the mask is 35 x 35, but the product is 34 x 34"

echo "files: X, Y and C, which are those of plans and of one process"
run 0 spmm "$graph" --algo halo --reproducible --ranks 1 --dtype f64 --order rcm -k 3 --out "$work/x.npy"
for words in "" "--order rcm" "--alpha 2 --beta 3" "--transport tcp"; do
  # shellcheck disable=SC2086 # a list of words
  run 0 spmm "$graph" --algo tile-all --x "$work/x.npy" --repeat 2 $words --json "$work/t.json" --out "$work/y.npy"
  for n in 0 1 2 3 4 5 6 7 8; do field "$work/t.json" algorithms.$n.verify.ok true; done
  [ -s "$work/y.npy" ] || fail "no Y of $words"
  rm -f "$work/y.npy"
done
run 0 spmm "$graph" --algo tile-c --tiles 1 --ranks 1 --columns 1 --x "$work/x.npy" --out "$work/y.npy"
run 0 spmm "$graph" --algo halo --reproducible --ranks 1 --x "$work/x.npy" --out "$work/p.npy"
cmp -s "$work/y.npy" "$work/p.npy" || fail "Y in one tile is another than without"
run 0 spgemm "$graph" "er:n=34,nnz=200" --transpose-b --mask "$graph" --out "$work/c.mtx"
for words in "--ranks 3" "--ranks 4 --algo tile-a-steal --tiles 5" "--ranks 2 --transport tcp --algo tile-b,tile-c"; do
  # shellcheck disable=SC2086 # a list of words
  run 0 spgemm "$graph" "er:n=34,nnz=200" --transpose-b --mask "$graph" --verify --out "$work/d.mtx" $words
  [ "$(grep -v '^%' "$work/c.mtx" | cut -d ' ' -f 1,2)" = "$(grep -v '^%' "$work/d.mtx" | cut -d ' ' -f 1,2)" ] || fail "C of $words has other entries"
  rm -f "$work/d.mtx"
done

echo "the choice: rows in one process, else tiles"
run 0 spgemm "$graph" --json "$work/s.json"
field "$work/s.json" algo rows
run 0 spgemm "$graph" --ranks 2 --json "$work/s.json"
field "$work/s.json" algorithms.0.algo tile-c
run 0 spgemm "$graph" --transport tcp --ranks 1 --json "$work/s.json"
field "$work/s.json" algorithms.0.algo tile-c

echo "sley tile says what it is now"
run 0 tile "$graph" --algo all --repeat 1 --json "$work/t.json"
one_line "tile" "sley tile is sley spmm --algo tile-c now"
field "$work/t.json" k 64
field "$work/t.json" algorithms.9.algo tile-summa
run 0 tile "$graph" --times="$graph" --mask "$graph" --repeat 1 --json "$work/t.json"
one_line "tile --times" "sley tile is sley spgemm --algo tile-c now"
field "$work/t.json" ranks 4
field "$work/t.json" algorithms.0.verify.ok true
run 2 tile

echo "bytes between workgroups beside those of broadcasts"
run 0 spgemm "$graph" --ranks 4 --workgroup 2 --algo tile-summa,tile-two-level --json "$work/t.json"
grep -q '^between *workgroups' "$work/out" || fail "no line of the bytes between workgroups"
field "$work/t.json" algorithms.1.summa_bytes "$("$json_field" "$work/t.json" algorithms.0.volume_bytes.message)"

echo "JSON, and ranks as processes: the same traffic"
run 0 spmm "rmat:scale=9,edgefactor=6" --algo tile-a --repeat 3 --workgroup 2 --json "$work/t.json"
run 0 spmm "rmat:scale=9,edgefactor=6" --algo tile-a --repeat 3 --workgroup 2 --transport tcp --json "$work/p.json"
for name in matrix k ranks grid_rows rank_imbalance algorithms.0.algo algorithms.0.time_ms.median algorithms.0.per_rank.3.imbalance_ms; do
  field "$work/t.json" $name
done
field "$work/p.json" algorithms.0.verify.ok true
for name in volume_bytes.direct volume_bytes.message messages.message volume_bytes.self; do
  bytes=$("$json_field" "$work/t.json" algorithms.0.$name)
  field "$work/p.json" algorithms.0.$name "$bytes"
done
run 0 spmm "$graph" --algo tile-c --json - --repeat 1
grep -q '"algorithms"' "$work/out" || fail "--json - prints no JSON"
grep -q '^matrix' "$work/err" || fail "--json - prints no text on stderr"

echo "on a device whose memory the host cannot address: the same traffic"
export SLEY_MODULE_PATH=$mock
run 0 spmm "rmat:scale=9,edgefactor=6" --algo tile-a --repeat 3 --workgroup 2 --device cuda --json "$work/d.json"
field "$work/d.json" algorithms.0.verify.ok true
for name in volume_bytes.direct volume_bytes.message messages.message volume_bytes.self; do
  field "$work/d.json" algorithms.0.$name "$("$json_field" "$work/t.json" algorithms.0.$name)"
done
grep -q '^ranks .*, cuda, ' "$work/out" || fail "tile does not tell the device"
run 0 spmm "$graph" --algo tile-c --device cuda --ranks 2 --transport tcp --repeat 1 --warmup 0
for semiring in plus-times min-plus; do
  run 0 spgemm "$graph" --device cuda --dtype f32 --semiring $semiring --verify --algo tile-all --tiles 5 --ranks 3 --repeat 1 --warmup 0 \
    --json "$work/c.json"
  for n in 0 1 2 3 4 5 6 7 8; do
    field "$work/c.json" algorithms.$n.verify.ok true
  done
done
run 0 spgemm "$graph" --device cuda --mask "$graph" --dtype bf16 --verify --algo tile-all --tiles 5 --ranks 3 --repeat 1 \
  --warmup 0 --json "$work/d.json"
for n in 0 1 2 3 4 5 6 7 8; do
  field "$work/d.json" algorithms.$n.verify.ok true
  field "$work/d.json" algorithms.$n.nnz "$("$json_field" "$work/m.json" algorithms.0.nnz)"
done
run 2 spgemm "$graph" --ranks 4 --algo tile-c --device cuda --mem-limit 1K
one_line "tile" "mem_limit"
run 0 spgemm "$graph" --device cuda --verify --algo tile-a --ranks 3 --transport tcp --repeat 1 --warmup 0
unset SLEY_MODULE_PATH

echo "what cannot be done is refused in one line"
run 2 spmm "$graph" --algo tile-d
one_line "tile" '--algo has no "tile-d"'
run 2 spmm "$graph" --algo tile-c,
run 2 spmm "$graph" --algo tile-c:ps=4
one_line "parameters" '--algo tile-c:ps=4: tile-c has no parameters'
run 2 spgemm "$graph" --algo rows:ps=4
one_line "parameters" '--algo rows:ps=4: rows has no parameters'
for words in "--algo tile-c,halo" "--algo tile-c --transpose" "--algo tile-a --wire bf16" "--algo tile-c --reproducible" "--mask $graph"; do
  # shellcheck disable=SC2086 # a list of words
  run 2 spmm "$graph" $words
  one_line "spmm $words" "spmm: "
done
for words in "--algo rows,tile-c" "--algo rows,auto" "--algo rows --transport tcp" "--algo rows --ranks 2" "--algo tile-c --local cusparse"; do
  # shellcheck disable=SC2086 # a list of words
  run 2 spgemm "$graph" $words
  one_line "spgemm $words" "spgemm"
done
run 2 spmm "$graph" --algo tile-c --grid 3x2
one_line "tile" "a grid of 3 x 2 does not have 4 ranks"
for grid in 4 2x 2x2x 0x4 axb -1x-4; do
  run 2 spmm "$graph" --algo tile-c --grid=$grid
  one_line "tile" '--grid is'
done
run 2 spmm "$graph" --algo tile-c --tiles 0
one_line "tile" '--tiles is "0": give a number or two numbers'
run 2 spmm "$graph" --algo tile-c --tiles 100000x100000
one_line "tile" "at most 16777216 in all"
run 2 spmm "$graph" --algo tile-c --device cuda
run 2 spmm "$work/absent.mtx" --algo tile-c
run 1 spmm "$graph" --algo tile-c --json "$work/absent/t.json"

finish
