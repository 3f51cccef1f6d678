#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Runs the tests of the Python package with the library of a build. Ends with 77, skipped, where python3 lacks what they need.
# Usage: run.sh ROOT LIBRARY
set -eu
root=$1 library=$2
if ! missing=$(python3 -c '
import importlib.util
import sys
if sys.version_info < (3, 11):
    print("Python 3.11")
print(*(name for name in ("numpy", "scipy", "pytest") if importlib.util.find_spec(name) is None))' 2>&1); then
  echo "skipped: python3 does not run: $missing"
  exit 77
fi
missing=$(echo "$missing" | tr '\n' ' ' | sed 's/ *$//')
if [ -n "$missing" ]; then
  echo "skipped: python3 has no $missing"
  exit 77
fi
cd "$root"
export SLEY_LIBRARY="$library" PYTHONDONTWRITEBYTECODE=1
exec python3 -m pytest -q -p no:cacheprovider python/tests
