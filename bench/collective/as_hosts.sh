#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Starts ranks of a command on this machine, in groups that NCCL treats as hosts: between hosts it uses only sockets
# of the loopback interface. Rank r has GPU r.
#   bench/collective/as_hosts.sh HOSTS[xRANKS] COMMAND...     RANKS on each host, 1 by default
# The output of rank 0 goes to stdout, other ranks' stdout is discarded. Exit status: the first failure of a rank.
set -eu
case "${1:-}" in *x*) hosts=${1%%x*} each=${1#*x} ;; *) hosts=${1:-} each=1 ;; esac
for number in "$hosts" "$each"; do
  case "$number" in
    '' | *[!0-9]* | 0*)
      echo "usage: bench/collective/as_hosts.sh HOSTS[xRANKS] COMMAND...: both are numbers from 1 on, as in 2x2" >&2
      exit 2
      ;;
  esac
done
ranks=$((hosts * each))
shift
[ $# -gt 0 ] || { echo "as_hosts.sh: no command" >&2; exit 2; }
port=$(python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])')
export WORLD_SIZE="$ranks" MASTER_ADDR=127.0.0.1 MASTER_PORT="$port" NCCL_NET=Socket NCCL_SOCKET_IFNAME=lo
pids=''
rank=0
while [ "$rank" -lt "$ranks" ]; do
  if [ "$rank" -eq 0 ]; then out=/dev/stdout; else out=/dev/null; fi
  RANK=$rank LOCAL_RANK=$rank NCCL_HOSTID=host$((rank / each)) "$@" >$out &
  pids="$pids $!"
  rank=$((rank + 1))
done
# shellcheck disable=SC2064 # expands the ranks now
trap "kill -TERM $pids 2>/dev/null || true" INT TERM
failed=0
for pid in $pids; do
  code=0
  wait "$pid" || code=$?
  [ "$failed" -ne 0 ] || failed=$code
done
exit "$failed"
