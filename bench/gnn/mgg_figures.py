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
Usage: mgg_figures.py SLEY [--figures LIST] [--graphs NAMES] [--scale S] [--aggregate NAMES] [--ranks LIST | --launch WORDS]
                      [--transport NAME] [--device NAME] [--threads T] [--epochs N] [--warm N] [--rounds N] [--seed N]
                      [--grid] [--json FILE]
"""
import tempfile

import runs

MGG = "rowwise"
WAYS = [MGG, "halo", "halo-pipelined", "cover", "auto", "bcast-1d", "bcast-1d-pipelined", "halo-fused", "halo-coalesced"]
DEFAULT_WAYS = [MGG, "halo", "cover", "auto"]
DATASETS = {  # table 1: the paper's name, features, classes
    "red": ("RDD", 602, 41),
    "prd": ("PROD", 100, 47),
    "cok": ("ORKT", 128, 32),
}
NO_TWIN = "ENWIKI IT04 PAPER PROT"
MODELS = {"gcn": (2, 16), "gin": (5, 64)}  # layers, values of a hidden row
FIGURES = {  # by figure: the rival, and the mean of its times relative to MGG's, by model
    7: ("DGL", {"gcn": 4.25, "gin": 4.57}),
    8: ("MGG over unified memory", {"gcn": 4.58, "gin": 5.04}),
    9: ("ROC", {"gcn": 12.30, "gin": 9.35}),
}
ELSEWHERE = {8: "of products alone, bench_ranks_gpu --unified 1"}
SWITCHES = {  # figure 10's parts: parameters of rowwise with and without; mean times without relative to with; None: not given
    "10a, neighbour partitions": ({"on": "wpb=2", "off": "wpb=2,partitions=off"}, 2.26),
    "10b, interleaving": ({"on": "ps=16,wpb=2", "off": "ps=16,wpb=2,interleave=off"}, 1.89),
    "10c, a row is loaded by": ({"warp": "ps=2,dist=2,memory=shared,get=warp", "thread": "ps=2,dist=2,memory=shared,get=thread",
                                 "block": "ps=2,dist=2,memory=shared,get=block"}, None),
}
NO_SHAPES = "it is the kernel of GPUs that has shapes and switches"
POWERS = [1, 2, 4, 8, 16, 32]
TRIALS, SAVED = "about 10", "up to 68 %"  # figure 11


def timed(args, names, name, make):
    """Runs the cases of all ways; make returns the function that runs one."""
    found = runs.by_turns(args.rounds, {way: make(way) for way in args.aggregate})
    for way, one in found.items():
        one.update(names, graph=name, aggregate=way, ratio=runs.ratio(found, MGG, way))
    return list(found.values())


def epochs(args, graph, name, ranks, model):
    layers, hidden = MODELS[model]
    words = runs.training(args, graph, model, layers, hidden, DATASETS[name][1])
    return timed(args, {"figure": "7 to 9", "model": model, "spec": graph.spec, "entries": graph.entries}, name,
                 lambda way: lambda: runs.epochs(args, ranks, words + ["--aggregate", way]))


def product(args, graph, ranks, k, way):
    return runs.run(args, ranks, ["spmm", graph.path, "--algo", way, "--k", str(k), "--partition", "nnz", "--no-verify", "--warmup",
                                  str(args.warm), "--repeat", str(args.epochs)])


def sums(args, graph, name, ranks, model):
    k = MODELS[model][1]

    def case(way):
        def measure():
            one = product(args, graph, ranks, k, way)
            return [one["time_ms"]["median"]], runs.facts(one)
        return measure

    return timed(args, {"figure": "10", "k": k, "spec": graph.spec, "entries": graph.entries}, name, case)


def switched(args, graph, name, ranks):
    """Cases of the switches, if rowwise supports them; `ratio` is the time relative to the first case of a part."""
    k, cases = MODELS["gcn"][1], []

    def case(words):
        def measure():
            one = product(args, graph, ranks, k, f"{MGG}:{words}")
            return [one["time_ms"]["median"]], runs.facts(one)
        return measure

    for part, (ways, slower) in SWITCHES.items():
        found = runs.by_turns(args.rounds, {way: case(words) for way, words in ways.items()})
        first = next(iter(ways))
        for way, one in found.items():
            one.update(figure=part.split(",")[0], part=part, switch=way, words=ways[way], graph=name, k=k, spec=graph.spec,
                       ratio=runs.ratio(found, way, first), paper=slower if way != first else None)
        cases += found.values()
    return cases


def grid(args, graph, ranks, chosen):
    """Milliseconds of products in all shapes of two figures; the third is the chosen one."""
    found = []
    for names in (("ps", "dist"), ("wpb", "dist")):
        for one in POWERS if names[0] == "ps" else POWERS[:-1]:
            for two in POWERS[:-1]:
                shape = {value: chosen[value] for value in ("ps", "dist", "wpb")}
                shape.update(zip(names, (one, two)))
                words = ",".join(f"{value}={number}" for value, number in shape.items())
                one_ms = product(args, graph, ranks, MODELS["gcn"][1], f"{MGG}:{words}")["time_ms"]["median"]
                found.append(dict(shape, axes=names, ms=one_ms))
    return found


def search(args, graph, name, ranks):
    """The shapes tried for the plan of one run, as a training would make it once."""
    case = {"figure": "11", "graph": name, "spec": graph.spec}
    try:
        one = product(args, graph, ranks, MODELS["gcn"][1], MGG)
    except runs.Failed as error:
        return dict(case, failed=str(error))
    case.update(runs.facts(one), tried=one.get("tuned", []))
    if case["tried"]:
        first = next(trial for trial in case["tried"] if trial["ms"] is not None)  # shapes without a time do not fit in memory
        chosen = next(trial for trial in case["tried"] if trial["chosen"])
        case.update(first_ms=first["ms"], chosen_ms=chosen["ms"], saved=1 - chosen["ms"] / first["ms"])
        try:
            case["grid"] = grid(args, graph, ranks, chosen) if args.grid else []
        except runs.Failed as error:
            case["failed"] = str(error)
    return case


# ---- output

def differs(args, one):
    return f"twin x {args.scale:g}, {runs.where(one)}" if "device" in one else None


def show_epochs(args, cases):
    rows = [[one["graph"], DATASETS[one["graph"]][0], one["model"], one["aggregate"], *runs.time_cells(one), one["ratio"], None,
             differs(args, one)] for one in cases]
    print("\nFigures 7 to 9: an epoch")
    runs.show(["graph", "paper's", "model", "aggregate", "ms", "least to most", "rowwise / this", "paper's ratio", "differs"], rows)
    for number, (rival, slower) in FIGURES.items():
        if number in args.figures:
            print(f"figure {number}, {rival} / MGG: GCN {slower['gcn']:.2f}, GIN {slower['gin']:.2f} on average; {rival}: {ELSEWHERE.get(number, 'not offered')}")
    print(f"{NO_TWIN}: not offered, there are no twins of these graphs")


def show_ranks(cases):
    """Shows how the ways scale from the first number of ranks."""
    counts = sorted({one["ranks"] for one in cases if "ms" in one})
    rows = []
    for one in cases:
        same = {other["ranks"]: other["ms"] for other in cases if "ms" in other and
                all(other[key] == one[key] for key in ("graph", "model", "aggregate"))}
        if "ms" in one and one["ranks"] == counts[0] and len(same) > 1:
            rows.append([one["graph"], one["model"], one["aggregate"], *(same[counts[0]] / same[n] if n in same else None for n in counts)])
    if rows:
        print(f"\nFigures 7 and 8, by ranks: how many times as fast as on {counts[0]}; the paper gives no numbers beside the bars")
        runs.show(["graph", "model", "aggregate"] + [f"{n} ranks" for n in counts], rows)


def show_sums(args, cases):
    print("\nFigure 10: the sums alone")
    runs.show(["graph", "paper's", "k", "aggregate", "ms", "least to most", "rowwise / this", "differs"],
              [[one["graph"], DATASETS[one["graph"]][0], one["k"], one["aggregate"], *runs.time_cells(one), one["ratio"], differs(args, one)]
               for one in cases])


def show_switches(args, cases, searched):
    for one in searched:
        if not one.get("tried"):
            print(f"figures 10a to 10c, {one['graph']}, {why_not(one)}")
    if cases:
        print(f"\nFigure 10, rowwise with its parts switched, k = {MODELS['gcn'][1]}: times by that of the first of each part")
        runs.show(["graph", "figure", "switch", "parameters", "ms", "least to most", "times as long", "the paper's", "differs"],
                  [[one["graph"], one["part"], one["switch"], one["words"], *runs.time_cells(one), one["ratio"], one["paper"],
                    differs(args, one)] for one in cases])


def why_not(one):
    """The reason why a search has tried nothing."""
    return one.get("failed") or f"{one['ranks']} ranks: not offered on {one['device']}: {NO_SHAPES}"


def show_grids(searched):
    for one in searched:
        for names in (("ps", "dist"), ("wpb", "dist")):
            found = {(trial[names[0]], trial[names[1]]): trial["ms"] for trial in one.get("grid", []) if trial["axes"] == names}
            if found:
                print(f"\nFigure 11, {one['graph']}, {one['ranks']} ranks: ms by {names[0]} (rows) and {names[1]}")
                wide = sorted({two for _, two in found})
                runs.show([names[0]] + [str(two) for two in wide],
                          [[str(row)] + [f"{found[row, two]:.4f}" for two in wide] for row in sorted({row for row, _ in found})])


def show_search(args, cases):
    print(f"\nFigure 11: the search for a shape of rowwise, k = {MODELS['gcn'][1]}; the paper: {TRIALS} tried, {SAVED} less time")
    rows = []
    for one in cases:
        if not one.get("tried"):
            print(f"{one['graph']}, {why_not(one)}")
            continue
        chosen = next(trial for trial in one["tried"] if trial["chosen"])
        rows.append([one["graph"], len(one["tried"]), one["first_ms"], one["chosen_ms"], f"{100 * one['saved']:.0f} %",
                     f"{chosen['ps']}, {chosen['dist']}, {chosen['wpb']}", chosen["workload"], chosen["shared_bytes"],
                     differs(args, one)])
    if rows:
        runs.show(["graph", "tried", "first ms", "chosen ms", "less time", "ps, dist, wpb", "WPW", "SMEM", "differs"], rows)


def main():
    parser = runs.make_parser(__doc__)
    runs.add_twins(parser, DATASETS)
    parser.add_argument("--figures", default="7,8,9,10,11", help="separated by commas")
    parser.add_argument("--aggregate", default=",".join(DEFAULT_WAYS), help="ways, separated by commas; rowwise is MGG's")
    parser.add_argument("--grid", action="store_true", help="figure 11's grids: a product in each shape, on GPUs")
    args = runs.start(parser)
    args.graphs = runs.name_list(parser, "--graphs", args.graphs, list(DATASETS))
    args.aggregate = runs.name_list(parser, "--aggregate", args.aggregate, WAYS)
    args.figures = [int(one) for one in runs.name_list(parser, "--figures", args.figures, ["7", "8", "9", "10", "11"])]
    runs.begin(args, "The paper: 4 and 8 A100 with NVSwitch, the graphs themselves, MGG's own program. Here: twins of three of the graphs, "
                     "random features and labels.")
    per_epoch, alone, parts, searched = [], [], [], []
    with tempfile.TemporaryDirectory() as folder:
        for name in args.graphs:
            graph = runs.Graph(args, folder, runs.twin(args, name), DATASETS[name][2])
            for ranks in args.ranks:
                for model in MODELS:
                    per_epoch += epochs(args, graph, name, ranks, model) if set(args.figures) & set(FIGURES) else []
                    alone += sums(args, graph, name, ranks, model) if 10 in args.figures else []
                if {10, 11} & set(args.figures):
                    searched.append(search(args, graph, name, ranks))
                if 10 in args.figures and searched[-1].get("tried"):
                    parts += switched(args, graph, name, ranks)
    if per_epoch:
        show_epochs(args, per_epoch)
        show_ranks(per_epoch)
    if alone:
        show_sums(args, alone)
        show_switches(args, parts, searched)
    if 11 in args.figures:
        show_search(args, searched)
        show_grids(searched)
    runs.end(args, "MGG, OSDI 2023, figures 7 to 11", per_epoch + alone + parts + searched)


main()
