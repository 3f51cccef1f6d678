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
"""
import tempfile

import papers
from papers import common

LAYERS, FEATURES, HIDDEN, CLASSES = 5, 16, 32, 16
COLA = "halo-pipelined"
RIVAL = {"bcast-1d": "CAGNET", "bcast-1d-pipelined": "MG-GCN", "rowwise": "MGG", COLA: "CoLaGCN"}
STEPS = ["rowwise", "halo", "halo-fused", "halo-coalesced", COLA]  # basic, RF, +CF, +RC, +PP
WAYS = ["bcast-1d", "bcast-1d-pipelined", *STEPS, "cover", "auto"]
TABLES = {  # table 11: seconds per epoch in the order of RIVAL, 8 A800; table 8: milliseconds of a product in STEPS, 32 A800
    "clj": ([7.04, 2.31, 4.69, 1.12], [940.76, 484.45, 19.67, 5.48, 3.68]),
    "cok": ([9.87, 3.18, 10.74, 1.54], [6317.69, 721.51, 16.32, 11.07, 7.87]),
    "cyt": ([7.69, 1.52, 4.43, 0.20], [231.85, 40.24, 5.66, 1.20, 0.86]),
    "cit": ([3.26, 1.75, 1.68, 0.51], [636.57, 154.09, 14.15, 2.88, 2.09]),
    "prd": ([5.51, 2.07, 3.79, 0.66], [766.68, 280.43, 12.28, 3.91, 2.74]),
    "slj": ([7.99, 2.50, 4.58, 0.93], [4252.88, 476.86, 23.84, 6.32, 5.01]),
    "spk": ([3.21, 1.66, 1.93, 0.52], [452.21, 236.66, 8.19, 3.79, 2.46]),
    "sso": ([5.82, 1.74, 6.61, 0.68], [768.29, 361.71, 12.87, 4.82, 3.13]),
}
RATIOS = ("ratio", "paper_ratio", "paper_step_ratio")


def paper_ratio(times, names, way):
    return times[list(names).index(way)] / times[-1] if way in names else None


def measure(args, folder, name, ranks):
    graph = papers.Graph(args, folder, papers.twin(args, name), CLASSES)
    words = papers.training(args, graph, "gcn", LAYERS, HIDDEN, FEATURES)
    cases = papers.compare(args, {way: papers.epochs(args, ranks, words + ["--aggregate", way]) for way in args.aggregate}, COLA,
                           graph=name, spec=graph.spec, rows=graph.rows, entries=graph.entries)
    for one in cases:
        way = one["aggregate"] = one.pop("name")
        one.update(paper_ratio=paper_ratio(TABLES[name][0], RIVAL, way), paper_step_ratio=paper_ratio(TABLES[name][1], STEPS, way))
    return cases


def main():
    parser = papers.make_parser(__doc__)
    papers.add_twins(parser, TABLES)
    parser.add("--aggregate", ",".join(WAYS), "ways, separated by commas")
    args = papers.start(parser, "The paper: 8 A800 with NVLink, the graphs themselves in an order by communities, each method's own program; table "
                                "8: 4 hosts of 8. Here: twins of the graphs, all ways in one program.", graphs=TABLES, aggregate=WAYS)
    every = []
    with tempfile.TemporaryDirectory() as folder:
        for ranks in args.ranks:
            cases = [one for name in args.graphs for one in measure(args, folder, name, ranks)]
            rows = [[one["graph"], one["aggregate"], RIVAL.get(one["aggregate"]), *papers.time_cells(one), *(one[key] for key in RATIOS),
                     papers.where(one, f"twin x {args.scale:g}")] for one in cases]
            for way in args.aggregate:
                same = [one for one in cases if one["aggregate"] == way]
                rows.append(["mean", way, RIVAL.get(way), None, None, *(papers.geomean([one[key] for one in same]) for key in RATIOS), None])
            common.show(["graph", "aggregate", "of", "ms", "least to most", "ratio", "table 11", "table 8", "differs"], rows)
            every += cases
    return papers.end(args, "CoLa, ICS 2025, tables 8 and 11", every)


common.start(main)
