#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The GPU benchmarks: builds, verifies, times, writes JSON, and prints a short table last.
#
#   bench/gpu/run.sh [single|spgemm|ranks|plans|ablation|collective|networks|torch|training|all] [RESULTS]
#
# single      one GPU compared with every cuSPARSE product
# spgemm      sparse times sparse, compared with cuSPARSE's three algorithms
# ranks       1, 2, 4 GPUs (as many as there are), compared with NCCL broadcasts with cuSPARSE, and with CoLa's times
#             in bench/gpu/anchors.json
# plans       times of plans on one GPU and on all
# ablation    two workgroups of two GPUs, as four processes that are joined by sockets: from rowwise to cover, bytes
#             per link class and times (4 GPUs and NCCL)
# collective  compressed collectives on all GPUs compared with NCCL, with chosen and random sizes and in a sweep of
#             both, and on as many hosts joined by sockets (4 GPUs: two hosts of two)
# networks    epochs on one GPU and on all, compared with PyTorch's CSR products
# torch       steps of sley.torch under torchrun on one GPU and on all, and the gradients of both
# training    a GPT by DistributedDataParallel with whole and with sparse gradients, two GPUs as hosts
#
# `all` is the first five. RESULTS: bench/results/gpu-NAME by default, with the GPU's NAME.
# Environment:
#   SLEY_BUILD      build folder, build by default; SLEY_PREBUILT=1: use its contents, build nothing
#   SLEY_CACHE      folder that keeps generated matrices; none by default
#   SLEY_COMMIT     the commit, if git is missing
#   SLEY_DEBS       see tools/unpack_debs.sh
#   SLEY_PYTHON     the interpreter with torch and torch_geometric for the last three (python3 by default)
#   SLEY_SPMM_ARGS, SLEY_SPGEMM_ARGS, SLEY_RANKS_ARGS, SLEY_PLANS_ARGS, SLEY_ABLATION_ARGS, SLEY_COLLECTIVE_ARGS, SLEY_NETWORKS_ARGS,
#   SLEY_TORCH_ARGS, SLEY_TRAINING_ARGS   more options of each benchmark, e.g. "--matrices cyt --k 32"
# Each benchmark is stopped after SLEY_LIMIT seconds, 280 by default; the results written by then count.
set -eu
cd "$(dirname "$0")/../.."
what=${1:-all}
case "$what" in
  single | spgemm | ranks | plans | ablation | collective | networks | torch | training | all) ;;
  *)
    echo "usage: bench/gpu/run.sh [single|spgemm|ranks|plans|ablation|collective|networks|torch|training|all] [RESULTS]" >&2
    exit 2
    ;;
esac
build=${SLEY_BUILD:-build}
mkdir -p "$build"
build=$(cd "$build" && pwd)
python=${SLEY_PYTHON:-python3}
gpu=$(nvidia-smi --query-gpu=name --format=csv,noheader 2>/dev/null | head -n 1 | tr 'A-Z ' 'a-z-' | sed 's/^nvidia-//')
if [ -z "$gpu" ]; then
  echo "bench/gpu/run.sh: nvidia-smi shows no GPU" >&2
  exit 2
fi
results=${2:-bench/results/gpu-$gpu}
gpus=$(nvidia-smi --query-gpu=index --format=csv,noheader | wc -l)
mkdir -p "$results"
# shellcheck source=tools/unpack_debs.sh
. tools/unpack_debs.sh
if [ -z "${SLEY_PREBUILT:-}" ]; then
  cmake -S . -B "$build" -G Ninja -DCMAKE_CUDA_ARCHITECTURES=native "$@" >"$results/build.log"
  ninja -C "$build" sley_cuda sley_command bench/gpu/all >>"$results/build.log" &&
    case "$what" in
      ablation | collective | torch | training) ninja -C "$build" sley_nccl >>"$results/build.log" ;;
    esac || {
    tail -n 30 "$results/build.log" >&2
    exit 1
  }
  rm "$results/build.log"
fi
python3 bench/gpu/machine.py >"$results/machine.json"
LD_LIBRARY_PATH=$build/src${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SLEY_MODULE_PATH=$build/src
SLEY_LIBRARY=$build/src/libsley.so.0
PYTHONPATH=$PWD/python${PYTHONPATH:+:$PYTHONPATH}
export LD_LIBRARY_PATH SLEY_MODULE_PATH SLEY_LIBRARY PYTHONPATH
failed=0
run_script() { # name, words...
  name=$1
  shift
  echo "== $name"
  timeout "${SLEY_LIMIT:-280}" "$@" || {
    echo "$name ended with status $?" >&2
    failed=1
  }
}
stamp() { # file of JSON lines: gets one with the machine and the commit, by which bench/report.py knows what was measured
  [ ! -s "$1" ] || python3 -c 'import json, sys; print(json.dumps({"record": "machine", **json.load(open(sys.argv[1]))}))' \
    "$results/machine.json" >>"$1"
}
run() { # name, further options
  bench=$1
  shift
  run_script "bench_$bench" "$build/bench/gpu/bench_$bench" ${SLEY_CACHE:+--cache "$SLEY_CACHE"} \
    --json "$results/$bench.jsonl" "$@"
}
# The options are words, which the shell must split.
# shellcheck disable=SC2086
case "$what" in single | all) run spmm_gpu ${SLEY_SPMM_ARGS:-} && stamp "$results/spmm_gpu.jsonl" ;; esac
# shellcheck disable=SC2086
case "$what" in spgemm | all) run spgemm_gpu ${SLEY_SPGEMM_ARGS:-} ;; esac
# shellcheck disable=SC2086
case "$what" in ranks | all) run ranks_gpu ${SLEY_RANKS_ARGS:-} && stamp "$results/ranks_gpu.jsonl" ;; esac
numbers=1,$gpus
[ "$gpus" -gt 1 ] || numbers=1
# shellcheck disable=SC2086
case "$what" in plans | all)
  run_script plans "$build/bench/gpu/bench_plan_gpu" --matrix twin:cyt --matrix twin:clj --matrix twin:prd --ranks "$numbers" --k 32,128 --plans 15 \
    --json "$results/plan_gpu.jsonl" ${SLEY_PLANS_ARGS:-}
  stamp "$results/plan_gpu.jsonl"
  ;;
esac
# shellcheck disable=SC2086
case "$what" in ablation | all)
  if [ "$gpus" -ge 4 ]; then
    python3 bench/gpu/ablation.py --sley "$build/cli/sley" --json "$results/ablation.jsonl" \
      ${SLEY_CACHE:+--cache "$SLEY_CACHE"} ${SLEY_ABLATION_ARGS:-} || failed=1
  else
    echo "ablation: left out, it needs 4 GPUs" >&2
  fi
  ;;
esac
sley=$build/cli/sley
# shellcheck disable=SC2086
case "$what" in collective)
  run_script collective "$python" bench/collective/beside_dense.py gpus "$sley" --ranks "$gpus" --json "$results/collective_gpus.json" \
    ${SLEY_COLLECTIVE_ARGS:-}
  run_script sweep "$python" bench/collective/sweep.py "$sley" --ranks "$gpus" --json "$results/sweep.json"
  hosts=$gpus
  [ "$gpus" -ne 4 ] || hosts=2x2
  run_script collective_hosts "$python" bench/collective/beside_dense.py hosts "$sley" --launch "bench/collective/as_hosts.sh $hosts" \
    --json "$results/collective_hosts.json" ${SLEY_COLLECTIVE_ARGS:-}
  ;;
esac
# shellcheck disable=SC2086
case "$what" in networks)
  run_script networks "$python" bench/gnn/epoch.py "$sley" --matrix "twin:clj:scale=0.5 twin:prd:scale=0.5" --ranks "$numbers" --ways fresh \
    --rivals csr --json "$results/networks.json" ${SLEY_NETWORKS_ARGS:-}
  ;;
esac
# shellcheck disable=SC2086
case "$what" in torch)
  run_script torch "$python" bench/gnn/torch_ranks.py twin:prd:scale=0.5 --ranks "$numbers" --json "$results/torch_ranks.json" ${SLEY_TORCH_ARGS:-}
  ;;
esac
# shellcheck disable=SC2086
case "$what" in training)
  run_script training bench/collective/as_hosts.sh 2 "$python" bench/collective/ddp_gpt.py --warmup-steps 20 --ramp-steps 150 \
    --json "$results/ddp_gpt.json" ${SLEY_TRAINING_ARGS:-}
  ;;
esac
case "$what" in single | ranks | plans | ablation | all) python3 bench/report.py --print "$results" ;; esac
exit $failed
