#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every benchmark of this machine's processors in one run: bench/run.sh [RESULTS], default bench/results/cpu.
# Needs the build in build/ and, for the rivals, the Python packages numpy, scipy and mkl. Writes one JSON file per
# benchmark, each with its machine, and machine.json; bench/report.py makes tables and claims from them. Takes about
# fifteen minutes.
set -eu
cd "$(dirname "$0")/.."
results=${1:-bench/results/cpu}
SLEY_LIBRARY=${SLEY_LIBRARY:-$PWD/build/src/libsley.so.0}
PYTHONPATH=$PWD/python${PYTHONPATH:+:$PYTHONPATH}
export SLEY_LIBRARY PYTHONPATH
mkdir -p "$results"
python3 bench/machine.py >"$results/machine.json"
measure() { # file, script, options; what cannot run here is left out
  name=$1 script=bench/$2
  shift 2
  echo "== $name"
  python3 -u "$script" "$@" --json "$results/$name.json" || [ $? -eq 77 ]
}
measure ranks ranks.py
measure spmm_local spmm_local.py --seconds 0.4
measure read_mtx read_mtx.py --threads 2
measure order order.py twin:clj --shuffle rabbit
measure covers covers.py
measure hosts hosts.py
measure scaling scaling.py
measure petsc petsc.py
for hosts in 2 4; do
  measure "petsc_$hosts" petsc.py --hosts $hosts --repeat 5 --twins cyt:scale=0.1,clj:scale=0.01
done
python3 bench/report.py
