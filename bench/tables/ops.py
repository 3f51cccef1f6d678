# SPDX-License-Identifier: Apache-2.0
"""Tables of operations of graph networks, from bench/results/ops/*.json: compared with numpy, scipy and torch on CPUs, measured
by bench/ops.py, and with cuSPARSE, PyTorch Geometric and turbo-gnn on a GPU, by bench/ops.py --device cuda. Graphs and widths were drawn
at random."""
import os

from tables import geomean, load, table

FILES = ["cpu_sddmm", "cpu_aggregate", "cpu_attention_kept", "cpu_attention"]
GPUS = ["h100", "h200"]
GPU_HEAD = ["operation", "heads x width", "rival", "cases", "rival / Sley: geometric mean", "worst", "memory: rival / Sley"]
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


def summary(cases, op):
    """For an operation's cases with a ratio: their number, the geometric mean, and the least; None if there are none."""
    measured = [one for one in cases if one["op"] == op and one.get("ratio")]
    if not measured:
        return None
    worst = min(measured, key=lambda one: one["ratio"])
    return {"op": op, "cases": len(measured), "worst": worst["ratio"], "worst_graph": worst["graph"],
            "worst_k": worst["k"], "geomean": geomean([one["ratio"] for one in measured])}


def gpu_rows(run):
    """A row for each operation, number of heads and rival that ran: the speed ratio, and memory."""
    found = {}
    for case in run["cases"]:
        for name, rival in case["rivals"].items():
            shape = f"{case['heads']} x {case['k'] // case['heads']}" if case["op"].startswith("gat") else "drawn"
            found.setdefault((case["op"], shape, name.removesuffix(", column-major")), []).append((case, rival))
    for (op, shape, name), pairs in found.items():
        least = {}
        for case, rival in pairs: # the faster of both layouts
            key = case["graph"], case["k"]
            if key not in least or rival["ms"] < least[key][1]["ms"]:
                least[key] = case, rival
        ratios = {key: rival["ms"] / case["sley"]["ms"] for key, (case, rival) in least.items()}
        memory = [rival["mib"] / case["sley"]["mib"] for case, rival in least.values() if case["sley"]["mib"] > 0]
        worst = min(ratios, key=ratios.get)
        yield [op, shape, name, len(ratios), f"{geomean(ratios.values()):.2f}", f"{ratios[worst]:.2f} ({worst[0]}, k = {worst[1]})",
               f"{geomean(memory):.1f}"]


def gpu_report(folder):
    print("## On a GPU\n")
    print("Graphs and widths are drawn. Forward and backward together, of SDDMM forward. Above 1 Sley is faster. Memory: what the rival had "
          "allocated, by all that Sley's command took of the device but its CUDA context, each with the graph and its operands. `bench/ops.py --device cuda`.\n")
    for name in GPUS:
        run = load(folder, name + ".json")
        m = run["machine"]
        print(f"One {m['gpu']}, driver {m['driver']}, {run['dtype']}, torch {m['torch']}, torch_geometric {m['torch_geometric']}, turbo-gnn "
              f"{'0.1.0rc4' if any('turbo-gnn' in case['rivals'] for case in run['cases']) else 'not there'}; commit {m['commit']}; seed {run['seed']}, median of {run['turns']} turns:\n")
        table(GPU_HEAD, list(gpu_rows(run)))


def report(folder):
    runs = [load(folder, name + ".json") for name in FILES]
    m, seeds = runs[0]["machine"], sorted({run["seed"] for run in runs})
    print("# Operations of graph networks\n\n## On CPUs\n")
    print(f"{m['processor']}, {m['threads']} threads on {m['cores']} cores, f32; numpy {m['numpy']}, scipy {m['scipy']}, torch {m['torch']}, "
          f"torch_geometric {m['torch_geometric']}; commit {m['commit']}; graphs and widths drawn with seed {', '.join(map(str, seeds))}. The best of "
          "the rivals in each case, median times of the same run. Attention is forward and backward together. Torch gives blocks of 32 MiB back to "
          "the system after each call, which slows it on large graphs; rows marked \"kept between calls\" are with that turned off. `bench/ops.py`.\n")
    table(HEAD, [row for run in runs for row in rows_of(run)])
    gpu_report(folder)
