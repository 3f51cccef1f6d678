#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Plants one violation of each rule in a small tree and expects tools/check_layers.sh to name each, and nothing else.
# Usage: test_check_layers.sh ROOT
set -eu
check=$1/tools/check_layers.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/src/base" "$tree/src/io" "$tree/src/plan" "$tree/src/device" "$tree/src/api" "$tree/cli" "$tree/docs" \
  "$tree/python/sley/torch"
{
  echo ' 9  src/api/        checks arguments, then calls below'
  echo ' 4  src/plan/       the plan as data'
  echo ' 2  src/io/         files             src/device/   memory, queues, kernels'
  echo ' 0  src/base/       status'
  echo '| 1 | `torch/`, `plan.py` | plans |'
  echo '| 0 | `_arrays.py`, `long.py` | types of values |'
} >"$tree/docs/ARCHITECTURE.md"
licence='/* SPDX-License-Identifier: Apache-2.0 */'

{
  echo "$licence"
  echo '#include "base/status.h"'
  echo '#include "io/io.h"'
  echo '#include "sley.h"'
  echo '/* exit(1) and printf("x") in a comment are fine, and so is "abort()" in a text */'
  echo 'int f(void) { return comm->ops->abort(comm); }'
  echo 'sley_status'
  echo 'sl_io_read(int n) {'
  echo '  return sl_table.read == sl_base_read(n); /* sley_destroy() in a comment */'
  echo '}'
} >"$tree/src/io/fine.c"
{ echo "$licence"; echo 'void sley_destroy(void) {'; echo '}'; echo 'const int sl_table = {1};'; } >"$tree/src/api/api.c"
{ echo "$licence"; echo 'int sl_base_read(int n) {'; echo '  sley_destroy();'; echo '  return n;'; echo '}'; } >"$tree/src/base/calls_up.c"
{ echo "$licence"; echo 'static const struct ops ops = {.read = sl_io_read};'; } >"$tree/src/device/calls_beside.c"
{ echo "$licence"; echo '#ifndef SLEY_IO_OLD_H'; echo '#define SLEY_IO_OLD_H'; echo '#endif'; } >"$tree/src/io/new.h"
{ echo "$licence"; echo '#ifndef SLEY_IO_FINE_H'; echo '#define SLEY_IO_FINE_H'; echo '#endif'; } >"$tree/src/io/fine.h"
{ echo '# SPDX-License-Identifier: Apache-2.0'; echo 'from sley import _arrays'; echo 'from sley.torch.ops import f'; } >"$tree/python/sley/plan.py"
{ echo '# SPDX-License-Identifier: Apache-2.0'; echo 'def f():'; echo '    from sley.plan import g'; } >"$tree/python/sley/_arrays.py"
echo 'import sley.plan' >"$tree/python/sley/torch/ops.py"
{ echo '# SPDX-License-Identifier: Apache-2.0'; i=0; while [ $i -lt 600 ]; do echo; i=$((i + 1)); done; } >"$tree/python/sley/long.py"
echo '# SPDX-License-Identifier: Apache-2.0' >"$tree/python/sley/nowhere.py"
{ echo "$licence"; echo '#include "plan/plan.h"'; } >"$tree/src/io/up.c"
{ echo "$licence"; echo '#include "device/device.h"'; } >"$tree/src/device/fine.c"
{ echo "$licence"; echo '#include <mpi.h>'; } >"$tree/src/plan/vendor.c"
{ echo "$licence"; echo '#ifdef SLEY_HAVE_MPI'; echo '#endif'; } >"$tree/src/plan/have.c"
{ echo "$licence"; echo 'void f(void) { exit(1); }'; } >"$tree/src/plan/exits.c"
{ echo "$licence"; echo 'void f(void) { printf("x"); }'; } >"$tree/src/plan/prints.c"
{ echo "$licence"; echo 'double f = 1e-9 * 3, g = 1e3; /* 2e12 */'; echo 'double h = 2e12;'; } >"$tree/src/device/figure.c"
{ echo "$licence"; echo 'double h = 2e12;'; } >"$tree/src/io/number.c"
{ echo "$licence"; echo '#include "base/status.h"'; } >"$tree/cli/inside.c"
echo 'int x;' >"$tree/src/base/bare.c"
mkdir -p "$tree/src/io/forty" "$tree/bench/results/set"
i=0
while [ $i -lt 41 ]; do
  echo "$licence" >"$tree/src/plan/file$i.c"
  [ $i -eq 40 ] || echo "$licence" >"$tree/src/io/forty/file$i.c"
  echo 0 >"$tree/bench/results/set/$i.json"
  i=$((i + 1))
done
{ echo "$licence"; i=0; while [ $i -lt 600 ]; do echo 'extern int x;'; i=$((i + 1)); done; } >"$tree/src/base/long.c"

if "$check" "$tree" >"$tree/out"; then
  echo "the check passed a tree full of violations"
  exit 1
fi
failed=0
for expected in 'src/io/up.c:2: src/io (layer 2) includes' 'src/plan/vendor.c:2: <mpi.h>' 'src/plan/have.c:2: SLEY_HAVE_' \
  'src/device/figure.c:3: 2e12 ' 'src/plan/exits.c:2: ends' 'src/plan/prints.c:2: prints' 'cli/inside.c:2: includes' 'src/base/bare.c:1: no SPDX' \
  'src/base/long.c:601: longer' 'src/plan: 45 files' \
  'src/base/calls_up.c:3: src/base (layer 0) uses sley_destroy of src/api (layer 9)' \
  'src/device/calls_beside.c:2: src/device (layer 2) uses sl_io_read' 'src/io/new.h:2: the guard is SLEY_IO_OLD_H' \
  'python/sley/_arrays.py:3: layer 0 imports python/sley/plan.py of layer 1' 'python/sley/torch/ops.py:1: no SPDX' \
  'python/sley/long.py:601: longer' 'python/sley/nowhere.py:1: python/sley/nowhere.py is in no layer'; do
  grep -qF "$expected" "$tree/out" || { echo "missing: $expected"; failed=1; }
done
lines=$(wc -l <"$tree/out")
[ "$lines" -eq 17 ] || { echo "$lines violations named, expected 17"; failed=1; }
[ $failed -eq 0 ] || cat "$tree/out"
exit $failed
