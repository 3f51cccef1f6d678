#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Algorithms over slow links, on 4 hosts that are network namespaces of this machine: bench/hosts.sh [RESULTS], default
# bench/results/cpu. Needs the build in build/, and root or a system that allows namespaces. Writes hosts.json, from
# which bench/report.py makes tables and claims. Takes about fifteen minutes.
set -eu
cd "$(dirname "$0")/.."
results=${1:-bench/results/cpu}
mkdir -p "$results"
python3 -u bench/hosts.py --json "$results/hosts.json"
python3 bench/machine.py --into "$results/hosts.json"
python3 bench/report.py
