#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HC-SpMM's tables VI, VIII and IX (ICDE 2025; figures from its technical report): training of a GCN and a GIN with kernels on
CUDA cores, on Tensor cores and on both; what the fused update, the layout LOA and the preparation of a product bring or cost.

  training  an epoch by each of --kernels; the last is the one that others are compared with. Of Sley's kernels on GPUs stream
            works on CUDA cores, as GE-SpMM does, tensor on Tensor cores, as TC-GNN does, and hybrid on both, as HC-SpMM does
  update    Z = A X W in one kernel, and apart (`sley spmm --update`), with the last of the kernels
  layout    a product with rows in the order that LOA gives, and as they are
  plan      how many products the plan of one takes

An epoch is forward, backward and a step of Adam, without dropout. The paper reports forward and backward separately, which the
command does not: here they are added. The first layer sums the features in every epoch.
Usage: hc_tables.py SLEY [--parts WORDS] [--matrix SPECS] [--kernels NAMES] [--models NAMES] [--layers N] [--features N]
                    [--hidden N] [--classes N] [--ranks LIST | --launch WORDS] [--transport NAME] [--device NAME] [--threads T]
                    [--epochs N] [--warm N] [--rounds N] [--seed N] [--json FILE]
"""
import statistics
import tempfile

import runs

PARTS = ["training", "update", "layout", "plan"]
RIVAL = {"stream": "GE-SpMM", "tensor": "TC-GNN", "hybrid": "HC-SpMM"}
TRAINING = {  # milliseconds of an epoch, RTX 3090: forward and backward
    ("gcn", "YS"): {"GE-SpMM": (11.46, 13.44), "TC-GNN": (11.01, 13.02), "HC-SpMM": (10.12, 9.24)},
    ("gcn", "RD"): {"GE-SpMM": (28.67, 38.03), "TC-GNN": (28.48, 37.77), "HC-SpMM": (25.30, 26.46)},
    ("gin", "YS"): {"GE-SpMM": (12.70, 14.89), "TC-GNN": (11.75, 13.82), "HC-SpMM": (8.16, 13.26)},
}
UPDATE, LAYOUT, PLAN = "30.6 % less time", "8.4 % faster", "about 13"


def paper_ratios(model, kernel):
    """The paper's ratio for each of its graphs."""
    return {graph: sum(times[RIVAL[kernel]]) / sum(times["HC-SpMM"]) for (of, graph), times in TRAINING.items()
            if of == model and kernel in RIVAL}


# ---- measurements

def training(args, graph, model, ranks):
    words = runs.training(args, graph, model, args.layers, args.hidden, args.features)

    def case(kernel):
        return lambda: runs.epochs(args, ranks, words + ["--kernel", kernel])

    found = runs.by_turns(args.rounds, {kernel: case(kernel) for kernel in args.kernels})
    for kernel, one in found.items():
        one.update(part="training", graph=graph.spec, model=model, kernel=kernel, entries=graph.entries,
                   ratio=runs.ratio(found, kernel, args.kernels[-1]), paper_ratios=paper_ratios(model, kernel))
    return list(found.values())


def product(args, graph, ranks, *words):
    """Milliseconds of products of hidden rows, and the command's facts about them."""
    result = runs.run(args, ranks, ["spmm", graph.path, "--k", str(args.hidden), "--kernel", args.kernels[-1], "--no-verify", "--warmup",
                                    str(args.warm), "--repeat", str(args.epochs), *words])
    return result["time_ms"]["median"], result


def about(args, graph, part, **more):
    return dict(part=part, graph=graph.spec, k=args.hidden, entries=graph.entries, **more)


def update(args, graph, ranks):
    """Both updates, which each run measures."""
    apart = []

    def measure():
        ms, result = product(args, graph, ranks, "--update", str(args.hidden))
        apart.append(result["update"]["apart_ms"])
        return [ms], dict(runs.facts(result), fused=result["update"]["fused"])

    one = runs.by_turns(args.rounds, {"fused": measure})["fused"]
    one.update(about(args, graph, "update"))
    if one.get("fused") and "ms" in one:
        one.update(apart_ms=statistics.median(apart), saved=1 - one["ms"] / statistics.median(apart))
    return [one]


def layout(args, graph, ranks):
    def case(order):
        def measure():
            ms, result = product(args, graph, ranks, "--order", order)
            return [ms], runs.facts(result)
        return measure

    found = runs.by_turns(args.rounds, {order: case(order) for order in ("none", "loa")})
    for order, one in found.items():
        one.update(about(args, graph, "layout", order=order), ratio=runs.ratio(found, "none", order))
    return list(found.values())


def plan(args, graph, ranks):
    def measure():
        ms, result = product(args, graph, ranks)
        return [result["plan_ms"] / ms], runs.facts(result)

    one = runs.by_turns(args.rounds, {"plan": measure})["plan"]
    if "ms" in one:  # a number of products
        one.update(products=one.pop("ms"), least=one.pop("least_ms"), most=one.pop("most_ms"))
    one.update(about(args, graph, "plan"))
    return [one]


# ---- output

def differs(one):
    return f"graph, {runs.where(one)}" if "device" in one else None


def show_training(cases):
    print("\nTraining: an epoch")
    runs.show(["graph", "model", "kernel", "of", "ms", "least to most", "ratio", "paper's", "differs"],
              [[one["graph"], one["model"], one["kernel"], RIVAL.get(one["kernel"]), *runs.time_cells(one), one["ratio"],
                ", ".join(f"{name} {value:.2f}" for name, value in one["paper_ratios"].items()) or None, differs(one)] for one in cases])


def show_update(cases):
    print(f"\nUpdate: in one kernel, and apart; the paper: {UPDATE}")
    rows = []
    for one in cases:
        less = f"{100 * one['saved']:.1f} %" if "saved" in one else "not offered here" if "ms" in one else None
        rows.append([one["graph"], one["k"], *(runs.time_cells(one) if "saved" in one or "failed" in one else [None, None]),
                     one.get("apart_ms"), less, differs(one)])
    runs.show(["graph", "k", "fused ms", "least to most", "apart ms", "less time", "differs"], rows)


def show_layout(cases):
    print(f"\nLayout: a product by orders; the paper: {LAYOUT}")
    runs.show(["graph", "k", "order", "ms", "least to most", "none / this", "differs"],
              [[one["graph"], one["k"], one["order"], *runs.time_cells(one), one["ratio"], differs(one)] for one in cases])


def show_plan(cases):
    print(f"\nPlan: products that it takes as long as; the paper: {PLAN}")
    runs.show(["graph", "k", "products", "least to most", "differs"],
              [[one["graph"], one["k"], one.get("products", "failed"),
                f"{one['least']:.2f} to {one['most']:.2f}" if "products" in one else one["failed"][:60], differs(one)] for one in cases])


def show(args, cases):
    def of(part):
        return [one for one in cases if one["part"] == part]
    if "training" in args.parts:
        show_training(of("training"))
    if "update" in args.parts:
        show_update(of("update"))
    if "layout" in args.parts:
        show_layout(of("layout"))
    if "plan" in args.parts:
        show_plan(of("plan"))


def measure(args, graph, ranks):
    cases = [one for model in args.models for one in training(args, graph, model, ranks)] if "training" in args.parts else []
    for part, function in (("update", update), ("layout", layout), ("plan", plan)):
        cases += function(args, graph, ranks) if part in args.parts else []
    return cases


def main():
    parser = runs.make_parser(__doc__, ranks=1)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--matrix", default="twin:prd:scale=0.2 twin:cyt band:n=150000,width=7", help="specs, separated by blanks")
    parser.add_argument("--kernels", default="stream,tensor,hybrid", help="that sley info lists, separated by commas")
    parser.add_argument("--models", default="gcn,gin")
    for name, default in (("layers", 2), ("features", 64), ("hidden", 32), ("classes", 16)):
        parser.add_argument(f"--{name}", type=int, default=default)
    args = runs.start(parser)
    args.parts = runs.name_list(parser, "--parts", args.parts, PARTS)
    args.models = runs.name_list(parser, "--models", args.models, ["gcn", "gin"])
    args.kernels = args.kernels.split(",")
    runs.begin(args, "The paper: one RTX 3090, its own graphs, each method's own program, tf32 on Tensor cores. Here: f32, each product "
                     "on Tensor cores by three of tf32; layers and widths as the options say.")
    cases = []
    with tempfile.TemporaryDirectory() as folder:
        for spec in args.matrix.split():
            graph = runs.Graph(args, folder, spec, args.classes)
            for ranks in args.ranks:
                cases += measure(args, graph, ranks)
    show(args, cases)
    runs.end(args, "HC-SpMM, ICDE 2025, tables VI, VIII and IX, figures from its technical report", cases)


main()
