#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a test of ranks under mpirun, with every given number of ranks. Usage: run.sh MPIRUN FOLDER_OF_THE_MODULE PROGRAM RANKS...
set -u
mpirun=$1 modules=$2 program=$3
shift 3
# shellcheck source=tests/mpi/habits.sh
. "${BASH_SOURCE%/*}/habits.sh"
require "$mpirun" "$modules"
export SLEY_TEST_TRANSPORT=mpi
failed=0
# MPICH's mpirun ends when somebody else connects to its port and hangs up, as tests beside this one may that look for a port of
# their own. It says so by an assertion of its own; then, and only then, it is tried once more.
lost='HYD_pmcd_pmiserv_proxy_init_cb .*assert (!closed)'
output=$(mktemp)
trap 'rm -f "$output"' EXIT
try() {
  "$mpirun" -n "$1" "$program" </dev/null 2>&1 | tee "$output"
  return "${PIPESTATUS[0]}"
}
for ranks in "$@"; do
  echo "$ranks ranks"
  try "$ranks" || { grep -q "$lost" "$output" && echo "mpirun lost its port: once more" && try "$ranks"; } ||
    { echo "FAILED: $ranks ranks"; failed=1; }
done
exit $failed
