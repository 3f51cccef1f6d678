# SPDX-License-Identifier: Apache-2.0
# Sourced by the tests under mpirun: more ranks than cores, and root of a container. Open MPI's variables; others pass them over.
export OMPI_MCA_rmaps_base_oversubscribe=1 OMPI_MCA_hwloc_base_binding_policy=none
export PRTE_MCA_rmaps_default_mapping_policy=:oversubscribe PRTE_MCA_hwloc_default_binding_policy=none
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1

# require MPIRUN FOLDER: ends the test as skipped where there is no MPI.
require() {
  if ! command -v "$1" >/dev/null || [ ! -e "$2/libsley_mpi.so" ]; then
    echo "skipped: MPI, or its mpirun, is not installed (Debian: libopenmpi-dev, openmpi-bin)"
    exit 77
  fi
  export SLEY_MODULE_PATH=$2
}
# MPI libraries keep what they have allocated, in modules that are gone when a sanitizer looks for leaks. Sley's own show over tcp.
export ASAN_OPTIONS=detect_leaks=0${ASAN_OPTIONS:+:$ASAN_OPTIONS}
# Nor can ThreadSanitizer make sense of the order of their own locks, or of threads that are in MPI at the same time.
export TSAN_OPTIONS="detect_deadlocks=0:suppressions=$(cd "$(dirname "$0")/../.." && pwd)/tests/mpi/tsan.supp${TSAN_OPTIONS:+:$TSAN_OPTIONS}"
# MPICH's UCX watches calls that give memory back, which ThreadSanitizer does not survive.
export UCX_MEM_EVENTS=no
