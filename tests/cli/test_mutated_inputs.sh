#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Mutated inputs of every format: no signal, nothing wrong accepted, every refusal with file and place.
# Usage: test_mutated_inputs.sh SLEY ROOT [COUNT [SEED [KINDS]]]; all: 10000.
set -u
command -v python3 >/dev/null || { echo "skipped: python3 is not installed"; exit 77; }
exec python3 "$2/tests/cli/mutated_inputs.py" "$1" "${3:-256}" "${4:-1}" ${5:+"$5"}
