#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs a program under the emulator, and once more where it has not ended after 400 s, which it says: seen once in
# test_kernels on a loaded machine, where it takes 40 to 120 s. The cause is not known.
# Usage: emulated.sh COMMAND...
timeout -k 5 400 "$@"
status=$?
[ $status -eq 124 ] || [ $status -eq 137 ] || exit $status
echo "$*: not done after 400 s under the emulator: once more" >&2
exec timeout -k 5 400 "$@"
