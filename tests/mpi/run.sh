#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a test of ranks under the mpirun of each MPI, with each number of ranks; of these runs one in SLEY_TEST_SHARE, one at least,
# drawn by SLEY_TEST_SEED. Usage: run.sh PROGRAM "RANKS..." MPIRUN FOLDER_OF_THE_MODULE [MPIRUN FOLDER]...
set -u
program=$1 sizes=$2
shift 2
# shellcheck source=tests/mpi/habits.sh
. "${BASH_SOURCE%/*}/habits.sh"
require "$1" "$2"
export SLEY_TEST_SETTINGS=mpi
export SLEY_TEST_SEED="${SLEY_TEST_SEED:-$((RANDOM * 32768 + RANDOM))}"
failed=0
# MPICH's mpirun ends when somebody else connects to its port and hangs up, as tests beside this one may that look for a port of
# their own. It says so by an assertion of its own; then, and only then, it is tried once more.
lost='HYD_pmcd_pmiserv_proxy_init_cb .*assert (!closed)'
output=$(mktemp)
trap 'rm -f "$output"' EXIT
try() {
  SLEY_MODULE_PATH=$2 "$1" -n "$3" "$program" </dev/null 2>&1 | tee "$output"
  return "${PIPESTATUS[0]}"
}
runs=()
while [ $# -gt 0 ]; do
  for ranks in $sizes; do runs+=("$1 $2 $ranks"); done
  shift 2
done
share=${SLEY_TEST_SHARE:-1}
wanted=$((${#runs[@]} / share))
[ "$wanted" -gt 0 ] || wanted=1
# The programs of one run of the tests draw apart.
if [ "$share" -gt 1 ]; then
  RANDOM=$(printf '%s' "$SLEY_TEST_SEED ${program##*/}" | cksum | cut -d ' ' -f 1)
fi
for ((run = 0; run < wanted; run++)); do
  at=0
  [ "$share" -le 1 ] || at=$((RANDOM % ${#runs[@]}))
  read -r mpirun modules ranks <<<"${runs[at]}"
  unset "runs[$at]"
  runs=("${runs[@]}")
  echo "$mpirun, $ranks ranks"
  try "$mpirun" "$modules" "$ranks" || { grep -q "$lost" "$output" && echo "mpirun lost its port: once more" && try "$mpirun" "$modules" "$ranks"; } ||
    { echo "FAILED: $mpirun, $ranks ranks, SLEY_TEST_SHARE=$share SLEY_TEST_SEED=$SLEY_TEST_SEED"; failed=1; }
done
exit $failed
