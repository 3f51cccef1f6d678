#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The GPU benchmarks: builds, verifies, times, writes JSON, and prints a short table last.
#
#   bench/gpu/run.sh [single|widths|spgemm|ranks|overlap|plans|ablation|collective|networks|torch|training|all] [RESULTS]
#
# single      one GPU compared with every cuSPARSE product
# widths      one GPU, drawn graphs and widths: the time for each granule of 64 bytes, compared with the best width
# spgemm      sparse times sparse, compared with cuSPARSE's three algorithms
# ranks       1, 2, 4 GPUs (as many as there are), compared with NCCL broadcasts with cuSPARSE, and with CoLa's times
#             in bench/gpu/anchors.json
# overlap     two GPUs, drawn graphs, widths and types, compared with half of one GPU, with the link's rate and with
#             the rivals of `ranks`
# plans       times of plans on one GPU and on all
# ablation    two workgroups of two GPUs, as four processes that are joined by sockets: from rowwise to cover, bytes
#             per link class and times (4 GPUs and NCCL)
# collective  compressed collectives on all GPUs compared with NCCL, with chosen and random sizes and in a sweep of
#             both, and on as many hosts joined by sockets (4 GPUs: two hosts of two)
# networks    epochs on one GPU and on all, compared with PyTorch's CSR products
# torch       steps of sley.torch under torchrun on one GPU and on all, and the gradients of both
# training    a GPT by DistributedDataParallel with whole and with sparse gradients, two GPUs as hosts
#
# `all` is single, spgemm, ranks, plans and ablation. RESULTS: bench/results/gpu-NAME by default, with the GPU's NAME.
# Environment:
#   SLEY_BUILD      build folder, build by default; SLEY_PREBUILT=1: use its contents, build nothing
#   SLEY_CACHE      folder that keeps generated matrices; none by default
#   SLEY_COMMIT     the commit, if git is missing
#   SLEY_DEBS       see tools/unpack_debs.sh
#   SLEY_PYTHON     the interpreter with torch and torch_geometric for the last four (python3 by default)
#   SLEY_ARGS       more options of the benchmark that is named, e.g. "--matrices cyt --k 32"
# Each benchmark is stopped after SLEY_LIMIT seconds, 280 by default; the results written by then count.
set -eu
cd "$(dirname "$0")/../.."
what=${1:-all}
case "$what" in
  single | widths | spgemm | ranks | overlap | plans | ablation | collective | networks | torch | training | all) ;;
  *)
    echo "usage: bench/gpu/run.sh [single|widths|spgemm|ranks|overlap|plans|ablation|collective|networks|torch|training|all] [RESULTS]" >&2
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
  targets="sley_cuda sley_command bench/gpu/all"
  case "$what" in ablation | collective | torch | training) targets="$targets sley_nccl" ;; esac
  # shellcheck disable=SC2086 # a list of words
  ninja -C "$build" $targets >>"$results/build.log" || {
    tail -n 30 "$results/build.log" >&2
    exit 1
  }
  rm "$results/build.log"
fi
python3 bench/machine.py gpu >"$results/machine.json"
LD_LIBRARY_PATH=$build/src${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
SLEY_MODULE_PATH=$build/src
SLEY_LIBRARY=$build/src/libsley.so.0
PYTHONPATH=$PWD/python${PYTHONPATH:+:$PYTHONPATH}
export LD_LIBRARY_PATH SLEY_MODULE_PATH SLEY_LIBRARY PYTHONPATH
sley=$build/cli/sley
cache=${SLEY_CACHE:+--cache $SLEY_CACHE}
failed=0
run() { # name of the benchmark, program, file of results, options
  name=$1 program=$2 out=$results/$3
  shift 3
  echo "== $name"
  # shellcheck disable=SC2086 # lists of words
  timeout "${SLEY_LIMIT:-280}" $program "$@" --json "$out" ${SLEY_ARGS:-} || {
    echo "$name ended with status $?" >&2
    failed=1
  }
  # A line with the machine and the commit, by which bench/report.py knows what was measured.
  case "$out" in *_gpu.jsonl)
    [ ! -s "$out" ] || python3 -c 'import json, sys; print(json.dumps({"record": "machine", **json.load(open(sys.argv[1]))}))' \
      "$results/machine.json" >>"$out"
    ;;
  esac
}
asked() { # words that ask for it
  for word; do [ "$what" != "$word" ] || return 0; done
  return 1
}
numbers=1,$gpus
[ "$gpus" -gt 1 ] || numbers=1
hosts=$gpus
[ "$gpus" -ne 4 ] || hosts=2x2
# shellcheck disable=SC2086 # $cache is a list of words
{
  ! asked single all || run single "$build/bench/gpu/bench_spmm_gpu" spmm_gpu.jsonl $cache
  ! asked widths || run widths "python3 bench/gpu/widths.py $build" widths.jsonl
  ! asked spgemm all || run spgemm "$build/bench/gpu/bench_spgemm_gpu" spgemm_gpu.jsonl $cache
  ! asked ranks all || run ranks "$build/bench/gpu/bench_ranks_gpu" ranks_gpu.jsonl $cache
  ! asked overlap || run overlap "python3 bench/gpu/overlap.py $build" overlap.jsonl
  ! asked plans all || run plans "$build/bench/gpu/bench_plan_gpu" plan_gpu.jsonl $cache --gpus "$numbers" --k 32,128 --plans 15
  if asked ablation all && [ "$gpus" -ge 4 ]; then
    run ablation "python3 bench/gpu/ablation.py" ablation.jsonl --sley "$sley" $cache
  elif asked ablation all; then
    echo "ablation: left out, it needs 4 GPUs" >&2
  fi
}
dense="$python bench/collective/beside_dense.py"
if asked collective; then
  run gpus "$dense gpus $sley" collective_gpus.json --ranks "$gpus"
  run sweep "$dense sweep $sley" sweep.json --ranks "$gpus"
  run hosts "$dense hosts $sley" collective_hosts.json --launch "bench/collective/as_hosts.sh $hosts"
fi
! asked networks || run networks "$python bench/gnn/epoch.py $sley" networks.json --matrix "twin:clj:scale=0.5 twin:prd:scale=0.5" --ranks "$numbers" \
  --ways fresh --rivals csr
! asked torch || run torch "$python bench/gnn/torch_ranks.py twin:prd:scale=0.5" torch_ranks.json --ranks "$numbers"
! asked training || run training "bench/collective/as_hosts.sh 2 $python bench/collective/ddp_gpt.py" ddp_gpt.json --warmup-steps 20 --ramp-steps 150
! asked single ranks plans ablation all || python3 bench/report.py --print "$results"
exit $failed
