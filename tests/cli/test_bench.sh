#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `sley bench`: what is drawn, the lines and the JSON, and what is refused. No time decides anything.
# Usage: test_bench.sh SLEY ROOT JSON_FIELD FOLDER_OF_THE_MOCK_DEVICE MOCK_MKL
set -u
sley=$1 root=$2 json_field=$3 mock_device=$4 mock_mkl=$5
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
data=$work/data
mkdir -p "$data/below" "$work/empty"
run 0 generate er:n=300,nnz=3000 -o "$data/er.mtx"
run 0 generate rmat:scale=8,edgefactor=8 -o "$data/below/rmat.sley"
run 0 generate er:n=20,nnz=40 -o "$data/small.mtx.gz"
echo "no matrix" >"$data/notes.md"
bench="bench --device cpu --threads 1 --repeat 2"

# field NAME [VALUE]: a field of the JSON is there, and is VALUE.
field() {
  local got
  got=$("$json_field" "$work/bench.json" "$1") || fail "the JSON lacks $1"
  [ $# -lt 2 ] || [ "$got" = "$2" ] || fail "$1 is $got, expected $2"
}

echo "packed files are drawn too"
mkdir "$work/packed"
run 0 generate er:n=60,nnz=400 -o "$work/packed/a.mtx.zst"
run 0 generate er:n=60,nnz=400 -o "$work/packed/b.mtx.gz"
run 0 bench --data "$work/packed" --cases 2x2 --least 1 --list
[ "$(wc -l <"$work/out")" -eq 2 ] || fail "not both packed files are drawn: $(cat "$work/out")"

echo "what is drawn depends on the seed alone"
run 0 bench --data "$data" --cases 5x6 --least 1000 --seed 7 --list
silent_err "--list"
cp "$work/out" "$work/drawn"
run 0 bench --data "$data" --cases 5x6 --least 1000 --seed 7 --list
cmp -s "$work/out" "$work/drawn" || fail "the same seed draws something else: $(cat "$work/out")"
[ "$(wc -l <"$work/drawn")" -eq 2 ] || fail "two matrices have more than 1000 entries: $(cat "$work/drawn")"
for name in er.mtx below/rmat.sley; do
  grep -q "^$data/$name [0-9,]*$" "$work/drawn" || fail "--list lacks $name: $(cat "$work/drawn")"
done
run 0 bench --data "$data" --cases 5x6 --least 1000 --seed 8 --list
! cmp -s "$work/out" "$work/drawn" || fail "another seed draws the same"
run 0 bench --data "$data" --cases 1x6 --least 1000 --seed 7 --list
[ "$(cat "$work/out")" = "$(head -1 "$work/drawn")" ] || fail "fewer cases are not the first: $(cat "$work/out")"
run 0 bench --matrix "er:n=10,nnz=20 er:n=11,nnz=20" --cases 1x256 --list
[ "$(wc -l <"$work/out")" -eq 2 ] || fail "two generators: $(cat "$work/out")"
awk '{ n = split($2, k, ","); for (i = 1; i <= n; i++) if (k[i] < 1 || k[i] > 1024 || (i > 1 && k[i] <= k[i - 1])) exit 1
       if (n < 60 || k[1] != 1 || k[n] < 700) exit 1 }' "$work/out" || fail "widths are not drawn from 1 to 1024: $(cat "$work/out")"

echo "a line for each case, and the same in JSON"
# shellcheck disable=SC2086 # a list of words
run 0 $bench --data "$data" --cases 2x3 --least 1000 --widest 20 --json "$work/bench.json" --mkl "$mock_mkl"
silent_err bench
sed -n '/^matrix /,/^$/p' "$work/out" | sed '1d; /^$/d; /^format /d' >"$work/lines"
cases=$("$json_field" "$work/bench.json" cases)
[ "$(wc -l <"$work/lines")" -eq "$cases" ] || fail "$(wc -l <"$work/lines") lines, and $cases cases in the JSON"
[ "$cases" -ge 3 ] && [ "$cases" -le 6 ] || fail "$cases cases of 2 matrices x 3 widths"
head=$(grep '^matrix ' "$work/out")
for word in rows entries k auto f32-portable mkl spread "best rival" "rival/auto"; do
  grep -q -- " $word" <<<"$head" || fail "the headings lack $word: $head"
done
awk -v fields="$(awk '{ print NF; exit }' "$work/lines")" 'NF != fields || $NF !~ /^[0-9.]+$/ || $(NF - 1) != "mkl" { exit 1 }' \
  "$work/lines" || fail "a line has another shape: $(cat "$work/lines")"
grep -q '^best rival / auto: [0-9]* cases, geometric mean [0-9.]*, worst [0-9.]* (' "$work/out" || fail "there is no mean of all: $(cat "$work/out")"
grep -q '^  k = ' "$work/out" || fail "there are no bands of widths"
grep -q '^fastest kernel / auto: ' "$work/out" || fail "nothing is said of auto's choice"
for name in f32-portable mkl; do
  grep -q "^$name / auto: $cases cases, geometric mean [0-9.]*, worst [0-9.]* (" "$work/out" || fail "there is no mean of $name: $(cat "$work/out")"
done
grep -q '^device .*seed 1;' "$work/out" || fail "the seed is not said"
field seed 1
field widest 20
field widths 3
field mkl "$mock_mkl"
field rivals.cases "$cases"
field rivals.geomean
field bands.0.worst
last=$(($("$json_field" "$work/bench.json" contenders) - 1))
field contenders.$last.name mkl
field contenders.$last.geomean "$("$json_field" "$work/bench.json" rivals.geomean)"
for ((i = 0; i < cases; i++)); do
  field "cases.$i.times.0.name" auto
  field "cases.$i.times.0.turns" 2
  field "cases.$i.best_rival" mkl
  field "cases.$i.kernels.0.part" local
  field "cases.$i.kernels.0.share" 1
  median=$("$json_field" "$work/bench.json" "cases.$i.times.0.median_ms")
  awk -v m="$median" 'BEGIN { exit !(m > 0 && m < 1e6) }' || fail "a time of $median ms"
done

echo "JSON on stdout, f64, a matrix by name, k = 1"
# shellcheck disable=SC2086 # a list of words
run 0 $bench --matrix "$data/er.mtx" --cases 1x1 --widest 1 --dtype f64 --mkl "$mock_mkl" --json -
cp "$work/out" "$work/bench.json"
field cases.0.k 1
field cases.0.matrix "$data/er.mtx"
field cases.0.best_rival mkl
field dtype f64
grep -q '^matrix ' "$work/err" || fail "with --json - the lines do not go to stderr"

echo "no rival: times only"
# shellcheck disable=SC2086 # a list of words
run 0 $bench --matrix er:n=300,nnz=3000 --cases 1x1 --dtype bf16
grep -q '^best rival / auto: there is no rival here' "$work/out" || fail "a rival for bf16: $(cat "$work/out")"
# shellcheck disable=SC2086 # a list of words
MOCK_MKL=refuses run 0 $bench --matrix er:n=300,nnz=3000 --cases 1x1 --widest 9 --mkl "$mock_mkl"
grep -q '^best rival / auto: no case has both' "$work/out" || fail "MKL refuses: $(cat "$work/out")"

echo "a wrong product is an error"
# shellcheck disable=SC2086 # a list of words
MOCK_MKL=wrong run 1 $bench --matrix er:n=300,nnz=3000 --cases 1x8 --seed 3 --widest 9 --mkl "$mock_mkl" --json "$work/bench.json"
grep -q "wrong result of mkl at row" "$work/err" || fail "the wrong rival is not named: $(cat "$work/err")"
grep -q ' WRONG ' "$work/out" || fail "the line does not say so: $(cat "$work/out")"

echo "the device's kernels, on a device that the host cannot address"
# shellcheck disable=SC2086 # a list of words
SLEY_MODULE_PATH=$mock_device run 0 bench --device cuda --repeat 2 --matrix er:n=300,nnz=3000 --cases 1x2 --widest 9
grep -q '^device     cuda, ' "$work/out" || fail "the device is not cuda: $(cat "$work/out")"
grep -q '^matrix .* auto .* mock-spmm .* mock-spmm-wide ' "$work/out" || fail "its kernels are not compared: $(cat "$work/out")"

echo "a matrix that cannot be read is named, and the others are measured"
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1.0\n4 1 2.0\n' >"$data/bad.mtx"
# shellcheck disable=SC2086 # a list of words
run 2 $bench --data "$data" --cases 9x1 --least 1000 --widest 9 --json "$work/bench.json"
one_line "a bad file" "$data/bad.mtx:4:"
field cases 2
# shellcheck disable=SC2086 # a list of words
run 2 $bench --matrix "$work/absent.mtx er:n=300,nnz=3000" --cases 1x1 --widest 9 --json "$work/bench.json"
one_line "an absent file" "$work/absent.mtx"
field cases 1
rm "$data/bad.mtx"

echo "what is refused"
run 2 bench --data "$work/empty"
one_line "a folder without matrices" "$work/empty has no matrix with more than 20000 entries"
run 2 bench --data "$data" --device cpu
one_line "a folder with small matrices" "has no matrix with more than 20000 entries"
run 2 bench --data "$work/absent"
one_line "no such folder" "$work/absent: cannot list the folder"
for cases in 3 0x3 3x0 3x257 x 3x3x3 -1x3 3x; do
  run 2 bench "--cases=$cases"
  one_line "--cases $cases" "--cases takes matrices and widths as in 8x4"
  silent_out "--cases $cases"
done
run 2 bench --mkl "$work/absent.so"
one_line "no such library" "--mkl $work/absent.so"
run 2 bench --mkl "$root/README.md"
one_line "no library" "README.md"
run 2 bench --repeat 0
one_line "no turns" "--repeat takes a whole number from 1"
run 2 bench karate.mtx
one_line "a word too many" "one word too many"
# shellcheck disable=SC2086 # a list of words
run 0 $bench --matrix er:n=3000,nnz=30000 --cases 1x4 --widest 9 --mem-limit 1K
grep -q "is left out: X and Y take" "$work/err" || fail "a case beyond --mem-limit is not told of"
finish
