#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Prints the path of a Python that has what the tests of PyTorch need: $SLEY_TORCH_PYTHON or python3 where they have it, else that of a virtual
# environment in the user's cache, which is made and filled through pip. pip takes what it would take anyway: a wheel for CPUs where its
# configuration offers one, else the registry's own, with CUDA's libraries, some GB. Ends with 1, and says why, where none is to be had.
# Usage: torch_python.sh [SECONDS]    that pip may take; default 900
set -eu
seconds=${1:-900}
venv=${XDG_CACHE_HOME:-$HOME/.cache}/sley/torch
needs="torch torch_geometric numpy scipy pytest hypothesis"
packages="torch torch-geometric numpy scipy pytest hypothesis"

# has PYTHON: whether it has them all, and torch, the largest, can be imported.
has() {
  command -v "$1" >/dev/null 2>&1 || return 1
  "$1" -c 'import importlib.util, sys
assert all(importlib.util.find_spec(name) for name in sys.argv[1:])
import torch' $needs >/dev/null 2>&1
}

for python in "${SLEY_TORCH_PYTHON:-}" python3 "$venv/bin/python"; do
  if has "$python"; then
    command -v "$python"
    exit 0
  fi
done
echo "torch_python: installing $packages into $venv" >&2
rm -rf "$venv"
base=python3
"$base" -m venv "$venv" >&2 || { echo "torch_python: $base makes no virtual environment (Debian: python3-venv)" >&2; exit 1; }
# shellcheck disable=SC2086 # the list is meant to be split
timeout "$seconds" "$venv/bin/python" -m pip install -q $packages >&2 || {
  rm -rf "$venv" # half an environment would pass for one
  echo "torch_python: pip did not install them within $seconds s" >&2
  exit 1
}
has "$venv/bin/python" || { echo "torch_python: $venv does not import torch" >&2; exit 1; }
echo "$venv/bin/python"
