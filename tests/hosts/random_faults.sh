#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Random faults: a rank is killed or stopped, or a host's link cut, before, during or after the products of a job of 2, 4 or 8
# ranks on 2 or 4 hosts. Every survivor must end within the time limit and 10 s, with an error that names the rank (or, after
# the products, in order), and nothing may be left: no process, no file but a whole Y, no shared memory.
#
#   random_faults.sh SLEY ROOT [--count N] [--seed S] [--first I] [--jobs J] [--algos "A B"]
#
# Case I of a seed is always the same fault; --first and --count choose cases. --jobs: so many at once. Prints a line for
# each case, and counts by kind and moment. Exit status: 0 if all is well, 1, or 77 where no hosts can be made.
set -u
sley=$(realpath "$1") root=$2
shift 2
count=20 seed=1 first=1 jobs=4 algos="halo-pipelined cover rowwise halo"
while [ $# -gt 1 ]; do
  case $1 in
    --count) count=$2 ;;
    --seed) seed=$2 ;;
    --first) first=$2 ;;
    --jobs) jobs=$2 ;;
    --algos) algos=$2 ;;
    *) echo "random_faults.sh: there is no option $1" >&2; exit 2 ;;
  esac
  shift 2
done
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
hosts=$root/tests/hosts/hosts.sh
"$hosts" --hosts 2 --per-host 1 -- true 2>/dev/null || exit $?

timeout=2 # seconds, of --timeout; survivors have 10 more
late=$(((timeout + 10) * 1000))
products=60
read -r -a algo_list <<<"$algos"

# job FOLDER RANKS ALGO VERIFY [words of hosts.sh...]: the job; FOLDER receives what hosts.sh keeps, and results/.
job() {
  local folder=$1 ranks=$2 algo=$3 verify=$4 spread=(--hosts 2 --per-host 2)
  shift 4
  [ "$ranks" != 2 ] || spread=(--hosts 2 --per-host 1)
  [ "$ranks" != 8 ] || spread=(--hosts 4 --per-host 2)
  mkdir -p "$folder/results"
  "$hosts" "${spread[@]}" --out "$folder" --limit 60 "$@" -- "$sley" spmm twin:cyt:scale=0.02 --k 64 --algo "$algo" \
    --threads 1 --repeat $products --warmup 0 "$verify" --timeout $timeout --out "$folder/results/y.npy" \
    --json "$folder/report.json" >"$folder/log" 2>&1
}

# What a job without a fault sends: writes "BEFORE PRODUCTS ALL MS" to its folder: bytes until the first product, of all
# products, and in all; milliseconds until rank 0 has ended.
calibrate() {
  local folder=$work/whole.$1.$2 brief=$work/brief.$1.$2 volume
  mkdir -p "$folder" "$brief"
  job "$folder" "$1" "$2" --verify || { echo "without a fault: $(cat "$folder"/*.err)"; return 1; }
  job "$brief" "$1" "$2" --no-verify || { echo "without a fault: $(cat "$brief"/*.err)"; return 1; }
  volume=$(tr -d ' \n' <"$folder/report.json" | sed 's/.*"volume_bytes":{[^}]*"message":\([0-9]*\).*/\1/')
  awk -v volume="$volume" -v products=$products -v ms="$(cat "$folder/0.ms")" '
    FILENAME ~ /brief/ { brief += $6; next }
    { sent += $6 }
    END {
      before = brief - volume * products * 1.004
      printf "%.0f %.0f %.0f %.0f\n", (before > 1000 ? before : 1000), volume * products, sent, ms
    }' "$folder/links.txt" "$brief/links.txt" >"$folder/sent"
}

# between LOW HIGH: a random number, with three decimals.
between() { awk -v r=$RANDOM -v low="$1" -v high="$2" 'BEGIN { printf "%.3f", low + r / 32768 * (high - low) }'; }

# choose I: sets ranks, algo, fault, moment and at.
choose() {
  RANDOM=$(((seed * 7919 + $1) % 32768))
  local skipped=$RANDOM kind who before products_bytes all ms
  ranks=$((2 << RANDOM % 3))
  algo=${algo_list[RANDOM % ${#algo_list[@]}]}
  case $((RANDOM % 3)) in 0) kind="kill" ;; 1) kind="stop" ;; *) kind="cut" ;; esac
  case $((RANDOM % 3)) in 0) moment=before ;; 1) moment=during ;; *) moment=after ;; esac
  who=$((RANDOM % ranks))
  [ "$kind" != cut ] || who=$((RANDOM % (ranks < 8 ? 2 : 4)))
  fault=$kind:$who
  read -r before products_bytes all ms <"$work/whole.$ranks.$algo/sent"
  case $moment:$((skipped % 2)) in
    before:0) at=$(between 0 "$(awk -v ms="$ms" 'BEGIN { print ms / 2000 }')") ;;
    before:1) at=$(between 1 "$before") at=${at%.*}b+0 ;;
    during:*) at=$(between "$before" $((before + products_bytes * 95 / 100))) at=${at%.*}b+0 ;;
    *) at=$(between $((before + products_bytes)) "$all") at=${at%.*}b+$(between 0 0.2) ;;
  esac
}

# judge FOLDER: says what is wrong, or nothing; leaves in `outcome` whether the fault was felt, and in `moment` when it
# came, by the bytes sent till then.
judge() {
  local rank code ms said before products_bytes sent kind=${fault%%:*} who=${fault#*:} per=2 whole=$work/whole.$ranks.$algo
  [ "$ranks" != 2 ] || per=1
  outcome=nothing
  [ -f "$1/fault.ms" ] || { moment=after outcome=late; return; } # all ranks had ended
  read -r before products_bytes _ <"$whole/sent"
  sent=$(cat "$1/fault.sent")
  moment=during
  [ "$sent" -gt "$before" ] || moment=before
  [ "$sent" -lt $((before + products_bytes * 98 / 100)) ] || moment=after
  for ((rank = 0; rank < ranks; rank++)); do
    code=$(cat "$1/$rank.code") ms=$(cat "$1/$rank.ms")
    said=$(tail -1 "$1/$rank.err")
    [ "$kind" != cut ] && [ "$rank" = "$who" ] && continue
    [ "$kind" = cut ] && [ $((rank / per)) = "$who" ] || [ "$ms" -le 0 ] || [ "$ms" -le $late ] ||
      echo "rank $rank ends $ms ms after the fault"
    [ "$code" != late ] || { echo "rank $rank does not end: $said"; continue; }
    [ "$code" != 0 ] || { [ $moment = after ] || echo "rank $rank ends as if nothing had happened"; continue; }
    outcome=error
    [ "$code" -lt 128 ] || echo "rank $rank ends by signal, $code"
    if [ "$kind" = cut ]; then
      grep -qE 'rank [0-9]+' <<<"$said" || echo "rank $rank names nobody: $said"
    else
      grep -qE "rank $who( |:)" <<<"$said" || echo "rank $rank does not name rank $who: $said"
    fi
  done
  [ ! -s "$1/left.txt" ] || echo "left: $(head -3 "$1/left.txt")"
  for file in "$1"/results/.[!.]* "$1"/results/*; do
    [ -e "$file" ] || continue
    [ "$(basename "$file")" = y.npy ] && cmp -s "$file" "$whole/results/y.npy" || echo "a partial file is left: $(basename "$file")"
  done
}

# One worker's cases.
work_off() {
  local i folder wrong outcome
  for ((i = first + $1; i < first + count; i += jobs)); do
    folder=$work/case.$i
    choose "$i"
    mkdir "$folder"
    job "$folder" "$ranks" "$algo" --verify --fault "$fault@$at"
    judge "$folder" >"$folder/wrong" # not in a subshell: it sets outcome
    wrong=$(cat "$folder/wrong")
    echo "${fault%%:*} $moment $ranks $outcome ${wrong:+WRONG}" >>"$work/counts.$1"
    echo "case $i of seed $seed: $ranks ranks, $algo, $fault at $at, $moment the products: ${wrong:-ok, $outcome}"
    rm -rf "$folder"
  done
}

for ranks in 2 4 8; do
  for algo in "${algo_list[@]}"; do
    calibrate $ranks "$algo" &
  done
  wait
done
for ranks in 2 4 8; do
  for algo in "${algo_list[@]}"; do [ -s "$work/whole.$ranks.$algo/sent" ] || fail "$algo on $ranks ranks fails without a fault"; done
done
[ "$failures" = 0 ] || finish
for ((worker = 0; worker < jobs; worker++)); do work_off $worker & done
wait
cat "$work"/counts.* | awk '
  { cases[$1 " " $2]++; felt[$1 " " $2] += $4 == "error"; wrong[$1 " " $2] += $5 == "WRONG"; all++; bad += $5 == "WRONG" }
  END {
    for (key in cases) printf "%-12s %4d faults, %4d made ranks fail, %d wrong\n", key, cases[key], felt[key], wrong[key] | "sort"
    close("sort")
    printf "%d faults, %d wrong\n", all, bad
    exit bad > 0
  }' || failures=1
finish
