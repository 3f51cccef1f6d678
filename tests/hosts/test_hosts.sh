#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Ranks over TCP on HOSTS hosts x 2 ranks that are network namespaces. right: right results, and the same bits as threads;
# bytes: as many bytes over the links as the counters say. Usage: test_hosts.sh SLEY ROOT JSON_FIELD HOSTS right|bytes
set -u
sley=$(realpath "$1") root=$2 json_field=$3 count=$4 part=$5
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
hosts=$root/tests/hosts/hosts.sh
"$hosts" --hosts 2 --per-host 1 -- true 2>/dev/null || exit $?

graph=twin:cyt:scale=0.02
# on words...: the words of sley, on all hosts.
on() {
  local got=0
  rm -rf "$work/ranks"
  "$hosts" --hosts "$count" --out "$work/ranks" --limit 300 -- "$sley" "$@" --threads 1 --timeout 60 >"$work/log" 2>&1 || got=$?
  [ "$got" -eq 0 ] || fail "on $count hosts: sley $*: $(cat "$work/log" "$work"/ranks/*.err)"
}

if [ "$part" = right ]; then
  echo "all algorithms are right, and move what was predicted"
  on spmm "$graph" --algo all --verify --repeat 1 --warmup 1 --json "$work/all.json"
  [ "$(grep -c ' yes .* ok$' "$work/ranks/0.out")" -ge 10 ] || fail "not all algorithms: $(cat "$work/ranks/0.out")"

  echo "a namespace counts as a host, so workgroups have 2 ranks"
  [ "$("$json_field" "$work/all.json" algorithms.0.volume_bytes.message)" -gt 0 ] || fail "all links count as direct"

  echo "the same bits as threads"
  run 0 spmm "$graph" --k 48 --reproducible --ranks 3 --repeat 1 --warmup 0 --out "$work/threads.npy"
  for algo in halo-pipelined cover rowwise; do
    on spmm "$graph" --k 48 --reproducible --algo "$algo" --repeat 1 --warmup 0 --out "$work/hosts.npy"
    cmp -s "$work/threads.npy" "$work/hosts.npy" || fail "$algo on $count hosts gives other bits than threads"
  done
  finish
  exit
fi

echo "bytes by counter and by interface"
for algo in rowwise halo-coalesced cover; do
  bytes=()
  for repeat in 2 7; do
    on spmm "$graph" --k 256 --algo "$algo" --no-verify --repeat "$repeat" --warmup 0 --json "$work/bytes.json"
    bytes+=("$(awk '{ sent += $6 } END { printf "%.0f\n", sent }' "$work/ranks/links.txt")")
  done
  counted=$("$json_field" "$work/bytes.json" volume_bytes.message)
  seen=$(((bytes[1] - bytes[0]) / 5))
  echo "  $algo: $counted bytes counted, $seen seen on the links: $(awk -v a="$seen" -v b="$counted" 'BEGIN { print a / b }')"
  [ "$counted" -gt 1000000 ] || fail "$algo on $count hosts: too little traffic to compare"
  [ "$seen" -ge $((counted - counted / 200)) ] && [ "$seen" -le $((counted + counted / 20)) ] ||
    fail "$algo on $count hosts: $counted bytes counted, $seen on the links"
done
finish
