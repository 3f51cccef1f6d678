#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Checks a model of a protocol in every order of its steps by spin: no error with the sizes given, and an error with each way to
# break it, without which the check would show nothing. With SLEY_TEST_SHARE above 1, of the sizes and of the ways one each is drawn, by
# SLEY_TEST_SEED.
# Usage: model.sh MODEL BROKEN SIZES...      BROKEN: how many ways to break it the model has; SIZES: words of -D for each run
set -u
model=$(realpath "$1") broken=$2
shift 2
command -v spin >/dev/null || { echo "skipped: spin is not installed"; exit 77; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$folder" || exit 1
failures=0

# $1: how many errors are to be found (1: at least one); $2: the words of -D
explore() {
  # shellcheck disable=SC2086
  if ! { spin $2 -a "$model" && cc -O1 -w -DSAFETY -DCOLLAPSE -DMEMLIM=2000 -o pan pan.c; } >log 2>&1; then
    cat log
    exit 1
  fi
  ./pan -m100000 >log
  found=$(sed -n 's/.*errors: \([0-9]*\)$/\1/p' log)
  states=$(sed -n 's/^ *\([0-9]*\) states, stored.*/\1/p' log)
  if grep -q 'max search depth too small\|out of memory' log || [ "$found" != "$1" ]; then
    cat log
    echo "FAILED: $2: ${found:-no} errors in ${states:-no} states, expected $1"
    failures=$((failures + 1))
  else
    echo "${2:-as it is}: $states states, errors: $found, as expected"
  fi
}

ways=$(seq "$broken")
if [ "${SLEY_TEST_SHARE:-1}" -gt 1 ]; then
  SLEY_TEST_SEED=${SLEY_TEST_SEED:-$((RANDOM * 32768 + RANDOM))}
  RANDOM=$SLEY_TEST_SEED
  at=$((RANDOM % $# + 1))
  set -- "${!at}"
  ways=$((RANDOM % broken + 1))
fi
for sizes in "$@"; do explore 0 "$sizes"; done
for way in $ways; do explore 1 "-DBROKEN=$way"; done
[ $failures -eq 0 ] || { echo "$failures failed; SLEY_TEST_SHARE=${SLEY_TEST_SHARE:-1} SLEY_TEST_SEED=${SLEY_TEST_SEED:-}"; exit 1; }
