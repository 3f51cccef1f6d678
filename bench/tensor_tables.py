# SPDX-License-Identifier: Apache-2.0
"""Tables of products on Tensor cores and of fused updates, from bench/results/tensor-*: choice.json, what bench/gpu/windows.py has
measured with figures that its cases were not used for, and update.json, of bench/gpu/bench_update_gpu.cu on drawn cases."""
import json
import os

import tables

EQUAL = 1.02  # times scatter by as much


def load(folder, name):
    with open(os.path.join(folder, name + ".json")) as stream:
        return json.load(stream)


def loss(case):
    """Time of hybrid by that of the better kernel."""
    return case["hybrid_ms"] / min(case["stream_ms"], case["tensor_ms"])


def choice_row(run):
    cases = run["cases"]
    used = [c["stream_ms"] / c["hybrid_ms"] for c in cases if c["on_tensor_cores"] > 0]
    right = sum(loss(c) <= EQUAL for c in cases)
    return [run["what"], run["dtype"], run["seed"], len(cases), f"{right} ({100 * right / len(cases):.0f} %)",
            f"{tables.geomean([loss(c) for c in cases]):.3f}, {max(map(loss, cases)):.2f}", len(used),
            f"{tables.geomean(used):.2f}, {min(used):.2f}" if used else ""]


CHOICE_HEAD = ["cases", "type", "seed", "number", "choice right", "time lost by it: mean, worst", "on Tensor cores",
               "stream / hybrid there: mean, worst"]


def update_row(dtype, cases):
    apart = [c["apart_ms"] / c["fused_ms"] for c in cases]
    rival = [c["rival_ms"] / c["fused_ms"] for c in cases]
    return [dtype, len(cases), f"{tables.geomean(apart):.2f}, {min(apart):.2f}", f"{tables.geomean(rival):.2f}, {min(rival):.2f}"]


UPDATE_HEAD = ["type", "cases", "apart / fused: mean, worst", "rival / fused: mean, worst"]
CASE_HEAD = ["matrix", "rows", "entries", "k, n", "type", "fused ms", "apart ms", "rival ms", "rival"]


def case_rows(cases):
    return [[c["matrix"], c["rows"], c["nnz"], f"{c['k']}, {c['n']}", c["dtype"], f"{c['fused_ms']:.3f}", f"{c['apart_ms']:.3f}",
             f"{c['rival_ms']:.3f}", c["rival"]] for c in cases]


def report(folder, table):
    if not os.path.isdir(folder):
        return
    choice, update = load(folder, "choice"), load(folder, "update")
    machine = choice["machine"]
    print("### The choice of cores, and fused updates\n")
    print(f"{machine['gpu']}, driver {machine['driver']}, commit {machine['commit']}. `hybrid` chooses between streams and Tensor cores by its "
          "model, whose figures are those built in; none of these cases was used for them. The choice is right where hybrid's time is within "
          "2 % of the better kernel's. `bench/gpu/windows.py`.\n")
    table(CHOICE_HEAD, [choice_row(run) for run in choice["runs"]])
    print(f"Updates Z = A X W, seed {update['seed']}, k and n from 32 to 128: in one kernel, apart (Sley's product, then Sley's update of its rows), "
          "and the fastest rival (Sley's or cuSPARSE's product, then cuBLAS), in turns, each checked. Where values have 16 bits the rival "
          "rounds A X to 16 bits, which Sley does not, fused or apart. `bench_update_gpu`.\n")
    cases = update["cases"]
    types = list(dict.fromkeys(c["dtype"] for c in cases))
    table(UPDATE_HEAD, [update_row(t, [c for c in cases if c["dtype"] == t]) for t in types])
    table(CASE_HEAD, case_rows([c for c in cases if c["dtype"] == "f32"]))
    print(f"From `{folder}`.\n")
