#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Runs a command as ranks on hosts that are network namespaces of this machine, joined by a switch with shaped links.
#
#   hosts.sh [options] -- COMMAND...
#   --hosts H        hosts (default 2), at most 200
#   --per-host N     ranks on each (default 2)
#   --rate RATE      of every host's link, each way, in tc's words (default 1gbit; 0: not shaped)
#   --out DIR        keeps, per rank R: R.out, R.err, R.code (exit status), R.ms (when it ended, since the start or, after a
#                    fault, since the fault; negative: before it); links.txt: bytes that each host sent and received over
#                    its link; fault.ms: when the fault was done, since the start; fault.sent: bytes that all hosts together had
#                    sent by then; left.txt: processes and files in /dev/shm that ranks have left behind, a line each
#   --fault WHAT@S   S seconds after the start: kill:R, stop:R, int:R (SIGKILL, SIGSTOP, SIGINT to rank R), int:all,
#                    cut:H (takes host H's link down). May be given several times. WHAT@Bb+S: S seconds after the hosts have
#                    sent B bytes, all together
#   --limit S        kills all ranks that still run S seconds after the start (default 600); their code is "late"
#   --rank-args FILE line R+1 of FILE: words that rank R gets after COMMAND's
#   --mpirun PROGRAM mpirun of Open MPI or MPICH, on the first host, starts the ranks instead, and its daemons on the other hosts;
#                    what it and the ranks print counts as rank 0's, and faults strike it
#
# Ranks find each other through the variables of torchrun: RANK, WORLD_SIZE, LOCAL_RANK, LOCAL_WORLD_SIZE, MASTER_ADDR and
# MASTER_PORT. Rank R runs on host R / N. A rank that is stopped is killed once all others have ended.
# Without --out, what ranks print goes to this script's own stdout and stderr, and the bytes to its stderr.
# Exit status: 0, or the first that a rank ended with; 77, with a line that says why, where no namespaces can be made.
# All of it happens in namespaces of its own, processes too: when it ends, however it ends, nothing is left.
set -u

hosts=2 per_host=2 rate=1gbit out='' limit=600 rank_args='' mpirun=''
faults=()
words=("$@")

usage() {
  echo "hosts.sh: $1" >&2
  exit 2
}

while [ $# -gt 0 ] && [ "$1" != -- ]; do
  [ $# -ge 2 ] || usage "$1 wants a value, and the command comes after --"
  case $1 in
    --hosts) hosts=$2 ;;
    --per-host) per_host=$2 ;;
    --rate) rate=$2 ;;
    --out) out=$2 ;;
    --fault) faults+=("$2") ;;
    --limit) limit=$2 ;;
    --rank-args) rank_args=$2 ;;
    --mpirun) mpirun=$2 ;;
    *) usage "there is no option $1" ;;
  esac
  shift 2
done
[ $# -ge 2 ] || usage "no command: it comes after --"
shift

skip() {
  echo "hosts.sh: skipped: $1"
  exit 77
}

# ---- outside: once more, in namespaces of users (if need be), processes, mounts and networks

if [ -z "${SLEY_HOSTS_INSIDE:-}" ]; then
  PATH=$PATH:/usr/sbin:/sbin # where Debian has tc, and a user no path
  for tool in ip tc unshare nsenter; do
    command -v "$tool" >/dev/null || skip "$tool is missing (packages iproute2, util-linux)"
  done
  apart=(unshare --net --pid --fork --mount --mount-proc --kill-child)
  [ "$(id -u)" -eq 0 ] || apart+=(--user --map-root-user)
  "${apart[@]}" true 2>/dev/null || skip "this system allows no network namespaces here"
  "${apart[@]}" sh -c 'ip link add name v0 type veth peer name v1 && ip link add name b0 type bridge' 2>/dev/null ||
    skip "this kernel has no veth or bridge"
  SLEY_HOSTS_INSIDE=1 exec "${apart[@]}" "$0" "${words[@]}"
fi

# ---- inside

ranks=$((hosts * per_host))
port=29400
holders=() pids=()
scratch=$(mktemp -d)
keep=${out:-$scratch}
mkdir -p "$keep"
trap 'rm -rf "$scratch"; kill -KILL "${holders[@]}" "${pids[@]}" 2>/dev/null' EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

fail() {
  echo "hosts.sh: $1" >&2
  exit 1
}

now_ms() { echo $((${EPOCHREALTIME/[.,]/} / 1000)); }

# shape COMMAND-PREFIX... DEVICE: limits what the device sends.
shape() {
  local device=${*: -1}
  set -- "${@:1:$#-1}"
  [ "$rate" = 0 ] && return
  "$@" tc qdisc add dev "$device" root tbf rate "$rate" burst 70k latency 50ms 2>/dev/null && return
  "$@" tc qdisc add dev "$device" root handle 1: htb default 1 2>/dev/null &&
    "$@" tc class add dev "$device" parent 1: classid 1:1 htb rate "$rate" burst 70k 2>/dev/null && return
  skip "this kernel shapes no links (neither tbf nor htb)"
}

inside() {
  local host=$1
  shift
  nsenter --net="/proc/${holders[$host]}/ns/net" "$@"
}

make_hosts() {
  local h
  ip link set lo up
  ip link add name switch type bridge && ip link set switch up || fail "cannot make the switch"
  for ((h = 0; h < hosts; h++)); do
    unshare --net sleep infinity &
    holders[h]=$!
    until [ "$(readlink "/proc/${holders[$h]}/ns/net")" != "$(readlink /proc/self/ns/net)" ]; do sleep 0.01; done
    ip link add name "port$h" type veth peer name eth0 netns "${holders[$h]}" || fail "cannot make the link of host $h"
    ip link set "port$h" master switch && ip link set "port$h" up || fail "cannot join host $h to the switch"
    inside "$h" ip link set lo up
    inside "$h" ip address add "10.77.0.$((h + 1))/24" dev eth0 && inside "$h" ip link set eth0 up || fail "cannot set up host $h"
    shape inside "$h" eth0
    shape "port$h"
  done
}

# Puts into `sent` the bytes that all hosts have sent over their links.
sum_links() {
  local h name value
  sent=0
  for ((h = 0; h < hosts; h++)); do
    while read -r name _ _ _ _ _ _ _ _ value _; do
      [ "$name" != eth0: ] || sent=$((sent + value - sent_before[h]))
    done <"/proc/${holders[$h]}/net/dev"
  done
}

# Bytes that each host has received and sent over its link: "HOST RECEIVED SENT" a line.
count_links() {
  local h
  for ((h = 0; h < hosts; h++)); do
    sed -n "s/^ *eth0: *//p" "/proc/${holders[$h]}/net/dev" | { read -r received _ _ _ _ _ _ _ sent _ && echo "$h $received $sent"; }
  done
}

# The rank itself: notes how and when it ended.
start_rank() {
  local rank=$1 extra=()
  shift
  [ -z "$rank_args" ] || read -r -a extra < <(sed -n "$((rank + 1))p" "$rank_args")
  (
    trap - EXIT INT TERM
    exec nsenter --net="/proc/${holders[$((rank / per_host))]}/ns/net" env -u SLEY_HOSTS_INSIDE RANK="$rank" WORLD_SIZE="$ranks" \
      LOCAL_RANK=$((rank % per_host)) LOCAL_WORLD_SIZE="$per_host" MASTER_ADDR=10.77.0.1 MASTER_PORT="$port" "$@" "${extra[@]}"
  ) >"$keep/$rank.out" 2>"$keep/$rank.err" </dev/null &
  pids[rank]=$!
}

# All ranks, by mpirun, which logs in to other hosts by this: nsenter, under a host name and in a folder of its own.
start_by_mpirun() {
  local agent=$scratch/agent list='' h by=()
  {
    echo '#!/bin/bash'
    echo "holders=(${holders[*]})"
    echo 'h=$((${1##*.} - 1)); shift'
    echo 'exec nsenter --net="/proc/${holders[$h]}/ns/net" unshare --uts bash -c "hostname host$h; mkdir -p '"$scratch"'/host$h; TMPDIR='"$scratch"'/host$h; export TMPDIR; $*"'
  } >"$agent"
  chmod +x "$agent"
  for ((h = 0; h < hosts; h++)); do list+=${list:+,}10.77.0.$((h + 1)):$per_host; done
  by=(--mca plm_rsh_agent "$agent" --mca plm_rsh_no_tree_spawn 1 --host "$list")
  "$mpirun" --version | grep -qi hydra && export UCX_TLS=tcp,self && by=(-launcher rsh -launcher-exec "$agent" -hosts "$list" -iface eth0)
  (
    trap - EXIT INT TERM
    exec nsenter --net="/proc/${holders[0]}/ns/net" unshare --uts bash -c 'hostname host0; exec "$@"' - env -u SLEY_HOSTS_INSIDE OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 \
      "$mpirun" "${by[@]}" -n "$((hosts * per_host))" "$@"
  ) >"$keep/0.out" 2>"$keep/0.err" </dev/null &
  pids[0]=$!
}

# Whether a child still runs. No process is started to find out: the ranks want the processors. One line, so that a program
# that starts meanwhile (exec) does not move what is read.
runs() {
  local line=''
  read -r line <"/proc/$1/stat" && [[ ${line##*) } != [ZX]* ]]
} 2>/dev/null

# Seconds to milliseconds.
to_ms() { awk -v s="$1" 'BEGIN { printf "%d", s * 1000 }'; }

# is_due I: whether the time of fault I has come.
is_due() {
  local at=${faults[$1]#*@}
  if [[ $at == *b+* ]]; then
    sum_links
    [ "$sent" -ge "${at%%b+*}" ] || return 1
    due[$1]=$((elapsed + $(to_ms "${at#*b+}")))
    faults[$1]=${faults[$1]%@*}@
  elif [ -n "$at" ] && [ -z "${due[$1]:-}" ]; then
    due[$1]=$(to_ms "$at")
  fi
  [ "$elapsed" -ge "${due[$1]}" ]
}

# What ranks have left: processes but this one, its own children's and the hosts', and shared memory.
list_left() {
  local p word known=" $$ ${holders[*]} "
  for p in /proc/[0-9]*; do
    [[ $known != *" ${p#/proc/} "* ]] && read -r -d '' word <"$p/cmdline" && echo "process ${p#/proc/}: $word"
  done 2>/dev/null
  find /dev/shm -mindepth 1
}

# do_fault WHAT
do_fault() {
  local what=${1%%:*} who=${1#*:} p
  case $what:$who in
    kill:*) kill -KILL "${pids[$who]}" ;;
    stop:*) kill -STOP "${pids[$who]}"; stopped+=" $who " ;;
    int:all) kill -INT "${pids[@]}" ;;
    int:*) kill -INT "${pids[$who]}" ;;
    cut:*) ip link set "port$who" down ;;
    *) fail "there is no fault $1" ;;
  esac 2>/dev/null
}

make_hosts
mount -t tmpfs none /dev/shm 2>/dev/null || true
count_links >"$scratch/before"
sent_before=() due=()
while read -r h _ bytes; do sent_before[h]=$bytes; done <"$scratch/before"
start=$(now_ms) reference=0 stopped='' first=0
if [ -n "$mpirun" ]; then
  ranks=1
  start_by_mpirun "$@"
else
  for ((rank = 0; rank < ranks; rank++)); do start_rank "$rank" "$@"; done
fi

codes=()
running=$ranks
exec {quiet}<> <(:) # nothing ever comes: reading with a time limit is a sleep
nap=0.1
[ ${#faults[@]} -eq 0 ] || nap=0.02
while [ "$running" -gt 0 ]; do
  elapsed=$(($(now_ms) - start))
  for i in "${!faults[@]}"; do
    if is_due "$i"; then
      do_fault "${faults[$i]%@*}"
      reference=$(($(now_ms) - start))
      sum_links
      echo "$reference" >"$keep/fault.ms"
      echo "$sent" >"$keep/fault.sent"
      unset "faults[$i]"
    fi
  done
  running=0 held=0
  for ((rank = 0; rank < ranks; rank++)); do
    [ -n "${codes[$rank]:-}" ] && continue
    if runs "${pids[$rank]}"; then
      running=$((running + 1))
      [[ $stopped == *" $rank "* ]] && held=$((held + 1))
    else
      { wait "${pids[$rank]}"; } 2>/dev/null
      codes[rank]=$?
      ended[rank]=$(($(now_ms) - start))
    fi
  done
  if [ "$running" -gt 0 ] && [ "$running" -eq "$held" ]; then
    for rank in $stopped; do kill -KILL "${pids[$rank]}" 2>/dev/null; done
  elif [ $(($(now_ms) - start)) -gt $((limit * 1000)) ]; then
    for ((rank = 0; rank < ranks; rank++)); do
      [ -n "${codes[$rank]:-}" ] && continue
      kill -KILL "${pids[$rank]}" 2>/dev/null
      codes[rank]=late ended[rank]=$((limit * 1000))
    done
    break
  fi
  read -r -t "$nap" -u "$quiet"
done
list_left >"$keep/left.txt"
count_links >"$scratch/after"
join "$scratch/before" "$scratch/after" |
  awk '{ printf "host %d received %.0f sent %.0f\n", $1, $4 - $2, $5 - $3 }' >"$keep/links.txt"
for ((rank = 0; rank < ranks; rank++)); do
  echo "${codes[$rank]}" >"$keep/$rank.code"
  echo $((ended[rank] - reference)) >"$keep/$rank.ms"
  if [ "$first" = 0 ] && [ "${codes[$rank]}" != 0 ]; then
    first=${codes[$rank]}
  fi
  if [ -z "$out" ]; then
    cat "$keep/$rank.out"
    cat "$keep/$rank.err" >&2
  fi
done
[ -n "$out" ] || cat "$keep/links.txt" >&2
[ "$first" != late ] || first=124
exit "$first"
