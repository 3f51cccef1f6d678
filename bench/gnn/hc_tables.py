#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""HC-SpMM's tables VI, VIII and IX (ICDE 2025; figures from its technical report): training of a GCN and a GIN with kernels on
CUDA cores, on Tensor cores and on both; what the fused update, the layout LOA and the preparation of a product bring or cost.

  training  an epoch by each of --kernels; the last is the one that others are compared with. Of Sley's kernels on GPUs stream
            works on CUDA cores, as GE-SpMM does, tensor on Tensor cores, as TC-GNN does, and hybrid on both, as HC-SpMM does
  update    Z = A X W in one kernel, and apart (`sley spmm --update`), with the last of the kernels
  layout    a product with rows in the order that LOA gives, alone and inside of METIS's parts, and as they are
  plan      how many products the plan of one takes

An epoch is forward, backward and a step of Adam, without dropout. The paper reports forward and backward separately, which the
command does not: here they are added. The first layer sums the features in every epoch.
"""
import statistics
import tempfile

import papers
from papers import common

RIVAL = {"stream": "GE-SpMM", "tensor": "TC-GNN", "hybrid": "HC-SpMM"}
TRAINING = {  # milliseconds of an epoch, RTX 3090: forward and backward
    ("gcn", "YS"): {"GE-SpMM": (11.46, 13.44), "TC-GNN": (11.01, 13.02), "HC-SpMM": (10.12, 9.24)},
    ("gcn", "RD"): {"GE-SpMM": (28.67, 38.03), "TC-GNN": (28.48, 37.77), "HC-SpMM": (25.30, 26.46)},
    ("gin", "YS"): {"GE-SpMM": (12.70, 14.89), "TC-GNN": (11.75, 13.82), "HC-SpMM": (8.16, 13.26)},
}


def paper_ratios(model, kernel):
    """The paper's ratio for each of its graphs."""
    return {graph: sum(times[RIVAL[kernel]]) / sum(times["HC-SpMM"]) for (of, graph), times in TRAINING.items()
            if of == model and kernel in RIVAL}


def differs(one):
    return papers.where(one, "graph")


# ---- parts: each measures its cases of a graph, and has a title, heads, and a function that returns the cells of a case

def training(args, graph, ranks):
    cases = []
    for model in args.models:
        words = papers.training(args, graph, model, args.layers, args.hidden, args.features)
        cases += papers.compare(args, {kernel: papers.epochs(args, ranks, words + ["--kernel", kernel]) for kernel in args.kernels}, args.kernels[-1],
                                part="training", graph=graph.spec, model=model, entries=graph.entries)
    for one in cases:
        one["kernel"] = one.pop("name")
        one["paper_ratios"] = paper_ratios(one["model"], one["kernel"])
    return cases


def training_cells(one):
    return [one["model"], one["kernel"], RIVAL.get(one["kernel"]), *papers.time_cells(one), one["ratio"],
            ", ".join(f"{name} {value:.2f}" for name, value in one["paper_ratios"].items()) or None]


def product(args, graph, ranks, *words, ms=lambda result: result["time_ms"]["median"]):
    """A product of hidden rows."""
    return papers.product(args, ranks, [graph.path, "--k", args.hidden, "--kernel", args.kernels[-1], *words], ms)


def about(args, graph, part):
    return {"part": part, "graph": graph.spec, "k": args.hidden, "entries": graph.entries}


def update(args, graph, ranks):
    """Both updates, which each run measures."""
    apart, fused = [], []

    def ms(result):
        apart.append(result["update"]["apart_ms"])
        fused.append(result["update"]["fused"])
        return result["time_ms"]["median"]
    one, = papers.compare(args, {"fused": product(args, graph, ranks, "--update", args.hidden, ms=ms)}, None, **about(args, graph, "update"))
    if fused:
        one["fused"] = fused[-1]
    if one.get("fused") and "ms" in one:
        one.update(apart_ms=statistics.median(apart), saved=1 - one["ms"] / statistics.median(apart))
    return [one]


def update_cells(one):
    less = f"{100 * one['saved']:.1f} %" if "saved" in one else "not offered here" if "ms" in one else None
    return [one["k"], *(papers.time_cells(one) if "saved" in one or "failed" in one else [None, None]), one.get("apart_ms"), less]


def layout(args, graph, ranks):
    cases = papers.compare(args, {order: product(args, graph, ranks, "--order", order) for order in ("none", "loa", "loa-parts")}, "none", True,
                           **about(args, graph, "layout"))
    for one in cases:
        one["order"] = one.pop("name")
    return cases


def plan(args, graph, ranks):
    one, = papers.compare(args, {"plan": product(args, graph, ranks, ms=lambda result: result["plan_ms"] / result["time_ms"]["median"])}, None,
                          **about(args, graph, "plan"))
    if "ms" in one:  # a number of products
        one.update(products=one.pop("ms"), least=one.pop("least_ms"), most=one.pop("most_ms"))
    return [one]


def plan_cells(one):
    return [one["k"], one.get("products", "failed"), f"{one['least']:.2f} to {one['most']:.2f}" if "products" in one else one["failed"][:60]]


PARTS = {
    "training": (training, "Training: an epoch", ["model", "kernel", "of", "ms", "least to most", "ratio", "paper's"], training_cells),
    "update": (update, "Update: in one kernel, and apart; the paper: 30.6 % less time", ["k", "fused ms", "least to most", "apart ms", "less time"],
               update_cells),
    "layout": (layout, "Layout: a product by orders; the paper: 8.4 % faster", ["k", "order", "ms", "least to most", "none / this"],
               lambda one: [one["k"], one["order"], *papers.time_cells(one), one["ratio"]]),
    "plan": (plan, "Plan: products that it takes as long as; the paper: about 13", ["k", "products", "least to most"], plan_cells)}


def main():
    parser = papers.make_parser(__doc__, ranks=1)
    parser.add("--parts", ",".join(PARTS))
    parser.add("--matrix", "twin:prd:scale=0.2 twin:cyt band:n=150000,width=7", "specs, separated by blanks")
    parser.add("--kernels", "stream,tensor,hybrid", "that sley info lists, separated by commas")
    parser.add("--models", "gcn,gin")
    for name, default in (("layers", 2), ("features", 64), ("hidden", 32), ("classes", 16)):
        parser.add(f"--{name}", default)
    args = papers.start(parser, "The paper: one RTX 3090, its own graphs, each method's own program, tf32 on Tensor cores. Here: f32, each product "
                                "on Tensor cores by three of tf32; layers and widths as the options say.", parts=PARTS, models=["gcn", "gin"])
    args.kernels = args.kernels.split(",")
    cases = []
    with tempfile.TemporaryDirectory() as folder:
        for spec in args.matrix.split():
            graph = papers.Graph(args, folder, spec, args.classes)
            cases += [one for ranks in args.ranks for part in args.parts for one in PARTS[part][0](args, graph, ranks)]
    for part in args.parts:
        _, title, heads, cells = PARTS[part]
        print("\n" + title)
        common.show(["graph", *heads, "differs"], [[one["graph"], *cells(one), differs(one)] for one in cases if one["part"] == part])
    return papers.end(args, "HC-SpMM, ICDE 2025, tables VI, VIII and IX, figures from its technical report", cases)


common.start(main)
