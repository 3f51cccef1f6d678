#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ranks that were given different jobs: all say what differs, with exit status 2, before anything is multiplied.
# Usage: test_jobs.sh SLEY ROOT
set -u
sley=$(realpath "$1") root=$2
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
hosts=$root/tests/hosts/hosts.sh
"$hosts" --hosts 2 --per-host 1 -- true 2>/dev/null || exit $?

# differ NUMBER WORDS OTHER_WORDS TEXT: ranks 0, 1 and 3 get WORDS, rank 2 the others.
differ() {
  local rank folder=$work/$1
  mkdir "$folder"
  printf '%s\n' "$2" "$2" "$3" "$2" >"$folder/words"
  "$hosts" --hosts 2 --out "$folder" --limit 60 --rank-args "$folder/words" -- "$sley" spmm --repeat 3 --timeout 10 >"$folder/log" 2>&1
  for rank in 0 1 2 3; do
    [ "$(cat "$folder/$rank.code")" = 2 ] && grep -qF -- "$4" "$folder/$rank.err" ||
      echo "$2 and $3: rank $rank ends with $(cat "$folder/$rank.code"): $(cat "$folder/$rank.err")" >>"$folder/wrong"
  done
}

m=twin:cyt:scale=0.005
number=0
while IFS='|' read -r words other text; do
  number=$((number + 1))
  differ $number "$words" "$other" "$text" &
  [ "$(jobs -pr | wc -l)" -lt 3 ] || wait -n
done <<EOT
$m --k 8|$m --k 16|different values of --k
$m --algo halo|$m --algo cover|different values of --algo
$m|twin:clj:scale=0.005|different values of the matrix
$m:seed=1|$m:seed=2|different values of the matrix
$m --dtype f32|$m --dtype f64|different values of --dtype
$m --transpose|$m|different values of --transpose
$m --device cpu --kernel f32-portable|$m --device cpu --kernel nothing|different values of --kernel
$m --workgroup 2|$m --workgroup 1|--workgroup: rank 0 passes 2, but rank 2 passes 1: all ranks must pass the same
$m --workgroup 4|$m --workgroup 2|--workgroup: rank 0 passes 4, but rank 2 passes 2: all ranks must pass the same
EOT
wait
for ((i = 1; i <= number; i++)); do [ ! -s "$work/$i/wrong" ] || fail "$(cat "$work/$i/wrong")"; done
[ $number = 9 ] || fail "$number comparisons instead of 9"
finish
