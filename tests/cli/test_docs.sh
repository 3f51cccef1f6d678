#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# The lines of README and the documents that begin with "sley" are run as they stand, in a folder where the files lie that they name. What
# needs a GPU, a launcher or minutes is left out, and said. (The examples in Python: python/tests/test_docs.py.)
# Usage: test_docs.sh SLEY ROOT [few]
# few: plans of 1,024 ranks are made for 64, of several numbers of ranks those of three digits and more are left out, and
# generated graphs are smaller; under a sanitizer such a plan takes half an hour.
set -u
sley=$1 root=$2 few=${3:-}
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
pages="README.md docs/START.md docs/NETWORKS.md docs/SPGEMM.md docs/TILES.md docs/MACHINES.md docs/ROOFLINE.md docs/GALLERY.md"
mkdir "$work/here" "$work/here/matrices"
cd "$work/here" || exit 1
graph=$root/data/karate.mtx
cp "$graph" graph.mtx
cp "$graph" A.mtx
cp "$graph" B.mtx
cp "$graph" matrices/
cp "$root/tests/support/slow_links.machine" cluster.machine
gzip -k graph.mtx
run 0 convert graph.mtx graph.sley
run 0 convert graph.mtx A.npz
run 0 convert graph.mtx B.npz
run 0 spmm graph.mtx --k 8 --out X.npy
for features in f features; do cp X.npy $features.npy; done
for row in $(seq 34); do echo $((row % 2)); done >y.txt
for labels in l labels; do cp y.txt $labels.txt; done

ran=0 left=0
while IFS= read -r line; do
  line=${line%%  *} line=${line%% #*}
  [ -z "$few" ] || line=$(sed -E '/^sley plan/{s/--ranks 1024/--ranks 64/; s/,[0-9]{3,}//g;}; s/scale=1[0-9]/scale=9/' <<<"$line")
  read -r -a words <<<"${line#sley }"
  case $line in
    *"--device cuda"* | "sley tune"* | "sley bench"* | *'\') left=$((left + 1)); echo "left out: $line"; continue ;;
    *--plot*) command -v gnuplot >/dev/null || { left=$((left + 1)); echo "left out, without gnuplot: $line"; continue; } ;;
  esac
  ran=$((ran + 1))
  run 0 "${words[@]}"
done < <(for page in $pages; do sed -n 's/^    \(sley [a-z].*\)/\1/p' "$root/$page"; done)
[ $ran -ge 30 ] || fail "only $ran lines were found"
[ $left -le 12 ] || fail "$left lines were left out"
echo "$ran lines were run, $left left out"

# docs/ROOFLINE.md shows what its command prints: its times come from files.
if [ -z "$few" ]; then
  sed -n '/^\$ sley roofline/,/^```/{/^```/!p}' "$root/docs/ROOFLINE.md" >"$work/shown"
  read -r -a words <<<"$(sed '1,/[^\]$/!d; s/^\$ sley //; s/\\$//; s/--plot .*//' "$work/shown" | tr '\n' ' ')"
  (cd "$root" && COLUMNS=100 "$sley" "${words[@]}") >"$work/out" || fail "sley ${words[*]}"
  sed '1,/[^\]$/d' "$work/shown" | diff "$work/out" - || fail "docs/ROOFLINE.md shows another report"
fi

# Every word of the documents that looks as an option of sley's is one of some command's.
for command in $("$sley" help | sed -n '/^commands:/,/^$/s/^  \([a-z]*\).*/\1/p' | sort -u); do
  "$sley" help "$command" 2>/dev/null
  for mode in ops train bench infer; do "$sley" help "$command" $mode 2>/dev/null; done
done | grep -oE -- '--(no-)?[a-z][a-z-]*' | sort -u >"$work/known"
for page in $pages; do
  grep -oE '`(sley [a-z]+ )?--[a-z][a-z-]*' "$root/$page" | grep -oE -- '--[a-z][a-z-]*' | sort -u | while read -r option; do
    grep -qx -- "$option" "$work/known" || echo "$page: no command has $option"
  done
done >"$work/unknown"
# Those are of launchers and of scripts in bench/.
grep -vE -- '--(oversubscribe|mpi|kernels|launch|gpus)$' "$work/unknown" >"$work/wrong"
[ ! -s "$work/wrong" ] || fail "$(cat "$work/wrong")"

# Every ending under which a matrix is written stands in the table of formats.
"$sley" help convert | grep -o 'written as \.[a-z]*' | sed 's/.* //' >"$work/endings"
[ "$(wc -l <"$work/endings")" -ge 6 ] || fail "the help names $(wc -l <"$work/endings") endings"
while read -r ending; do
  grep -q "^|.*\`$ending\`" "$root/docs/FORMATS.md" || fail "docs/FORMATS.md: no $ending"
done <"$work/endings"
finish
