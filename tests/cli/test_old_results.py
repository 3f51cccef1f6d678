#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Which changes of the code make a result too old for bench/report.py, in a small repository of its own: comments, spaces, includes, moves
and additions do not; another statement, a removed function, a commit that nobody knows, no commit and uncommitted changes do; a review
beside the results holds until the code changes once more."""
import json
import os
import subprocess
import sys
import tempfile

BENCH = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "bench")
sys.path.insert(0, BENCH)
import claims  # noqa: E402
import measured  # noqa: E402
import report  # noqa: E402

KERNEL = '''/* Sums. */
#include "base/a.h"
static const char *what = "a // b";
static int sum(int a, int b) {
  return a + b; /* of both */
}
int twice(int a) { return 2 * a; }
'''
MODULE = '"""Layers."""\nimport os\n\n\ndef layer(x):\n    """Twice."""\n    return 2 * x  # rows\n'
CODE = ["src/device/cpu/*spmm*", "python/sley/torch/*"]


def main():
    failed = []
    with tempfile.TemporaryDirectory() as root:
        def git(*words):
            return subprocess.run(["git", "-C", root, "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True, capture_output=True, text=True).stdout.strip()

        def write(path, text):
            os.makedirs(os.path.dirname(os.path.join(root, path)), exist_ok=True)
            with open(os.path.join(root, path), "w", encoding="utf-8") as stream:
                stream.write(text)

        def commit():
            git("add", "-A")
            git("commit", "-qm", "a", "--allow-empty")
            return git("rev-parse", "--short", "HEAD")

        def result(machine, note=""):
            write("results/set/a.json", json.dumps({"machine": machine}))
            write("results/set/unchanged", note)
            measured.files_now.cache_clear()
            return report.refusal("set/a.json", CODE)

        def expect(what, found, wanted):
            if found != wanted:
                failed.append(f"{what}: {found}, expected {wanted}")

        claims.RESULTS = report.RESULTS = os.path.join(root, "results")
        report.ROOT = root
        git("init", "-q")
        write("src/device/cpu/spmm_a.c", KERNEL)
        write("src/device/cpu/other.c", "int other;\n")
        write("python/sley/torch/layer.py", MODULE)
        first = commit()
        expect("the code as it was", result({"commit": first}), None)
        write("src/device/cpu/spmm_a.c", KERNEL.replace("/* Sums. */", "// of two").replace("#include", "#include <stdio.h>\n#include").replace("int a, int b", "int a,\n   int b"))
        write("python/sley/torch/layer.py", MODULE.replace('"""Layers."""', '"""All layers."""').replace("  # rows", ""))
        write("src/device/cpu/other.c", "int others;\n")
        expect("comments, spaces, includes, other files", result({"commit": first}), None)
        write("src/device/cpu/spmm_a.c", KERNEL.replace("int twice(int a) { return 2 * a; }\n", ""))
        write("src/device/cpu/spmm/b.c", "/* Moved. */\nint twice(int a) { return 2 * a; }\nint new(void) { return 0; }\n")
        expect("a move and an addition", result({"commit": first}), None)
        write("src/device/cpu/spmm_a.c", KERNEL.replace("a + b;", "b + a;"))
        expect("another statement, in no commit yet", result({"commit": first}), ["sum"])
        second = commit()
        expect("the same in a commit", result({"commit": first}), ["sum"])
        expect("a review", result({"commit": first}, f"a.json {second} Sums commute.\n"), None)
        expect("a review of another file", result({"commit": first}, f"b.json {second} Sums commute.\n"), ["sum"])
        write("src/device/cpu/spmm_a.c", KERNEL.replace("a // b", "a // c"))
        expect("a string, after the review", result({"commit": first}, f"a.json {second} Sums commute.\n"), ["sum", "what"])
        write("src/device/cpu/spmm_a.c", "int nothing;\n")
        expect("removed functions", result({"commit": second}), ["sum", "twice", "what"])
        write("python/sley/torch/layer.py", MODULE.replace("2 * x", "x + x"))
        write("src/device/cpu/spmm_a.c", KERNEL)
        expect("another statement in Python", result({"commit": first}), ["layer"])
        expect("no commit", result({}), "the file holds no commit")
        expect("changes in no commit", result({"commit": first, "changed": True}), "measured with changes that are in no commit")
        expect("an unknown commit", result({"commit": "0123456"}), "0123456 is in no history here")
    print("\n".join(failed) or "old results are refused, others are not")
    return len(failed) > 0


sys.exit(main())
