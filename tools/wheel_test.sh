#!/usr/bin/env bash
# SPDX-License-Identifier: Apache-2.0
# Tests a wheel: what it needs is fetched once, then it is installed without a network into a new virtual environment, and passes the
# tests of the package where no compiler is in the PATH.
# Usage: wheel_test.sh WHEEL WORK [PYTHON]    PYTHON: default python3
set -eu
wheel=$(cd "$(dirname "$1")" && pwd)/$(basename "$1")
cd "$(dirname "$0")/.."
root=$PWD
mkdir -p "$2"
work=$(cd "$2" && pwd)
base=${3:-python3}
rm -rf "$work/venv"
"$base" -m venv "$work/venv"
python=$work/venv/bin/python
"$python" -m pip download -q --dest "$work/wheels" "$wheel" pytest hypothesis
"$python" -m pip install -q --no-index --find-links "$work/wheels" "$wheel" pytest hypothesis

# Only these commands: the tests that compile say that they are skipped.
rm -rf "$work/bin"
mkdir "$work/bin"
for each in sh env; do ln -s "$(command -v "$each")" "$work/bin/$each"; done
cd "$work"
env -i HOME="$HOME" PATH="$work/bin" LANG=C.UTF-8 SLEY_MACHINE=builtin PYTHONDONTWRITEBYTECODE=1 "$python" -c 'import sley; print(sley.info())'
env -i HOME="$HOME" PATH="$work/bin" LANG=C.UTF-8 PYTHONDONTWRITEBYTECODE=1 "$python" -m pytest -q -rs -p no:cacheprovider \
  -c "$root/pyproject.toml" --rootdir "$work" -o pythonpath= "$root/python/tests" --ignore-glob='*/test_torch_*'
