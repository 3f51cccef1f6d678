# SPDX-License-Identifier: Apache-2.0
"""Tables of products of two sparse matrices, from bench/results/spgemm: cpu.json of bench/spgemm.py, and *.jsonl of
bench/gpu/run.sh spgemm."""
import glob
import os

from tables import geomean, load, read_lines, table

RIVALS = ("graphblas", "mkl", "scipy")
NAMES = {"graphblas": "GraphBLAS", "mkl": "MKL", "scipy": "scipy"}


def mean_row(name, ratios):
    """ratios: {case: speed ratio}."""
    worst = min(ratios, key=lambda case: ratios[case])
    return [name, len(ratios), f"{geomean(ratios.values()):.2f}", f"{ratios[worst]:.2f}", worst]


def report_cpu(path):
    run = load(path)
    cases, m = run["cases"], run["machine"]
    names = [name for name in RIVALS if all(name in case["ms"] for case in cases)]
    print("## On CPUs beside GraphBLAS, MKL and scipy\n")
    print(f"{run['threads']} threads, {run['dtype']}, least times, A A of each matrix; the last cases were drawn, seed {run['seed']}. {m['cores']} cores "
          f"of {m['processor']}; commit {m['commit']}, {m['time']}.\n")
    table(["beside", "cases", "times as fast: geometric mean", "worst", "where"],
          [mean_row(NAMES[name], {case["name"]: case["ms"][name] / case["ms"]["sley"] for case in cases}) for name in names])
    table(["matrix", "products", "entries of C", "Sley ms"] + [f"{NAMES[name]} ms" for name in names],
          [[case["name"], case["products"], case["nnz_c"], f"{case['ms']['sley']:.2f}"] + [f"{case['ms'][name]:.2f}" for name in names]
           for case in cases])


def read_gpu(path):
    """The environment, the seed, and {(matrix, dtype): {"products", "nnz", who: record}}; "together": for several GPUs."""
    cases, environment, seed = {}, {}, None
    for record in read_lines(path):
        if record["record"] == "environment":
            environment = record
        elif record["record"] == "summary":
            seed = record["seed"]
        elif record["record"] != "machine":
            case = cases.setdefault((record["matrix"], record["dtype"]), {})
            case[record.get("by", "together")] = record
    return environment, seed, cases


def best_of(case):
    return min((record for who, record in case.items() if who.startswith("cusparse")), key=lambda record: record["ms"], default=None)


def report_gpu(path):
    environment, seed, cases = read_gpu(path)
    print(f"## On a GPU beside cuSPARSE: {environment['gpu']}\n")
    print("A A from operands in the GPU's memory to C there, with all that is allocated; medians. cuSPARSE's is the best of its three algorithms. "
          f"Memory: the most that was taken, C included, operands not. CUDA {environment['cuda']}, cuSPARSE {environment['cusparse']}; seed {seed}; "
          f"commit {environment['commit']}.\n")
    means, rows = [], []
    for dtype in dict.fromkeys(dtype for _, dtype in cases):
        mine = {matrix: case for (matrix, kind), case in cases.items() if kind == dtype}
        both = {matrix: (case["sley"], best_of(case)) for matrix, case in mine.items() if best_of(case)}
        means.append(mean_row(f"{dtype}, time", {matrix: rival["ms"] / own["ms"] for matrix, (own, rival) in both.items()}))
        means.append(mean_row(f"{dtype}, memory", {matrix: rival["bytes"] / own["bytes"] for matrix, (own, rival) in both.items()}))
        several = {matrix: case["together"]["one_ms"] / case["together"]["ms"] for matrix, case in mine.items() if "together" in case}
        if several:
            gpus = next(case["together"]["gpus"] for case in mine.values() if "together" in case)
            means.append(mean_row(f"{dtype}, {gpus} GPUs beside one, time", several))
        for matrix, case in mine.items():
            own, rival = case["sley"], best_of(case)
            rows.append([matrix, dtype, own["products"], own["nnz"], f"{own['ms']:.3f}", f"{rival['ms']:.3f}" if rival else "refused",
                         f"{rival['ms'] / own['ms']:.2f}" if rival else "-", f"{own['bytes'] / 2**20:.0f}",
                         f"{rival['bytes'] / 2**20:.0f}" if rival else "-", f"{case['together']['ms']:.3f}" if "together" in case else "-"])
    table(["of", "cases", "ratio: geometric mean", "worst", "where"], means)
    table(["matrix", "type", "products", "entries of C", "Sley ms", "cuSPARSE ms", "ratio", "Sley MiB", "cuSPARSE MiB", "several GPUs ms"], rows)


def report(folder):
    cpu, gpus = os.path.join(folder, "cpu.json"), sorted(glob.glob(os.path.join(folder, "*.jsonl")))
    print("# Products of two sparse matrices\n")
    if os.path.exists(cpu):
        report_cpu(cpu)
    for path in gpus:
        report_gpu(path)
