#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of the Python package with the library of a build: the tests that need NumPy and SciPy, the tests that need PyTorch, on a
# GPU too if torch finds one, or SciPy's own tests with Sley's products (scipy_products.py). Takes the first Python that has what they need: $SLEY_PYTHON, for torch $SLEY_TORCH_PYTHON before it,
# python3 of the PATH, the system's. Ends with 77, skipped, where none has it.
# Usage: run.sh ROOT LIBRARY [numpy|torch|scipy] [ARGUMENT OF PYTEST ...]
set -eu
root=$1 library=$2 part=${3:-numpy}
[ $# -lt 3 ] && shift 2 || shift 3
case $part in
  numpy | scipy) needs="numpy scipy pytest hypothesis" wanted="" ;;
  torch) needs="numpy scipy pytest torch" wanted=${SLEY_TORCH_PYTHON:-} ;;
  *) echo "run.sh: there are no tests called $part: numpy, torch and scipy are known" >&2; exit 2 ;;
esac

# missing PYTHON: what it lacks, in one line.
missing() {
  "$1" -c '
import importlib.util
import sys
if sys.version_info < (3, 11):
    print("Python 3.11")
print(*(name for name in sys.argv[1:] if importlib.util.find_spec(name) is None))' $needs 2>&1 | tr -s '\n ' ' ' | sed 's/^ *//; s/ *$//'
}

python="" told=""
for each in "$wanted" "${SLEY_PYTHON:-}" python3 /usr/bin/python3; do
  command -v "$each" >/dev/null 2>&1 || continue
  lacks=$(missing "$each")
  if [ -z "$lacks" ]; then
    python=$each
    break
  fi
  told="$told; $each has no $lacks"
done
if [ -z "$python" ]; then
  echo "skipped: ${told#; }"
  [ -n "$told" ] || echo "skipped: there is no python3"
  exit 77
fi

cd "$root"
export SLEY_LIBRARY="$library" PYTHONDONTWRITEBYTECODE=1
if [ "$part" = numpy ]; then
  exec "$python" -m pytest -q -p no:cacheprovider '--ignore-glob=*/test_torch_*' python/tests "$@"
fi
if [ "$part" = scipy ]; then
  export PYTHONPATH="$root/python:$root/python/tests" SLEY_MACHINE=builtin OMP_NUM_THREADS=1
  exec "$python" -m pytest -q -p no:cacheprovider -p scipy_products --pyargs scipy.sparse.tests.test_base scipy.sparse.linalg._isolve "$@"
fi
for each in python/tests/test_torch_*.py; do
  [ -e "$each" ] || { echo "skipped: there are no tests of PyTorch"; exit 77; }
done
exec "$python" -m pytest -q -p no:cacheprovider python/tests/test_torch_*.py "$@"
