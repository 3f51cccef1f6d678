#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of the Python package with the library of a build. PART: "arrays", those that need NumPy and SciPy, or "torch",
# those that need PyTorch. Takes the first Python that has what they need: $SLEY_PYTHON (for "torch": $SLEY_TORCH_PYTHON), python3 of
# the PATH, the system's. Ends with 77, skipped, where none has it.
# Usage: run.sh ROOT LIBRARY PART
set -eu
root=$1 library=$2 part=$3
case $part in
  arrays) needs="numpy scipy pytest hypothesis" wanted=${SLEY_PYTHON:-} ;;
  torch) needs="numpy scipy pytest hypothesis torch torch_geometric" wanted=${SLEY_TORCH_PYTHON:-} ;;
  *) echo "usage: run.sh ROOT LIBRARY arrays|torch" >&2; exit 2 ;;
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
for each in "$wanted" python3 /usr/bin/python3; do
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
if [ "$part" = torch ]; then
  set -- python/tests/test_torch_*.py
  if [ ! -e "$1" ]; then
    echo "skipped: there are no tests of PyTorch"
    exit 77
  fi
else
  set -- python/tests --ignore-glob='*/test_torch_*'
fi
export SLEY_LIBRARY="$library" PYTHONDONTWRITEBYTECODE=1
exec "$python" -m pytest -q -p no:cacheprovider "$@"
