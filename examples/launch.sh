#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Starts a program as ranks on this host, with the variables that torchrun sets. Usage: launch.sh RANKS PROGRAM [WORDS...]
set -u
ranks=$1
shift
export WORLD_SIZE=$ranks MASTER_ADDR=localhost MASTER_PORT=$((20000 + ($$ * 17) % 12000))
pids=()
for ((r = 0; r < ranks; r++)); do
  RANK=$r "$@" </dev/null &
  pids+=($!)
done
failed=0
for pid in "${pids[@]}"; do
  wait "$pid" || failed=1
done
exit $failed
