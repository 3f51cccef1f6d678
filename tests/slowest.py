#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The slowest tests of a build folder's last run, by the seconds that ctest noted, as a table.
Usage: slowest.py [--docs SHARE] [BUILD [COUNT]]
  --docs SHARE: writes the table to docs/TESTING.md, with this machine, the commit and the SLEY_TEST_SHARE of the run"""
import argparse
import os
import pathlib
import re
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[1]


def table(build: str, count: int) -> str:
    log = pathlib.Path(build, "Testing/Temporary/LastTest.log")
    text = log.read_text(errors="replace") if log.exists() else ""
    found = re.findall(r"^\d+/\d+ Test: (\S+)\n.*?^Test time = +([\d.]+) sec", text, re.MULTILINE | re.DOTALL)
    if not found:
        sys.exit(f"{build} has no log of a run of tests")
    tests = sorted(((float(seconds), name) for name, seconds in found), reverse=True)
    lines = [f"| `{name}` | {seconds:.0f} |" for seconds, name in tests[:count]]
    every = f"| all {len(tests)}, one after the other | {sum(seconds for seconds, _ in tests):.0f} |"
    return "\n".join(["| test | seconds |", "|---|---|", *lines, every])


def circumstances(share: str) -> str:
    model = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)
    commit = subprocess.run(["git", "rev-parse", "--short=8", "HEAD"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()
    name = re.sub(r"\((R|TM)\)|CPU|Processor", "", model[1]) if model else os.uname().machine
    return f"One case in {share}, {os.cpu_count()} cores of {' '.join(name.split())}, commit {commit}:"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--docs", metavar="SHARE")
    parser.add_argument("build", nargs="?", default="build")
    parser.add_argument("count", nargs="?", type=int, default=10)
    given = parser.parse_args()
    made = table(given.build, given.count)
    if not given.docs:
        print(made)
        return
    page = ROOT / "docs/TESTING.md"
    text, count = re.subn(r"<!-- slowest -->\n.*?<!-- end -->", f"<!-- slowest -->\n{circumstances(given.docs)}\n\n{made}\n<!-- end -->",
                          page.read_text(), flags=re.DOTALL)
    if count != 1:
        sys.exit("docs/TESTING.md has no place for the table")
    page.write_text(text)


if __name__ == "__main__":
    main()
