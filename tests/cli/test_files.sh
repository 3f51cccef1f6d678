#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What a user's files meet: values that are not finite, types, names, standard input, files that change or unpack to too much,
# and outputs that replace others.
# Usage: test_files.sh SLEY ROOT JSON_FIELD
set -u
sley=$1 root=$2 json_field=$3
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
graph=$root/data/karate.mtx

says() { grep -q -- "$2" "$work/out" || fail "$1: stdout lacks \"$2\": $(head -3 "$work/out")"; }
says_not() { grep -q -- "$2" "$work/out" && fail "$1: stdout has \"$2\""; }
# npy FILE SHAPE KIND VALUES...: an array in C order; values are f4 or f8 as bytes of printf.
npy() {
  local file=$1 shape=$2 kind=$3
  shift 3
  {
    printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '$kind', 'fortran_order': False, 'shape': $shape, }"
    printf '%b' "$@"
  } >"$file"
}
shape_of() { tail -c +11 "$1" | head -1 | sed "s/.*'shape': \(([^)]*)\).*/\1/"; }

echo "NaN and infinities are values, in A and in X, on every algorithm, type and transport"
printf '%%%%MatrixMarket matrix coordinate real general\n4 4 7\n1 1 nan\n1 2 1\n2 2 inf\n2 3 -inf\n3 3 2\n4 1 inf\n4 4 1\n' >"$work/nan.mtx"
for extra in "" "--transport tcp" "--reproducible" "--dtype f16" "--dtype bf16" "--dtype f64" "--wire bf16 --algo halo" "--transpose" "--beta 0.5" \
  "--alpha 0" "--order random"; do
  rm -f "$work/y.npy"
  # shellcheck disable=SC2086 # a list of words
  run 0 spmm "$work/nan.mtx" -k 3 --ranks 2 $extra --out "$work/y.npy" --json "$work/j.json"
  says "$extra" "^check *ok: every finite entry"
  says "$extra" "^not finite 9 of 12 results are NaN or infinite, where A X is"
  [ -s "$work/y.npy" ] || fail "$extra: no Y is written"
  [ "$("$json_field" "$work/j.json" not_finite)" = 9 ] || fail "$extra: the JSON does not count them"
done
run 0 spmm "$work/nan.mtx" -k 3 --ranks 3 --algo all --workgroup 2
grep -q 'WRONG\|NO$' "$work/out" && fail "an algorithm is wrong: $(cat "$work/out")"
[ "$(grep -c 'not finite 9 of 12' "$work/out")" -ge 10 ] || fail "not all algorithms count: $(cat "$work/out")"
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 1\n' >"$work/unit.mtx"
npy "$work/x.npy" "(2, 2)" "<f4" '\0\0\0\0' '\0\0\0200\077' '\0\0\0300\0177' '\0\0\0200\0377' # 0 1 NaN -inf
run 0 spmm "$work/unit.mtx" --x "$work/x.npy" --out "$work/y.npy" --ranks 2
says "X" "not finite 2 of 4 results"
cmp -s "$work/x.npy" "$work/y.npy" || fail "I X is not X"
printf '%%%%MatrixMarket matrix coordinate real general\n1 2 2\n1 1 3e38\n1 2 3e38\n' >"$work/large.mtx"
npy "$work/two.npy" "(2, 1)" "<f4" '\0\0\0200\077' '\0\0\0200\077'
run 0 spmm "$work/large.mtx" --x "$work/two.npy" --ranks 1
says "a sum beyond f32" "not finite 1 of 1"

echo "f64 inputs compute in f64, and the line says so"
run 0 convert "$graph" "$work/g.npz"
run 0 convert "$graph" "$work/g.sley"
run 0 convert "$graph" "$work/g.sley.zst"
run 0 convert "$graph" "$work/g32.sley" --dtype f32
for file in g.npz g.sley g.sley.zst; do
  for command in "spmm --repeat 1" "spmm --repeat 1 --transport tcp" "plan"; do
    # shellcheck disable=SC2086 # a list of words
    run 0 $command "$work/$file" --ranks 2
    says "$command $file" "nonzeros, f64;"
    says "$command $file" "^dtype *f64, in which $work/$file is stored"
  done
  run 0 spmm "$work/$file" --dtype f32 --repeat 1
  says "$file --dtype f32" "nonzeros, f32;"
  says_not "$file --dtype f32" "^dtype"
done
run 0 spmm "$work/g32.sley" --repeat 1
says "f32" "nonzeros, f32;"
run 0 spmm "$graph" --repeat 1
says "a text" "nonzeros, f32;"
npy "$work/x8.npy" "(2, 1)" "<f8" '\0\0\0\0\0\0\0360\077' '\0\0\0\0\0\0\0\0100'
run 0 spmm "$work/unit.mtx" --x "$work/x8.npy" --out "$work/y.npy" --ranks 2
says "X in f64" "^dtype *f64, in which $work/x8.npy is stored"
cmp -s "$work/x8.npy" "$work/y.npy" || fail "f64: I X is not X"
npy "$work/xi.npy" "(2, 1)" "<i8" '\1\0\0\0\0\0\0\0' '\0\0\0\0\0\0\040\0'
run 0 spmm "$work/unit.mtx" --x "$work/xi.npy" --ranks 2
says "X of integers" "^dtype *f64, in which $work/xi.npy is stored or fits"
npy "$work/xi.npy" "(2, 1)" "<i8" '\1\0\0\0\0\0\0\0' '\1\0\0\0\0\0\040\0'
run 2 spmm "$work/unit.mtx" --x "$work/xi.npy" --ranks 2
one_line "X of integers beyond 2^53" "element 1 is an integer beyond 2^53"

echo "both triangles, integers and ranges: refused by one rank and by many"
printf '%%%%MatrixMarket matrix coordinate real symmetric\n2 2 3\n1 1 1\n1 2 5\n2 1 5\n' >"$work/both.mtx"
printf '%%%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 1 9007199254740993\n' >"$work/whole.mtx"
printf '%%%%MatrixMarket matrix coordinate real general\n2 2 1\n1 1 1e39\n' >"$work/range.mtx"
for command in "spmm --ranks 1" "spmm --ranks 3" "spmm --ranks 2 --transport tcp" "plan"; do
  # shellcheck disable=SC2086 # a list of words
  run 2 $command "$work/both.mtx"
  one_line "$command: both triangles" "both.mtx:4: entry (1, 2) stands beside (2, 1)"
  # shellcheck disable=SC2086 # a list of words
  run 2 $command "$work/range.mtx"
  one_line "$command: 1e39" "range.mtx:3: the value 1e39 is beyond the range of f32"
  # shellcheck disable=SC2086 # a list of words
  run 2 $command "$work/whole.mtx" --dtype f64
  one_line "$command: 2^53 + 1" "whole.mtx:3: the value 9007199254740993 is beyond 2^53"
done

echo "an X of one dimension gives such a Y; one product with --x or --out, unless --repeat asks"
npy "$work/v.npy" "(2,)" "<f4" '\0\0\0200\077' '\0\0\0\0100'
for extra in "" "--transport tcp" "--order random"; do
  # shellcheck disable=SC2086 # a list of words
  run 0 spmm "$work/unit.mtx" --x "$work/v.npy" --out "$work/y.npy" --ranks 2 --json "$work/j.json" $extra
  [ "$(shape_of "$work/y.npy")" = "(2,)" ] || fail "$extra: Y's shape is $(shape_of "$work/y.npy")"
  [ "$(tail -c 8 "$work/y.npy" | od -An -tx1)" = "$(tail -c 8 "$work/v.npy" | od -An -tx1)" ] || fail "$extra: I X is not X"
  [ "$("$json_field" "$work/j.json" time_ms.count)" = 1 ] || fail "$extra: more than one product"
done
run 0 spmm "$graph" --json "$work/j.json"
[ "$("$json_field" "$work/j.json" time_ms.count)" = 10 ] || fail "not 10 products by default"
run 0 spmm "$graph" --out "$work/y.npy" --repeat 3 --json "$work/j.json"
[ "$("$json_field" "$work/j.json" time_ms.count)" = 3 ] || fail "--repeat 3 is not heard"

echo "standard input"
run 0 spmm "$graph" -k 3 --ranks 2 --reproducible --out "$work/y1.npy" --dtype f64
for extra in "" "--transport tcp"; do
  for from in "$graph" "$work/g.npz" "$work/g.sley.zst"; do
    # shellcheck disable=SC2002,SC2086 # a pipe, not a file; a list of words
    cat "$from" | "$sley" spmm - -k 3 --ranks 2 --reproducible --dtype f64 --out "$work/y2.npy" $extra >"$work/out" 2>"$work/err" ||
      fail "spmm - of $from $extra: $(cat "$work/err")"
    cmp -s "$work/y1.npy" "$work/y2.npy" || fail "spmm - of $from $extra gives another Y"
  done
done
"$sley" convert - "$work/c.mtx" <"$work/g.npz" 2>"$work/err" || fail "convert -: $(cat "$work/err")"
printf 'x y z\n' | "$sley" plan - >"$work/out" 2>"$work/err" && fail "plan - accepts nonsense"
one_line "plan - of nonsense" "sley: -:"
"$sley" spmm - --x - </dev/null 2>"$work/err" && fail "two inputs from standard input"
one_line "two inputs from standard input" "cannot both be -"

mkfifo "$work/pipe"
sleep 30 >"$work/pipe" &
writer=$!
timeout -s INT 1 "$sley" spmm - <"$work/pipe" >"$work/out" 2>"$work/err"
kill $writer
one_line "an interrupt while standard input is read" "interrupted"

echo "words that are refused before any work"
run 2 spmm "$graph" --out "$work/y.csv"
one_line "--out y.csv" "y.csv: the ending names no format of it; known: .npy .npy.gz .npy.zst"
for extra in "" "--transport tcp"; do
  # shellcheck disable=SC2086 # a list of words
  run 2 spmm "$graph" --x "$work/none.npy" $extra
  one_line "a missing X $extra" "none.npy: cannot open: No such file"
done
cp "$graph" "$work/"$'k\xff.mtx'
for command in spmm plan; do
  run 2 $command "$work/"$'k\xff.mtx' --json "$work/never.json"
  one_line "$command: a name that is not UTF-8" "not UTF-8"
  silent_out "$command: a name that is not UTF-8"
  run 0 $command "$work/"$'k\xff.mtx'
done
run 0 spmm "$graph" --ranks 1 --wire bf16 --repeat 1
says "--wire with one rank" "^wire *bf16 changes nothing: there is one rank"
run 0 spmm "$work/unit.mtx" --ranks 2 --wire bf16 --algo halo --repeat 1
says "--wire of a diagonal" "^wire *bf16"

echo "formats: repeats, one line, junk"
printf '0 1\n' >"$work/one.el"
run 0 convert "$work/one.el" "$work/one.mtx"
grep -qx '2 2 1' "$work/one.mtx" || fail "one line is not an edge list: $(cat "$work/one.mtx")"
npy "$work/junk.npy" "(2, 1)" "<f4" '\0\0\0200\077' '\0\0\0200\077'
sed -i 's/(2, 1), }    /(2, 1), } xyz/' "$work/junk.npy"
run 2 spmm "$work/unit.mtx" --x "$work/junk.npy"
one_line "junk after the header" "junk.npy: the NumPy header is not valid"

echo "formats: what was taken is said, and what is asked for is obeyed, on every transport"
printf '1 2\n2 3\n' >"$work/ones.el"
for extra in "" "--transport tcp"; do
  for base in "" "--base 0" "--base 1"; do
    # shellcheck disable=SC2086 # a list of words
    run 0 spmm "$work/ones.el" --ranks 2 --repeat 1 --json "$work/j.json" $extra $base
    rows=3 why="the smallest row or column is 1"
    [ "$base" != "--base 0" ] || rows=4
    [ -z "$base" ] || why="as asked for"
    says "$extra $base" "^format *$work/ones.el: edge list, rows and columns from $((4 - rows)): $why"
    field "$work/j.json" rows $rows
    field "$work/j.json" inputs.0.format edgelist
    field "$work/j.json" inputs.0.base $((4 - rows))
  done
  printf '3 3\n2 3\n1 3\n1 2\n' >"$work/two.txt" # a triangle, or four edges
  run 2 spmm "$work/two.txt" --repeat 1 $extra
  one_line "two formats $extra" "may be METIS, or edge list: say which (--format metis or --format edgelist)"
  run 0 spmm "$work/two.txt" --repeat 1 --format metis $extra
  says "--format metis $extra" "^$work/two.txt: 3 x 3, 6 nonzeros"
  run 0 spmm "$work/two.txt" --repeat 1 --format edgelist $extra
  says "--format edgelist $extra" "^$work/two.txt: 3 x 3, 4 nonzeros"
  for text in '\357\273\277%%%%MatrixMarket matrix coordinate real symmetric\n2 2 1\n2 1 7\n' \
    '\r%%%%MatrixMarket matrix coordinate real symmetric\r2 2 1\r2 1 7\r' '%% mine\n%% %%MatrixMarket matrix coordinate real symmetric\r\n2 2 1\r\n2 1 7'; do
    # shellcheck disable=SC2059 # the text is a format
    printf "$text" >"$work/near.mtx"
    run 0 spmm "$work/near.mtx" --repeat 1 $extra
    says "$text $extra" "^$work/near.mtx: 2 x 2, 2 nonzeros"
  done
  printf '\377\3761\0 \0002\0\n\0' >"$work/wide.el"
  run 2 spmm "$work/wide.el" --repeat 1 $extra
  one_line "UTF-16 $extra" "UTF-16"
done
run 2 spmm "$graph" --base 0
one_line "a base of Matrix Market" "a base is for edge lists"
run 2 spmm "$graph" --format excel
one_line "an unknown format" "no format is named 'excel'; there are"
run 0 convert "$work/ones.el" "$work/ones.mtx"
grep -q "^format *$work/ones.el: edge list, rows and columns from 1" "$work/err" || fail "convert does not say the format: $(cat "$work/err")"
run 0 spy "$work/ones.el" -o "$work/spy.png" --bare
grep -q "^format .*edge list" "$work/err" || fail "spy does not say the format"
run 0 order "$work/ones.el" -o "$work/ones.npz" --base 0
grep -q "^format .*from 0: as asked for" "$work/err" || fail "order does not say the format"
for command in spgemm "tile --repeat 1 --k 2" "plan" "roofline" "bench --device cpu --repeat 1 --k 8 --matrix" "bench ops --ops sum --k 2 --repeat 1 --matrix" \
  "gnn train --features random:2 --labels planted:2 --train 1 --valid 1 --epochs 1"; do
  # shellcheck disable=SC2086 # a list of words
  run 0 $command "$graph"
  says "$command" "^format *$graph: Matrix Market"
done
printf '0\n1\n0\n' >"$work/labels.txt"
run 0 spmm "$work/labels.txt" --repeat 1
says "labels" "^format .*: one column of integers"
printf '0;1;0,5\n' >"$work/comma.csv"
run 0 convert "$work/comma.csv" "$work/comma.mtx"
grep -qx '1 2 0.5' "$work/comma.mtx" || fail "a decimal comma is not read: $(cat "$work/comma.mtx")"

echo "FORMATS names every field of the JSON"
run 0 spmm "$graph" --ranks 2 --algo all --wire bf16 --json "$work/1.json"
run 0 spmm "$graph" --ranks 2 --json "$work/2.json"
run 0 plan "$graph" --ranks 2 --measure --json "$work/3.json"
run 0 plan "$graph" --scaling 2,3 --json "$work/4.json"
run 0 info --json "$work/5.json"
run 0 plan "$graph" --ranks 2 --algo halo --json "$work/6.json"
run 0 bench --device cpu --matrix "$graph er:n=300,nnz=900" --k 1,20,300 --repeat 1 --json "$work/7.json"
sed -n '/^## JSON/,$p' "$root/docs/FORMATS.md" >"$work/said"
grep -oh '"[a-z0-9_]*":' "$work"/[1-7].json | tr -d '":' | sort -u >"$work/fields"
[ "$(wc -l <"$work/fields")" -gt 40 ] || fail "the JSON has $(wc -l <"$work/fields") fields"
while read -r name; do
  grep -q "[\`{,]${name}[\`{,}]" "$work/said" || fail "FORMATS.md lacks the field $name"
done <"$work/fields"

echo "input without an end stops at the limit"
run 2 convert /dev/zero "$work/c.mtx" --mem-limit 4M
one_line "/dev/zero" "/dev/zero: is longer than the limit of 4194304 bytes"
yes '1 2' | timeout 60 "$sley" convert - "$work/c.mtx" --mem-limit 4M 2>"$work/err"
[ "${PIPESTATUS[1]}" = 2 ] || fail "an endless pipe does not end with 2"
one_line "an endless pipe" "-: is longer than the limit of 4194304 bytes"
for extra in "" "--transport tcp"; do
  # shellcheck disable=SC2086 # a list of words
  yes '1 2' | timeout 60 "$sley" spmm - --ranks 2 --mem-limit 1M $extra >"$work/out" 2>"$work/err"
  [ "${PIPESTATUS[1]}" = 2 ] || fail "spmm of an endless pipe $extra does not end with 2"
  one_line "spmm of an endless pipe $extra" "-: is longer than the limit of 2097152 bytes"
done

echo "files that unpack to too much"
head -c 300M /dev/zero | gzip >"$work/zero.mtx.gz"
for extra in "" "--transport tcp"; do
  # shellcheck disable=SC2086 # a list of words
  run 2 spmm "$work/zero.mtx.gz" --ranks 2 $extra
  one_line "300 MiB of zeros $extra" "zero.mtx.gz: unpacks to more than 256 MiB and more than 256 times its size"
done
run 0 convert "$graph" "$work/g.mtx.gz"
run 0 convert "$work/g.mtx.gz" "$work/c.mtx" --mem-limit 1M
run 2 convert "$work/g.mtx.gz" "$work/c.mtx" --mem-limit 1K
one_line "--mem-limit" "unpacks to more than the limit of 1024 bytes"
for extra in "" "--transport tcp"; do
  # shellcheck disable=SC2086 # a list of words
  run 2 spmm "$work/g.mtx.gz" --ranks 2 --mem-limit 512 $extra
  one_line "--mem-limit of ranks $extra" "unpacks to more than the limit of 1024 bytes"
done

echo "outputs keep the mode of what they replace, and follow links"
mkdir "$work/o" "$work/elsewhere"
outputs=("convert $graph OUT.mtx" "spmm $graph --repeat 1 --out OUT.npy" "spmm $graph --repeat 1 --transport tcp --out OUT.npy"
  "plan $graph --json OUT.json" "order $graph --perm OUT.npy" "spmm $graph --repeat 1 --algo halo --trace OUT.json")
for words in "${outputs[@]}"; do
  name=${words##*/OUT} name=x.${words##*OUT.}
  rm -rf "$work/o/"* "$work/elsewhere/"*
  echo old >"$work/elsewhere/target"
  chmod 640 "$work/elsewhere/target"
  ln -s ../elsewhere/target "$work/o/$name"
  # shellcheck disable=SC2086 # a list of words
  run 0 ${words/OUT.*/$work/o/$name}
  [ -L "$work/o/$name" ] || fail "$words: the link is no link any more"
  [ "$(stat -c %a "$work/elsewhere/target")" = 640 ] || fail "$words: the mode became $(stat -c %a "$work/elsewhere/target")"
  grep -qx old "$work/elsewhere/target" && fail "$words: the target is the old one"
  [ -z "$(find "$work/elsewhere" "$work/o" -name '*part*')" ] || fail "$words: left a part"
  rm "$work/elsewhere/target"
  # shellcheck disable=SC2086 # a list of words
  run 1 ${words/OUT.*/$work/o/$name}
  one_line "$words: a link to nothing" "it is a link to nothing"
done

echo "inputs that are cut or overwritten while they are used: an error that names the file, or the product of what was there"
run 0 generate er:n=100000,nnz=3000000 -o "$work/big.sley"
run 0 convert "$work/big.sley" "$work/big.mtx"
for file in big.sley big.mtx; do
  for way in cut overwritten; do
    for after in 0.01 0.03 0.08 0.3; do
      cp "$work/$file" "$work/used-$file"
      extra=$([ "$after" = 0.03 ] && echo "--transport tcp")
      # shellcheck disable=SC2086 # a list of words
      "$sley" spmm "$work/used-$file" -k 2 --ranks 2 --repeat 100 --budget 1 $extra >"$work/out" 2>"$work/err" &
      child=$!
      sleep "$after"
      if [ $way = cut ]; then truncate -s 1000 "$work/used-$file"; else head -c 2000000 /dev/urandom | dd of="$work/used-$file" conv=notrunc bs=64K seek=10 2>"$work/dd"; fi
      wait $child
      code=$?
      what="$file $way after $after s $extra"
      case $code in
        0) says "$what" "^check *ok" ;;
        1 | 2) grep -q "used-$file" "$work/err" || fail "$what: the error names no file: $(cat "$work/err")" ;;
        *) fail "$what: exit $code: $(cat "$work/err")" ;;
      esac
    done
  done
done
finish
