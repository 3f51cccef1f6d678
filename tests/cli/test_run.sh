#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Whole runs of the command: results, JSON, files, exit statuses, signals.
# Usage: test_run.sh SLEY ROOT JSON_FIELD FOLDER_OF_THE_MOCK_DEVICE
set -u
sley=$1 root=$2 json_field=$3 mock_device=$4
# shellcheck source=tests/cli/lib.sh
. "$root/tests/cli/lib.sh"
graph=$root/data/karate.mtx
for program in "$sley" "$json_field"; do
  [ -x "$program" ] || { echo "$program is missing"; exit 1; }
done

echo "spmm: text on stdout, nothing on stderr"
run 0 spmm "$graph" --ranks 3 --k 5 --repeat 3
silent_err "spmm"
grep -q '^check *ok' "$work/out" || fail "spmm prints no check"
grep -q 'as predicted' "$work/out" || fail "spmm prints no traffic"

echo "spmm: JSON on stdout is JSON alone"
run 0 spmm "$graph" --ranks 4 --workgroup 2 --k 8 --repeat 3 --algo halo --json -
cp "$work/out" "$work/one.json"
for name in ranks:4 workgroup:2 rows:34 cols:34 nnz:156 k:8 algo:halo verify.ok:true dtype:f32 order:none; do
  field "$work/one.json" "${name%%:*}" "${name#*:}"
done
for name in remote_nnz halo_rows cover_rows volume_bytes.direct volume_bytes.message predicted_bytes.direct \
  predicted_bytes.message time_ms.min time_ms.median time_ms.p95 gflops verify.max_error verify.bound reason; do
  field "$work/one.json" "$name"
done
for class in direct message; do
  field "$work/one.json" volume_bytes.$class "$("$json_field" "$work/one.json" predicted_bytes.$class)"
done
[ "$("$json_field" "$work/one.json" cover_rows)" -ge 0 ] || fail "cover_rows is not counted"

echo "spmm: an update of the product, on threads and processes, reordered, transposed, and refused"
for words in "--ranks 1 --algo halo" "--ranks 3 --order rabbit --beta 2" "--ranks 2 --transport tcp --dtype bf16" \
  "--ranks 3 --transpose --alpha 0.5 --k 9" "--ranks 4 --algo all --dtype f64"; do
  # shellcheck disable=SC2086 # a list of words
  run 0 spmm "$graph" --update 7 --repeat 2 $words
  grep -Eq '(update|halo) +(update +)?W [0-9]+ x 7, (not )?fused' "$work/out" || fail "spmm --update $words does not tell of the update"
  grep -Eq 'check +ok|  ok$' "$work/out" || fail "spmm --update $words: no check"
done
run 0 spmm "$graph" --ranks 1 --algo halo --update 5 --repeat 2 --out "$work/z.npy" --json "$work/update.json"
for name in update.n:5 update.fused:true verify.ok:true; do
  field "$work/update.json" "${name%%:*}" "${name#*:}"
done
field "$work/update.json" update.apart_ms
[ "$(wc -c <"$work/z.npy")" -eq $((128 + 34 * 5 * 4)) ] || fail "Z is not 34 x 5"
run 2 spmm "$graph" --update 3 --unchanged
one_line "--update with --unchanged" "--unchanged"
run 2 spmm "$graph" --update 0
one_line "--update 0" "--update"

echo "spmm: the timeline"
run 0 spmm "$graph" --ranks 3 --repeat 2 --algo halo --trace "$work/trace.json"
[ "$("$json_field" "$work/trace.json" traceEvents)" -gt 10 ] || fail "the timeline has few events"
for name in planning "product 1" "product 4"; do # 2 of them before the timed ones
  [ "$(grep -o "\"$name\"" "$work/trace.json" | wc -l)" -eq 3 ] || fail "the timeline does not have a span $name on each rank"
done

echo "spmm: all algorithms"
run 0 spmm "$graph" --ranks 4 --workgroup 2 --k 3 --repeat 2 --algo all --json "$work/all.json"
silent_err "spmm --algo all"
grep -q 'NO\|WRONG' "$work/out" && fail "an algorithm is wrong: $(cat "$work/out")"
count=$("$json_field" "$work/all.json" algorithms)
[ "$count" -ge 10 ] || fail "$count algorithms, expected 10 or more"
[ "$(sed -n '/^algo /,/^$/p' "$work/out" | grep -c .)" -eq "$((count + 1))" ] || fail "the table and the JSON differ in length"

echo "spmm: a list of algorithms, and no more products than there is time for"
for extra in "" "--transport tcp"; do
  # shellcheck disable=SC2086 # a list of words
  run 0 spmm "$graph" --ranks 3 --algo rowwise,auto,cover --warmup 4 --repeat 1000 --budget 1e-9 --json "$work/list.json" $extra
  field "$work/list.json" algorithms 3
  field "$work/list.json" algorithms.0.algo rowwise
  field "$work/list.json" algorithms.2.time_ms.count 3
  # shellcheck disable=SC2086 # a list of words
  run 2 spmm "$graph" --ranks 3 --algo all --local cusparse $extra
  one_line "algorithms of which none is possible" "device cpu has no kernel of cusparse"
done

echo "plan: the figures, and the names that completion knows"
run 0 plan "$graph" --ranks 4 --json "$work/plan.json"
for name in nnz remote_nnz halo_rows cover_rows floor_rows.between floor_rows.inside choice.algo choice.reason algorithms.0.predicted_bytes.direct; do
  field "$work/plan.json" "$name"
done
for ((i = 0; i < count; i++)); do
  name=$("$json_field" "$work/plan.json" "algorithms.$i.algo")
  "$sley" words spmm --algo | grep -qx "$name" || fail "completion lacks the algorithm $name"
  run 0 plan "$graph" --ranks 4 --algo "$name"
  grep -q '^rank 0' "$work/out" || fail "plan --algo $name describes no steps"
done

echo "ranks as processes: forked, started by a launcher, missing, killed"
# The same algorithm: auto may choose another one, and with it another order of sums, where messages cost more.
run 0 spmm "$graph" --ranks 4 --algo halo --workgroup 2 --k 3 --repeat 2 --beta 0.5 --transpose --out "$work/threads.npy"
run 0 spmm "$graph" --ranks 4 --algo halo --workgroup 2 --k 3 --repeat 2 --beta 0.5 --transpose --out "$work/tcp.npy" --transport tcp
grep -q 'transport tcp' "$work/out" || fail "--transport tcp is not reported"
cmp -s "$work/threads.npy" "$work/tcp.npy" || fail "processes give another Y than threads"
run 0 spmm "$graph" --ranks 3 --repeat 1 --algo all --transport tcp
[ "$(grep -c ' ok$' "$work/out")" -ge 10 ] || fail "not all algorithms are right over tcp"
run 0 spmm "$graph" --ranks 3 --repeat 2 --algo halo --transport tcp --trace "$work/trace_tcp.json"
grep -q 'rank 2' "$work/trace_tcp.json" || fail "the timeline of processes lacks rank 2"
[ "$(sed -n 's/.*"ts":\([0-9.]*\),"name":"product 1".*/\1/p' "$work/trace_tcp.json" | sort -u | wc -l)" -eq 3 ] ||
  fail "the events of several ranks are the same"
port=$((20000 + $$ % 10000))
for rank in 0 1 2 3; do
  RANK=$rank WORLD_SIZE=4 MASTER_ADDR=localhost MASTER_PORT=$port "$sley" spmm "$graph" --algo halo --workgroup 2 --k 3 --repeat 2 \
    --beta 0.5 --transpose --out "$work/launched.npy" --timeout 60 >"$work/out$rank" 2>"$work/err$rank" &
done
wait
cmp -s "$work/threads.npy" "$work/launched.npy" || fail "launched ranks give another Y: $(cat "$work"/err?)"
[ -s "$work/out0" ] && [ ! -s "$work/out1" ] || fail "rank 0 alone reports"
for rank in 0 1 2; do
  RANK=$rank WORLD_SIZE=3 MASTER_ADDR=localhost MASTER_PORT=$port "$sley" spmm "$graph" --repeat 1 --algo all \
    --out "$work/launched.npy" --timeout 60 >"$work/out$rank" 2>"$work/err$rank" &
done
wait
[ "$(grep -c ' ok$' "$work/out0")" -ge 10 ] || fail "not all algorithms are right when launched: $(cat "$work"/err?)"
[ ! -s "$work/out2" ] || fail "rank 2 reports, too"
for rank in 0 1; do # a file of the same name, whose values differ
  mkdir "$work/rank$rank"
  printf '%%%%MatrixMarket matrix coordinate real general\n2 2 2\n1 1 1\n2 2 %s\n' $((rank + 1)) >"$work/rank$rank/m.mtx"
  (cd "$work/rank$rank" && RANK=$rank WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=$port "$sley" spmm m.mtx --repeat 1 --timeout 60 \
    >"$work/out$rank" 2>"$work/err$rank") &
done
wait
grep -q 'the ranks were given different values of' "$work/err0" || fail "ranks with other values: $(cat "$work/err0" "$work/out0")"
for option in --k --alpha --beta --warmup; do
  for rank in 0 1; do
    RANK=$rank WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=$port "$sley" spmm "$graph" --repeat 1 --timeout 60 $option $((rank + 1)) \
      >"$work/out$rank" 2>"$work/err$rank" &
  done
  wait
  grep -q "the ranks were given different values of $option:" "$work/err0" || fail "ranks with another $option: $(cat "$work/err0" "$work/out0")"
done
RANK=0 WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=$port run 1 spmm "$graph" --timeout 0.5
one_line "a rank that does not come" "rank 1 of 2 did not connect"
RANK=0 WORLD_SIZE=2 MASTER_ADDR=localhost run 2 spmm "$graph"
one_line "a variable that is missing" "MASTER_PORT is not set"
RANK=0 WORLD_SIZE=2 MASTER_ADDR=localhost MASTER_PORT=$port run 2 spmm "$graph" --ranks 3
one_line "ranks and WORLD_SIZE disagree" "WORLD_SIZE is 2"

echo "values travel narrower, and an X that is called unchanged does not travel, over threads and tcp, on both devices"
export SLEY_MODULE_PATH=$mock_device
for extra in "--device cpu --transport threads" "--device cpu --transport tcp" "--device cuda --transport threads" \
  "--device cuda --transport tcp"; do
  # shellcheck disable=SC2086 # a list of words
  run 0 spmm "$graph" --ranks 4 --workgroup 2 --wire bf16 --algo halo-coalesced,cover,rowwise --repeat 2 --json "$work/wire.json" $extra
  field "$work/wire.json" algorithms.1.wire bf16
  field "$work/wire.json" algorithms.1.verify.ok true
  grep -q '^cover *wire *bf16: the largest error is .* of the largest value of Y; at most' "$work/out" || fail "the error is not reported: $extra"
  grep -q 'rowwise is not possible here' "$work/out" || fail "rowwise is not refused: $extra"
  narrow=$("$json_field" "$work/wire.json" algorithms.0.volume_bytes.message)
  if [ "${extra##* }" = threads ]; then # devices of several processes may not reach each other
    # shellcheck disable=SC2086
    run 0 plan "$graph" --ranks 4 --workgroup 2 --wire bf16 --algo halo-coalesced --json "$work/wire_plan.json" ${extra%% --transport*}
    field "$work/wire_plan.json" algorithms.0.predicted_bytes.message "$narrow"
  fi
  # shellcheck disable=SC2086
  run 0 spmm "$graph" --ranks 4 --workgroup 2 --algo halo-coalesced --repeat 2 --json "$work/wide.json" $extra
  field "$work/wide.json" volume_bytes.message $((2 * narrow))
  # shellcheck disable=SC2086
  run 0 spmm "$graph" --ranks 4 --workgroup 2 --wire f16 --unchanged --algo halo,cover,summa-2d --repeat 2 --json "$work/kept.json" $extra
  field "$work/kept.json" algorithms.0.volume_bytes.message 0
  field "$work/kept.json" algorithms.2.volume_bytes.direct 0
  field "$work/kept.json" algorithms.2.verify.ok true
done
run 2 spmm "$graph" --device cuda --ranks 3 --wire bf16 --algo rowwise
one_line "wire and rowwise on a device of its own memory" "rowwise reads a row in place each time"
unset SLEY_MODULE_PATH
run 2 spmm "$graph" --wire bf16 --reproducible
one_line "wire and reproducible" "leave one of the two out"
run 2 spmm "$graph" --wire f16 --dtype bf16
one_line "wire and 16 bits" "16 bits cannot travel narrower"
run 2 spmm "$graph" --wire bf16 --algo rowwise
one_line "wire and rowwise" "rowwise reads a row in place each time"

echo "precision"
run 0 spmm "$graph" --precision tf32 --repeat 1 --device cpu --json "$work/tf32.json"
grep -q "^precision  tf32 changes nothing" "$work/out" || fail "--precision tf32 on a CPU: $(cat "$work/out")"
field "$work/tf32.json" precision full
run 2 spmm "$graph" --precision tf32 --reproducible
one_line "tf32 and reproducible" "leave one of the two out"
run 2 spmm "$graph" --precision tf32 --dtype bf16
one_line "tf32 and 16 bits" "applies to f32 values only"
run 2 spmm "$graph" --precision half
one_line "an unknown precision" "tf32"

echo "X from a file: whole numbers, so that every order, rank count and algorithm gives the same bits"
{
  printf '\223NUMPY\001\000v\000%-117s\n' "{'descr': '|i1', 'fortran_order': False, 'shape': (34, 3), }"
  printf 'ABCDEFGHIJ%.0s' {1..11} | head -c 102
} >"$work/x.npy"
run 0 spmm "$graph" --x "$work/x.npy" --ranks 1 --out "$work/y.npy" --repeat 1 --warmup 0
for extra in "--order random" "--order rcm" "--order degree" "--order rabbit" "--order loa" "--ranks 7" "--partition nnz" \
  "--algo cover --workgroup 2" "--transpose" "--reproducible" "--k=3"; do
  # shellcheck disable=SC2086 # a list of words
  run 0 spmm "$graph" --x "$work/x.npy" --ranks 4 $extra --out "$work/z.npy" --repeat 1 --warmup 0
  cmp -s "$work/y.npy" "$work/z.npy" || fail "$extra changes Y"
done
run 0 spmm "$graph" --x "$work/x.npy" --alpha -0.5 --beta 2 --repeat 2
run 0 spmm "$graph" --alpha 3 --beta 0.25 --transpose --dtype f64 --repeat 2
run 0 spmm "$graph" --k 0 --repeat 1

echo "16 bits: every algorithm is right, files bring the values back, and sums are rounded once"
for dtype in f16 bf16; do
  run 0 spmm "$graph" --dtype $dtype --algo all --ranks 4 --workgroup 2 --alpha 1.5 --beta -0.5 --repeat 1 --json "$work/16.json"
  field "$work/16.json" dtype $dtype
  run 0 spmm "$graph" --dtype $dtype --algo cover --ranks 5 --transpose --repeat 1 --out "$work/$dtype.npy"
  run 0 convert "$graph" "$work/16.sley" --dtype $dtype
  run 0 convert "$work/16.sley" "$work/16.npz" --dtype $dtype
  run 0 spmm "$work/16.npz" --dtype $dtype --algo cover --ranks 5 --transpose --repeat 1 --out "$work/again.npy"
  cmp -s "$work/$dtype.npy" "$work/again.npy" || fail "$dtype does not come back from .sley and .npz"
done
grep -qa "'<f2'" "$work/f16.npy" || fail "f16 is not written as NumPy's float16"
grep -qa "'<f4'" "$work/bf16.npy" || fail "bf16 is not written as float32"
run 0 spmm "$graph" --x "$work/x.npy" --dtype f16 --ranks 1 --out "$work/one.npy" --repeat 1
run 0 spmm "$graph" --x "$work/x.npy" --dtype f16 --ranks 4 --algo bcast-1.5d --out "$work/four.npy" --repeat 1
cmp -s "$work/one.npy" "$work/four.npy" || fail "f16: ranks change a Y of whole numbers"
run 2 spmm "$graph" --dtype f8
run 2 spmm "$graph" --x "$work/x.npy" --k 4
one_line "--k against X" "--k says 4"
run 2 spmm er:n=20,nnz=50 --x "$work/x.npy"
one_line "X of wrong height" "needs 20"

echo "devices: none that can be used, and one that stands for a GPU"
export CUDA_VISIBLE_DEVICES=
run 2 spmm "$graph" --device cuda
one_line "a device that is not there" "cuda"
silent_out "a device that is not there"
run 0 info
run 0 spmm "$graph" --repeat 1 --json "$work/device.json"
field "$work/device.json" device cpu
unset CUDA_VISIBLE_DEVICES
run 2 spmm "$graph" --device abacus
export SLEY_MODULE_PATH=$mock_device
run 0 spmm "$graph" --x "$work/x.npy" --device cuda --out "$work/z.npy" --json "$work/device.json"
field "$work/device.json" device cuda
cmp -s "$work/y.npy" "$work/z.npy" || fail "the device changes Y"
run 0 spmm "$graph" --device cuda --algo all --beta 0.5 --alpha 2 --repeat 2 --workgroup 2
run 0 plan er:n=20000,nnz=300000 --ranks 4 --k 32 --device cuda --json "$work/device.json"
field "$work/device.json" choice.algo halo # its pieces come while all of the block is summed
run 0 plan "$graph" --ranks 2 --device cuda --algo cover
order=$(grep -oE '(begin exchange [01], (halo|give)|sum part [0-9]|end exchange [01], give|are added to Y)' "$work/out" | tr '\n' ';')
[ "$order" = 'begin exchange 1, halo;sum part 2;begin exchange 0, give;sum part 0;sum part 1;end exchange 0, give;are added to Y;' ] ||
  fail "the steps of cover on a device: $order"
run 0 spmm "$graph" --json "$work/device.json"
silent_err "a device found by itself"
field "$work/device.json" device cuda

echo "more ranks than devices: a transport that wants one for each rank gives way to another, on all ranks"
run 0 spmm "$graph" --device cuda --transport nccl --ranks 3 --workgroup 1 --algo all --repeat 1 --json "$work/shared.json"
silent_err "a device for each rank"
run 0 spmm "$graph" --device cuda --transport nccl --ranks 4 --workgroup 1 --algo all --repeat 1 --json "$work/shared.json"
one_line "ranks that share a device" "transport nccl cannot start, tcp instead: the mock of NCCL needs a GPU per rank, but ranks 0 and 3"
field "$work/shared.json" algorithms.0.transport tcp

echo "memory: plans that do not fit"
run 0 spmm "$graph" --x "$work/x.npy" --device cpu --mem-limit 1G --json "$work/memory.json"
field "$work/memory.json" column_blocks 1
for device in cpu cuda; do
  run 0 spmm twin:cyt:scale=0.01 --k 67 --device $device --algo halo --repeat 1 --mem-limit 1T --out "$work/whole.npy" --json "$work/memory.json"
  needed=$("$json_field" "$work/memory.json" needed_bytes)
  run 0 spmm twin:cyt:scale=0.01 --k 67 --device $device --algo halo --repeat 2 --mem-limit $((needed * 3 / 5)) \
    --out "$work/blocks.npy" --json "$work/memory.json"
  grep -q '^memory .* blocks of 32 columns' "$work/out" || fail "spmm on $device does not say in how many blocks it works"
  field "$work/memory.json" column_blocks 3
  field "$work/memory.json" column_width 32
  cmp -s "$work/whole.npy" "$work/blocks.npy" || fail "blocks of columns on $device change Y"
  run 0 spmm twin:cyt:scale=0.01 --k 67 --device $device --algo all --beta 0.5 --repeat 1 --mem-limit $((needed * 9 / 10))
  run 0 spmm twin:cyt:scale=0.01 --k 67 --device $device --ranks 4 --workgroup 2 --algo halo-pipelined,cover --wire bf16 --repeat 1 \
    --mem-limit $((needed * 2 / 5)) --json "$work/memory.json"
  field "$work/memory.json" algorithms.0.verify.ok true
  [ "$("$json_field" "$work/memory.json" algorithms.1.column_blocks)" -gt 1 ] || fail "values that travel narrower on $device take no blocks"
  run 0 plan twin:cyt:scale=0.01 --k 67 --device $device --mem-limit $((needed * 3 / 5)) --json "$work/memory.json"
  field "$work/memory.json" device $device
  run 2 spmm twin:cyt:scale=0.01 --k 67 --device $device --mem-limit 1K
  one_line "a limit that nothing fits" "--mem-limit"
done
SLEY_MOCK_MEMORY=$((needed / 2)) run 2 spmm twin:cyt:scale=0.01 --k 67 --device cuda
one_line "a GPU that is too small" "give --mem-limit"
run 2 spmm "$graph" --mem-limit 8X
one_line "a limit that is no size" "512M"
export SLEY_MOCK_DEVICES=0
run 2 spmm "$graph" --device cuda
one_line "a device without any" "device cuda: no GPU is visible"
run 0 spmm "$graph" --json "$work/device.json"
# Of a device that nobody has asked for, a word is said only where there is a GPU.
if [ -e /dev/nvidiactl ] || [ -s "$work/err" ]; then
  one_line "the device not found by itself" "no GPU is visible; ranks ran on cpu"
fi
field "$work/device.json" device cpu
run 0 info
grep -q '^device *cuda *no *no GPU is visible' "$work/out" || fail "info does not say why there is no cuda"
unset SLEY_MODULE_PATH SLEY_MOCK_DEVICES

echo "convert, generate, order, spy, info"
for ending in sley npz mtx.gz graph el rb mtx.zst; do
  run 0 convert "$graph" "$work/karate.$ending"
  silent_out "convert"
  run 0 plan "$work/karate.$ending" --json "$work/again.json"
  field "$work/again.json" nnz 156
done
run 0 generate er:n=50,nnz=200,seed=3 -o "$work/er.mtx"
run 0 order "$work/er.mtx" --order random -o "$work/er2.sley" --perm "$work/perm.npy"
[ "$(wc -c <"$work/perm.npy")" -eq $((128 + 50 * 8)) ] || fail "perm.npy has $(wc -c <"$work/perm.npy") bytes"
grep -q '^intensity of windows of 16 rows: [0-9.]*, before [0-9.]* ' "$work/err" || fail "order does not tell the intensity"
run 0 spy "$graph" -o "$work/spy.png" --ranks 4 --size 100
[ "$(head -c 4 "$work/spy.png" | tail -c 3)" = PNG ] || fail "spy writes no PNG"
run 0 spy "$graph" -o -
[ "$(head -c 4 "$work/out" | tail -c 3)" = PNG ] || fail "spy -o - writes no PNG"
run 0 info
silent_err info
grep -q '^transport *threads *yes' "$work/out" || fail "info lacks the threads transport"
run 0 info --json "$work/info.json"
field "$work/info.json" backends.0.available

echo "bad input"
printf '%%%%MatrixMarket matrix coordinate real general\n3 3 2\n1 1 1.0\n4 1 2.0\n' >"$work/bad.mtx"
run 2 spmm "$work/bad.mtx"
one_line "a row out of range" "$work/bad.mtx:4:"
silent_out "bad input"
run 2 spmm twin:nobody
run 2 spmm "$work/absent.mtx"
one_line "a missing file" "$work/absent.mtx"
run 2 spmm "$graph" --local cusparse
one_line "a library that the device lacks" "device cpu has no kernel of cusparse"
run 2 spmm "$graph" --local nobody
one_line "an unknown library" '"nobody"'
run 2 spmm "$graph" --local cusparse --reproducible
one_line "a library for sums in order" "reproducible"
run 0 spmm "$graph" --local sley --repeat 1
run 2 generate nothing -o "$work/x.mtx"
one_line "no generator" '"nothing"'
run 2 spmm "$work/er.mtx" --order
printf '%%%%MatrixMarket matrix coordinate real general\n2 3 1\n1 1 1.0\n' >"$work/wide.mtx"
run 2 spmm "$work/wide.mtx" --order rcm
run 0 spmm "$work/wide.mtx" --ranks 4 --repeat 1

data=${SLEY_DATA:-$root/../shared/data}
if [ -d "$data/mtx-malformed" ]; then
  for file in "$data"/mtx-malformed/*; do
    "$sley" convert "$file" "$work/malformed.mtx" >"$work/out" 2>"$work/err"
    case $? in
      0) ;;
      2) one_line "malformed" "$file:" ;;
      *) fail "sley convert $file: exit $?" ;;
    esac
  done
fi

echo "outputs that cannot be"
run 1 spmm "$graph" --out "$work/no/such/folder/y.npy"
one_line "a missing folder" "no/such/folder"
run 1 convert "$graph" "$work"
run 2 convert "$graph" "$work/karate.unknown"
if [ -w /dev/full ]; then
  "$sley" info >/dev/full 2>"$work/err"
  [ $? -eq 1 ] || fail "a full stdout is not noticed"
  grep -q stdout "$work/err" || fail "a full stdout is not named"
fi
set -o pipefail
"$sley" spmm "$graph" --algo all --repeat 1 2>"$work/err" | true
silent_err "a closed pipe"
set +o pipefail

echo "signals"
for signal in INT TERM; do
  "$sley" spmm er:n=20000,nnz=400000 --repeat 1000000 --out "$work/never.npy" --json "$work/never.json" \
    >"$work/out" 2>"$work/err" &
  child=$!
  sleep 1
  kill -s $signal $child
  wait $child
  got=$?
  [ $got -eq $((128 + $(kill -l $signal))) ] || fail "SIG$signal: exit $got"
  one_line "SIG$signal" interrupted
done
left=$(find "$work" -name 'never*' -o -name '*.part-*')
[ -z "$left" ] || fail "left behind: $left"
finish
