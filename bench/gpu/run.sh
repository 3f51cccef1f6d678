#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The GPU benchmarks: builds, verifies, times, writes JSON, and prints a short table last.
#
#   bench/gpu/run.sh [single|spgemm|ranks|ablation|all] [RESULTS]
#
# single: one GPU beside every cuSPARSE product; spgemm: sparse times sparse beside cuSPARSE's three algorithms; ranks: 1, 2, 4 GPUs (as many as there are) beside NCCL broadcasts with
# cuSPARSE, and CoLa's times of bench/gpu/anchors.json; ablation: two workgroups of two GPUs, of four processes, that
# sockets join: from rowwise to cover, bytes a link class and times (4 GPUs and NCCL). RESULTS: bench/results/gpu-NAME by default, NAME the GPU's.
# Environment:
#   SLEY_BUILD      build folder, build by default; SLEY_PREBUILT=1: use what is there, build nothing
#   SLEY_CACHE      folder that keeps generated matrices; none by default
#   SLEY_COMMIT     the commit, where git is missing
#   SLEY_SPMM_ARGS, SLEY_SPGEMM_ARGS, SLEY_RANKS_ARGS, SLEY_ABLATION_ARGS   more options of the four, e.g. "--matrices cyt --k 32"
# Each benchmark ends within SLEY_LIMIT seconds, 280 by default; what it wrote by then counts.
set -eu
cd "$(dirname "$0")/../.."
what=${1:-all}
case "$what" in
  single | spgemm | ranks | ablation | all) ;;
  *)
    echo "usage: bench/gpu/run.sh [single|spgemm|ranks|ablation|all] [RESULTS]" >&2
    exit 2
    ;;
esac
build=${SLEY_BUILD:-build}
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 | tr 'A-Z ' 'a-z-' | sed 's/^nvidia-//')
if [ -z "$gpu" ]; then
  echo "bench/gpu/run.sh: nvidia-smi shows no GPU" >&2
  exit 2
fi
results=${2:-bench/results/gpu-$gpu}
mkdir -p "$results"
if [ -z "${SLEY_PREBUILT:-}" ]; then
  cmake -S . -B "$build" -G Ninja -DCMAKE_CUDA_ARCHITECTURES=native >"$results/build.log"
  ninja -C "$build" sley_cuda sley_command bench/gpu/all >>"$results/build.log" &&
    { [ "$what" != ablation ] || ninja -C "$build" sley_nccl >>"$results/build.log"; } || {
    tail -n 30 "$results/build.log" >&2
    exit 1
  }
  rm "$results/build.log"
fi
python3 bench/gpu/machine.py >"$results/machine.json"
LD_LIBRARY_PATH=$PWD/$build/src${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SLEY_MODULE_PATH=$PWD/$build/src
case "$build" in
  /*)
    LD_LIBRARY_PATH=$build/src${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
    SLEY_MODULE_PATH=$build/src
    ;;
esac
export LD_LIBRARY_PATH SLEY_MODULE_PATH
failed=0
run() { # name, further options
  name=$1
  shift
  echo "== $name"
  timeout "${SLEY_LIMIT:-280}" "$build/bench/gpu/bench_$name" ${SLEY_CACHE:+--cache "$SLEY_CACHE"} \
    --json "$results/$name.jsonl" "$@" || {
    echo "bench_$name ended with status $?" >&2
    failed=1
  }
}
# The options are words: they are to be split.
# shellcheck disable=SC2086
case "$what" in single | all) run spmm_gpu ${SLEY_SPMM_ARGS:-} ;; esac
# shellcheck disable=SC2086
case "$what" in spgemm | all) run spgemm_gpu ${SLEY_SPGEMM_ARGS:-} ;; esac
# shellcheck disable=SC2086
case "$what" in ranks | all) run ranks_gpu ${SLEY_RANKS_ARGS:-} ;; esac
# shellcheck disable=SC2086
case "$what" in ablation | all)
  if [ "$(nvidia-smi --query-gpu=index --format=csv,noheader | wc -l)" -ge 4 ]; then
    python3 bench/gpu/ablation.py --sley "$build/cli/sley" --json "$results/ablation.jsonl" \
      ${SLEY_CACHE:+--cache "$SLEY_CACHE"} ${SLEY_ABLATION_ARGS:-} || failed=1
  else
    echo "ablation: left out, it needs 4 GPUs" >&2
  fi
  ;;
esac
python3 bench/gpu/tables.py "$results"
exit $failed
