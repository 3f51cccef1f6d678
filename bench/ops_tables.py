# SPDX-License-Identifier: Apache-2.0
"""Tables of operations of graph networks beside numpy, scipy and torch, from bench/results/ops/*.json, which bench/ops.py has
measured on drawn graphs and widths."""
import json
import os

FILES = ["cpu_sddmm", "cpu_aggregate", "cpu_attention_kept", "cpu_attention"]
HEAD = ["operation", "cases", "rival / Sley: geometric mean", "worst", "where", "best rival most often", "turns", "rival's memory"]


def favourite(cases):
    names = [c["best"] for c in cases]
    return max(sorted(set(names)), key=names.count)


def rows_of(run):
    memory = "kept between calls" if run["keep_memory"] else "as installed"
    for mean in run["means"]:
        cases = [c for c in run["cases"] if c["op"] == mean["op"]]
        yield [mean["op"], mean["cases"], f"{mean['geomean']:.2f}", f"{mean['worst']:.2f}", f"{mean['worst_graph']}, k = {mean['worst_k']}",
               favourite(cases), run["turns"], memory]


def report(folder, table):
    if not os.path.isdir(folder):
        return
    runs = []
    for name in FILES:
        with open(os.path.join(folder, name + ".json")) as stream:
            runs.append(json.load(stream))
    m, seeds = runs[0]["machine"], sorted({run["seed"] for run in runs})
    print("### Operations of graph networks\n")
    print(f"{m['processor']}, {m['threads']} threads on {m['cores']} cores, f32; numpy {m['numpy']}, scipy {m['scipy']}, torch {m['torch']}, "
          f"torch_geometric {m['torch_geometric']}; commit {m['commit']}; graphs and widths drawn with seed {', '.join(map(str, seeds))}. The best of "
          "the rivals in each case, median times of the same run. Attention is forward and backward together. Torch gives blocks of 32 MiB back to "
          "the system after each call, which slows it on large graphs; rows marked \"kept between calls\" are with that turned off. `bench/ops.py`.\n")
    table(HEAD, [row for run in runs for row in rows_of(run)])
