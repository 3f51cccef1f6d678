#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/SPCCL.md from bench/results/spccl: figures of the SpCCL paper, the paper's values beside Sley's, and what differs. With
--check: says whether the page agrees with the results."""
import os
import statistics

import spccl
from spccl import common, paper

PAGE = os.path.join(common.ROOT, "docs", "SPCCL.md")
HEAD = """# Figures of the SpCCL paper

`bench/papers/spccl/page.py` makes this page from `bench/results/spccl`; do not edit it. The paper is J. Hough et al., *Adaptive
Space-efficient Collectives for Dynamic and Unstructured Sparsity on GPU Platforms* (SpCCL). Each section names its command, the machine, and
what differs from the paper. Every result was compared with the dense collective's. The collectives are described in
[COLLECTIVES.md](COLLECTIVES.md), with the thresholds and the ways of SparCML."""
NOT_RUN = [("3", "Pici beside COO, all-gather and all-reduce", "needs GPUs"),
           ("5, 6", "all-gather beside NCCL", "needs GPUs; Sley's own cases on GPUs are in [PERFORMANCE.md](PERFORMANCE.md)"),
           ("7, 8", "all-reduce and reduce-scatter beside NCCL", "needs GPUs; the same"),
           ("10, 11", "training of language models with pruned gradients", "needs GPUs; `bench/collective/ddp_gpt.py` trains a smaller one")]


def figure2(found):
    rows, best = found["rows"], found["best"]
    values = sorted({row["inter"] for row in rows})
    by = {(row["inter"], row["intra"]): row for row in rows}
    mine = paper.table(["inter_thresh \\ intra_thresh", *(f"{value:g}" for value in values)],
                       [[f"{inter:g}", *(by[inter, intra]["faster"] for intra in values)] for inter in values])
    counts = [by[value, value] for value in values]
    dense = paper.table(["both thresholds", "inter arrays dense", "intra arrays dense", "MiB sent"],
                        [[f"{row['inter']:g}", f"{row['inter_dense_arrays']} of {row['inter_arrays']}", f"{row['intra_dense_arrays']} of {row['intra_arrays']}",
                          row["bytes"] / common.MIB] for row in counts])
    span = [row["dense_ms"] for row in rows]
    same = {}
    for row in rows:  # equal thresholds in effect: the same messages
        same.setdefault((row["bytes"], row["inter_dense_arrays"], row["intra_dense_arrays"]), []).append(row["ms"])
    noise = max(max(ms) / min(ms) for ms in same.values())
    theirs = found["paper"]
    means = {key: ", ".join(f"{value:g}: {statistics.geometric_mean([row['faster'] for row in rows if row[key] == value]):.2f}" for value in values) for key in ("inter", "intra")}
    return (f"Time of the dense collective / time of the sparse one, by the shares of zeros below which messages go dense. The dense collective took "
            f"{min(span):.1f} to {max(span):.1f} ms. Pairs of thresholds that lead to the same messages differ by a factor of up to {noise:.2f}, which is noise of the "
            f"machine.\n\n{mine}\n\n"
            f"Best: inter_thresh {best['inter']:g}, intra_thresh {best['intra']:g}, {best['faster']:.2f} times as fast as dense. Geometric means by inter_thresh: "
            f"{means['inter']}; by intra_thresh: {means['intra']}. The paper: inter_thresh "
            f"{theirs['inter_thresh']:g} and intra_thresh {theirs['intra_thresh']:g} are generally strong on {theirs['GPUs']} GPUs with {theirs['MiB']} MiB, and thresholds that are "
            f"too high or too low cost time.\n\nArrays that travelled dense, where both thresholds are equal:\n\n{dense}")


def figure9(found):
    rows = found["rows"]
    names = [name for name, _, _ in spccl.SLEY_WAYS + spccl.SPARCML]
    by = {(row["layout"], row["size"], row["zeros"], row["name"]): row for row in rows}
    keys = list(dict.fromkeys((row["layout"], row["size"], row["zeros"]) for row in rows))
    mine = paper.table(["hosts x ranks", "MiB", "zeros %", "dense ms", *names],
                       [[layout, f"{size / common.MIB:g}", f"{100 * zeros:g}", statistics.median(by[layout, size, zeros, name]["dense_ms"] for name in names),
                         *(by[layout, size, zeros, name]["faster"] for name in names)] for layout, size, zeros in keys])
    words = []
    for low, high in ((0.9, 0.99), (0.995, 1), (0, 0.8)):
        ratios = [max(by[(*key, ours)]["faster"] for ours, _, _ in spccl.SLEY_WAYS[:3]) / max(by[(*key, name)]["faster"] for name, _, _ in spccl.SPARCML)
                  for key in keys if low <= key[2] <= high]
        if ratios:
            words.append(f"{100 * low:g} to {100 * high:g} % zeros: {statistics.geometric_mean(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f}, {len(ratios)} cases)")
    return (f"Time of the dense collective / time of the sparse one. The first columns are Sley's: its own choice, direct and two-level with Pici, and the ring of SpCCL with "
            f"Pici; the others are SparCML's algorithms.\n\n{mine}\n\nThe best of Sley's first three, by the best of SparCML's four, geometric means: {'; '.join(words)}. The paper: SparCML is "
            f"{found['paper']['SparCML']}; SpCCL's all-reduce is up to {found['paper']['best at 99 % zeros']} times as fast as dense NCCL at 99 % zeros.")


def main():
    missing = paper.table(["figure", "what", "not run"], NOT_RUN)
    parts = [paper.section("spccl", "figure2", figure2), paper.section("spccl", "figure9", figure9), f"## Figures that were not run\n\n{missing}"]
    return paper.write(PAGE, paper.wrapped("\n\n".join([HEAD, *parts])) + "\n")


common.start(main)
