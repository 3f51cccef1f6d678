#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# How the costs of plans and products grow from 1e5 entries on: up to 1e8 on the processors (with the real matrices of
# SLEY_DATA, if set), up to 2e9 on a GPU. Writes bench/results/growth/cpu.jsonl, or a file with the GPU's name, and
# prints exponents and tables.
#
#   bench/growth.sh [cpu|cuda] [OPTIONS of bench/growth.py]
#
# SLEY_BUILD: build folder, build by default, in which bench_growth (and libsley_cuda.so) is built first;
# SLEY_PREBUILT=1: build nothing.
set -eu
cd "$(dirname "$0")/.."
device=${1:-cpu}
[ $# -eq 0 ] || shift
build=${SLEY_BUILD:-build}
case "$device" in
  cpu)
    name=cpu
    set -- ${SLEY_DATA:+--data "$SLEY_DATA"} "$@"
    ;;
  cuda)
    name=$(nvidia-smi --query-gpu=name --format=csv,noheader | head -n 1 | tr 'A-Z ' 'a-z-' | sed 's/^nvidia-//')
    set -- --most 2e9 --most-all-k 1e8 "$@"
    ;;
  *)
    echo "usage: bench/growth.sh [cpu|cuda] [OPTIONS]" >&2
    exit 2
    ;;
esac
if [ -z "${SLEY_PREBUILT:-}" ]; then
  targets=bench_growth
  [ "$device" = cpu ] || targets="$targets sley_cuda"
  # shellcheck disable=SC2086
  ninja -C "$build" $targets >/dev/null
fi
SLEY_MODULE_PATH=$(cd "$build/src" && pwd)
export SLEY_MODULE_PATH
python3 bench/growth.py "bench/results/growth/$name.jsonl" --device "$device" --bench "$build/tests/perf/bench_growth" "$@"
