#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Plants the faults of faults.toml in a copy of the sources, one after the other, and runs the tests that bear on each as `make test`
does. Prints for each fault by which test it was found; ends with 1 if one was not.

Usage: run.py [--work FOLDER] [--share N] [--jobs N] [--limit SECONDS] [--options "CMAKE OPTIONS"] [WORD...]
  WORD: only the faults whose file has one of these words in its name
  FOLDER: the copy and its build, kept for the next run (default: build/faults); N of --share as SLEY_TEST_SHARE (12)
"""
import argparse
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tomllib

ROOT = pathlib.Path(__file__).resolve().parents[2]
# What tests that are scripts use.
PROGRAMS = ["sley", "sley_command", "json_field", "png_pixel", "sley_mock", "sley_mock_device", "sley_mock_nccl"]


def copy_sources(to: pathlib.Path) -> None:
    """Copies the files that git knows; a file with the same content keeps its time, so that the build keeps its objects."""
    names = subprocess.run(["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True).stdout.split("\0")
    for name in filter(None, names):
        source, copy = ROOT / name, to / name
        if source.is_file() and not (copy.exists() and copy.read_bytes() == source.read_bytes()):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(source, copy)


def configure(work: pathlib.Path, options: list[str]) -> None:
    launcher = ["-DCMAKE_C_COMPILER_LAUNCHER=ccache"] if shutil.which("ccache") else []
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    subprocess.run(["cmake", "-S", work, "-B", work / "build", *generator, *launcher, "-DSLEY_TESTS=ON", "-DSLEY_CUDA=OFF",
                    "-DCMAKE_LINK_DEPENDS_NO_SHARED=ON", *options], check=True, stdout=subprocess.DEVNULL)


def build(work: pathlib.Path, tests: list[str], jobs: int) -> bool:
    """Builds the programs of these tests; false: there was an error, which is printed."""
    targets = {each.removesuffix("_mpi") for each in tests if each.startswith("test_")}
    targets.update(PROGRAMS if any(not each.startswith("test_") for each in tests) else [])
    targets.update(["sley_mpi", "sley_other_mpi"] if any(each.endswith("_mpi") for each in tests) else [])
    made = subprocess.run(["cmake", "--build", work / "build", "--parallel", str(jobs), "--target", *sorted(targets)],
                          capture_output=True, text=True)
    if made.returncode != 0:
        print(made.stdout[-3000:] + made.stderr[-3000:])
    return made.returncode == 0


def kill_tree(process: int) -> None:
    """Ends a process and those that it has started."""
    for children in pathlib.Path("/proc", str(process), "task").glob("*/children"):
        for child in children.read_text().split():
            kill_tree(int(child))
    os.kill(process, signal.SIGKILL)


def failing(work: pathlib.Path, tests: list[str], given: argparse.Namespace, limit: float | None) -> list[str]:
    """The names of the tests that fail, with their end; "hangs": the tests did not end within the limit."""
    environment = {"SLEY_TEST_SHARE": str(given.share), "SLEY_DATA": os.environ.get("SLEY_DATA", str(ROOT.parent / "shared" / "data"))}
    command = ["ctest", "--test-dir", work / "build", "--parallel", str(given.jobs), "-R", f"^({'|'.join(tests)})$"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env={**os.environ, **environment}) as run:
        try:
            said = run.communicate(timeout=limit)[0]
        except subprocess.TimeoutExpired:
            kill_tree(run.pid)
            return ["hangs"]
    if "No tests were found" in said:
        sys.exit(f"there are no tests {tests}")
    return re.findall(r"^\s*\d+ - (\S+ \([^)]*\))", said.partition("The following tests FAILED:")[2], re.MULTILINE)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--work", type=pathlib.Path, default=ROOT / "build" / "faults")
    parser.add_argument("--share", type=int, default=12)
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--limit", type=float, default=900, help="seconds for the tests of a fault")
    parser.add_argument("--options", default="", help="more options for CMake")
    parser.add_argument("words", nargs="*")
    given = parser.parse_args()
    faults = tomllib.loads(pathlib.Path(__file__).with_name("faults.toml").read_text())["fault"]
    faults = [each for each in faults if not given.words or any(word in each["file"] for word in given.words)]
    for each in faults:
        if (ROOT / each["file"]).read_text().count(each["old"]) != 1:
            sys.exit(f"{each['file']}: the text of \"{each['what']}\" does not occur once")
    work = given.work.resolve()
    copy_sources(work)
    configure(work, given.options.split())
    tests = sorted({test for each in faults for test in each["tests"]})
    if not build(work, tests, given.jobs):
        return 2
    broken = {each.split()[0] for each in failing(work, tests, given, None)}
    if broken:
        print("fail without a fault, and are not run:", *sorted(broken))
    found = 0
    for each in faults:
        file = work / each["file"]
        sound = file.read_text()
        used = [test for test in each["tests"] if test not in broken]
        file.write_text(sound.replace(each["old"], each["new"]))
        try:
            wrong = bool(used) and not build(work, used, given.jobs)
            by = failing(work, used, given, given.limit) if used and not wrong else []
        finally:
            file.write_text(sound)
        found += bool(by)
        outcome = "does not compile" if wrong else "not run" if not used else "found" if by else "NOT FOUND"
        print(f"{outcome}: {each['file']}: {each['what']}" + (f": by {', '.join(by)}" if by else ""), flush=True)
    print(f"{found} of {len(faults)} faults were found")
    if not given.words:
        folders = {file.parent for top in ("src", "cli", "python/sley") for end in ("c", "py") for file in (ROOT / top).rglob(f"*.{end}")}
        without = folders - {(ROOT / each["file"]).parent for each in faults}
        print("folders without a fault:", *sorted(str(each.relative_to(ROOT)) for each in without))
    return 0 if found == len(faults) else 1


if __name__ == "__main__":
    sys.exit(main())
