# SPDX-License-Identifier: Apache-2.0
"""Shared by the scripts that measure: options, runs of the command and of other programs, graphs, turns, tables on the terminal,
files of results.

A launcher is a list of words before the command that starts it as ranks, for example
  tests/hosts/hosts.sh --hosts 4 --per-host 2 --rate 1gbit --
for hosts that are network namespaces. Files of graphs are in TMPDIR, which all hosts must be able to read."""
import argparse
import contextlib
import json
import os
import statistics
import struct
import subprocess
import sys
import tempfile

import machine

BENCH = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(BENCH)
BUILD = os.path.join(ROOT, "build")
SLEY = os.path.join(BUILD, "cli", "sley")
DATA = os.environ.get("SLEY_DATA", os.path.join(ROOT, "..", "shared", "data"))
TWINS = ["cyt", "clj", "prd", "cok", "cit", "slj", "spk", "sso"]
MIB = 1 << 20
SKIPPED = 77  # exit status of a launcher that cannot run here
# Allows more ranks than cores under mpirun, and root in a container; waiting ranks yield their core.
HABITS = {"OMPI_MCA_rmaps_base_oversubscribe": "1", "OMPI_MCA_hwloc_base_binding_policy": "none", "OMPI_ALLOW_RUN_AS_ROOT": "1",
          "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1", "OMPI_MCA_mpi_yield_when_idle": "1"}


class Failed(Exception):
    """A run that failed, with the reason."""


# ---- options

class Parser(argparse.ArgumentParser):
    """Describes a script by its docstring, and reports an error in one line."""

    def __init__(self, doc):
        super().__init__(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}\n")

    def add(self, name, default=None, text=None, **more):
        """An option whose type is that of its default."""
        kind = {} if default is None or isinstance(default, str) or "action" in more else {"type": type(default)}
        self.add_argument(name, default=default, help=text, **{**kind, **more})

    def numbers(self, option, text):
        words = text.split(",")
        if not all(word.isdigit() and int(word) > 0 for word in words):
            self.error(f"{option} takes whole numbers from 1 on, separated by commas, not {text!r}")
        return [int(word) for word in words]

    def names(self, option, text, known):
        for name in text.split(","):
            if name not in known:
                self.error(f"{option}: there is no {name!r}; known are {' '.join(known)}")
        return text.split(",")

    def check(self, args, **least):
        """Checks numbers, and that the folder of --json exists."""
        for name, number in least.items():
            if getattr(args, name) < number:
                self.error(f"--{name} is {getattr(args, name)}: it must be {number} or more")
        if args.json and not os.path.isdir(os.path.dirname(args.json) or "."):
            self.error(f"--json {args.json}: there is no such folder")


def start(main):
    """Runs a script; a run that failed ends it."""
    try:
        sys.exit(main())
    except Failed as error:
        sys.exit(f"{os.path.basename(sys.argv[0])}: {error}")


# ---- runs

def reason_of(done):
    lines = [line for line in done.stderr.splitlines() if line.startswith(("sley: ", "bench_"))] or done.stderr.splitlines()
    return lines[-1] if lines else f"exit {done.returncode}"


def run(words, launched=False, timeout=None, **env):
    """Runs a program; returns what it printed. A launcher that cannot run here ends the script. timeout: seconds."""
    try:
        done = subprocess.run([str(word) for word in words], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              timeout=timeout, env={**HABITS, **os.environ, **env})
    except subprocess.TimeoutExpired as error:
        raise Failed(f"{words[0]}: took more than {timeout} s") from error
    except OSError as error:
        raise Failed(f"{words[0]}: {error.strerror}") from error
    if launched and done.returncode == SKIPPED:
        sys.stdout.write(done.stdout)
        sys.exit(SKIPPED)
    if done.returncode != 0:
        raise Failed(reason_of(done))
    return done.stdout


def sley(command, *words, launch=(), **env):
    """The command's JSON report."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        run([*launch, command, *words, "--json", report.name], bool(launch), **env)
        return load(report.name)  # the command has replaced the file


def on_hosts(hosts, per_host, rate, *more):
    """Words that start a command on hosts that are network namespaces of this machine, joined by links of this rate."""
    return [os.path.join(ROOT, "tests", "hosts", "hosts.sh"), "--hosts", hosts, "--per-host", per_host, "--rate", rate, *more, "--"]


def ran_right(result):
    """A product's median milliseconds."""
    assert result["verify"]["ok"], "a product was wrong"
    return result["time_ms"]["median"]


def by_turns(rounds, cases):
    """Runs cases in turn. Each is a function that returns a run's milliseconds and facts. Returns for each its facts, the median
    of the runs' medians with the least and the greatest of them, or why it failed."""
    found = {name: {"runs": []} for name in cases}
    for _ in range(rounds):
        for name, measure in cases.items():
            one = found[name]
            if "failed" in one:
                continue
            try:
                times, facts = measure()
                one["runs"].append(times)
                one.update(facts)
            except Failed as error:
                one["failed"] = str(error)
    for one in found.values():
        if "failed" not in one:
            medians = [statistics.median(times) for times in one["runs"]]
            one.update(ms=statistics.median(medians), least_ms=min(medians), most_ms=max(medians))
    return found


# ---- graphs

def generate(command, spec, path, seed=1):
    """Writes a generated matrix of f32 to a file."""
    run([command, "generate", spec, "-o", path, "--dtype", "f32", "--seed", seed])


def cached(command, spec, folder):
    """The path of a matrix that a folder keeps; it is generated first if it is not there. A file's name stands for itself."""
    path = spec if os.path.exists(spec) else os.path.join(folder, "".join(c if c.isalnum() or c == "." else "-" for c in spec) + ".sley")
    if not os.path.exists(path):
        generate(command, spec, path)
    return path


def sizes(path):
    """Rows, columns and entries of a .sley file, as src/io/cache.h describes it."""
    with open(path, "rb") as stream:
        return struct.unpack("<3q", stream.read(128)[24:48])


def read_pattern(path):
    """Rows, columns, start of each row (int64), and columns of the entries (int32, or int64 if the file has these)."""
    import numpy as np  # callers that only need sizes do without numpy
    head, aligned = 128, 64  # bytes
    rows, cols, entries = sizes(path)
    wide = np.fromfile(path, np.uint32, 6)[5] != 0
    begin = np.fromfile(path, np.int64, rows + 1, offset=head)
    at = -(-(head + 8 * (rows + 1)) // aligned) * aligned
    return rows, cols, begin, np.fromfile(path, np.int64 if wide else np.int32, entries, offset=at)


def real_matrices(folder, least=0, square=False):
    """{file: entries} of the matrices in the MANIFEST.tsv of a folder, the largest first, without complex ones, which Sley does not
    read. Entries of symmetric files count twice, unless only square matrices are asked for, whose entries are then those of the
    file."""
    found = {}
    with open(os.path.join(folder, "MANIFEST.tsv"), encoding="utf-8") as manifest:
        for line in list(manifest)[1:]:
            name, kind, rows, cols, entries, text = line.rstrip("\n").split("\t")[:6]
            if kind == "npy" or "labels" in name or "malformed" in name or not entries.isdigit():
                continue
            if text.startswith(("complex", "HB c", "RB c")) or (square and rows != cols):
                continue
            both = not square and "symmetric" in text and "fmt" not in text
            found[name] = int(entries) * (2 if both else 1)
    return {name: found[name] for name in sorted(found, key=found.get, reverse=True) if found[name] > least}


def count_remote(begin, col, owner, ranks):
    """Entries whose column another rank owns, and distinct such columns, each summed over the ranks; owner: of each row and
    column."""
    import numpy as np
    of_entry, remote, halo = np.repeat(owner, np.diff(begin)), 0, 0
    for rank in range(ranks):
        seen = np.zeros(owner.size, bool)
        mine = col[of_entry == rank]
        mine = mine[owner[mine] != rank]
        seen[mine] = True
        remote, halo = remote + mine.size, halo + int(seen.sum())
    return remote, halo


# ---- output

def text(value):
    return "-" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)


def show(heads, rows):
    """Prints a table, with the first column aligned left and the others right."""
    cells = [heads] + [[text(value) for value in row] for row in rows]
    wide = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    for row in cells:
        print("  ".join(cell.ljust(n) if i == 0 else cell.rjust(n) for i, (cell, n) in enumerate(zip(row, wide))).rstrip(), flush=True)


def load(path):
    with open(path, encoding="utf-8") as stream:
        return json.load(stream)


def save(path, result, device="cpu", **facts):
    """Writes a file of results with its machine, if there is a path; each element of a list has its line."""
    def member(value):
        return "[\n  " + ",\n  ".join(map(json.dumps, value)) + "\n ]" if isinstance(value, list) and value else json.dumps(value)
    if path:
        whole = {**result, "machine": {**machine.describe(device), **facts}}
        with open(path, "w", encoding="utf-8") as stream:
            stream.write("{\n " + ",\n ".join(f"{json.dumps(name)}: {member(value)}" for name, value in whole.items()) + "\n}\n")


@contextlib.contextmanager
def lines(path):
    """A file of JSON lines; yields a function that writes one at once."""
    with open(path, "w", encoding="utf-8") as stream:
        def keep(record):
            stream.write(json.dumps(record) + "\n")
            stream.flush()
        yield keep
