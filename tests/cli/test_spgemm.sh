#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# sley spgemm: products that are known, figures, files, and refusals.
# Usage: test_spgemm.sh SLEY ROOT JSON_FIELD
set -u
sley=$1 root=$2 json_field=$3
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
graph=$root/data/karate.mtx

echo "a product is checked, and its figures are printed"
run 0 spgemm "$graph" --verify
silent_err "spgemm"
for word in 'C  *34 x 34' 'products ' 'compression ' 'time ' 'rate ' 'memory ' 'check  *every entry'; do
  grep -q "^$word" "$work/out" || fail "spgemm prints no line of $word"
done
for semiring in plus-times plus-pair min-plus or-and; do
  for dtype in f32 f64 f16 bf16; do
    run 0 spgemm "$graph" "$graph" --semiring $semiring --dtype $dtype --transpose-b --mask "$graph" --verify
  done
done

echo "triangles of the karate club, 45, by plus-pair where it has entries"
run 0 spgemm "$graph" --semiring plus-pair --mask "$graph" --out "$work/c.mtx" --threads 2
sum=$(sed '/^%/d' "$work/c.mtx" | awk 'NR > 1 { sum += $3 } END { print sum }')
[ "$sum" = 270 ] || fail "the masked sums come to $sum, expected 6 x 45"

echo "JSON, repeats and files"
run 0 spgemm "rmat:scale=8,edgefactor=8" --repeat 3 --json "$work/r.json" --out "$work/c.npz" --verify
field "$work/r.json" semiring plus-times
field "$work/r.json" repeat 3
field "$work/r.json" verify.ok true
field "$work/r.json" device cpu
field "$work/r.json" local sley
for name in products nnz compression time_ms.median gflops peak_bytes passes; do field "$work/r.json" $name; done
run 0 spgemm "$work/c.npz" "rmat:scale=8,edgefactor=8" --json -
grep -q '"products"' "$work/out" || fail "--json - prints no JSON"
grep -q '^products' "$work/err" || fail "--json - prints no text on stderr"

echo "what cannot be done is refused in one line"
run 2 spgemm
one_line "spgemm" "too few words"
run 2 spgemm "$graph" "$graph" "$graph"
one_line "spgemm" "one word too many"
run 2 spgemm "$graph" "er:n=35,nnz=100"
one_line "spgemm" "A has 34 columns and B 35 rows"
run 2 spgemm "$graph" --mask "er:n=35,nnz=100"
one_line "spgemm" "the mask is 35 x 35"
run 2 spgemm "$graph" --semiring times
run 2 spgemm "$work/absent.mtx"
run 2 spgemm "er:n=2000,nnz=40000" --mem-limit 1K
one_line "spgemm" "mem_limit of 1024 bytes"
run 2 spgemm "er:n=2000,nnz=40000" --mem-limit 1K --transpose-b
one_line "spgemm" "the transpose of B takes"
run 2 spgemm "er:n=2000,nnz=40000" --mem-limit 520K --transpose-b
one_line "spgemm" "bytes of the limit, which the transpose of B takes: "
run 1 spgemm "$graph" --out "$work/absent/c.mtx"
run 2 spgemm "$graph" --local mkl
one_line "spgemm" 'no sparse products called "mkl"'
run 2 spgemm "$graph" --local cusparse
one_line "spgemm" "device cpu has no kernel of cusparse"

echo "a file that does not fit leaves nothing behind"
mkdir "$work/limited"
for ending in npz mtx sley mtx.gz npz.zst; do
  if [ -w /dev/full ]; then # a link to it has the ending
    ln -s /dev/full "$work/full.$ending"
    run 1 spgemm "rmat:scale=12,edgefactor=8" --out "$work/full.$ending"
    one_line "a full disk, $ending" "/dev/full: cannot write: No space left on device"
    rm "$work/full.$ending"
  fi
  got=0
  (
    trap '' XFSZ
    ulimit -f 64
    exec "$sley" spgemm "rmat:scale=13,edgefactor=8" --out "$work/limited/c.$ending" >"$work/out" 2>"$work/err"
  ) </dev/null || got=$?
  [ $got -eq 1 ] || fail "a file that may not grow, $ending: exit $got"
  one_line "a file that may not grow, $ending" "limited/c.$ending: cannot write: File too large"
  [ -z "$(ls -A "$work/limited")" ] || fail "a file that may not grow, $ending: left $(ls -A "$work/limited")"
done
if [ -w /dev/full ]; then
  got=0
  "$sley" spgemm "$graph" >/dev/full 2>"$work/err" </dev/null || got=$?
  [ $got -eq 1 ] || fail "spgemm to a full disk: exit $got"
  one_line "spgemm to a full disk" "stdout: cannot write: No space left on device"
fi

echo "Ctrl-C in a long product"
set -m
for words in "--threads 2" "--semiring plus-pair --mask rmat:scale=16,edgefactor=16" "--mem-limit 2G --transpose-b"; do
  # shellcheck disable=SC2086
  "$sley" spgemm "rmat:scale=16,edgefactor=16" $words --repeat 10000 --out "$work/limited/c.npz" \
    >"$work/out" 2>"$work/err" </dev/null &
  child=$!
  sleep 1
  begin=$(date +%s%N)
  kill -INT -- "-$child"
  got=0
  wait "$child" || got=$?
  took=$((($(date +%s%N) - begin) / 1000000))
  [ $got -eq 130 ] || fail "interrupted, $words: exit $got"
  [ $took -le "${SLEY_TEST_MOST_MS:-20000}" ] || fail "interrupted, $words: took $took ms"
  one_line "interrupted, $words" "sley: interrupted"
  [ ! -s "$work/out" ] || fail "interrupted, $words: figures are printed"
  [ -z "$(ls -A "$work/limited")" ] || fail "interrupted, $words: left $(ls -A "$work/limited")"
done
set +m

finish
