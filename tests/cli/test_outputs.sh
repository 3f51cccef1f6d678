#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# What every command does with names and with files that it writes: bytes of a name that a terminal would act on are escaped wherever
# the name is shown; a full disk is called that, and nothing is left on it; an ending that says no format is refused before the work.
# Usage: test_outputs.sh SLEY ROOT JSON_FIELD
set -u
sley=$1 root=$2 json_field=$3
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
graph=$root/data/karate.mtx
gnn="--features random:4 --labels planted:2 --epochs 2 --hidden 4"

echo "control characters and bytes that are no UTF-8, in names"
# A colour, a new line, a byte that is no UTF-8, a letter that turns the direction of text, and one that stays.
odd=$'k\e[31m\nZED\xff\u202e\u00e9' shown='k\x1b[31m\nZED\xff\u202e'$'\u00e9'
cp "$graph" "$work/$odd.mtx"
cp "$graph" "$work/plain.mtx"
mkdir "$work/$odd"
# clean WHAT: what the last run has said is printable, and no line of it is the rest of a name.
clean() {
  for file in out err; do
    ! LC_ALL=C grep -qaP '[\x00-\x09\x0b-\x1f\x7f]' "$work/$file" || fail "$1: control characters in $file: $(cat -v "$work/$file")"
    ! grep -qa '^ZED' "$work/$file" || fail "$1: a name breaks a line of $file: $(cat -v "$work/$file")"
    iconv -f UTF-8 -t UTF-8 "$work/$file" >"$work/utf8" 2>&1 || fail "$1: $file is not UTF-8: $(cat -v "$work/$file")"
  done
}
# names STATUS WORDS...: NAME stands for the odd one, which is in what is said.
names() {
  local status=$1 words=("${@:2}")
  run "$status" "${words[@]//NAME/$work/$odd}"
  clean "sley ${words[*]}"
  cat "$work/out" "$work/err" >"$work/said"
  grep -qaF -- "$shown" "$work/said" || fail "sley ${words[*]}: \"$shown\" is not said: $(cat -v "$work/said")"
}
names 0 spmm NAME.mtx --ranks 2 --repeat 1
names 0 spmm NAME.mtx --ranks 2 --repeat 1 --algo all --transport tcp
names 0 plan NAME.mtx --ranks 2
names 0 plan NAME.mtx --scaling 2,3
names 0 roofline NAME.mtx --ranks 2
names 0 roofline NAME.mtx NAME.mtx --spgemm --ranks 2
names 0 tile NAME.mtx --ranks 2 --times NAME.mtx --repeat 1
names 0 convert NAME.mtx NAME.out.mtx
names 0 generate er:n=9,nnz=9 -o NAME.out.mtx
names 0 order NAME.mtx -o NAME.out.mtx
# shellcheck disable=SC2086 # a list of words
names 0 gnn train NAME.mtx $gnn --out NAME.npz
# shellcheck disable=SC2086 # a list of words
names 0 gnn train NAME.mtx $gnn --out NAME.npz --resume
# shellcheck disable=SC2086 # a list of words
names 0 gnn infer NAME.mtx --weights NAME.npz --features random:4 --labels planted:2 --out NAME.npy
names 0 gnn bench NAME.mtx --features random:4 --labels planted:2 --hidden 4 --repeat 1 --model gcn
names 0 tune --seconds 0.1 --out NAME.machine
sed -i $'s/^name .*/name a\e[31mb/' "$work/$odd.machine"
names 0 plan "$graph" --machine NAME.machine
for words in spmm plan roofline tile spgemm order\ -o\ x.mtx "convert NAME.none x.mtx" spy\ -o\ x.png "gnn train" "gnn bench"; do
  read -r -a list <<<"$words"
  case $words in convert*) names 2 "${list[@]}" ;; gnn*) names 2 "${list[@]}" NAME.none --features random:4 --labels planted:2 ;; *) names 2 "${list[0]}" NAME.none "${list[@]:1}" ;; esac
done
# bench takes several names, with spaces between them.
whole=$odd said=$shown
odd=${odd/$'\n'/} shown=${shown/'\n'/}
cp "$graph" "$work/$odd.mtx"
names 0 bench --device cpu --matrix NAME.mtx --k 8 --repeat 1
names 0 bench ops --matrix NAME.mtx --ops sum --k 4 --repeat 1 --ranks 1
names 2 bench --matrix NAME.none
names 2 bench ops --matrix NAME.none
odd=$whole shown=$said
# Words that are no names of files.
for words in "NAME" "help NAME" "spmm $graph --NAME" "spmm $graph --algo NAME" "spmm $graph --k NAME" "spmm $graph --device NAME" \
  "spmm er:n=NAME,nnz=3" "generate NAME:n=3 -o x.mtx" "spmm $graph --mem-limit NAME" "gnn train $graph --split NAME" \
  "spmm $graph --x NAME.npy" "spmm $graph --plot NAME.gif" "spgemm $graph --mask NAME.mtx2" "convert $graph NAME.xyz" \
  "gnn train $graph --features NAME.npy" "gnn train $graph --features random:4 --labels NAME.txt" "spgemm $graph --semiring NAME" \
  "plan $graph --machine NAME.none" "roofline $graph --measured NAME.none" "spmm $graph --json NAME/none/x"; do
  read -r -a list <<<"$words"
  "$sley" "${list[@]//NAME/$odd}" >"$work/out" 2>"$work/err" </dev/null && fail "sley $words ends with 0"
  clean "sley $words"
  [ "$(wc -l <"$work/err")" -eq 1 ] || fail "sley $words: $(wc -l <"$work/err") lines on stderr: $(cat "$work/err")"
done
# What a file says: its first line, a word where a number should be, a name in a description of a machine.
printf '%%%%MatrixMarket \e[31m\xff\n1 1 1\n1 1 1\n' >"$work/banner.mtx"
printf '%%%%MatrixMarket matrix coordinate real general\n1 1 1\n1 \e[31m\xff 1\n' >"$work/word.mtx"
printf '1 2\n3 \e[31m\xff\n' >"$work/word.el"
printf '\e[31m\xff 3\n' >"$work/word.machine"
for words in "spmm $work/banner.mtx" "spmm $work/word.mtx" "spmm $work/word.el" "plan $graph --machine $work/word.machine"; do
  # shellcheck disable=SC2086 # a list of words
  run 2 $words
  clean "sley $words"
  one_line "sley $words" "$work/"
done
# Pictures, and JSON of names that are UTF-8.
mv "$work/$odd.mtx" "$work/odd"
odd=${odd/$'\xff'/} shown=${shown/'\xff'/}
mv "$work/odd" "$work/$odd.mtx"
if command -v gnuplot >/dev/null; then
  run 0 spy "$work/$odd.mtx" -o "$work/x.svg"
  run 0 roofline "$work/$odd.mtx" --ranks 2 --plot "$work/y.svg"
  run 0 spmm "$work/$odd.mtx" --ranks 2 --repeat 1 --algo all --plot "$work/z.svg"
  for picture in x y z; do
    grep -qF "k\\x1b[31m\\nZED" "$work/$picture.svg" || fail "$picture.svg does not show the name as it is escaped"
    ! LC_ALL=C grep -qaP '[\x00-\x08\x0b\x0c\x0e-\x1f\x7f]' "$work/$picture.svg" || fail "$picture.svg has control characters"
  done
fi
run 0 spmm "$work/$odd.mtx" --ranks 2 --repeat 1 --json "$work/x.json"
field "$work/x.json" matrix "$work/$odd.mtx"
run 0 plan "$graph" --machine "$work/"$'k\e[31m\nZED\xff\u202e\u00e9.machine' --json "$work/x.json"
field "$work/x.json" machine $'a\e[31mb'

echo "endings"
for words in "spy $graph -o X.jpg" "spy $graph -o X" "spy $graph --bare -o X.svg" "spmm $graph --out X.txt" "spmm $graph --algo all --plot X.pdf" \
  "plan $graph --plot X.jpg" "roofline $graph --plot X" "collective allreduce --sweep --plot X.eps" "spgemm $graph --out X.foo" \
  "convert $graph X" "convert $graph X.mtx.bz2" "generate er:n=9,nnz=9 -o X.foo" "order $graph -o X.foo" "order $graph --perm X.txt" \
  "gnn train $graph $gnn --out X.pt" "gnn train $graph $gnn --plot X.jpg" "gnn infer $graph --weights none.npz --features random:4 --out X.txt"; do
  # shellcheck disable=SC2086 # a list of words
  run 2 ${words//X/$work/ending}
  one_line "sley $words" "the ending names no format"
  silent_out "sley $words"
  [ -z "$(find "$work" -maxdepth 1 -name 'ending*')" ] || fail "sley $words has written a file"
done

echo "a full disk"
run 0 gnn train "$graph" --features random:4 --labels planted:2 --epochs 2 --hidden 4 --out "$work/state.npz"
long=er:n=50000,nnz=100000
writing=("convert $graph OUT.mtx" "convert $long OUT.sley" "convert $long OUT.npz" "convert $long OUT.el.gz" "convert $graph OUT.graph.zst"
  "generate $long -o OUT.mtx" "order $graph -o OUT.mtx" "order $graph --perm OUT.npy" "order $long --order degree --perm OUT.npy"
  "spy $graph -o OUT.png" "spy $long --bare -o OUT.png" "spmm $graph --out OUT.npy" "spmm $long --out OUT.npy.gz"
  "spmm $graph --transport tcp --out OUT.npy" "spmm $graph --repeat 1 --json OUT.json" "spmm $graph --algo all --repeat 1 --json OUT.json"
  "spmm $graph --algo halo --repeat 300 --trace OUT.json" "plan $graph --json OUT.json" "plan $graph --scaling 2,3 --json OUT.json"
  "roofline $graph --ranks 2 --json OUT.json" "tile $graph --ranks 2 --repeat 1 --json OUT.json" "spgemm $graph --out OUT.npz"
  "spgemm $graph --json OUT.json" "collective allreduce --bytes 4K --json OUT.json" "info --json OUT.json" "tune --seconds 0.1 --out OUT.machine"
  "bench --device cpu --matrix $graph --k 8 --repeat 1 --json OUT.json"
  "bench ops --matrix $graph --ops sum --k 4 --repeat 1 --ranks 1 --json OUT.json" "gnn train $graph $gnn --out OUT.npz"
  "gnn train $graph $gnn --json OUT.json" "gnn infer $graph --weights $work/state.npz --features random:4 --labels planted:2 --out OUT.npy"
  "gnn infer $graph --weights $work/state.npz --features random:4 --labels planted:2 --json OUT.json"
  "gnn bench $graph --features random:4 --labels planted:2 --hidden 4 --repeat 1 --model gcn --json OUT.json")
if command -v gnuplot >/dev/null; then
  writing+=("spmm $graph --ranks 2 --repeat 1 --algo all --plot OUT.png" "plan $graph --plot OUT.svg" "roofline $graph --plot OUT.svg"
    "collective allreduce --sweep --bytes 4K --plot OUT.png" "gnn train $graph $gnn --plot OUT.svg" "spy $graph -o OUT.svg")
fi
# fills FOLDER WHAT: each command that writes there ends with 1 and says why.
fills() {
  local words
  for words in "${writing[@]}"; do
    [ "$2" != device ] || ln -sf /dev/full "$1/x.${words##*OUT.}"
    # shellcheck disable=SC2086 # a list of words
    run 1 ${words/OUT./$1/x.}
    [ "$(grep -c '^sley: ' "$work/err")" -eq 1 ] || fail "$2: sley $words: $(grep -c '^sley: ' "$work/err") lines: $(cat "$work/err")"
    tail -1 "$work/err" | grep -Eq "(x\.|/dev/full).*cannot write: No space left on device" || fail "$2: sley $words: $(cat "$work/err")"
    [ "$2" = device ] || [ "$(ls "$1")" = filler ] || fail "$2: sley $words leaves $(ls "$1")"
  done
}
mkdir "$work/full" "$work/device"
for words in "spmm $graph --json -" "spy $graph --bare -o -" "order $long --order degree --perm -" "plan $graph" "help"; do
  # shellcheck disable=SC2086 # a list of words
  "$sley" $words >/dev/full 2>"$work/err"
  [ $? -eq 1 ] || fail "sley $words >/dev/full does not end with 1"
  grep -q '^sley: stdout: cannot write: No space left on device' "$work/err" || fail "sley $words >/dev/full: $(tail -1 "$work/err")"
done
if mount -t tmpfs -o size=64k tmpfs "$work/full" 2>/dev/null; then
  trap 'umount "$work/full"; rm -rf "$work"' EXIT
  head -c 1M /dev/zero >"$work/full/filler" 2>/dev/null
  fills "$work/full" disk
  writing=("${writing[@]:0:9}") # of a device a few serve
else
  echo "no right to mount a file system: only /dev/full was tried"
fi
fills "$work/device" device
finish
