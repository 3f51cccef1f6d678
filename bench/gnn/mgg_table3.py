#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MGG's table 3 (OSDI 2023): accuracy and time of an epoch over the whole graph, and of an epoch over batches of rows with
sampled neighbours.

Both train the same model from the same initial weights on the same rows; each round has a seed of its own. The accuracy is
measured on the test rows, with all their neighbours, in the epoch with the best validation. The ratio of times is full divided
by sampled, like the paper's latencies. Neighbours are sampled on one rank, whatever --ranks is. The graph is a twin with
generated labels, which follow from the features of a row and its neighbours; or it is read from files, in the form that `sley
gnn train` accepts. With a launcher only the full epoch is measured, with a message.
"""
import os
import shlex

import papers
from papers import common

TWINS = {"red": ("RDD", 602, 41)}  # the paper's name, features, classes
TABLE_3 = {"RDD": (0.937, 0.957, 1.07), "PROT": (0.776, 0.825, 1.25)}  # accuracy sampled, full; latency full / sampled
MODELS = ["gcn", "gin", "sage", "sage-max", "gat"]


def measure(args, name, data, model, ranks):
    tests = {way: [] for way in args.ways}
    graph, features, labels = data
    words = ["gnn", "train", graph, "--features", features, "--labels", labels, "--model", model, "--layers", len(args.sample.split(",")), "--hidden",
             args.hidden, "--train", args.train, "--valid", args.valid, "--epochs", args.warm + args.epochs, *shlex.split(args.more)]

    def case(way):
        more = ["--sample", args.sample, "--batch", args.batch] if way == "sampled" else []

        def run():
            result = papers.run(args, 1 if more else ranks, words + more, seed=args.seed + len(tests[way]))
            tests[way].append(result["epochs"][result["best_epoch"] - 1]["test"])
            return [one["ms"] for one in result["epochs"][args.warm:]], papers.facts(result)
        return run

    cases = papers.compare(args, {way: case(way) for way in args.ways}, "full", graph=name, spec=graph, model=model)
    ratio = next((1 / one["ratio"] for one in cases if one["name"] == "sampled" and one["ratio"]), None)
    for one in cases:
        one["way"] = one.pop("name")
        one.update(test=tests[one["way"]], ratio=ratio)
    return cases


def row(args, one):
    sampled, full, slower = TABLE_3.get(TWINS.get(one["graph"], [None])[0], (None, None, None))
    return [one["graph"], one["model"], one["way"], *papers.time_cells(one), one["ratio"], slower, papers.accuracy(one["test"]) if "ms" in one else None,
            f"{full if one['way'] == 'full' else sampled:.3f}" if full else None, papers.where(one, "files" if args.files else f"twin x {args.scale:g}")]


def main():
    parser = papers.make_parser(__doc__, epochs=100)
    papers.add_twins(parser, TWINS)
    parser.add_argument("--files", nargs=3, metavar=("GRAPH", "FEATURES", "LABELS"), help="instead of twins")
    parser.add("--more", "", "more words of sley gnn train, such as --more='--undirected --normalize'")
    parser.add("--models", "sage", "separated by commas")
    parser.add("--hidden", 64)
    parser.add("--train", 200, "rows of each class to train on")
    parser.add("--valid", 100, "others for validation")
    parser.add("--sample", "10,25", "neighbours that are drawn, by layers; as many layers")
    parser.add("--batch", 1000, "rows of a step")
    args = papers.start(parser, "The paper: 8 A100, the graphs themselves with their labels and sets, its sampled epochs by DGL's way of sampling. Here: "
                                "labels, sets and models as the options say.", graphs=TWINS, models=MODELS)
    parser.numbers("--sample", args.sample)
    args.ways = ["full"] if args.launch else ["full", "sampled"]
    sets = {os.path.basename(args.files[0]): args.files} if args.files else {
        name: (papers.twin(args, name), f"random:{TWINS[name][1]}", f"planted:{TWINS[name][2]}") for name in args.graphs}
    cases = [one for name, data in sets.items() for model in args.models for ranks in args.ranks
             for one in measure(args, name, data, model, ranks)]
    common.show(["graph", "model", "way", "ms", "least to most", "full / sampled", "paper's", "accuracy", "paper's", "differs"],
                [row(args, one) for one in cases])
    if args.launch:
        print("sampled: not offered with a launcher")
    sampled, full, slower = TABLE_3["PROT"]
    print(f"PROT: not offered, there is no twin of it; the paper: sampled {sampled}, full {full}, latency {slower}")
    return papers.end(args, "MGG, OSDI 2023, table 3", cases)


common.start(main)
