#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""CoLa's table 11 (ICS 2025): an epoch of a GCN of 5 layers, 16 features, hidden rows of 32 values, 16 classes, by the ways in
which rows reach other ranks.

Ways of the paper's rivals, as `--aggregate` names them: bcast-1d is CAGNET's, bcast-1d-pipelined MG-GCN's, rowwise MGG's. The
steps of CoLa's ablation are halo, halo-fused, halo-coalesced and halo-pipelined, which is the complete CoLa; cover and auto are
Sley's own. All of it is Sley's code: the table compares ways, not the programs of the papers. An epoch is forward, backward and
a step of Adam, without dropout; the first layer sums the features in every epoch.

Ratios are times relative to halo-pipelined; the paper's are relative to CoLaGCN (table 11), or for the steps relative to all
steps (table 8: a product alone, 32 GPUs).
Usage: cola_table11.py SLEY [--graphs NAMES] [--scale S] [--aggregate NAMES] [--ranks LIST | --launch WORDS] [--transport NAME]
                       [--device NAME] [--threads T] [--epochs N] [--warm N] [--rounds N] [--seed N] [--json FILE]
"""
import tempfile

import runs

LAYERS, FEATURES, HIDDEN, CLASSES = 5, 16, 32, 16
COLA = "halo-pipelined"
RIVAL = {"bcast-1d": "CAGNET", "bcast-1d-pipelined": "MG-GCN", "rowwise": "MGG", COLA: "CoLaGCN"}
WAYS = ["bcast-1d", "bcast-1d-pipelined", "rowwise", "halo", "halo-fused", "halo-coalesced", COLA, "cover", "auto"]
TABLE_11 = {  # seconds per epoch, 8 A800
    "clj": {"CAGNET": 7.04, "MG-GCN": 2.31, "MGG": 4.69, "CoLaGCN": 1.12},
    "cok": {"CAGNET": 9.87, "MG-GCN": 3.18, "MGG": 10.74, "CoLaGCN": 1.54},
    "cyt": {"CAGNET": 7.69, "MG-GCN": 1.52, "MGG": 4.43, "CoLaGCN": 0.20},
    "cit": {"CAGNET": 3.26, "MG-GCN": 1.75, "MGG": 1.68, "CoLaGCN": 0.51},
    "prd": {"CAGNET": 5.51, "MG-GCN": 2.07, "MGG": 3.79, "CoLaGCN": 0.66},
    "slj": {"CAGNET": 7.99, "MG-GCN": 2.50, "MGG": 4.58, "CoLaGCN": 0.93},
    "spk": {"CAGNET": 3.21, "MG-GCN": 1.66, "MGG": 1.93, "CoLaGCN": 0.52},
    "sso": {"CAGNET": 5.82, "MG-GCN": 1.74, "MGG": 6.61, "CoLaGCN": 0.68},
}
STEPS = ["rowwise", "halo", "halo-fused", "halo-coalesced", COLA]  # basic, RF, +CF, +RC, +PP
TABLE_8 = {  # milliseconds of a product in these steps, 32 A800
    "clj": [940.76, 484.45, 19.67, 5.48, 3.68],
    "cok": [6317.69, 721.51, 16.32, 11.07, 7.87],
    "cyt": [231.85, 40.24, 5.66, 1.20, 0.86],
    "cit": [636.57, 154.09, 14.15, 2.88, 2.09],
    "prd": [766.68, 280.43, 12.28, 3.91, 2.74],
    "slj": [4252.88, 476.86, 23.84, 6.32, 5.01],
    "spk": [452.21, 236.66, 8.19, 3.79, 2.46],
    "sso": [768.29, 361.71, 12.87, 4.82, 3.13],
}
HEADS = ["graph", "aggregate", "of", "ms", "least to most", "ratio", "table 11", "table 8", "differs"]


def paper_ratio(name, way):
    """Ratio from table 11."""
    return TABLE_11[name][RIVAL[way]] / TABLE_11[name]["CoLaGCN"] if way in RIVAL else None


def step_ratio(name, way):
    """Ratio from table 8."""
    return TABLE_8[name][STEPS.index(way)] / TABLE_8[name][-1] if way in STEPS else None


def measure(args, folder, name, ranks):
    graph = runs.Graph(args, folder, runs.twin(args, name), CLASSES)
    words = runs.training(args, graph, "gcn", LAYERS, HIDDEN, FEATURES)

    def case(way):
        return lambda: runs.epochs(args, ranks, words + ["--aggregate", way])

    found = runs.by_turns(args.rounds, {way: case(way) for way in args.aggregate})
    for way, one in found.items():
        one.update(graph=name, spec=graph.spec, rows=graph.rows, entries=graph.entries, aggregate=way,
                   ratio=runs.ratio(found, way, COLA), paper_ratio=paper_ratio(name, way), paper_step_ratio=step_ratio(name, way))
    return list(found.values())


def row(args, one):
    differs = f"twin x {args.scale:g}, {runs.where(one)}" if "ms" in one else None
    return [one["graph"], one["aggregate"], RIVAL.get(one["aggregate"]), *runs.time_cells(one), one["ratio"], one["paper_ratio"],
            one["paper_step_ratio"], differs]


def means(cases, ways):
    rows = []
    for way in ways:
        same = [one for one in cases if one["aggregate"] == way]
        rows.append(["mean", way, RIVAL.get(way), None, None, *(runs.geomean([one[key] for one in same])
                                                                for key in ("ratio", "paper_ratio", "paper_step_ratio")), None])
    return rows


def main():
    parser = runs.make_parser(__doc__)
    runs.add_twins(parser, TABLE_11)
    parser.add_argument("--aggregate", default=",".join(WAYS), help="ways, separated by commas")
    args = runs.start(parser)
    args.graphs = runs.name_list(parser, "--graphs", args.graphs, list(TABLE_11))
    args.aggregate = runs.name_list(parser, "--aggregate", args.aggregate, WAYS)
    runs.begin(args, "The paper: 8 A800 with NVLink, the graphs themselves in an order by communities, each method's own program; table "
                     "8: 4 hosts of 8. Here: twins of the graphs, all ways in one program.")
    every = []
    with tempfile.TemporaryDirectory() as folder:
        for ranks in args.ranks:
            cases = [one for name in args.graphs for one in measure(args, folder, name, ranks)]
            runs.show(HEADS, [row(args, one) for one in cases] + means(cases, args.aggregate))
            every += cases
    runs.end(args, "CoLa, ICS 2025, tables 8 and 11", every)


main()
