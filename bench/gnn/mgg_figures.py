#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""MGG's figures 7 to 11 (OSDI 2023), as far as the command supports what they compare; the rest is listed as not offered.

  7, 8, 9  an epoch over the whole graph, of a GCN (2 layers, hidden rows of 16 values) and a GIN (5 layers, 64), by numbers of
           ranks: rowwise, which is MGG's way, beside Sley's others. The paper's rivals are DGL, MGG over unified memory, and ROC.
  10       the sums alone, products of 16 and 64 columns, by the same ways; and rowwise on GPUs with its parts switched, as the
           paper does it: neighbour partitions off (a), interleaving off (b), rows loaded by threads or blocks (c).
  11       what the search for a shape of rowwise tries on GPUs (src/device/neighbour_search.h): how many shapes, what the
           paper's model says of them, and how much shorter a product takes than in the first of them. With --grid also the
           figure's grids: products in all shapes of ps and dist, and of wpb and dist, the third value as it was chosen.

Ratios are the times of rowwise divided by the way's: above 1 the way is faster than MGG's. An epoch is forward, backward and a
step of Adam, without dropout; the first layer sums the features in every epoch. The numbers of features and classes are those
in table 1.
"""
import itertools
import tempfile

import papers
from papers import common

MGG = "rowwise"
WAYS = [MGG, "halo", "halo-pipelined", "cover", "auto", "bcast-1d", "bcast-1d-pipelined", "halo-fused", "halo-coalesced"]
DATASETS = {"red": ("RDD", 602, 41), "prd": ("PROD", 100, 47), "cok": ("ORKT", 128, 32)}  # table 1: the paper's name, features, classes
MODELS = {"gcn": (2, 16), "gin": (5, 64)}  # layers, values of a hidden row
K = MODELS["gcn"][1]
FIGURES = {  # by figure: the rival, the mean of its times relative to MGG's by model, and where that is measured
    7: ("DGL", 4.25, 4.57, "not offered"),
    8: ("MGG over unified memory", 4.58, 5.04, "of products alone, bench_ranks_gpu --unified 1"),
    9: ("ROC", 12.30, 9.35, "not offered"),
}
SWITCHES = {  # figure 10's parts: parameters of rowwise with and without; mean times without relative to with; None: not given
    "10a, neighbour partitions": ({"on": "wpb=2", "off": "wpb=2,partitions=off"}, 2.26),
    "10b, interleaving": ({"on": "ps=16,wpb=2", "off": "ps=16,wpb=2,interleave=off"}, 1.89),
    "10c, a row is loaded by": ({get: f"ps=2,dist=2,memory=shared,get={get}" for get in ("warp", "thread", "block")}, None),
}
POWERS = [1, 2, 4, 8, 16, 32]
AXES = (("ps", "dist"), ("wpb", "dist"))


# ---- measurements

def product_words(graph, k, way):
    return [graph.path, "--algo", way, "--k", k, "--partition", "nnz"]


def by_ways(args, graph, make, **about):
    """Cases of all ways; make returns the case of one."""
    cases = papers.compare(args, {way: make(way) for way in args.aggregate}, MGG, True, graph=graph.name, spec=graph.spec, entries=graph.entries, **about)
    for one in cases:
        one["aggregate"] = one.pop("name")
    return cases


def epochs(args, graph, ranks, model):
    words = papers.training(args, graph, model, *MODELS[model], DATASETS[graph.name][1])
    return by_ways(args, graph, lambda way: papers.epochs(args, ranks, words + ["--aggregate", way]), figure="7 to 9", model=model)


def sums(args, graph, ranks, model):
    k = MODELS[model][1]
    return by_ways(args, graph, lambda way: papers.product(args, ranks, product_words(graph, k, way)), figure="10", k=k)


def switched(args, graph, ranks):
    """Cases of the switches; `ratio` is the time relative to the first case of a part."""
    cases = []
    for part, (ways, slower) in SWITCHES.items():
        first = next(iter(ways))
        found = papers.compare(args, {way: papers.product(args, ranks, product_words(graph, K, f"{MGG}:{words}")) for way, words in ways.items()}, first,
                               figure=part.split(",")[0], part=part, graph=graph.name, k=K, spec=graph.spec)
        for one in found:
            way = one["switch"] = one.pop("name")
            one.update(words=ways[way], paper=slower if way != first else None)
        cases += found
    return cases


def grid(args, graph, ranks, chosen):
    """Milliseconds of products in all shapes of two figures; the third is the chosen one."""
    found = []
    for axes in AXES:
        for values in itertools.product(POWERS if axes[0] == "ps" else POWERS[:-1], POWERS[:-1]):
            shape = {**{name: chosen[name] for name in ("ps", "dist", "wpb")}, **dict(zip(axes, values))}
            words = ",".join(f"{name}={number}" for name, number in shape.items())
            found.append({**shape, "axes": axes, "ms": papers.product(args, ranks, product_words(graph, K, f"{MGG}:{words}"))()[0][0]})
    return found


def search(args, graph, ranks):
    """The shapes tried for the plan of one run, as a training would make it once."""
    case = {"figure": "11", "graph": graph.name, "spec": graph.spec}
    try:
        one = papers.run(args, ranks, ["spmm", *product_words(graph, K, MGG), "--no-verify", "--warmup", args.warm, "--repeat", args.epochs])
        case.update(papers.facts(one), tried=one.get("tuned", []))
        if case["tried"]:
            first = next(trial for trial in case["tried"] if trial["ms"] is not None)  # shapes without a time do not fit in memory
            chosen = next(trial for trial in case["tried"] if trial["chosen"])
            case.update(first_ms=first["ms"], chosen_ms=chosen["ms"], saved=1 - chosen["ms"] / first["ms"])
            case["grid"] = grid(args, graph, ranks, chosen) if args.grid else []
    except common.Failed as error:
        case["failed"] = str(error)
    return case


# ---- output

def differs(args, one):
    return papers.where(one, f"twin x {args.scale:g}")


def show_epochs(args, cases):
    print("\nFigures 7 to 9: an epoch")
    common.show(["graph", "paper's", "model", "aggregate", "ms", "least to most", "rowwise / this", "paper's ratio", "differs"],
                [[one["graph"], DATASETS[one["graph"]][0], one["model"], one["aggregate"], *papers.time_cells(one), one["ratio"], None, differs(args, one)]
                 for one in cases])
    for number, (rival, gcn, gin, offered) in FIGURES.items():
        if number in args.figures:
            print(f"figure {number}, {rival} / MGG: GCN {gcn:.2f}, GIN {gin:.2f} on average; {rival}: {offered}")
    print("ENWIKI IT04 PAPER PROT: not offered, there are no twins of these graphs")
    counts, rows = sorted({one["ranks"] for one in cases if "ms" in one}), []
    for one in cases:
        same = {other["ranks"]: other["ms"] for other in cases if "ms" in other and
                all(other[key] == one[key] for key in ("graph", "model", "aggregate"))}
        if "ms" in one and one["ranks"] == counts[0] and len(same) > 1:
            rows.append([one["graph"], one["model"], one["aggregate"], *(same[counts[0]] / same[n] if n in same else None for n in counts)])
    if rows:
        print(f"\nFigures 7 and 8, by ranks: how many times as fast as on {counts[0]}; the paper gives no numbers beside the bars")
        common.show(["graph", "model", "aggregate"] + [f"{n} ranks" for n in counts], rows)


def show_sums(args, cases, parts, searched):
    print("\nFigure 10: the sums alone")
    common.show(["graph", "paper's", "k", "aggregate", "ms", "least to most", "rowwise / this", "differs"],
                [[one["graph"], DATASETS[one["graph"]][0], one["k"], one["aggregate"], *papers.time_cells(one), one["ratio"], differs(args, one)]
                 for one in cases])
    for one in searched:
        if not one.get("tried"):
            print(f"figures 10a to 10c, {one['graph']}, {why_not(one)}")
    if parts:
        print(f"\nFigure 10, rowwise with its parts switched, k = {K}: times by that of the first of each part")
        common.show(["graph", "figure", "switch", "parameters", "ms", "least to most", "times as long", "the paper's", "differs"],
                    [[one["graph"], one["part"], one["switch"], one["words"], *papers.time_cells(one), one["ratio"], one["paper"], differs(args, one)]
                     for one in parts])


def why_not(one):
    """The reason why a search has tried nothing."""
    return one.get("failed") or f"{one['ranks']} ranks: not offered on {one['device']}: it is the kernel of GPUs that has shapes and switches"


def show_search(args, cases):
    print(f"\nFigure 11: the search for a shape of rowwise, k = {K}; the paper: about 10 tried, up to 68 % less time")
    rows = []
    for one in cases:
        if not one.get("tried"):
            print(f"{one['graph']}, {why_not(one)}")
            continue
        chosen = next(trial for trial in one["tried"] if trial["chosen"])
        rows.append([one["graph"], len(one["tried"]), one["first_ms"], one["chosen_ms"], f"{100 * one['saved']:.0f} %",
                     f"{chosen['ps']}, {chosen['dist']}, {chosen['wpb']}", chosen["workload"], chosen["shared_bytes"], differs(args, one)])
    if rows:
        common.show(["graph", "tried", "first ms", "chosen ms", "less time", "ps, dist, wpb", "WPW", "SMEM", "differs"], rows)
    for one, axes in itertools.product(cases, AXES):
        found = {(trial[axes[0]], trial[axes[1]]): trial["ms"] for trial in one.get("grid", []) if trial["axes"] == axes}
        if found:
            print(f"\nFigure 11, {one['graph']}, {one['ranks']} ranks: ms by {axes[0]} (rows) and {axes[1]}")
            wide = sorted({second for _, second in found})
            common.show([axes[0]] + [str(second) for second in wide],
                        [[str(row)] + [f"{found[row, second]:.4f}" for second in wide] for row in sorted({row for row, _ in found})])


def main():
    parser = papers.make_parser(__doc__)
    papers.add_twins(parser, DATASETS)
    parser.add("--figures", "7,8,9,10,11", "separated by commas")
    parser.add("--aggregate", f"{MGG},halo,cover,auto", "ways, separated by commas; rowwise is MGG's")
    parser.add("--grid", False, "figure 11's grids: a product in each shape, on GPUs", action="store_true")
    args = papers.start(parser, "The paper: 4 and 8 A100 with NVSwitch, the graphs themselves, MGG's own program. Here: twins of three of the graphs, "
                                "random features and labels.", graphs=DATASETS, aggregate=WAYS, figures=["7", "8", "9", "10", "11"])
    args.figures = [int(one) for one in args.figures]
    per_epoch, alone, parts, searched = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for name in args.graphs:
            graph = papers.Graph(args, folder, papers.twin(args, name), DATASETS[name][2])
            graph.name = name
            for ranks in args.ranks:
                for model in MODELS:
                    per_epoch += epochs(args, graph, ranks, model) if set(args.figures) & set(FIGURES) else []
                    alone += sums(args, graph, ranks, model) if 10 in args.figures else []
                if {10, 11} & set(args.figures):
                    searched.append(search(args, graph, ranks))
                if 10 in args.figures and searched[-1].get("tried"):
                    parts += switched(args, graph, ranks)
    if per_epoch:
        show_epochs(args, per_epoch)
    if alone:
        show_sums(args, alone, parts, searched)
    if 11 in args.figures:
        show_search(args, searched)
    return papers.end(args, "MGG, OSDI 2023, figures 7 to 11", per_epoch + alone + parts + searched)


common.start(main)
