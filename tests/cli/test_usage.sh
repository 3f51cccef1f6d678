#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Help, options, completion and man page agree; wrong usage is refused with status 2 and one helpful line.
# Usage: test_usage.sh SLEY ROOT
set -u
sley=$1 root=$2
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"

job="k ranks threads workgroup algo device kernel precision mem-limit order partition dtype wire transpose reproducible seed brief json format base"
declare -A options=(
  [spmm]="$job grid tiles columns buffers transport timeout x out alpha beta repeat warmup budget unchanged update verify trace local"
  [spgemm]="algo mask transpose-b semiring out dtype mem-limit device local ranks grid tiles columns buffers workgroup threads transport timeout seed repeat warmup verify brief json format base"
  [plan]="$job machine scaling measure"
  [roofline]="k spgemm ranks workgroup grid tiles columns algo dtype machine device threads memory-bandwidth network-bandwidth latency peak compression measured-ms measured per-rank seed brief plot json format base"
  [convert]="dtype threads format base"
  [order]="order output perm dtype threads seed format base"
  [generate]="output dtype threads seed"
  [spy]="output ranks partition order size bare threads seed format base"
  [tune]="device out transport seconds"
  [bench]="matrix k seed dtype device precision threads repeat budget mem-limit json format base"
  [bench ops]="matrix ops k heads dtype device threads ranks seed repeat json format base"
  [collective]="bytes zeros blocks dtype op format way dense-above any-order ranks workgroup threads transport timeout device repeat warmup seed check sweep plot json"
  [gnn train]="force weights features labels model layers hidden heads epochs patience rate optimizer decay dropout train valid split split-seed undirected normalize reproducible fresh-features aggregate order kernel precision wire memory ranks transport threads device seed sample batch out save-every resume plot json format base"
  [gnn bench]="weights features labels model repeat warmup layers hidden heads rate optimizer decay dropout undirected normalize reproducible fresh-features aggregate order kernel precision wire memory ranks transport threads device seed json format base"
  [gnn infer]="force weights last features labels train valid split split-seed ranks transport threads device seed out json format base"
  [info]="json"
)

echo "help, completion and man page name every option"
# shellcheck source=completions/sley.bash
. "$root/completions/sley.bash"
for command in "${!options[@]}"; do
  read -r -a words <<<"$command" # a command, and its mode
  run 0 "${words[@]}" --help
  silent_err "$command --help"
  cp "$work/out" "$work/help"
  run 0 help "${words[@]}"
  cmp -s "$work/out" "$work/help" || fail "sley help $command differs from sley $command --help"
  COMP_WORDS=("$sley" "${words[@]}" --)
  COMP_CWORD=$((${#words[@]} + 1))
  _sley
  printf '%s\n' "${COMPREPLY[@]}" >"$work/completed"
  for option in ${options[$command]}; do
    grep -q -- "^  \(-., \)\?--$option\( \|$\)" "$work/help" || fail "sley $command --help lacks --$option"
  done
  # The other way round: whatever the help names is completed and stands in the man page.
  sed -n 's/^  \(-., \)\?\(--[a-z-]*\).*/\2/p' "$work/help" | while read -r option; do
    grep -qx -- "$option" "$work/completed" || echo "completion of $command lacks $option"
    [ "$option" = --help ] || grep -q -- "Fl $(printf %s "$option" | cut -c2-)\( \|$\)" "$root/docs/man/sley.1" ||
      echo "sley.1 lacks $option"
  done >"$work/lacking"
  [ ! -s "$work/lacking" ] || fail "$(cat "$work/lacking")"
  grep -q '^.Ss '"$command"'$' "$root/docs/man/sley.1" || fail "sley.1 lacks $command"
done

echo "completion knows every algorithm, device and transport"
# completed WORD ...: what may follow these words goes to $work/completed.
completed() {
  COMP_WORDS=("$sley" "$@" "")
  COMP_CWORD=$(($# + 1))
  _sley
  printf '%s\n' "${COMPREPLY[@]}" >"$work/completed"
}
run 0 plan "$root/data/karate.mtx" --ranks 2
sed -n '/^algo /,/^$/p' "$work/out" | sed '1d; /^$/d' | cut -d ' ' -f 1 >"$work/names"
[ "$(wc -l <"$work/names")" -ge 10 ] || fail "sley plan lists $(wc -l <"$work/names") algorithms"
completed spmm --algo
while read -r name; do
  grep -qx -- "$name" "$work/completed" || fail "completion of --algo lacks $name"
done <"$work/names"
for word in rowwise:ps= rowwise:partitions=off rowwise:get=block; do
  grep -qx -- "$word" "$work/completed" || fail "completion of --algo lacks $word"
done
run 0 spmm --help
grep -q '^  *rowwise:get=warp|thread|block: ' "$work/out" || fail "the help lacks the parameters of rowwise"
run 0 info
cp "$work/out" "$work/info"
for kind in device transport; do
  grep -q "^$kind " "$work/info" || fail "sley info lists no $kind"
  completed spmm --$kind
  while read -r name; do
    grep -qx -- "$name" "$work/completed" || fail "completion of --$kind lacks $name"
  done < <(awk -v kind=$kind '$1 == kind { print $2 }' "$work/info")
done

echo "the man page names every variable that is read, no other, and every algorithm; sley plan explains its terms"
grep -rhoE 'getenv\("[A-Z_a-z]+"\)' "$root/src" "$root/cli" --include='*.c' | cut -d '"' -f 2 | sort -u >"$work/variables"
[ "$(wc -l <"$work/variables")" -gt 10 ] || fail "the sources read $(wc -l <"$work/variables") variables"
while read -r name; do
  sed -n '/^.Sh ENVIRONMENT/,/^.Sh EXIT/p' "$root/docs/man/sley.1" | grep -qw "$name" || fail "sley.1 lacks the variable $name"
done <"$work/variables"
sed -n '/^.Sh ENVIRONMENT/,/^.Sh EXIT/s/^.It Ev //p' "$root/docs/man/sley.1" | tr -d ' ' | tr , '\n' >"$work/variables"
[ "$(wc -l <"$work/variables")" -gt 20 ] || fail "sley.1 names $(wc -l <"$work/variables") variables"
while read -r name; do
  grep -rqF "\"$name\"" "$root/src" "$root/cli" --include='*.c' || fail "sley.1 names the variable $name, which nothing reads"
done <"$work/variables"
run 0 plan "$root/data/karate.mtx" --ranks 2
while read -r name; do
  sed -n '/^.Sh ALGORITHMS/,/^.Sh MACHINES/p' "$root/docs/man/sley.1" | grep -qx ".It Cm $name" || fail "sley.1 explains no $name"
  sed -n '/^algorithms:/,/^$/p' "$work/out" | grep -q "^  $name  *[a-z]" || fail "sley plan has no summary of $name"
done <"$work/names"
for term in "direct MiB" "message MiB" messages "a rank" "predicted ms" "needed MiB" blocks "halo rows" "cover rows" floor "  pack" "  wait"; do
  sed -n '/^terms:/,$p' "$work/out" | grep -q "^  $term  " || fail "sley plan does not explain '$term'"
done
run 0 plan "$root/data/karate.mtx" --ranks 2 --brief
grep -q -e '^algorithms:' -e '^terms:' "$work/out" && fail "--brief explains terms"
run 0 spmm "$root/data/karate.mtx" --ranks 2 --algo halo,cover --repeat 1 --brief
grep -q '^terms:' "$work/out" && fail "--brief explains terms"
run 0 roofline "$root/data/karate.mtx"
grep -q '^  bound  *[a-z]' "$work/out" || fail "sley roofline does not explain its terms"
run 0 roofline "$root/data/karate.mtx" --brief
grep -q '^terms:' "$work/out" && fail "--brief explains terms"

echo "the first words"
for word in version -V --version; do
  run 0 $word
  silent_err "sley $word"
  sed -n 1p "$work/out" | grep -qx 'sley [0-9]*\.[0-9]*\.[0-9]*' || fail "sley $word prints $(cat "$work/out")"
done
# A checkout knows its commit, which is in its history.
if [ -e "$root/.git" ] && git -C "$root" rev-parse HEAD >/dev/null 2>&1; then
  said=$(sed -n 's/^commit \([0-9a-f]*\).*/\1/p' "$work/out")
  git -C "$root" cat-file -e "${said:-none}^{commit}" || fail "sley version says of the commit: \"$said\""
fi
run 0 --help
run 0 help
for command in "${!options[@]}"; do
  grep -q "^  $command " "$work/out" || fail "sley help lacks $command"
done
run 2
silent_out "no words"
run 2 sppm
one_line "an unknown command" '"spmm"'
run 2 help sppm
one_line "help for an unknown command" '"spmm"'

echo "short options, and long ones cut short"
graph=$root/data/karate.mtx
for words in "-k 8" "-k8" "--k 8" "--k=8"; do
  # shellcheck disable=SC2086 # a list of words
  run 0 spmm "$graph" $words --rank 2 --repe 1 --no-v
  grep -q 'k = 8; 2 ranks' "$work/out" || fail "$words --rank 2 are not understood: $(head -1 "$work/out")"
  grep -q '^check' "$work/out" && fail "--no-v does not say --no-verify"
done
run 0 spmm --he
grep -q '^usage: sley spmm' "$work/out" || fail "--he is not --help"

echo "wrong options"
run 2 spmm "$graph" --rnaks 4
one_line "an unknown option" "--ranks"
silent_out "an unknown option"
run 2 spmm "$graph" --picture x.png
one_line "an unknown option that is near to none" "unknown option --picture; sley spmm --help lists all"
run 2 spmm "$graph" --re 3
one_line "an option cut too short" "--repeat"
run 2 spmm "$graph" --timeout -1
one_line "a negative timeout" "--timeout takes a finite number from 0"
run 2 spmm "$graph" --budget -1
one_line "a negative budget" "--budget takes a finite number from 0"
run 2 spmm "$graph" --workgruop=4
one_line "an unknown option with a value" "--workgroup"
run 2 spmm "$graph" -q
one_line "an unknown letter" "unknown option"
run 2 spmm "$graph" --k
one_line "a missing value" "--k needs a value"
run 2 spmm "$graph" --k many
one_line "a word for a number" "--k takes a whole number"
run 2 spmm "$graph" --ranks 0
one_line "a number out of range" "--ranks takes a whole number from 1"
run 2 spmm "$graph" --k 99999999999999999999
one_line "a number too large" "--k takes a whole number"
run 2 spmm "$graph" --alpha nan
one_line "not a number" "--alpha takes a finite number"
run 2 spmm "$graph" --transpose=yes
one_line "a value for a flag" "--transpose takes no value"
run 2 spmm "$graph" --order rabit
one_line "a wrong choice" '"rabbit"'
run 2 spmm "$graph" --order wood
one_line "a choice that is near to none" "known are none rabbit rcm"
completed spmm --order
while read -r name; do
  grep -qx -- "$name" "$work/completed" || fail "completion of --order lacks $name"
done < <(sed 's/.*known are //' "$work/err" | tr ' ' '\n')

echo "completion of words beside options"
completed help
grep -qx spmm "$work/completed" || fail "completion of help lacks spmm"
completed gnn
[ "$(tr '\n' ' ' <"$work/completed")" = "train bench infer " ] || fail "completion of gnn: $(cat "$work/completed")"
completed collective
grep -qx allgather "$work/completed" || fail "completion of collective lacks allgather"
! grep -q '^-' "$work/completed" || fail "completion of collective names options before a dash"
completed gnn bench --model
run 2 gnn bench "$graph" --model none
while read -r name; do
  grep -qx -- "$name" "$work/completed" || fail "completion of --model lacks $name"
done < <(sed 's/.*known are //' "$work/err" | tr ' ' '\n')
grep -qx all "$work/completed" || fail "completion of --model lacks all"
run 0 words spmm --no-such-option
run 0 words sppm
silent_out "words after an unknown command"
run 2 spmm "$graph" --algo hallo
one_line "a wrong algorithm" '"halo"'
run 2 spmm "$graph" --algo all --trace "$work/t.json"
one_line "--trace with all" "--trace"
run 2 spmm "$graph" --algo halo,,cover
one_line "a list with an empty name" '""'
run 2 spmm "$graph" --algo halo,all
one_line "all in a list" "--algo takes one word for several algorithms, or a list"
run 2 spmm
one_line "a missing word" "usage: sley spmm MATRIX"
run 2 spmm "$graph" "$graph"
one_line "a word too many" "one word too many"
run 2 generate er:n=10,nnz=20
one_line "a missing required option" "--output FILE is missing"
run 2 generate "$graph" -o "$work/x.mtx"
one_line "generate with a file" "names no generator"
run 2 order "$graph"
one_line "order without an output" "--output"
echo "reports and help pages have lines of at most 80 characters, or of COLUMNS"
graph=$root/data/karate.mtx
while read -r words; do
  for columns in 80 60; do
    # shellcheck disable=SC2086 # words
    if [ $columns = 80 ]; then env -u COLUMNS "$sley" $words; else env COLUMNS=$columns "$sley" $words; fi >"$work/out" 2>"$work/err" </dev/null
    [ -s "$work/out" ] || fail "sley $words prints nothing"
    long=$(grep -v '^usage: ' "$work/out" | awk -v most=$columns 'length > most && !/^ *[^ ]*$/ { print; exit }')
    [ -z "$long" ] || fail "sley $words, $columns columns: $long"
  done
done <<END
help
help spmm
help collective
help bench
help bench ops
help gnn train
help gnn bench
help gnn infer
info
bench --matrix $graph --k 8 --repeat 1 --device cpu
bench ops --matrix $graph --k 8 --repeat 1 --device cpu
gnn train er:n=100,nnz=800 --features random:4 --labels planted:3 --train 3 --valid 3 --epochs 2 --device cpu
gnn bench er:n=100,nnz=800 --repeat 1 --warmup 0 --device cpu
spmm $graph --ranks 4 --workgroup 2 --repeat 1
spmm $graph --ranks 4 --workgroup 2 --repeat 1 --algo all
spmm $graph --ranks 4 --repeat 1 --algo tile-c,tile-a
spgemm $graph --verify
plan $graph --ranks 4 --workgroup 2
plan $graph --scaling 2,4
roofline $graph --algo all --per-rank
collective allreduce --ranks 2 --bytes 64K --repeat 1 --warmup 0 --device cpu
END

finish
