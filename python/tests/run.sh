#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of the Python package with the library of a build. Ends with 77, skipped, where Python lacks what they need.
# Usage: run.sh ROOT LIBRARY [numpy|torch] [ARGUMENT OF PYTEST ...]
# torch: those of sley.torch, on the CPU and on a GPU, if torch finds one. SLEY_PYTHON: the Python, python3 by default.
set -eu
root=$1 library=$2 part=${3:-numpy} python=${SLEY_PYTHON:-python3}
[ $# -lt 3 ] && shift 2 || shift 3
case "$part" in
  numpy) needed="numpy scipy pytest" tests="--ignore-glob=*/test_torch_* python/tests" ;;
  torch) needed="numpy scipy pytest torch" tests=python/tests/test_torch_*.py ;;
  *)
    echo "run.sh: there are no tests called $part: numpy and torch are known" >&2
    exit 2
    ;;
esac
if ! missing=$("$python" -c '
import importlib.util
import sys
if sys.version_info < (3, 11):
    print("Python 3.11")
print(*(name for name in sys.argv[1:] if importlib.util.find_spec(name) is None))' $needed 2>&1); then
  echo "skipped: $python does not run: $missing"
  exit 77
fi
missing=$(echo "$missing" | tr '\n' ' ' | sed 's/ *$//')
if [ -n "$missing" ]; then
  echo "skipped: $python has no $missing"
  exit 77
fi
cd "$root"
export SLEY_LIBRARY="$library" PYTHONDONTWRITEBYTECODE=1
if [ "$part" = torch ]; then
  export OMP_NUM_THREADS="${OMP_NUM_THREADS:-1}" # tensors are small, and threads of torch's that wait keep others waiting
else
  set -f # the pattern is pytest's
fi
exec "$python" -m pytest -q -p no:cacheprovider $tests "$@"
