#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fuzzes every reader, and every message over sockets, for SECONDS each (default 60), or the named ones: tests/fuzz/run.sh [SECONDS [TARGET...]]
# Builds with clang, AddressSanitizer and UndefinedBehaviorSanitizer into build-fuzz. One line a target; what it found
# is left in build-fuzz/found, to be mended and then added to tests/fuzz/corpus. Fails if anything was found.
# The environment's JOBS, default 2, is how many files are compiled at a time.
set -eu
cd "$(dirname "$0")/../.."
seconds=${1:-60}
[ $# -eq 0 ] || shift
jobs=${JOBS:-2}
cmake -S . -B build-fuzz -G Ninja -DCMAKE_C_COMPILER=clang -DSLEY_FUZZ=ON >build-fuzz.log 2>&1 || { cat build-fuzz.log; exit 1; }
mv build-fuzz.log build-fuzz/configure.log
targets=${*:-$(sed -n 's/^foreach(target \(.*\))$/\1/p' tests/fuzz/CMakeLists.txt)}
set --
for target in $targets; do set -- "$@" "fuzz_$target"; done
ninja -C build-fuzz -j"$jobs" "$@" >build-fuzz/build.log 2>&1 || { tail -40 build-fuzz/build.log; exit 1; }
failed=0
for target in $targets; do
  grown=build-fuzz/grown/$target
  found=build-fuzz/found/$target
  log=build-fuzz/$target.log
  mkdir -p "$grown" "$found"
  status=0
  build-fuzz/tests/fuzz/fuzz_"$target" -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=1024 \
    -print_final_stats=1 -verbosity=1 -artifact_prefix="$found/" "$grown" tests/fuzz/corpus/"$target" >"$log" 2>&1 || status=$?
  executions=$(sed -n 's/^stat::number_of_executed_units: *//p' "$log")
  coverage=$(sed -n 's/.* cov: \([0-9]*\) .*/\1/p' "$log" | tail -1)
  if [ $status -eq 0 ]; then
    echo "$target: ${executions:-0} executions, coverage ${coverage:-0}, nothing found"
  else
    failed=1
    echo "$target: ${executions:-0} executions, FOUND: $(grep -m1 -E 'ERROR:|runtime error|broken promise' "$log" || echo "see $log")"
  fi
done
exit $failed
