#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ctrl-C to all ranks or to one, while they load, meet and plan, multiply, and run collectives: all end within 2 seconds, and no
# file is left.
# Usage: test_interrupts.sh SLEY ROOT
set -u
sley=$(realpath "$1") root=$2
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
hosts=$root/tests/hosts/hosts.sh
"$hosts" --hosts 2 --per-host 1 -- true 2>/dev/null || exit $?

# A file takes longer to read than a twin to generate.
run 0 generate twin:cyt:scale=0.1 -o "$work/big.mtx"

# interrupted WHAT@WHEN MATRIX words...: a product of 4 ranks on 2 hosts.
interrupted() {
  local fault=$1 folder=$work/$1
  shift
  ends "$fault" "$folder" spmm "$@" --k 64 --out "$folder/results/y.npy"
}

# interrupted_collective WHAT@WHEN words...: an all-reduce likewise.
interrupted_collective() {
  local fault=$1 folder=$work/collective-$1
  shift
  ends "$fault" "$folder" collective allreduce --threads 1 --device cpu --repeat 1000000 --json "$folder/results/y.json" "$@"
}

# ends WHAT@WHEN FOLDER words...: the job ends as it should.
ends() {
  local fault=$1 folder=$2 rank code ms
  shift 2
  mkdir -p "$folder/results"
  "$hosts" --hosts 2 --out "$folder" --limit 40 --fault "$fault" -- "$sley" "$@" --timeout 20 >"$folder/log" 2>&1
  for rank in 0 1 2 3; do
    code=$(cat "$folder/$rank.code") ms=$(cat "$folder/$rank.ms")
    [ "$code" != late ] && [ "$code" -ne 0 ] && [ "$ms" -le 2000 ] && [ "$ms" -ge 0 ] ||
      fail "$fault: rank $rank ends with $code after $ms ms: $(cat "$folder/$rank.err")"
    case $fault in # of all, one may see another end before its own signal comes
      int:all*) [ "$code" -eq 130 ] || [ "$code" -eq 1 ] || fail "$fault: rank $rank ends with $code" ;;
      int:$rank@*) [ "$code" -eq 130 ] || fail "$fault: rank $rank ends with $code: $(cat "$folder/$rank.err")" ;;
    esac
  done
  grep -qx 130 "$folder"/?.code || fail "$fault: nobody ends as interrupted"
  [ -z "$(ls -A "$folder/results")" ] || fail "$fault: left $(ls -A "$folder/results")"
  [ ! -s "$folder/left.txt" ] || fail "$fault: left $(cat "$folder/left.txt")"
}

forever="--algo halo-pipelined --repeat 1000000"
small=twin:cyt:scale=0.02
echo "while they load"
interrupted int:all@0.15 "$work/big.mtx" --repeat 1000000
interrupted int:all@0.4 "$work/big.mtx" --repeat 1000000
echo "while they meet and plan: from the first bytes between them on"
for bytes in 1 100000 400000 900000; do interrupted "int:all@${bytes}b+0" "$small" --algo all --repeat 1000000; done
interrupted int:3@200000b+0 "$small" --algo all --repeat 1000000
echo "while they multiply"
# shellcheck disable=SC2086
for fault in int:all@9000000b+0.1 int:0@9000000b+0.1 int:3@9000000b+0.1; do interrupted $fault "$small" $forever; done
echo "while they run collectives"
for fault in int:all@3000000b+0.1 int:0@3000000b+0.1 int:3@3000000b+0.1; do
  interrupted_collective "$fault" --bytes 8M --zeros 0.98
  interrupted_collective "$fault" --bytes 8M --format none
done
finish
