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
for ranks in "$@"; do
  echo "$ranks ranks"
  "$mpirun" -n "$ranks" "$program" </dev/null || { echo "FAILED: $ranks ranks"; failed=1; }
done
exit $failed
