#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Plants circles by includes and by calls in a small tree, beside what is none, and expects tools/check_circles.sh to name
# the circles and nothing else.
# Usage: test_check_circles.sh ROOT
set -eu
check=$1/tools/check_circles.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/src/base" "$tree/src/io" "$tree/src/plan" "$tree/cli/a" "$tree/python/sley/torch"

# No circle: two files that need each other, a call through a pointer, a name in a table, in a comment and in a text.
printf '#include "base/b.h"\nint fa(void);\n' >"$tree/src/base/a.h"
printf '#include "base/a.h"\nint fa(void) {\n  return fb();\n}\n' >"$tree/src/base/a.c"
printf 'int fb(void);\n' >"$tree/src/base/b.h"
printf '#include "base/a.h"\n#include "base/b.h"\nint fb(void) {\n  return fa();\n}\n' >"$tree/src/base/b.c"
printf '#include "base/b.h"\nint fc(const struct ops *ops) {\n  /* fb() */\n  return ops->fd() + ops->fc() + text("fd()");\n}\n' \
  >"$tree/src/base/c.c"
printf 'static const struct ops table = {.fc = fc};\nint fd(void) {\n  return fe();\n}\n' >"$tree/src/base/d.c"
printf 'int fe(void) {\n  return fc(0);\n}\n' >"$tree/src/base/e.c"
if ! "$check" "$tree" >"$tree/out"; then
  echo "a tree without circles is refused"
  cat "$tree/out"
  exit 1
fi

# A circle of imports, one of them inside a function, and one by calls in cli/. Two files that import each other are none.
printf 'from sley import _two as two, four\nfrom sley.torch import eight\n' >"$tree/python/sley/one.py"
printf 'from sley import (\n    Matrix,\n)\nfrom sley.three import f  # sley.five\n' >"$tree/python/sley/_two.py"
printf 'def f():\n    import sley.one\n' >"$tree/python/sley/three.py"
printf 'from sley.five import f\n' >"$tree/python/sley/four.py"
printf 'from sley import four\n' >"$tree/python/sley/five.py"
printf 'import sley.four\n' >"$tree/python/sley/torch/eight.py"
printf 'from sley.five import g\n' >"$tree/python/sley/__init__.py"
printf 'int main(void) {\n  return cli_a();\n}\n\nint cli_end(void) {\n  return 0;\n}\n' >"$tree/cli/main.c"
printf 'int cli_a(void) {\n  return cli_b();\n}\n' >"$tree/cli/a/a.c"
printf 'int cli_b(void) {\n  return cli_end() + run->main() + main();\n}\n' >"$tree/cli/a/b.c"

# A circle by includes, of which only one file has a .c, and one by calls, of which one definition is wrapped.
printf '#include "io/y.h"\n' >"$tree/src/io/x.h"
printf '/* includes "io/x.h" below */\nint y;\n' >"$tree/src/io/y.h"
printf '#include "io/y.h"\n#include "io/z.h"\n' >"$tree/src/io/y.c"
printf '#include "io/x.h"\n' >"$tree/src/io/z.h"
printf 'static int own(int n) {\n  return n;\n}\n\nint first(int n) {\n  return own(n) + second(n);\n}\n' >"$tree/src/plan/p.c"
printf 'static const struct kind *second(int n,\n                                 int m);\n\nint\nsecond(int n,\n       int m) {\n  return third(n);\n}\n' >"$tree/src/plan/q.c"
printf 'int third(int n) {\n  if (n > 0)\n    return first(n - 1);\n  return 0;\n}\n' >"$tree/src/plan/r.c"
if "$check" "$tree" >"$tree/out"; then
  echo "the check passed a tree with circles"
  exit 1
fi
failed=0
for expected in 'a circle of 3 files by includes: ' 'a circle of 3 files by calls: ' 'io/y -> io/z: includes' 'io/z -> io/x: ' \
  'io/x -> io/y: ' 'plan/p -> plan/q: calls second' 'plan/q -> plan/r: calls third' 'plan/r -> plan/p: calls first' \
  'a circle of 3 files by includes: python/sley' 'python/sley/one -> python/sley/_two: imports it' \
  'python/sley/_two -> python/sley/three: ' 'python/sley/three -> python/sley/one: ' 'cli/a/b -> cli/main: calls cli_end' \
  'cli/main -> cli/a/a: calls cli_a' 'cli/a/a -> cli/a/b: calls cli_b'; do
  grep -qF "$expected" "$tree/out" || { echo "missing: $expected"; failed=1; }
done
lines=$(wc -l <"$tree/out")
[ "$lines" -eq 16 ] || { echo "$lines lines, expected 16"; failed=1; }
[ $failed -eq 0 ] || cat "$tree/out"
exit $failed
