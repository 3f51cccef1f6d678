#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a test of ranks under mpirun, with every number of ranks from 1 to 8 that it has cases for.
# Usage: run.sh MPIRUN FOLDER_OF_THE_MODULE PROGRAM [RANKS...]
set -u
mpirun=$1 modules=$2 program=$3
shift 3
if ! command -v "$mpirun" >/dev/null || [ ! -e "$modules/libsley_mpi.so" ]; then
  echo "skipped: MPI, or its mpirun, is not installed (Debian: libopenmpi-dev, openmpi-bin)"
  exit 77
fi
# Open MPI's; others pass them over. More ranks than cores, in a container's root.
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export SLEY_MODULE_PATH=$modules SLEY_TEST_TRANSPORT=mpi
[ $# -gt 0 ] || set -- 1 2 3 4 7 8
failed=0
for ranks in "$@"; do
  echo "$ranks ranks"
  "$mpirun" -n "$ranks" "$program" </dev/null || { echo "FAILED: $ranks ranks"; failed=1; }
done
exit $failed
