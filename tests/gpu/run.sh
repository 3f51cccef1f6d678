#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tests on GPUs: builds, runs the tests of kernels, transports and products on all visible GPUs, compares bits
# between the CPU and every number of GPUs, runs compute-sanitizer's four tools on a small selection, and prints a
# table last.
#
#   tests/gpu/run.sh [tests|bits|processes|counts|tune|torch|sanitize|all] [RESULTS]    RESULTS: a folder for the logs, build-gpu/logs
#
# torch: the tests of the Python package that want a GPU, by pytest, files side by side, each on one GPU or two.
# tune: measures the GPUs (SLEY_TUNE_SECONDS, 20), prints their description, and plans with it.
# processes: 4 GPUs (or as many as there are) of as many processes, over nccl and nvshmem, and over nccl as two groups of
# two that sockets join.
# counts: what ranks hand to ncclSend, counted in front of NCCL, is what the command says, in 60 drawn runs.
#
# Environment:
#   SLEY_BUILD      build folder, build-gpu by default; SLEY_PREBUILT=1: use what is there, build nothing
#   SLEY_DEBS       folder with .deb files to unpack beside the build, for machines where nothing can be installed:
#                   tools/unpack_debs.sh says which
#   SLEY_DATA       the real matrices; without them the sweep over them is left out
#   SLEY_TEST_SHARE test programs run one case in so many (1 by default), drawn by SLEY_TEST_SEED
#   SLEY_TEST_PROGRAMS  those of the test programs to run, instead of all
#   SLEY_TEST_JOBS  programs of `tests`, and runs of `bits`, at a time (1 by default)
#   SLEY_PYTHON     the interpreter with pytest, torch and torch_geometric (python3 by default)
#   SLEY_LIMIT      seconds for one program (250 by default)
set -eu
cd "$(dirname "$0")/../.."
what=${1:-all}
case "$what" in
  tests | bits | processes | counts | tune | torch | sanitize | all) ;;
  *)
    echo "usage: tests/gpu/run.sh [tests|bits|processes|counts|tune|torch|sanitize|all] [RESULTS]" >&2
    exit 2
    ;;
esac
build=${SLEY_BUILD:-build-gpu}
mkdir -p "$build"
build=$(cd "$build" && pwd)
logs=${2:-$build/logs}
mkdir -p "$logs"
limit=${SLEY_LIMIT:-250}

# shellcheck source=tools/unpack_debs.sh
. tools/unpack_debs.sh

# ---- build
all_programs="test_kernels test_dense_windows test_row_kernels test_convert test_api_device test_transport test_transport_exchange
  test_transport_pieces test_transport_failure test_capture test_column_blocks test_travel
  test_resident test_reduce test_collective_formats
  test_sparsify test_spgemm test_api_spgemm test_topk test_collective_faults test_collective test_transport_dense test_transport_sized test_one_sided test_halo
  test_api_halo test_counted test_pair test_step_kind test_set_values test_update test_update_kernels test_comm test_bits test_spmm
  test_rowwise
  test_tiled test_tile_access test_tile_spmm test_product_stream test_tile_spgemm
  test_spmv test_spmm_sweep test_gemm test_dense_parts test_dropout test_nll test_api_dense_parts
  test_api_dense_refused test_graph_kernels
  test_graph_gradients test_edge_softmax test_attention_kernels test_graph_ops test_attention test_graph_use test_gnn
  test_gnn_bits test_gnn_memory"
programs=${SLEY_TEST_PROGRAMS:-$all_programs}
if [ -z "${SLEY_PREBUILT:-}" ]; then
  (
    # shellcheck disable=SC2086 # a list of words
    cmake -S . -B "$build" -G Ninja -DSLEY_CUDA=ON "-DCMAKE_CUDA_ARCHITECTURES=${SLEY_ARCHITECTURES:-native}" "$@" &&
      ninja -C "$build" sley_command sley_cuda $programs &&
      for module in sley_nccl sley_nvshmem; do # where their headers were found
        ! ninja -C "$build" -t query "$module" >/dev/null 2>&1 || ninja -C "$build" "$module" || exit 1
      done
  ) >"$logs/build.log" 2>&1 || {
    tail -n 40 "$logs/build.log" >&2
    echo "the build failed: $logs/build.log" >&2
    exit 1
  }
fi
SLEY_MODULE_PATH=$build/src
LD_LIBRARY_PATH=$build/src${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}
export SLEY_MODULE_PATH LD_LIBRARY_PATH
sley=$build/cli/sley
table=$logs/table
: >"$table"
failed=0

# check NAME words...: runs the words within the limit; one line for the table, the end of the log on a failure.
check() {
  name=$1
  shift
  begin=$(date +%s)
  status=0
  timeout "$limit" "$@" >"$logs/$name.log" 2>&1 || status=$?
  verdict=ok
  if [ "$status" -ne 0 ]; then
    verdict="FAILED ($status)"
    failed=$((failed + 1))
    echo "== $name: status $status"
    tail -n 25 "$logs/$name.log"
  fi
  printf '%-44s %6d s   %s\n' "$name" "$(($(date +%s) - begin))" "$verdict" >>"$table"
}

# The same side by side: SLEY_TEST_JOBS at a time, or as many as `jobs` says. What fails is counted by beside_end, which waits for all.
jobs=${SLEY_TEST_JOBS:-1}
running=0
beside() {
  (
    before=$failed
    check "$@"
    [ "$failed" -eq "$before" ] || echo "$1" >>"$logs/beside_failed"
  ) &
  running=$((running + 1))
  [ "$running" -lt "$jobs" ] || beside_wait
}
beside_wait() {
  wait
  running=0
}
beside_end() {
  beside_wait
  # shellcheck disable=SC2031 # those of the shells beside are in the file
  [ ! -f "$logs/beside_failed" ] || failed=$((failed + $(wc -l <"$logs/beside_failed")))
  rm -f "$logs/beside_failed"
}

"$sley" info | grep '^device *cuda'
gpus=$(nvidia-smi --query-gpu=index --format=csv,noheader 2>/dev/null | wc -l)
[ "$gpus" -gt 0 ] || gpus=1

# The numbers of the first $1 GPUs.
first_gpus() {
  seq -s , 0 $(($1 - 1))
}

case "$what" in tests | all)
  SLEY_TEST_DEVICE=cuda
  export SLEY_TEST_DEVICE
  for program in $programs; do
    [ "$program" != test_spmm_sweep ] || [ -n "${SLEY_DATA:-}" ] || continue
    beside "$program" "$build/tests/$program"
  done
  beside_end
  for program in test_transport_exchange test_transport_pieces test_spmm; do
    check "${program}_signals" env SLEY_TEST_OVERRIDES=device_signals "$build/tests/$program"
  done
  check test_spmm_pieces env SLEY_TEST_OVERRIDES=device_pieces "$build/tests/test_spmm"
  unset SLEY_TEST_DEVICE
  check unchanged_input "$sley" spmm twin:cyt:scale=0.1 --device cuda --ranks "$gpus" --algo all --unchanged --verify --repeat 2
  for ranks in 1 "$gpus"; do
    check "column_blocks_${ranks}ranks" sh -c "'$sley' spmm twin:cyt:scale=0.2 --device cuda --ranks $ranks --k 200 \
      --mem-limit $((300 / ranks))M --verify >'$logs/blocks' && cat '$logs/blocks' && grep 'blocks of' '$logs/blocks'"
  done
  check info_without_gpu env CUDA_VISIBLE_DEVICES= "$sley" info
  check refused_without_gpu sh -c "CUDA_VISIBLE_DEVICES= '$sley' spmm data/karate.mtx --device cuda; test \$? -eq 2"
  check cpu_without_gpu env CUDA_VISIBLE_DEVICES= "$sley" spmm data/karate.mtx
  ;;
esac

# In column order the bits of Y are those of the CPU, on any number of GPUs and ranks.
case "$what" in bits | all)
  matrix=rmat:scale=13,edgefactor=9
  for dtype in f32 f64 f16 bf16; do
    for k in 32 33; do
      cpu=$logs/cpu_${dtype}_$k.npy
      "$sley" spmm "$matrix" --device cpu --ranks 1 --dtype $dtype --k $k --reproducible --repeat 1 --out "$cpu" >/dev/null
      for count in $(seq 1 "$gpus"); do
        for ranks in "$count" 7; do
          name=bits_${dtype}_k${k}_${count}gpu_${ranks}ranks
          beside "$name" sh -c "CUDA_VISIBLE_DEVICES=$(first_gpus "$count") '$sley' spmm $matrix --device cuda --ranks $ranks \
            --dtype $dtype --k $k --reproducible --repeat 2 --out '$logs/$name.npy' && cmp '$cpu' '$logs/$name.npy'"
        done
      done
    done
  done
  beside_end
  for dtype in f32 f64 f16 bf16; do
    for semiring in plus-times min-plus; do
      for device in cpu cuda; do
        "$sley" spgemm "$matrix" --device $device --dtype $dtype --semiring $semiring --out "$logs/$device.sley" >/dev/null
      done
      check "bits_spgemm_${dtype}_$semiring" cmp "$logs/cpu.sley" "$logs/cuda.sley"
    done
    check "spgemm_${dtype}_masked" "$sley" spgemm "$matrix" --mask "$matrix" --device cuda --dtype $dtype --verify
  done
  for local in cusparse cusparse-alg2 cusparse-alg3; do
    check "spgemm_$local" "$sley" spgemm "$matrix" --device cuda --local $local --verify
  done
  check spgemm_chunks "$sley" spgemm "$matrix" --device cuda --mem-limit 12M --verify
  for count in $(seq 1 "$gpus"); do
    beside "all_${count}gpu" env CUDA_VISIBLE_DEVICES="$(first_gpus "$count")" "$sley" spmm twin:cyt:scale=0.2 \
      --device cuda --ranks "$count" --algo all --repeat 3
  done
  for dtype in f32 f64 f16 bf16; do
    beside "tiles_${dtype}" "$sley" spmm "$matrix" -k 64 --device cuda --algo tile-all --dtype $dtype --tiles 6 --repeat 2 --warmup 1
    beside "tiles_times_${dtype}" "$sley" spgemm "$matrix" --verify --ranks 4 --device cuda --algo tile-all --dtype $dtype --tiles 6 \
      --repeat 2 --warmup 1
  done
  for ranks in 1 "$gpus" 7; do
    beside "tiles_${ranks}ranks" "$sley" spmm twin:cyt:scale=0.2 -k 64 --device cuda --ranks "$ranks" --algo tile-all --repeat 3
  done
  beside tiles_workgroups_of_2 "$sley" spmm twin:cyt:scale=0.1 -k 64 --device cuda --ranks 4 --workgroup 2 --algo tile-all --repeat 3
  for semiring in plus-times plus-pair min-plus or-and; do
    for workgroup in 4 2; do
      beside "tiles_times_${semiring}_${workgroup}" "$sley" spgemm rmat:scale=12 --verify --dtype f32 --mask er:n=4096,nnz=400000 \
        --semiring $semiring --device cuda --ranks 4 --workgroup $workgroup --tiles 4 --algo tile-all --mem-limit 1G --repeat 2
    done
  done
  beside all_workgroups_of_2 "$sley" spmm twin:cyt:scale=0.2 --device cuda --ranks 4 --workgroup 2 --algo all \
    --repeat 3
  for dtype in f32 f16 bf16; do
    beside "all_${dtype}" "$sley" spmm twin:cyt:scale=0.1 --device cuda --ranks "$gpus" --algo all --dtype $dtype \
      --k 48 --beta 0.5 --verify --repeat 1
    for ranks in $(seq 1 "$gpus"); do
      beside "cusparse_${dtype}_${ranks}ranks" "$sley" spmm twin:cyt:scale=0.1 --device cuda --ranks "$ranks" \
        --algo halo --local cusparse --dtype $dtype --k 48 --verify --repeat 1
    done
  done
  beside_end
  rm -f "$logs"/cpu_*.npy "$logs"/bits_*.npy "$logs/cpu.sley" "$logs/cuda.sley"
  ;;
esac

# GPUs of several processes. A run of the command must have taken the transport it names.
over() { # NAME TRANSPORT words...
  name=$1
  transport=$2
  shift 2
  check "$name" sh -c 'transport=$1; shift; "$@" --json "$0" && grep -q "\"transport\": *\"$transport\"" "$0"' \
    "$logs/$name.json" "$transport" "$@"
}

# Two groups of two ranks on this host, which NCCL_HOSTID makes two hosts of, as a launcher would start them.
two_groups() { # MASTER_PORT words...
  port=$1
  shift
  pids=
  for rank in 0 1 2 3; do
    host=a
    [ "$rank" -lt 2 ] || host=b
    env RANK=$rank LOCAL_RANK=$rank WORLD_SIZE=4 MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" NCCL_HOSTID=$host \
      NCCL_SOCKET_IFNAME=lo "$@" &
    pids="$pids $!"
  done
  result=0
  for pid in $pids; do
    wait "$pid" || result=1
  done
  return $result
}

case "$what" in processes | all)
  members=$gpus
  [ "$members" -le 4 ] || members=4
  matrix=twin:cyt:scale=0.1
  for transport in nccl nvshmem; do
    over "processes_${transport}" $transport "$sley" spmm $matrix --device cuda --transport $transport \
      --ranks "$members" --algo all --verify
    over "processes_${transport}_f64_reproducible" $transport "$sley" spmm $matrix --device cuda \
      --transport $transport --ranks "$members" --algo halo --dtype f64 --reproducible --beta 0.5
  done
  for transport in nccl nvshmem tcp; do
    check "tiles_${transport}" sh -c "'$sley' spmm $matrix -k 64 --device cuda --transport $transport --ranks $members --algo tile-all \
      --repeat 3 >'$logs/tiles' && cat '$logs/tiles' && grep -q '^ranks .* transport $transport' '$logs/tiles'"
  done
  for transport in nccl nvshmem tcp; do
    check "tiles_times_${transport}" "$sley" spgemm rmat:scale=12 --verify --dtype f32 --device cuda --transport $transport \
      --ranks "$members" --tiles 4 --algo tile-all --repeat 2
  done
  check tiles_nccl_workgroups_of_2 "$sley" spmm $matrix -k 64 --device cuda --transport nccl --ranks "$members" --workgroup 2 \
    --algo tile-all --repeat 3
  over processes_nccl_workgroups_of_2 nccl "$sley" spmm $matrix --device cuda --transport nccl --ranks "$members" \
    --workgroup 2 --algo all --verify
  over processes_nccl_workgroups_of_2_wire nccl "$sley" spmm $matrix --device cuda --transport nccl --ranks "$members" \
    --workgroup 2 --algo all --wire bf16 --verify
  for transport in nccl nvshmem; do # libraries that want a GPU for each rank give way
    over "processes_${transport}_shared_gpu" tcp "$sley" spmm $matrix --device cuda --transport $transport \
      --ranks "$((gpus + 1))" --algo halo,cover --verify --repeat 2
  done
  over processes_tcp tcp "$sley" spmm $matrix --device cuda --transport tcp --ranks "$members" --algo all --verify
  if [ "$members" -eq 4 ]; then
    # A function cannot be run under timeout; the ranks have a time limit of their own.
    begin=$(date +%s)
    verdict=ok
    two_groups 29611 "$sley" spmm $matrix --device cuda --transport nccl --algo all --verify --timeout 60 \
      >"$logs/two_groups.log" 2>&1 || {
      verdict=FAILED
      failed=$((failed + 1))
      tail -n 25 "$logs/two_groups.log"
    }
    printf '%-44s %6d s   %s\n' processes_nccl_two_groups $(($(date +%s) - begin)) "$verdict" >>"$table"
  fi
  for program in test_transport test_transport_exchange test_transport_pieces test_transport_dense \
    test_transport_sized test_one_sided test_halo test_set_values test_transport_failure \
    test_tiled test_tile_access test_tile_spmm test_product_stream test_tile_spgemm; do
    # NCCL takes a second to start; NVSHMEM has one rank a process, and these tests' ranks are threads
    check "${program}_nccl" env SLEY_TEST_DEVICE=cuda SLEY_TEST_TRANSPORT=nccl SLEY_TEST_SHARE=10 "$build/tests/$program"
  done
  check test_transport_exchange_nccl_signals env SLEY_TEST_OVERRIDES=device_signals SLEY_TEST_SHARE=10 SLEY_TEST_DEVICE=cuda \
    SLEY_TEST_TRANSPORT=nccl "$build/tests/test_transport_exchange" # its ranks free nothing between their calls
  ;;
esac

# What is measured of these GPUs is a description that plans take.
case "$what" in counts | all)
  members=$gpus
  [ "$members" -le 4 ] || members=4
  if [ "$members" -gt 1 ]; then
    "${CC:-cc}" -std=c11 -O1 -shared -fPIC tests/gpu/count_nccl.c -o "$logs/libcount_nccl.so" -ldl
    check counts_nccl "${SLEY_PYTHON:-python3}" tests/hosts/counts.py "$sley" --transport nccl --most "$members" --runs 60 \
      --wrapper "$logs/libcount_nccl.so"
  fi
  ;;
esac

case "$what" in tune | all)
  described=$logs/gpus.machine
  rm -f "$described"
  check tune "$sley" tune --device cuda --seconds "${SLEY_TUNE_SECONDS:-20}" --out "$described"
  if [ -f "$described" ]; then cat "$described"; fi
  check tune_read "$sley" plan twin:cyt:scale=0.1 --ranks 4 --machine "$described"
  check tune_used env SLEY_MACHINE="$described" sh -c "'$sley' plan twin:cyt:scale=0.1 --ranks $gpus --device cuda >'$logs/tuned' &&
    cat '$logs/tuned' && grep -q '^machine .*gpus.machine' '$logs/tuned'"
  ;;
esac

# Files of the Python package's tests, on one GPU after the other; two for those that start ranks.
case "$what" in torch | all)
  PYTHONPATH=$PWD/python${PYTHONPATH:+:$PYTHONPATH}
  SLEY_LIBRARY=$build/src/libsley.so.0
  export PYTHONPATH SLEY_LIBRARY
  python=${SLEY_PYTHON:-python3}
  jobs=8
  gpu=0
  for file in test_torch_ops test_torch_dense test_torch_layers test_torch_train test_torch_hook test_torch_docs test_gpu test_foreign; do
    beside "python_$file" env CUDA_VISIBLE_DEVICES=$((gpu % gpus)) OMP_NUM_THREADS=4 "$python" -m pytest -q -p no:cacheprovider \
      "python/tests/$file.py"
    gpu=$((gpu + 1))
  done
  beside_end
  check python_test_torch_dist env OMP_NUM_THREADS=4 "$python" -m pytest -q -p no:cacheprovider --durations=10 python/tests/test_torch_dist.py
  jobs=${SLEY_TEST_JOBS:-1}
  ;;
esac

case "$what" in sanitize | all)
  sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
  for tool in memcheck racecheck initcheck synccheck; do
    # racecheck does not know bar.arrive: it finds hazards in the PTX manual's own producer and consumer. The kernel
    # whose warps take turns by it is left out there.
    case $tool in racecheck) without=kernel_substring=make_dense_rows ;; *) without=kernel_substring=none ;; esac
    for workgroup in 3 2; do
      check "${tool}_workgroup_${workgroup}" "$sanitizer" --tool $tool --error-exitcode 9 "$sley" spmm \
        er:n=700,nnz=9000 --device cuda --ranks 3 --workgroup $workgroup --algo all --k 33 --repeat 1 --warmup 1
    done
    check "${tool}_reproducible_f64" "$sanitizer" --tool $tool --error-exitcode 9 "$sley" spmm er:n=700,nnz=9000 \
      --device cuda --ranks 3 --algo all --k 64 --dtype f64 --reproducible --beta 0.5 --repeat 1 --warmup 0
    check "${tool}_bf16" "$sanitizer" --tool $tool --error-exitcode 9 "$sley" spmm er:n=700,nnz=9000 --device cuda \
      --ranks 3 --algo all --k 64 --dtype bf16 --beta 0.5 --repeat 1 --warmup 0
    check "${tool}_wire" "$sanitizer" --tool $tool --error-exitcode 9 "$sley" spmm er:n=700,nnz=9000 --device cuda \
      --ranks 3 --workgroup 2 --algo halo-pipelined,cover --k 33 --wire f16 --repeat 1 --warmup 0
    check "${tool}_tiles" "$sanitizer" --tool $tool --error-exitcode 9 "$sley" spmm er:n=700,nnz=9000 --device cuda --ranks 3 \
      --workgroup 2 --algo tile-c,tile-a,tile-a-steal --tiles 4 --k 33 --repeat 1 --warmup 0
    check "${tool}_tiles_times" "$sanitizer" --tool $tool --kernel-name-exclude $without --error-exitcode 9 "$sley" spgemm \
      er:n=700,nnz=9000 --verify --device cuda --ranks 3 --workgroup 2 --algo tile-c,tile-a,tile-a-steal \
      --tiles 4 --dtype bf16 --repeat 1 --warmup 0
    check "${tool}_pieces" env SLEY_TEST_DEVICE=cuda SLEY_TEST_OVERRIDES=device_pieces SLEY_TEST_SHARE=40 "$sanitizer" \
      --tool $tool --error-exitcode 9 "$build/tests/test_spmm"
    check "${tool}_kernels" env SLEY_TEST_DEVICE=cuda SLEY_TEST_SHARE=30 "$sanitizer" --tool $tool \
      --error-exitcode 9 "$build/tests/test_kernels"
    check "${tool}_spgemm" env SLEY_TEST_DEVICE=cuda SLEY_TEST_SHARE=40 "$sanitizer" --tool $tool \
      --kernel-name-exclude $without --error-exitcode 9 "$build/tests/test_spgemm"
    check "${tool}_updates" env SLEY_TEST_DEVICE=cuda SLEY_TEST_SHARE=20 "$sanitizer" --tool $tool \
      --error-exitcode 9 "$build/tests/test_update_kernels"
    for program in test_graph_kernels test_graph_gradients test_edge_softmax test_attention_kernels; do
      check "${tool}_$program" env SLEY_TEST_DEVICE=cuda SLEY_TEST_SHARE=25 "$sanitizer" --tool $tool \
        --error-exitcode 9 "$build/tests/$program"
    done
  done
  ;;
esac

echo
cat "$table"
echo "$gpus GPU(s), $failed failed; logs in $logs"
[ "$failed" -eq 0 ]
