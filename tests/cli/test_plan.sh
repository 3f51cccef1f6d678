#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# `sley plan`: what it says of its figures. No time decides anything.
# Usage: test_plan.sh SLEY SOURCE
set -u
sley=$1 source=$2
# shellcheck source=tests/cli/lib.sh
. "$source/tests/cli/lib.sh"
export SLEY_MACHINE=builtin

has() { grep -q -- "$2" "$work/out" || fail "$1: stdout lacks \"$2\""; }
lacks() { ! grep -q -- "$2" "$work/out" "$work/err" || fail "$1: \"$2\" is said"; }

echo "figures that nobody measured are named so, and only those"
run 0 plan twin:cyt:scale=0.01 --ranks 2 --device cpu
has "built-in figures" '^machine .*(built-in figures; run sley tune)$'
has "built-in figures" '^choice .*(built-in figures; run sley tune)$'
"$sley" tune --seconds 0.1 --out "$work/mine.machine" >/dev/null || fail "tune"
SLEY_MACHINE=$work/mine.machine run 0 plan twin:cyt:scale=0.01 --ranks 2 --device cpu
lacks "measured figures" "built-in"

echo "the table has every algorithm, so none is said not to be considered"
for ranks in 2 4; do
  run 0 plan twin:cyt:scale=0.01 --ranks $ranks --device cpu
  has "$ranks ranks" '^cover '
  lacks "$ranks ranks" "not considered"
done

echo "no GPU: nobody speaks of one, unless it is asked for"
if [ ! -e /dev/nvidiactl ] && [ ! -e /dev/dxg ]; then
  run 0 spmm twin:cyt:scale=0.001 --ranks 2
  lacks "no GPU" "cuda\|GPU"
  run 2 spmm twin:cyt:scale=0.001 --ranks 2 --device cuda
fi
finish
