#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The slowest tests of a build folder's last run, by what ctest noted (seconds as measured), as the table of docs/TESTING.md.
Usage: slowest.py [BUILD [COUNT]]"""
import pathlib
import re
import sys

build, count = (sys.argv[1:] + ["build", "10"][len(sys.argv) - 1:])[:2]
log = pathlib.Path(build, "Testing/Temporary/LastTest.log").read_text(errors="replace")
found = re.findall(r"^\d+/\d+ Test: (\S+)\n.*?^Test time = +([\d.]+) sec", log, re.MULTILINE | re.DOTALL)
if not found:
    sys.exit(f"{build} has no log of a run of tests")
tests = sorted(((float(seconds), name) for name, seconds in found), reverse=True)
print("| test | seconds |\n|---|---|")
for seconds, name in tests[:int(count)]:
    print(f"| `{name}` | {seconds:.0f} |")
print(f"| all {len(tests)}, one after the other | {sum(seconds for seconds, _ in tests):.0f} |")
