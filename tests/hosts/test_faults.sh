#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ranks on hosts that are network namespaces are killed, stopped, cut off, interrupted, or given different jobs: every
# survivor ends in time with a message, and nothing is left behind.
# Usage: test_faults.sh SLEY ROOT [COUNT [SEED]]; COUNT: so many random faults instead of one of each.
set -u
sley=$(realpath "$1") root=$2 count=${3:-0}
RANDOM=${4:-1}
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
hosts=$root/tests/hosts/hosts.sh
"$hosts" --hosts 2 --per-host 1 -- true 2>/dev/null || exit $?

graph=twin:cyt:scale=0.02
limit=3 # seconds, of --timeout
done_in_all=0

# strike HOSTS FAULT SECONDS: a job that would run for long, with a fault; everybody's end is in $work/ranks.
strike() {
  rm -rf "$work/ranks" "$work/results"
  mkdir -p "$work/results"
  "$hosts" --hosts "$1" --out "$work/ranks" --limit $((limit + 40)) --fault "$2@$3" -- "$sley" spmm "$graph" --k 64 \
    --algo halo-pipelined --repeat 1000000 --timeout $limit --out "$work/results/y.npy" >"$work/log" 2>&1
  done_in_all=$((done_in_all + 1))
  [ -z "$(ls -A "$work/results")" ] || fail "$1 hosts, $2 after $3 s: left $(ls -A "$work/results")"
}

# survivors HOSTS FAULT SECONDS MILLISECONDS EXPECTED: all ranks but the fault's ended in time, with a message.
survivors() {
  local ranks=$(($1 * 2)) what=${2%%:*} who=${2#*:} rank code ms said
  for ((rank = 0; rank < ranks; rank++)); do
    [ "$what" != cut ] && [ "$rank" = "$who" ] && continue
    code=$(cat "$work/ranks/$rank.code") ms=$(cat "$work/ranks/$rank.ms")
    said=$(tr '\r' '\n' <"$work/ranks/$rank.err" | tail -1)
    [ "$code" != late ] && [ "$code" -ne 0 ] && [ "$code" -lt 128 ] ||
      fail "$1 hosts, $2 after $3 s: rank $rank ends with $code: $said"
    [ "$ms" -le "$4" ] || fail "$1 hosts, $2 after $3 s: rank $rank ends $ms ms later"
    grep -qE "$5" <<<"$said" || fail "$1 hosts, $2 after $3 s: rank $rank says: $said"
  done
}

in_time=$(((limit + 10) * 1000))
one_fault() {
  strike "$1" "$2" "$3"
  case $2 in
    cut:*) survivors "$1" "$2" "$3" $in_time 'rank [0-9]+' ;;
    *) survivors "$1" "$2" "$3" $in_time "rank ${2#*:} |ranks? above" ;;
  esac
}

if [ "$count" -gt 0 ]; then
  for ((i = 0; i < count; i++)); do
    n=$((1 << RANDOM % 3))
    case $((RANDOM % 3)) in
      0) fault=kill:$((RANDOM % (2 * n))) ;;
      1) fault=stop:$((RANDOM % (2 * n))) ;;
      *) [ "$n" -gt 1 ] || n=2; fault=cut:$((RANDOM % n)) ;;
    esac
    at=$(awk -v r=$RANDOM 'BEGIN { printf "%.3f", r / 32768 * 1.5 }')
    before=$failures
    one_fault "$n" "$fault" "$at"
    echo "$((i + 1)): $n hosts x 2 ranks, $fault after $at s: $([ "$failures" -eq "$before" ] && echo ok || echo WRONG)"
  done
  echo "$done_in_all faults"
  finish
  exit
fi

echo "a rank is killed, stopped, or cut off: while it runs, and before the ranks have met"
for fault in kill:2 kill:0 stop:3 stop:0 cut:1; do one_fault 2 "$fault" 1.2; done
for fault in kill:5 stop:2 cut:3; do one_fault 4 "$fault" 1.5; done
for fault in kill:1 stop:2; do one_fault 2 "$fault" 0.05; done

echo "Ctrl-C, to all and to one"
for fault in int:all int:0 int:3; do
  strike 2 "$fault" 1.2
  for rank in 0 1 2 3; do
    code=$(cat "$work/ranks/$rank.code") ms=$(cat "$work/ranks/$rank.ms")
    [ "$code" != late ] && [ "$code" -ne 0 ] && [ "$ms" -le 2000 ] || fail "$fault: rank $rank ends with $code after $ms ms"
    [ "$fault" != int:all ] && [ "$fault" != "int:$rank" ] || [ "$code" -eq 130 ] || fail "$fault: rank $rank ends with $code"
  done
done

echo "different jobs: all ranks say so before anything is multiplied"
# differ WORDS OTHER_WORDS TEXT
differ() {
  local rank
  printf '%s\n' "$1" "$1" "$2" "$1" >"$work/words"
  "$hosts" --hosts 2 --out "$work/ranks" --limit 60 --rank-args "$work/words" -- "$sley" spmm --repeat 3 --timeout 10 >"$work/log" 2>&1
  for rank in 0 1 2 3; do
    [ "$(cat "$work/ranks/$rank.code")" = 2 ] && grep -qF -- "$3" "$work/ranks/$rank.err" ||
      fail "$1 and $2: rank $rank ends with $(cat "$work/ranks/$rank.code"): $(cat "$work/ranks/$rank.err")"
  done
}
small=twin:cyt:scale=0.005
differ "$small --k 8" "$small --k 16" "different values of --k"
differ "$small --algo halo" "$small --algo cover" "different values of --algo"
differ "$small" twin:clj:scale=0.005 "different values of the matrix"
differ "$small:seed=1" "$small:seed=2" "different values of the matrix"
differ "$small --dtype f32" "$small --dtype f64" "different values of --dtype"
differ "$small --transpose" "$small" "different values of --transpose"

echo "nothing is left"
[ -z "$(ip -o link show type bridge 2>/dev/null | grep ' switch:')" ] || fail "a switch is left"
finish
