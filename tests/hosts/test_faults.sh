#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ranks on hosts that are network namespaces are killed, stopped or cut off at chosen times: every survivor ends in time with
# a message that names the rank, and nothing is left behind. Usage: test_faults.sh SLEY ROOT
set -u
sley=$(realpath "$1") root=$2
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
hosts=$root/tests/hosts/hosts.sh
"$hosts" --hosts 2 --per-host 1 -- true 2>/dev/null || exit $?

# The limits follow a job without a fault, four of which run at a time: load makes the test longer, not wrong.
now_ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }
start=$(now_ms)
for one in 1 2 3 4; do
  "$hosts" --hosts 2 --out "$work/none.$one" --limit 120 -- "$sley" spmm twin:cyt:scale=0.02 --k 64 --algo halo-pipelined --repeat 1 \
    --timeout 60 >"$work/log.$one" 2>&1 || cat "$work/log.$one" >>"$work/bad" &
done
wait
[ ! -e "$work/bad" ] || fail "without a fault: $(cat "$work/bad")"
took=$(($(now_ms) - start))
limit=$((took / 1000)) # seconds, of --timeout
[ "$limit" -ge 2 ] || limit=2
in_time=$(((limit + 10) * 1000 + took))
echo "4 jobs take $took ms: --timeout $limit, and the end within $in_time ms"

# strike HOSTS FAULT SECONDS: a job that would run for long, with a fault.
strike() {
  local folder=$work/$1.$2.$3
  mkdir -p "$folder/results"
  "$hosts" --hosts "$1" --out "$folder" --limit $((3 * limit + 40)) --fault "$2@$3" -- "$sley" spmm twin:cyt:scale=0.02 --k 64 \
    --algo halo-pipelined --repeat 1000000 --timeout $limit --out "$folder/results/y.npy" >"$folder/log" 2>&1
}

# judge HOSTS FAULT SECONDS: all ranks but the fault's ended in time, with a message that names its rank.
judge() {
  local folder=$work/$1.$2.$3 ranks=$(($1 * 2)) what=${2%%:*} who=${2#*:} rank code ms said names
  names="rank ${2#*:}( |:)"
  [ "$what" != cut ] || names='rank [0-9]+'
  for ((rank = 0; rank < ranks; rank++)); do
    [ "$what" != cut ] && [ "$rank" = "$who" ] && continue
    code=$(cat "$folder/$rank.code") ms=$(cat "$folder/$rank.ms") said=$(tail -1 "$folder/$rank.err")
    [ "$code" != late ] && [ "$code" -ne 0 ] && [ "$code" -lt 128 ] ||
      fail "$1 hosts, $2 after $3 s: rank $rank ends with $code: $said"
    [ "$ms" -le $in_time ] || fail "$1 hosts, $2 after $3 s: rank $rank ends $ms ms later"
    grep -qE "$names" <<<"$said" || fail "$1 hosts, $2 after $3 s: rank $rank says: $said"
  done
  [ -z "$(ls -A "$folder/results")" ] || fail "$1 hosts, $2 after $3 s: left $(ls -A "$folder/results")"
  [ ! -s "$folder/left.txt" ] || fail "$1 hosts, $2 after $3 s: left $(cat "$folder/left.txt")"
}

echo "a rank is killed, stopped, or cut off: while it runs, and before the ranks have met"
cases=("2 kill:2 1.2" "2 kill:0 1.2" "2 stop:3 1.2" "2 stop:0 1.2" "2 cut:1 1.2" "4 kill:5 1.5" "4 stop:2 1.5" "4 cut:3 1.5"
  "2 kill:1 0.05" "2 stop:2 0.05")
for one in "${cases[@]}"; do
  # shellcheck disable=SC2086
  strike $one &
  [ "$(jobs -pr | wc -l)" -lt 4 ] || wait -n
done
wait
for one in "${cases[@]}"; do
  # shellcheck disable=SC2086
  judge $one
done
[ -z "$(ip -o link show type bridge 2>/dev/null | grep ' switch:')" ] || fail "a switch is left"
finish
