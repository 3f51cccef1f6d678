# SPDX-License-Identifier: Apache-2.0
"""Shared by the scripts for tables of papers: options, graphs, runs of the command in turn, medians, tables and JSON.

Each script begins with `start`, which reads its options. With --launch the command runs as ranks of that launcher, for example
  --launch "tests/hosts/hosts.sh --hosts 4 --per-host 2 --rate 1gbit --" --transport tcp --device cpu --threads 1
for hosts that are network namespaces. The files of graphs are in TMPDIR, which all hosts must be able to read.
"""
import argparse
import json
import math
import os
import random
import shlex
import statistics
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
BENCH = os.path.dirname(HERE)
sys.path.insert(0, BENCH)
import sley_file  # noqa: E402

SKIPPED = 77  # exit status of a launcher that cannot run here
ALL_ROWS = (1 << 31) - 1  # per class, to train on


class Failed(Exception):
    """A run of the command that failed, with the reason."""


# ---- options

class Parser(argparse.ArgumentParser):
    """Reports an error in one line; `ranks` is the default number of ranks."""

    def error(self, message):
        self.exit(2, f"{self.prog}: {message}\n")


def make_parser(doc, epochs=20, ranks=2):
    parser = Parser(description=doc, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.ranks = ranks
    parser.add_argument("sley", help="the command")
    parser.add_argument("--ranks", help=f"numbers of ranks, separated by commas (default {ranks}; with --launch the launcher's)")
    parser.add_argument("--device", default="auto", choices=["auto", "cpu", "cuda"])
    parser.add_argument("--transport", default="", help="of the command; empty: its default")
    parser.add_argument("--threads", type=int, default=0, help="of each rank; 0: cores / ranks")
    parser.add_argument("--launch", default="", help="words before the command, which start it as ranks")
    parser.add_argument("--epochs", type=int, default=epochs, help="that are timed in a run")
    parser.add_argument("--warm", type=int, default=2, help="epochs before them")
    parser.add_argument("--rounds", type=int, default=3, help="runs of each case, by turns")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", help="file for the figures")
    return parser


def add_twins(parser, default):
    parser.add_argument("--graphs", default=",".join(default), help="twins of published graphs, separated by commas")
    parser.add_argument("--scale", type=float, default=1, help="of the twins, 1: as large as the graphs")


def number_list(parser, option, text):
    words = text.split(",")
    if not all(word.isdigit() and int(word) > 0 for word in words):
        parser.error(f"{option} takes whole numbers from 1 on, separated by commas, not {text!r}")
    return [int(word) for word in words]


def name_list(parser, option, text, known):
    names = text.split(",")
    for name in names:
        if name not in known:
            parser.error(f"{option}: there is no {name!r}; known are {' '.join(known)}")
    return names


def start(parser, words=None):
    """Returns checked options: `ranks` is a list, which contains None under a launcher, `version` is the command's."""
    args = parser.parse_args(words)
    args.launch = shlex.split(args.launch)
    if args.launch and args.ranks:
        parser.error("--ranks and --launch: the launcher says how many ranks there are")
    args.ranks = [None] if args.launch else number_list(parser, "--ranks", args.ranks or str(parser.ranks))
    for name, least in (("epochs", 1), ("warm", 0), ("rounds", 1), ("threads", 0), ("seed", 0)):
        if getattr(args, name) < least:
            parser.error(f"--{name} is {getattr(args, name)}: it must be {least} or more")
    if not getattr(args, "scale", 1) > 0:
        parser.error(f"--scale is {args.scale}: it must be more than 0")
    if args.json and not os.path.isdir(os.path.dirname(args.json) or "."):
        parser.error(f"--json {args.json}: there is no such folder")
    try:
        args.version = subprocess.run([args.sley, "--version"], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError) as error:
        parser.error(f"{args.sley}: cannot be run: {error}")
    return args


def begin(args, differs):
    """Prints the first lines: what runs, and what differs from the paper in all cases."""
    print(f"{args.version}; seed {args.seed}, {args.rounds} rounds of {args.epochs} epochs after {args.warm}\n{differs}", flush=True)


# ---- graphs

class Graph:
    """A matrix in a file, with a random label for each of its rows."""

    def __init__(self, args, folder, spec, classes):
        self.spec = spec
        self.path, self.labels = os.path.join(folder, "graph.sley"), os.path.join(folder, "labels.txt")
        result = subprocess.run([args.sley, "generate", spec, "-o", self.path, "--dtype", "f32", "--seed", str(args.seed)],
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        if result.returncode != 0:
            sys.stderr.write(result.stderr)
            sys.exit(result.returncode)
        self.rows, _, self.entries = sley_file.sizes(self.path)
        self.draw(random.Random(args.seed), classes)

    def draw(self, random_, classes):
        with open(self.labels, "w") as stream:
            stream.writelines(f"{int(random_.random() * classes)}\n" for _ in range(self.rows))


def twin(args, name):
    return f"twin:{name}:scale={args.scale:g}"


# ---- runs

def reason_of(result):
    lines = [line for line in result.stderr.splitlines() if line.startswith("sley: ")] or result.stderr.splitlines()
    return lines[-1] if lines else f"exit {result.returncode}"


def run(args, ranks, words, seed=None):
    """The command's JSON report."""
    with tempfile.NamedTemporaryFile(suffix=".json") as report:
        command = [*args.launch, args.sley, *words, "--device", args.device, "--threads", str(args.threads), "--seed",
                   str(args.seed if seed is None else seed), "--json", report.name]
        command += ["--ranks", str(ranks)] if ranks else []
        command += ["--transport", args.transport] if args.transport else []
        try:
            result = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        except OSError as error:
            raise Failed(str(error)) from error
        if args.launch and result.returncode == SKIPPED:
            sys.stdout.write(result.stdout)
            sys.exit(SKIPPED)
        if result.returncode != 0:
            raise Failed(reason_of(result))
        with open(report.name) as stream:  # the command has replaced the file
            return json.load(stream)


def training(args, graph, model, layers, hidden, features):
    """Words for a training over all rows without dropout, whose first layer sums in every step."""
    return ["gnn", "train", graph.path, "--features", f"random:{features}", "--labels", graph.labels, "--model", model,
            "--layers", str(layers), "--hidden", str(hidden), "--dropout", "0", "--train", str(ALL_ROWS), "--valid", "0",
            "--fresh-features", "--epochs", str(args.warm + args.epochs)]


def facts(result):
    """Facts of where a run ran."""
    return {key: result[key] for key in ("device", "transport", "ranks")}


def epochs(args, ranks, words):
    """Milliseconds of a training's steps, and facts of where it ran."""
    result = run(args, ranks, words)
    return [one["ms"] for one in result["epochs"][args.warm:]], facts(result)


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


def ratio(found, name, to):
    """Time of `name` relative to `to`; None if one of them has no time."""
    if "ms" not in found.get(name, {}) or "ms" not in found.get(to, {}):
        return None
    return found[name]["ms"] / found[to]["ms"]


def geomean(values):
    values = [value for value in values if value]
    return math.exp(statistics.fmean(map(math.log, values))) if values else None


# ---- output

def where(one):
    """Ranks, device and transport, for the column of differences."""
    return f"{one['ranks']} x {one['device']}, {one['transport']}"


def text(value):
    return "-" if value is None else f"{value:.2f}" if isinstance(value, float) else str(value)


def time_cells(one):
    """Cells of a time: the median, and the range over the runs."""
    if "ms" not in one:
        return ["failed", one["failed"][:60]]
    return [f"{one['ms']:.3f}", f"{one['least_ms']:.3f} to {one['most_ms']:.3f}"]


def show(heads, rows):
    """Prints a table, with the first column aligned left and the others right."""
    cells = [heads] + [[text(value) for value in row] for row in rows]
    wide = [max(len(row[i]) for row in cells) for i in range(len(heads))]
    for row in cells:
        print("  ".join(cell.ljust(n) if i == 0 else cell.rjust(n) for i, (cell, n) in enumerate(zip(row, wide))).rstrip(), flush=True)


def machine(device):
    """Facts of the machine on which the figures depend, from the script for the device; None if there are none."""
    script = os.path.join(BENCH, *(["gpu"] if device == "cuda" else []), "machine.py")
    try:
        return json.loads(subprocess.run([sys.executable, script], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=True,
                                         text=True).stdout)
    except subprocess.CalledProcessError:
        return None


def end(args, source, cases):
    """Writes --json: machine, options and cases with their device. Returns 1 if a case failed, else 0."""
    if args.json:
        device = next((one["device"] for one in cases if "device" in one), args.device)
        options = {**vars(args), "sley": os.path.basename(args.sley)}
        del options["json"]
        with open(args.json, "w") as stream:
            json.dump({"paper": source, "machine": machine(device), "options": options, "cases": cases}, stream, indent=1)
            stream.write("\n")
    sys.exit(1 if any("failed" in one for one in cases) else 0)
