#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MGG's table 3 (OSDI 2023): accuracy and time of an epoch over the whole graph, and of an epoch over batches of rows with
sampled neighbours.

Both train the same model from the same initial weights on the same rows; each round has a seed of its own. The accuracy is
measured on the test rows, with all their neighbours, in the epoch with the best validation. The ratio of times is full divided
by sampled, like the paper's latencies. Neighbours are sampled on one rank, whatever --ranks is. The graph is a twin with
generated labels, which follow from the features of a row and its neighbours; or it is read from files, in the form that `sley
gnn train` accepts. For a command without --sample, and for a launcher's ranks, only the full epoch is measured, with a message.
Usage: mgg_table3.py SLEY [--graphs NAMES] [--scale S] [--files GRAPH FEATURES LABELS] [--more=WORDS] [--models NAMES]
                     [--hidden N] [--train N] [--valid N] [--sample LIST] [--batch N] [--ranks LIST | --launch WORDS] [--transport NAME]
                     [--device NAME] [--threads T] [--epochs N] [--warm N] [--rounds N] [--seed N] [--json FILE]
"""
import os
import shlex
import statistics
import subprocess

import runs

TWINS = {"red": ("RDD", 602, 41)}  # the paper's name, features, classes
TABLE_3 = {"RDD": (0.937, 0.957, 1.07), "PROT": (0.776, 0.825, 1.25)}  # accuracy sampled, full; latency full / sampled
MODELS = ["gcn", "gin", "sage", "sage-max", "gat"]
WAYS = ["full", "sampled"]
HEADS = ["graph", "model", "way", "ms", "least to most", "full / sampled", "paper's", "accuracy", "paper's", "differs"]


def offers_sampling(args):
    return not args.launch and "--sample " in subprocess.run([args.sley, "gnn", "train", "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout


def words_of(args, data, model, way):
    graph, features, labels = data
    words = ["gnn", "train", graph, "--features", features, "--labels", labels, "--model", model, "--layers",
             str(len(args.sample.split(","))), "--hidden", str(args.hidden), "--train", str(args.train), "--valid", str(args.valid), "--epochs",
             str(args.warm + args.epochs)]
    words += shlex.split(args.more)
    return words + (["--sample", args.sample, "--batch", str(args.batch)] if way == "sampled" else [])


def cases_of(args, data, model, ranks):
    """Functions that run a way with the next seed, and lists that receive the accuracies."""
    tests = {way: [] for way in args.ways}

    def case(way):
        def measure():
            result = runs.run(args, 1 if way == "sampled" else ranks, words_of(args, data, model, way), seed=args.seed + len(tests[way]))
            tests[way].append(result["epochs"][result["best_epoch"] - 1]["test"])
            return [one["ms"] for one in result["epochs"][args.warm:]], runs.facts(result)
        return measure

    return {way: case(way) for way in args.ways}, tests


def measure(args, name, data, model, ranks):
    cases, tests = cases_of(args, data, model, ranks)
    found = runs.by_turns(args.rounds, cases)
    for way, one in found.items():
        one.update(graph=name, spec=data[0], model=model, way=way, test=tests[way], ratio=runs.ratio(found, "full", "sampled"))
    return list(found.values())


def accuracy(one):
    if "ms" not in one:
        return None
    spread = statistics.stdev(one["test"]) if len(one["test"]) > 1 else 0
    return f"{statistics.fmean(one['test']):.3f} +- {spread:.3f}"


def row(args, one):
    sampled, full, slower = TABLE_3.get(TWINS.get(one["graph"], [None])[0], (None, None, None))
    differs = f"{'files' if args.files else f'twin x {args.scale:g}'}, {runs.where(one)}" if "ms" in one else None
    return [one["graph"], one["model"], one["way"], *runs.time_cells(one), one["ratio"], slower, accuracy(one),
            f"{full if one['way'] == 'full' else sampled:.3f}" if full else None, differs]


def main():
    parser = runs.make_parser(__doc__, epochs=100)
    runs.add_twins(parser, TWINS)
    parser.add_argument("--files", nargs=3, metavar=("GRAPH", "FEATURES", "LABELS"), help="instead of twins")
    parser.add_argument("--more", default="", help="more words of sley gnn train, such as --more='--undirected --normalize'")
    parser.add_argument("--models", default="sage", help="separated by commas")
    parser.add_argument("--hidden", type=int, default=64)
    parser.add_argument("--train", type=int, default=200, help="rows of each class to train on")
    parser.add_argument("--valid", type=int, default=100, help="others for validation")
    parser.add_argument("--sample", default="10,25", help="neighbours that are drawn, by layers; as many layers")
    parser.add_argument("--batch", type=int, default=1000, help="rows of a step")
    args = runs.start(parser)
    args.graphs = runs.name_list(parser, "--graphs", args.graphs, list(TWINS))
    args.models = runs.name_list(parser, "--models", args.models, MODELS)
    runs.number_list(parser, "--sample", args.sample)
    args.ways = WAYS if offers_sampling(args) else WAYS[:1]
    sets = {os.path.basename(args.files[0]): args.files} if args.files else {
        name: (runs.twin(args, name), f"random:{TWINS[name][1]}", f"planted:{TWINS[name][2]}") for name in args.graphs}
    runs.begin(args, "The paper: 8 A100, the graphs themselves with their labels and sets, its sampled epochs by DGL's way of sampling. Here: "
                     "labels, sets and models as the options say.")
    cases = [one for name, data in sets.items() for model in args.models for ranks in args.ranks
             for one in measure(args, name, data, model, ranks)]
    runs.show(HEADS, [row(args, one) for one in cases])
    if len(args.ways) < len(WAYS):
        print("sampled: not offered, this command has no --sample, or a launcher starts its ranks")
    print(f"PROT: not offered, there is no twin of it; the paper: sampled {TABLE_3['PROT'][0]}, full {TABLE_3['PROT'][1]}, latency "
          f"{TABLE_3['PROT'][2]}")
    runs.end(args, "MGG, OSDI 2023, table 3", cases)


main()
