#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Plants names that nothing uses in a small tree, beside names in use, and expects tools/check_unused.sh to print the former
# and nothing else.
# Usage: test_check_unused.sh ROOT
set -eu
check=$1/tools/check_unused.sh
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
mkdir -p "$tree/src/base" "$tree/src/device/cuda" "$tree/cli" "$tree/include" "$tree/tests" "$tree/python/sley" "$tree/python/tests" \
  "$tree/docs"

# In use: called from another file, named in a table or in a macro, the public interface, and from its own file and a test.
printf 'int sley_public(void);\n' >"$tree/include/sley.h"
printf 'int sl_called(int n);\nextern const int sl_table;\n#define SL_ROW .run = sl_in_macro\nint sl_idle(void);\n' >"$tree/src/base/a.h"
printf 'int sl_called(\n    int n) {\n  return n;\n}\n\nint sl_in_macro(void) {\n  return 0;\n}\n\nint sl_in_table(void) {\n  return 0;\n}\n' \
  >"$tree/src/base/a.c"
printf 'int sley_public(void) {\n  return sl_called(1);\n}\n\nconst int sl_table = {sl_in_table};\n' >"$tree/src/base/b.c"
printf 'int cli_read(void) {\n  return sl_table;\n}\n\nint cli_run(void) {\n  return cli_read();\n}\n' >"$tree/cli/a.c"
printf 'int main(void) {\n  return cli_run();\n}\n' >"$tree/cli/main.c"
printf 'int main(void) {\n  return cli_read() + sl_tested();\n}\n' >"$tree/tests/test.c"
printf '# names\nsl_called\nsl_forgotten\n' >"$tree/src/module_calls.txt"
printf 'void sl_device_module(void) {\n  sl_called(2);\n}\n' >"$tree/src/device/cuda/module.cu"
printf 'def open():\n    _begin()\n\n\ndef _begin():\n    pass\n\n\n@hook\ndef _at_exit():\n    pass\n' >"$tree/python/sley/a.py"
echo 'Call `open`.' >"$tree/docs/PYTHON.md"

# Unused: declared only, named in a comment and a text only, in tests only, in its own file only, not public, in Python.
printf '/* sl_idle() */\nint sl_idle(void) {\n  return text("sl_idle");\n}\n' >"$tree/src/base/idle.c"
printf 'static int own(void);\nint sl_own(void) {\n  return own();\n}\n\nint sl_called_too(void) {\n  return sl_own() + sl_idle_table[0];\n}\n' \
  >"$tree/src/base/own.c"
printf 'const int *const sl_idle_table[] = {0};\nint sl_tested(void) {\n  return 0;\n}\n' >"$tree/src/base/table.c"
printf 'int sley_hidden(void) {\n  return sl_called_too();\n}\n' >"$tree/src/base/hidden.c"
printf 'class Idle:\n    pass\n\n\ndef _tested():\n    pass\n' >"$tree/python/sley/b.py"
printf 'from sley.b import _tested\n' >"$tree/python/tests/test_b.py"
if "$check" "$tree" >"$tree/out"; then
  echo "the check passed a tree with unused names"
  exit 1
fi
failed=0
for expected in 'src/base/idle.c:2: nothing uses sl_idle' 'src/base/own.c:2: only its own file uses sl_own' \
  'src/base/table.c:2: only tests use sl_tested' 'src/base/hidden.c:1: no header of include/ declares sley_hidden' \
  'src/module_calls.txt: neither a module nor a header uses sl_forgotten' 'python/sley/b.py:1: nothing uses Idle' \
  'python/sley/b.py:5: only tests use _tested'; do
  grep -qF "$expected" "$tree/out" || { echo "missing: $expected"; failed=1; }
done
lines=$(wc -l <"$tree/out")
[ "$lines" -eq 7 ] || { echo "$lines names printed, expected 7"; failed=1; }
[ $failed -eq 0 ] || cat "$tree/out"
exit $failed
