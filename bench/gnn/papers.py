# SPDX-License-Identifier: Apache-2.0
"""Shared by the scripts for tables of papers: their options, trainings by the command, cells of tables, and JSON.

With --launch the command runs as ranks of that launcher, for example
  --launch "tests/hosts/hosts.sh --hosts 4 --per-host 2 --rate 1gbit --" --transport tcp --device cpu --threads 1
for hosts that are network namespaces."""
import os
import random
import shlex
import statistics
import sys

sys.path.insert(0, __file__.rsplit("/", 2)[0])
import common  # noqa: E402
import tables  # noqa: E402

ALL_ROWS = (1 << 31) - 1  # per class, to train on


# ---- options

def make_parser(doc, epochs=20, ranks=2):
    parser = common.Parser(doc)
    parser.ranks = ranks
    parser.add_argument("sley", help="the command")
    parser.add("--ranks", None, f"numbers of ranks, separated by commas (default {ranks}; with --launch the launcher's)")
    parser.add("--device", "auto", choices=["auto", "cpu", "cuda"])
    parser.add("--transport", "", "of the command; empty: its default")
    parser.add("--threads", 0, "of each rank; 0: cores / ranks")
    parser.add("--launch", "", "words before the command, which start it as ranks")
    parser.add("--epochs", epochs, "that are timed in a run")
    parser.add("--warm", 2, "epochs before them")
    parser.add("--rounds", 3, "runs of each case, by turns")
    parser.add("--seed", 1)
    parser.add("--json", None, "file for the figures")
    return parser


def add_twins(parser, known):
    parser.add("--graphs", ",".join(known), "twins of published graphs, separated by commas")
    parser.add("--scale", 1.0, "of the twins, 1: as large as the graphs")


def start(parser, differs, **lists):
    """Returns checked options, and prints what runs and what differs from the paper in all cases. `ranks` is a list, which contains
    None under a launcher; lists: options that name some of the known names."""
    args = parser.parse_args()
    args.launch = shlex.split(args.launch)
    if args.launch and args.ranks:
        parser.error("--ranks and --launch: the launcher says how many ranks there are")
    args.ranks = [None] if args.launch else parser.numbers("--ranks", args.ranks or str(parser.ranks))
    parser.check(args, epochs=1, warm=0, rounds=1, threads=0, seed=0)
    if not getattr(args, "scale", 1) > 0:
        parser.error(f"--scale is {args.scale}: it must be more than 0")
    for name, known in lists.items():
        setattr(args, name, parser.names(f"--{name}", getattr(args, name), list(known)))
    try:
        args.version = common.run([args.sley, "--version"]).strip()
    except common.Failed as error:
        parser.error(f"{args.sley}: cannot be run: {error}")
    print(f"{args.version}; seed {args.seed}, {args.rounds} rounds of {args.epochs} epochs after {args.warm}\n{differs}", flush=True)
    return args


# ---- runs

def twin(args, name):
    return f"twin:{name}:scale={args.scale:g}"


class Graph:
    """A matrix in a file, with a random label for each of its rows."""

    def __init__(self, args, folder, spec, classes):
        self.spec, self.path, self.labels = spec, os.path.join(folder, "graph.sley"), os.path.join(folder, "labels.txt")
        common.generate(args.sley, spec, self.path, args.seed)
        (self.rows, _, self.entries), random_ = common.sizes(self.path), random.Random(args.seed)
        with open(self.labels, "w", encoding="ascii") as stream:
            stream.writelines(f"{int(random_.random() * classes)}\n" for _ in range(self.rows))


def run(args, ranks, words, seed=None):
    """The command's JSON report."""
    return common.sley(args.sley, *words, "--device", args.device, "--threads", args.threads, "--seed", args.seed if seed is None else seed,
                       *(["--ranks", ranks] if ranks else []), *(["--transport", args.transport] if args.transport else []), launch=args.launch)


def training(args, graph, model, layers, hidden, features):
    """Words for a training over all rows without dropout, whose first layer sums in every step."""
    return ["gnn", "train", graph.path, "--features", f"random:{features}", "--labels", graph.labels, "--model", model,
            "--layers", layers, "--hidden", hidden, "--dropout", "0", "--train", ALL_ROWS, "--valid", "0",
            "--fresh-features", "--epochs", args.warm + args.epochs]


def facts(result):
    """Facts of where a run ran."""
    return {key: result[key] for key in ("device", "transport", "ranks")}


def epochs(args, ranks, words):
    """A case of common.by_turns: milliseconds of a training's steps, and facts of where it ran."""
    def measure():
        result = run(args, ranks, words)
        return [one["ms"] for one in result["epochs"][args.warm:]], facts(result)
    return measure


def product(args, ranks, words, ms=lambda result: result["time_ms"]["median"]):
    """A case of common.by_turns: a product that is not verified."""
    def measure():
        result = run(args, ranks, ["spmm", *words, "--no-verify", "--warmup", args.warm, "--repeat", args.epochs])
        return [ms(result)], facts(result)
    return measure


def compare(args, cases, to, inverse=False, **about):
    """Runs cases {name: function}, and returns a list of results with `about`. If `to` names one of them, each also has its name,
    and its time relative to that of `to`; inverse: the time of `to` relative to its time."""
    found = common.by_turns(args.rounds, cases)
    first = found.get(to, {}).get("ms")
    for name, one in found.items():
        one.update(about)
        if to:
            ratio = one["ms"] / first if first and "ms" in one else None
            one.update(name=name, ratio=1 / ratio if ratio and inverse else ratio)
    return list(found.values())


def geomean(values):
    values = [value for value in values if value]
    return tables.geomean(values) if values else None


# ---- output

def where(one, of):
    """What differs from the paper in a case: the graph, ranks, device and transport; None if it did not run."""
    return f"{of}, {one['ranks']} x {one['device']}, {one['transport']}" if "device" in one else None


def time_cells(one):
    """Cells of a time: the median, and the range over the runs."""
    if "ms" not in one:
        return ["failed", one["failed"][:60]]
    return [f"{one['ms']:.3f}", f"{one['least_ms']:.3f} to {one['most_ms']:.3f}"]


def accuracy(tests):
    return f"{statistics.fmean(tests):.3f} +- {statistics.stdev(tests) if len(tests) > 1 else 0:.3f}"


def end(args, source, cases):
    """Writes --json: machine, options and cases with their device. Returns 1 if a case failed, else 0."""
    device = next((one["device"] for one in cases if "device" in one), args.device)
    options = {**vars(args), "sley": os.path.basename(args.sley)}
    del options["json"]
    common.save(args.json, {"paper": source, "options": options, "cases": cases}, device)
    return 1 if any("failed" in one for one in cases) else 0
