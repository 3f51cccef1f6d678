#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every benchmark of this machine's processors in one run: bench/run.sh [RESULTS], default bench/results/cpu.
# Needs the build in build/ and, for the rivals, the Python packages numpy, scipy and mkl. Writes one JSON file per
# benchmark, each with its machine, and machine.json; bench/report.py makes tables and claims from them. Takes about
# fifteen minutes.
set -eu
cd "$(dirname "$0")/.."
results=${1:-bench/results/cpu}
mkdir -p "$results"
python3 bench/machine.py >"$results/machine.json"
echo "== planning, ranks, algorithms"
python3 -u bench/ranks.py --json "$results/ranks.json" 2>/dev/null
echo "== local products beside MKL and scipy"
python3 -u bench/spmm_local.py --seconds 0.4 --json "$results/spmm_local.json"
echo "== reading Matrix Market beside scipy"
python3 -u bench/read_mtx.py --threads 2 --json "$results/read_mtx.json"
echo "== ordering"
build/bench/bench_order twin:clj --shuffle --json "$results/order.json" rabbit
echo "== slow links"
python3 -u bench/hosts.py --json "$results/hosts.json" || [ $? -eq 77 ]
echo "== reading and planning by each rank"
python3 -u bench/scaling.py --json "$results/scaling.json"
echo "== PETSc"
python3 -u bench/petsc.py --json "$results/petsc.json" || [ $? -eq 77 ]
for hosts in 2 4; do
  python3 -u bench/petsc.py --hosts $hosts --repeat 5 --twins cyt:scale=0.1,clj:scale=0.01 --json "$results/petsc_$hosts.json" || [ $? -eq 77 ]
done
for each in ranks spmm_local read_mtx order hosts scaling petsc petsc_2 petsc_4; do
  [ -z "$(find "$results" -name "$each.json" -newer "$results/machine.json")" ] || python3 bench/machine.py --into "$results/$each.json"
done
python3 bench/report.py
