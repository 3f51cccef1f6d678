#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/PERFORMANCE.md's text from the JSON files of bench/run.sh and bench/gpu/run.sh: bench/report.py FOLDER
[GPU_FOLDER ...]; without the latter, every gpu-* beside FOLDER."""
import glob
import json
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "gpu"))
import tables  # noqa: E402


def load(folder, name):
    with open(os.path.join(folder, name + ".json")) as stream:
        return json.load(stream)


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def gpu_single(cases):
    rows = tables.spmm_rows(cases)
    if not rows:
        return
    print("### One GPU beside cuSPARSE\n")
    print("Each time is the median of alternating runs on one stream. cuSPARSE: the fastest of `CUSPARSE_SPMM_ALG_DEFAULT` and "
          "`CSR_ALG1` to `3`, each with `cusparseSpMM_preprocess`, row-major operands. Inspection: making the plan, in products, "
          "less and with the copy of A to the GPU; preprocessing likewise in cuSPARSE's products.\n")
    for dtype in tables.spmm_dtypes(rows):
        mine = [r for r in rows if r[2] == dtype]
        print(tables.spmm_summary(mine)[0] + "\n")
        table(["matrix", "k", "type", "Sley ms", "cuSPARSE ms", "its algorithm", "x cuSPARSE", "inspection", "with copy",
               "preprocessing"],
              [[r[0], r[1], r[2], f"{r[3]:.4f}", f"{r[4]:.4f}", r[5], f"{r[6]:.2f}", f"{r[7]:.1f}", f"{r[8]:.1f}", f"{r[9]:.1f}"]
               for r in mine])


def gpu_ranks(cases):
    if not cases:
        return
    with open(os.path.join(tables.HERE, "anchors.json")) as stream:
        anchors = json.load(stream)
    print("### Several GPUs of one host, one process\n")
    print("f32, equal row blocks. ms: of the slowest rank, from a barrier on; steady: a product's share of many enqueued one after "
          "the other. Local: the plan's local parts alone, all GPUs at once; gather: its exchange alone, and its rate on the slowest "
          "GPU, from the start until its own rows are there. Broadcast: NCCL broadcasts with the best cuSPARSE algorithm, all of X first or stage by stage, the faster. CoLa: "
          f"times kept in `bench/gpu/anchors.json`: {anchors['source']}\n")
    for line in tables.ranks_summary(cases):
        print(line + "\n")
    table(["matrix", "k", "GPUs", "algorithm", "ms", "steady", "local", "gather", "GB/s", "x longer of both", "halo MiB",
           "broadcast ms", "x broadcast", "CoLa ms", "x CoLa", "x one GPU"],
          [[r["matrix"], r["k"], r["gpus"], r["algo"], f"{r['ms']:.4f}", f"{r['sley']['steady_ms']:.4f}",
            f"{r['local']['ms']['median']:.4f}", f"{r['gather']['ms']['median']:.4f}", f"{r['gather_gb_s']:.0f}",
            tables.number(r["over_floor"], ".2f"), f"{r['halo_bytes'] / 2**20:.1f}",
            f"{r['broadcast']['ms']['median']:.4f} ({r['rival']})", f"{r['x_broadcast']:.2f}",
            tables.number(r["cola_ms"], ".3f"), tables.number(r["x_cola"], ".2f"), tables.number(r["speedup"], ".2f")]
           for r in cases])


def gpu_ablation(lines):
    if not lines:
        return
    print("### Two workgroups of two GPUs, joined by sockets\n")
    print("Four processes over NCCL, two of each of the hosts that NCCL_HOSTID makes of one: between the groups only sockets, inside "
          "direct loads. Each step adds one idea to the one before. f32, median of the runs, and their range to 95 %.\n")
    for line in tables.ablation_summary(lines):
        print(line + "\n")
    rows, before = [], {}
    for r in lines:
        case = r["matrix"], r["k"]
        if "missing" in r:
            rows.append([*case, r["algo"], "missing", "", "", "", "", "", ""])
            continue
        rows.append([*case, r["algo"], f"{r['ms']:.3f}", f"{r['min_ms']:.3f} to {r['p95_ms']:.3f}", r["repeats"],
                     f"{r['direct_bytes'] / 2**20:.1f}", f"{r['message_bytes'] / 2**20:.1f}", r["messages"],
                     f"{before[case] / r['ms']:.2f}" if case in before else ""])
        before[case] = r["ms"]
    table(["matrix", "k", "step", "ms", "range", "runs", "direct MiB", "message MiB", "messages", "x step before"], rows)


def gpus(folders):
    print("## GPUs\n")
    if not folders:
        print("No results of `bench/gpu/run.sh` are kept in `bench/results` yet.\n")
    for folder in folders:
        run = tables.load(folder)
        machine = run["machine"]
        nccl = next((r["version"] for r in tables.read_lines(os.path.join(folder, "ranks_gpu.jsonl")) if r["record"] == "nccl"), None)
        print(f"Made by `bench/gpu/run.sh` from `{folder.rstrip('/')}`: {machine['gpus']} x {machine['gpu']}, {machine['memory']}, "
              f"driver {machine['driver']}, CUDA {machine['nvcc']}{f', NCCL {nccl}' if nccl else ''}; commit {machine['commit']}, "
              f"{machine['time']}. Every product is verified.\n")
        gpu_single(run["spmm"])
        gpu_ranks(run["ranks"])
        gpu_ablation(run["ablation"])


def slow_links(folder):
    """Algorithms on hosts that are network namespaces, where bench/hosts.sh has run."""
    if not os.path.exists(os.path.join(folder, "hosts.json")):
        return
    run = load(folder, "hosts")
    print("## Algorithms over slow links\n")
    print(f"{run['hosts']} hosts x {run['per_host']} ranks over `tcp`, made by `bench/hosts.sh`: the hosts are network namespaces of this "
          f"machine, each joined to a switch by a link of {run['rate']} each way. k = {run['k']}, one thread a rank, f32; all ranks share "
          "the machine's cores, with other work on it, so medians scatter, and the least of the repeats says more about the links. Bytes "
          "over the links a product, by Sley's "
          "counters and by the interfaces' own: `rowwise` asks for every row and is answered in a message of its own, whose headers the "
          "counters leave out.\n")
    table(["matrix", "algorithm", "ms", "least", "x rowwise", "MiB counted", "MiB on the links", "ratio"],
          [[r["matrix"], r["algo"], f"{r['ms']:.1f}", f"{r['min_ms']:.1f}", f"{r['x_first']:.2f}", f"{r['counted_bytes'] / 2**20:.2f}",
            f"{r['link_bytes'] / 2**20:.2f}", f"{r['link_bytes'] / max(r['counted_bytes'], 1):.3f}"] for r in run["rows"]])


def main():
    folder = sys.argv[1]
    machine = load(folder, "machine")
    print("# Performance\n")
    print(f"Made by `bench/run.sh` and `bench/report.py` from `{folder}`; do not edit. {machine['processor']}, "
          f"{machine['cores']} cores, {machine['compiler']}; commit {machine['commit']}, {machine['time']}; numpy "
          f"{machine['numpy']}, scipy {machine['scipy']}, mkl {machine['mkl']}. The cores are a virtual machine's, so "
          "ratios within a table count, not times. Every product is verified.\n")
    local = load(folder, "spmm_local")
    print("## Local product beside MKL and scipy\n")
    print(f"{local['threads']} threads, f32, medians of alternating runs. MKL: `mkl_sparse_s_mm` on an optimised handle; scipy: "
          f"the loop under `csr @ dense`. Geometric mean: {local['geometric_mean']['mkl']:.2f} times MKL's speed, "
          f"{local['geometric_mean']['scipy']:.2f} times scipy's.\n")
    table(["matrix", "nonzeros", "k", "Sley ms", "MKL ms", "scipy ms", "GFLOP/s", "x MKL", "x scipy"],
          [[r["matrix"], r["nnz"], r["k"], f"{r['median_ms']['sley']:.3f}", f"{r['median_ms']['mkl']:.3f}",
            f"{r['median_ms']['scipy']:.3f}", f"{r['gflops']:.1f}", f"{r['ratio']['mkl']:.2f}", f"{r['ratio']['scipy']:.2f}"]
           for r in local["rows"]])
    ranks = load(folder, "ranks")
    print("## Two ranks of one thread beside one rank of two threads\n")
    print(f"The algorithm is `auto`'s. Geometric mean of the ratios: {ranks['overhead_geomean']:.3f}.\n")
    table(["matrix", "k", "algorithm", "1 rank x 2 threads, ms", "2 ranks x 1 thread, ms", "ratio"],
          [[r["matrix"], r["k"], r["algo"], f"{r['one_rank_ms']:.3f}", f"{r['two_ranks_ms']:.3f}", f"{r['ratio']:.3f}"]
           for r in ranks["overhead"]])
    print("## Algorithms on 4 ranks, ms\n")
    print("Four ranks share the two cores; all links are direct.\n")
    names = list(ranks["algorithms"][0]["ms"])
    table(["matrix", "k"] + names + ["best of the last two / bcast-1d"],
          [[r["matrix"], r["k"]] + [f"{r['ms'][name]:.3f}" for name in names] + [f"{r['best_over_bcast']:.3f}"]
           for r in ranks["algorithms"]])
    slow_links(folder)
    plan = ranks["planning"]
    print("## Planning\n")
    print(f"`sley plan {plan['matrix']} --ranks 4`: {plan['load_s']:.1f} s to generate, {plan['plan_s']:.1f} s to plan all "
          f"algorithms; peak memory {plan['peak_bytes'] / 2**20:.0f} MiB, {plan['peak_over_csr']:.2f} times the CSR's "
          f"{plan['csr_bytes'] / 2**20:.0f} MiB.\n")
    read = load(folder, "read_mtx")
    print("## Reading Matrix Market text beside scipy.io.mmread\n")
    print(f"{read['threads']} threads each; Sley reads to CSR, scipy to COO. Geometric mean: {read['sley_geomean_mb_s']:.0f} "
          f"MB/s, {read['ratio_geomean']:.2f} times scipy's speed.\n")
    table(["file", "MB", "Sley MB/s", "median", "scipy MB/s", "median", "ratio"],
          [[r["file"], f"{r['megabytes']:.1f}", f"{r['sley_mb_s']:.0f}", f"{r['sley_median_mb_s']:.0f}", f"{r['scipy_mb_s']:.0f}",
            f"{r['scipy_median_mb_s']:.0f}", f"{r['ratio']:.2f}"] for r in read["files"]])
    order = load(folder, "order")
    print("## Ordering\n")
    print(f"{order['matrix']} shuffled, {order['ranks']} ranks, k = {order['k']}, {order['threads']} threads: V_FC "
          f"{order['v_fc_bytes'] / 2**20:.1f} MiB before.\n")
    table(["ordering", "seconds", "processor seconds", "V_FC MiB", "times lower", "peak MiB"],
          [[r["order"], f"{r['seconds']:.1f}", f"{r['cpu_seconds']:.1f}", f"{r['v_fc_bytes'] / 2**20:.1f}",
            f"{r['times_lower']:.2f}", r["peak_mib"]] for r in order["orders"]])
    beside = os.path.join(os.path.dirname(os.path.abspath(folder)), "gpu-*")
    gpus(sys.argv[2:] or sorted(os.path.relpath(path) for path in glob.glob(beside)))


main()
