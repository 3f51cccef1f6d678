# SPDX-License-Identifier: Apache-2.0
"""Tables of products on drawn cases. bench/results/drawn, which bench/condense.py writes: Sley compared with the fastest rival.
kernels-*: the kernels of `sley bench` compared with each other. tensor-*, choice.json: measured by bench/gpu/windows.py with
figures for which its cases were not used. update.json: from bench/gpu/bench_update_gpu.cu."""
import os

from tables import geomean, load, table

EQUAL = 1.02  # ratio of times below which they count as equal


def loss(case):
    """Time of hybrid relative to the better kernel."""
    return case["hybrid_ms"] / min(case["stream_ms"], case["tensor_ms"])


def choice_row(run):
    cases = run["cases"]
    used = [c["stream_ms"] / c["hybrid_ms"] for c in cases if c["on_tensor_cores"] > 0]
    right = sum(loss(c) <= EQUAL for c in cases)
    return [run["what"], run["dtype"], run["seed"], len(cases), f"{right} ({100 * right / len(cases):.0f} %)",
            f"{geomean([loss(c) for c in cases]):.3f}, {max(map(loss, cases)):.2f}", len(used),
            f"{geomean(used):.2f}, {min(used):.2f}" if used else ""]


CHOICE_HEAD = ["cases", "type", "seed", "number", "choice right", "time lost by it: mean, worst", "on Tensor cores",
               "stream / hybrid there: mean, worst"]


def update_row(dtype, cases):
    apart = [c["apart_ms"] / c["fused_ms"] for c in cases]
    rival = [c["rival_ms"] / c["fused_ms"] for c in cases]
    return [dtype, len(cases), f"{geomean(apart):.2f}, {min(apart):.2f}", f"{geomean(rival):.2f}, {min(rival):.2f}"]


UPDATE_HEAD = ["type", "cases", "apart / fused: mean, worst", "rival / fused: mean, worst"]
CASE_HEAD = ["matrix", "rows", "entries", "k, n", "type", "fused ms", "apart ms", "rival ms", "rival"]


def case_rows(cases):
    return [[c["matrix"], c["rows"], c["nnz"], f"{c['k']}, {c['n']}", c["dtype"], f"{c['fused_ms']:.3f}", f"{c['apart_ms']:.3f}",
             f"{c['rival_ms']:.3f}", c["rival"]] for c in cases]


def report_choice(folder):
    choice, update = load(folder, "choice.json"), load(folder, "update.json")
    machine = choice["machine"]
    print("# The choice of cores, and fused updates\n")
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


def times_of(case):
    return {t["name"]: t["median_ms"] for t in case["times"] if "median_ms" in t}


def speedups(cases, name):
    return [times_of(c)["stream"] / times_of(c)[name] for c in cases if name in times_of(c)]


def kernel_rows(result):
    """For each matrix that the Tensor core kernels support: widths, and the times of stream relative to theirs."""
    cases = [c for c in result["cases"] if "tensor" in times_of(c)]
    names = list(dict.fromkeys(c["matrix"] for c in cases))
    of = {name: [c for c in cases if c["matrix"] == name] for name in names}
    return [[name, result["dtype"], ", ".join(str(c["k"]) for c in of[name])] +
            [" ".join(f"{x:.2f}" for x in speedups(of[name], kernel)) for kernel in ("tensor", "hybrid")] for name in names]


def kernels(folder):
    """Kernels of a GPU compared with each other, and stream with cuSPARSE, on random cases: `sley bench`."""
    print("# Kernels on Tensor cores\n")
    print("`sley bench --device cuda` on one H200: the time of `stream` by those of `tensor` and of `hybrid`; above 1 the latter is "
          "faster. Matrices with dense windows, and some without; widths above 8 of those that the seed drew. In f16 the values of "
          "bcsstk17 and ex9 pass the range of the type, and sums that are not finite are summed again.\n")
    for name in sorted(n for n in os.listdir(folder) if n.endswith(".json")):
        result = load(folder, name)
        fair = [c for c in result["cases"] if "hybrid" in times_of(c) and
                not (result["dtype"] == "f16" and c["matrix"].startswith(("bcsstk", "ex9")))]
        used = [x for x in speedups(fair, "hybrid") if abs(x - 1) > 0.02]
        print(f"Seed {result['seed']}, {result['dtype']}: where `hybrid` differs from `stream` by more than 2 % ({len(used)} of {len(fair)} cases"
              f"{', without those two matrices' if result['dtype'] == 'f16' else ''}) it is {geomean(used):.2f} times as fast, "
              f"geometric mean, worst {min(used):.2f}.\n")
        table(["matrix", "type", "k", "stream / tensor", "stream / hybrid"], kernel_rows(result))


BANDS = ((1, 1), (2, 4), (5, 16), (17, 64), (65, 256), (257, 1024))


def report_drawn(folder):
    """Sley compared with the fastest rival on random cases, condensed from benchmarks by bench/condense.py."""
    runs = {name[:-len(".json")]: load(folder, name) for name in sorted(os.listdir(folder)) if name.endswith(".json")}
    print("# Products on drawn cases\n")
    print("Matrices of the test data with more than 20,000 entries, 40 of them, and up to 8 (CPU) or 10 (GPU) widths from 1 to 1,024 for each, "
          "whose logarithms are uniform; the seeds were not used for tuning. Each figure is a rival's time by Sley's, medians in turn in one run: "
          "above 1 Sley is faster. On the CPU, two threads, the rival is MKL on an optimised handle (`spmm_local.py --cases` of bench/); on the GPU the fastest of "
          "cuSPARSE's CSR algorithms, SpMV at k = 1, BSR and Blocked-ELL with blocks of 4 to 32 rows, as far as their results are right "
          "(`bench_spmm_gpu --cases`). Where values have 16 bits rivals that round sums to 16 bits count too.\n")
    rows, by_width = [], []
    for name, run in runs.items():
        machine = run["machine"]
        cases = [(c["rival_ms"] / c["sley_ms"], c) for c in run["cases"]]
        worst, case = min(cases, key=lambda x: x[0])
        device = machine.get("gpu") or f"{machine['processor']}, {machine['cores']} cores"
        rows.append([device, run["dtype"], run["seed"], len(cases), f"{geomean([x for x, _ in cases]):.2f}",
                     f"{worst:.2f} ({case['matrix']}, k = {case['k']})", sum(x < 0.9 for x, _ in cases), machine["commit"]])
        by_width.append([name.replace("_", " ")] + [f"{geomean([x for x, c in cases if low <= c['k'] <= high]):.2f}" for low, high in BANDS])
    table(["device", "type", "seed", "cases", "geometric mean", "worst", "below 0.9", "commit"], rows)
    table(["geometric means at k ="] + [f"{low} to {high}" if low < high else str(low) for low, high in BANDS], by_width)
