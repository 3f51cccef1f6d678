#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes docs/PERFORMANCE.md's text from the JSON files of bench/run.sh and bench/gpu/run.sh: bench/report.py FOLDER
[GPU_FOLDER ...]; without the latter, every gpu-* beside FOLDER."""
import contextlib
import glob
import io
import json
import os
import sys
import textwrap

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "gpu"))
import collective_tables  # noqa: E402
import gnn_tables  # noqa: E402
import growth_tables  # noqa: E402
import ops_tables  # noqa: E402
import spgemm_tables  # noqa: E402
import tables  # noqa: E402
import tensor_tables  # noqa: E402
import torch_tables  # noqa: E402


def load(folder, name):
    with open(os.path.join(folder, name + ".json")) as stream:
        return json.load(stream)


def table(head, rows):
    print("| " + " | ".join(head) + " |")
    print("|" + " --- |" * len(head))
    for row in rows:
        print("| " + " | ".join(str(cell) for cell in row) + " |")
    print()


def blocks_too(cases):
    """What is said of BSR and Blocked-ELL, which are rivals in results whose cases tell who was left out."""
    if not any("left_out" in c for c in cases):
        return ""
    return (", and its products for BSR (blocks of 4 to 32) and Blocked-ELL (8 to 32) where these hold less than 8 values an "
            "entry, whose preprocessing is the way from CSR")


def gpu_single(cases):
    rows = tables.spmm_rows(cases)
    if not rows:
        return
    print("### One GPU beside cuSPARSE\n")
    print("Each time is the median of alternating runs on one stream. cuSPARSE: the fastest of `CUSPARSE_SPMM_ALG_DEFAULT` and "
          "`CSR_ALG1` to `3`, each with `cusparseSpMM_preprocess`, row-major operands" + blocks_too(cases) + ". Inspection: making the plan, in products, "
          "with the copy of A to the GPU and less the time that cudaMemcpy takes for it from ordinary memory: below 0 where Sley, whose "
          "plans copy by way of pinned buffers, is done before. Preprocessing likewise in cuSPARSE's products.\n")
    for dtype in tables.spmm_dtypes(rows):
        mine = [r for r in rows if r[2] == dtype]
        print(tables.spmm_summary(mine)[0] + "\n")
        table(["matrix", "k", "type", "Sley ms", "cuSPARSE ms", "its algorithm", "x cuSPARSE", "inspection", "with copy",
               "preprocessing"],
              [[r[0], r[1], r[2], f"{r[3]:.4f}", f"{r[4]:.4f}", r[5], f"{r[6]:.2f}", f"{r[7]:.1f}", f"{r[8]:.1f}", tables.number(r[9], ".1f")]
               for r in mine])


def gpu_ranks(cases):
    if not cases:
        return
    with open(os.path.join(tables.HERE, "anchors.json")) as stream:
        anchors = json.load(stream)
    print("### Several GPUs of one host, one process\n")
    print("f32, equal row blocks. ms: of the slowest rank, from a barrier on; steady: a product's share of many enqueued one after "
          "the other. Local: the plan's local parts alone, all GPUs at once; gather: its exchange alone, and its rate on the slowest "
          "GPU, from the start until its own rows are there. Plan: what sley_plan_create takes on the slowest rank, once, with "
          "the copy of A from ordinary memory. Broadcast: NCCL broadcasts with the best cuSPARSE algorithm, all of X first or stage by stage, the faster."
          + (f" CoLa: times kept in `bench/gpu/anchors.json`: {anchors['source']}" if any(r["cola_ms"] for r in cases) else "") + "\n")
    for line in tables.ranks_summary(cases):
        print(line + "\n")
    table(["matrix", "k", "GPUs", "algorithm", "ms", "steady", "local", "gather", "GB/s", "x longer of both", "halo MiB", "plan",
           "broadcast ms", "x broadcast", "CoLa ms", "x CoLa", "x one GPU"],
          [[r["matrix"], r["k"], r["gpus"], r["algo"], f"{r['ms']:.4f}", f"{r['sley']['steady_ms']:.4f}",
            f"{r['local']['ms']['median']:.4f}", f"{r['gather']['ms']['median']:.4f}", f"{r['gather_gb_s']:.0f}",
            tables.number(r["over_floor"], ".2f"), f"{r['halo_bytes'] / 2**20:.1f}", f"{r['plan_ms']:.1f}",
            f"{r['broadcast']['ms']['median']:.4f} ({r['rival']})", f"{r['x_broadcast']:.2f}",
            tables.number(r["cola_ms"], ".3f"), tables.number(r["x_cola"], ".2f"), tables.number(r["speedup"], ".2f")]
           for r in cases])


def gpu_plans(cases):
    if not cases:
        return
    print("### What plans take on GPUs\n")
    print("`bench/gpu/bench_plan_gpu.c`: medians of the slowest rank, their range, and a product's share of many. f32, equal row blocks; the first plan, which "
          "loads modules, does not count.\n")
    table(["matrix", "k", "GPUs", "algorithm", "plans", "plan ms", "range", "product ms"],
          [[r["matrix"], r["k"], r["ranks"], r["algo"], r["plans"], f"{r['plan_ms']['median']:.1f}",
            f"{r['plan_ms']['min']:.1f} to {r['plan_ms']['max']:.1f}", f"{r['ms']:.4f}"] for r in cases])


def gpu_ablation(lines):
    if not lines:
        return
    print("### Two workgroups of two GPUs, joined by sockets\n")
    print("Four processes over NCCL, two of each of the hosts that NCCL_HOSTID makes of one: between the groups only sockets, inside "
          "direct loads. Each step adds one idea to the one before. f32, median of the rounds' medians, and the range of all runs to 95 %. "
          "Between two workgroups halo-pipelined has one stage: it is then the plan of halo-coalesced, step for step, and what "
          "differs between the two is what sockets bring from one communicator to the next.\n")
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


def gpu_predictions(cases):
    if not cases:
        return
    print("### The planner's choices and predictions on GPUs\n")
    print("`bench/gpu/predictions.py`: predicted by what `sley tune --device cuda` measured there, f32; predicted / measured ms. "
          + tables.predictions_summary(cases) + "\n")
    names = list(cases[0]["algorithms"])
    table(["matrix", "GPUs", "k", "choice", *names],
          [[c["matrix"], c["gpus"], c["k"], c["choice"],
            *[f"{a['predicted_ms']:.3f} / {a['ms']:.3f}" for a in (c["algorithms"][name] for name in names)]] for c in cases])


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
              f"{machine['time']}. Every product is verified.{' ' + machine['note'] if 'note' in machine else ''}\n")
        gpu_single(run["spmm"])
        gpu_ranks(run["ranks"])
        gpu_plans(run["plans"])
        gpu_ablation(run["ablation"])
        gpu_predictions(run["predictions"])


def slow_links(folder):
    """Algorithms on hosts that are network namespaces, where bench/hosts.sh has run."""
    if not os.path.exists(os.path.join(folder, "hosts.json")):
        return
    run = load(folder, "hosts")
    print("## Algorithms over slow links\n")
    print(f"{run['hosts']} hosts x {run['per_host']} ranks over `tcp`, made by `bench/hosts.sh`: the hosts are network namespaces of this "
          f"machine, each joined to a switch by a link of {run['rate']} each way. k = {run['k']}, one thread a rank, f32; all ranks share "
          "the machine's cores. Medians, and the least of the repeats. Bytes "
          "over the links a product, by Sley's "
          "counters and by the interfaces' own: `rowwise` asks for rows, 4 bytes each, which the counters leave out. TCP is a stream, in which "
          "`halo` and `halo-fused`, whose rows are messages of their own elsewhere, travel as `halo-coalesced` does: that step "
          "only shows over transports that keep messages apart (`mpi`).\n")
    table(["matrix", "algorithm", "ms", "least", "x rowwise", "MiB counted", "MiB on the links", "ratio"],
          [[r["matrix"], r["algo"], f"{r['ms']:.1f}", f"{r['min_ms']:.1f}", f"{r['x_first']:.2f}", f"{r['counted_bytes'] / 2**20:.2f}",
            f"{r['link_bytes'] / 2**20:.2f}", f"{r['link_bytes'] / max(r['counted_bytes'], 1):.3f}"] for r in run["rows"]])
    if run.get("overlap"):
        print("### Transfer behind computation\n")
        print("The rate of the links is such that the busiest one takes as long for its bytes as a product takes over links that are not "
              "shaped (its computation, with packing and the handling of messages). What the product takes longer over the shaped links "
              "was not hidden. Medians of all repeats, in runs over either links by turns. The processors also are the links: "
              "shaping, switching and shorter TCP segments are work of the same two cores, so part of it is no waiting. *idle*: the time of a product in which a "
              "processor had nothing to do, on the average processor.\n")
        table(["hosts x ranks", "matrix", "k", "algorithm", "Mbit/s", "computation ms", "transfer ms", "product ms", "not hidden", "idle ms"],
              [[f"{r['hosts']} x {r['per_host']}", r["matrix"], r["k"], r["algo"], f"{r['rate_mbit']:.0f}", f"{r['compute_ms']:.1f}",
                f"{r['transfer_ms']:.1f}", f"{r['product_ms']:.1f}", f"{100 * r['not_hidden']:.0f} %", f"{r['idle_ms']:.1f}"]
               for r in run["overlap"]])


def weak_scaling(folder):
    """What a rank takes for reading and planning, where bench/scaling.py has run."""
    if not os.path.exists(os.path.join(folder, "scaling.json")):
        return
    run = load(folder, "scaling")
    names = run["algorithms"]
    print("## Reading and planning by each rank: weak scaling\n")
    print(f"`bench/scaling.py`: processes over `tcp`, as many nonzeros a rank, k = {run['k']}. Memory of the rank that takes most, beyond what "
          "its process had before: at the peak of reading, with the rows read, at the peak of planning (rows included), and what the plan says "
          "of itself, whose halo buffer (128 bytes a row) is not touched before the first product. A rank's halo grows with the number of ranks "
          "for the twins, since more of a row's neighbours lie elsewhere; for the band it does not. Seconds are the processor's, not the clock's.\n")
    table(["matrix", "ranks", "nonzeros a rank", "halo rows a rank", "read s", "peak MiB", "rows MiB", "peak MiB in all", "x 2 ranks"]
          + [f"{n} s" for n in names] + [f"{n} MiB" for n in names],
          [[r["name"], r["ranks"], r["rank_nnz"], r["rank_halo"], f"{r['read']['cpu_seconds']:.2f}",
            f"{r['read']['peak_bytes'] / 2**20:.1f}", f"{r['read']['kept_bytes'] / 2**20:.1f}", f"{r['peak_bytes'] / 2**20:.1f}",
            f"{r['x_first']:.2f}"] + [f"{r['plans'][n]['cpu_seconds']:.2f}" for n in names]
           + [f"{r['plans'][n]['plan_bytes'] / 2**20:.1f}" for n in names] for r in run["rows"]])


def disturbance(cases):
    """How calm the machine was, where that is known."""
    shares = [100 * c["others"] for c in cases if "others" in c]
    if not shares:
        return ""
    return (f" Meanwhile other processes, and the host that this virtual machine is on, took {sum(shares) / len(shares):.0f} % of the cores' "
            f"time on average, {max(shares):.0f} % at most in a case.")


def planner(folder):
    """The planner's choices and predictions, where bench/planner.py has run."""
    if not os.path.exists(os.path.join(folder, "planner.json")):
        return
    run = load(folder, "planner")
    names = {"threads": "threads of one process, workgroups of half the ranks", "tcp": "processes on one host, over `tcp`",
             "hosts": f"processes on 2 hosts (network namespaces), links of {run['rate']}"}
    print("## The planner's choices and predictions\n")
    print("Made by `bench/planner.py`: twins, one thread a rank, f32, on two cores that all ranks share. Each kind of links was measured by "
          "`sley tune` first. Times are the least of several rounds of runs; a prediction is right within 25 % of it." + disturbance(run["cases"])
          + "\n")
    table(["links", "cases", "choice within 10 % of the best", "choice's time right", "all algorithms' times right"],
          [[names.get(links, links), n["cases"], f"{n['near']} of {n['cases']}", f"{n['choice_right']} of {n['cases']}",
            f"{n['right']} of {n['predictions']}"] for links, n in run["summary"].items()])
    table(["links", "matrix", "scale", "k", "ranks", "choice", "ms", "best", "ms", "choice / best", "predicted / measured"],
          [[c["links"], c["matrix"], c["scale"], c["k"], c["ranks"], c["choice"], f"{c['choice_ms']:.3f}", c["best"], f"{c['best_ms']:.3f}",
            f"{c['choice_ms'] / c['best_ms']:.2f}", f"{c['predicted_ms'] / c['choice_ms']:.2f}"] for c in run["cases"]])


def petsc(folder):
    """Beside PETSc, where bench/petsc.py has run: on one host, and on hosts that slow links join."""
    runs = [load(folder, name) for name in ("petsc", "petsc_2", "petsc_4") if os.path.exists(os.path.join(folder, name + ".json"))]
    if not runs:
        return
    print("## Beside PETSc\n")
    print(f"`MatMatMult` (MAT_REUSE_MATRIX) of MPIAIJ by dense, {runs[0]['version']}, beside `sley_spmm` over `mpi` and over `tcp`: the same ranks of one "
          "thread, rows and X, f64, in turn in one run (`bench/petsc.py`, `petsc.c`), both checked. Medians of the slowest rank's "
          "times. Hosts are network namespaces, each joined to a switch by a link of 1 Gbit/s each way; all ranks share the machine's cores.\n")
    means = [f"{max(run['hosts'], 1)} host{'s' if run['hosts'] > 1 else ''}: "
             + ", ".join(f"{mean:.2f} over `{name}`" for name, mean in run["geometric_means"].items()) for run in runs]
    print(f"Geometric means of PETSc's time over Sley's: {'; '.join(means)}.\n")
    table(["hosts x ranks", "transport", "matrix", "nonzeros", "k", "PETSc ms", "Sley ms", "algorithm", "PETSc GFLOP/s", "Sley GFLOP/s", "PETSc / Sley"],
          [[f"{max(run['hosts'], 1)} x {run['per_host']}", r["transport"], r["matrix"], r["nnz"], r["k"], f"{r['petsc']['median_ms']:.1f}",
            f"{r['sley']['median_ms']:.1f}", r["algo"], f"{2e-6 * r['nnz'] * r['k'] / r['petsc']['median_ms']:.2f}",
            f"{2e-6 * r['nnz'] * r['k'] / r['sley']['median_ms']:.2f}", f"{r['ratio']:.2f}"] for run in runs for r in run["rows"]])


def before_and_after(folder):
    """What rearranging the sources changed, measured once."""
    if not os.path.isdir(folder):
        return
    print("## Before and after the house was rearranged\n")
    print(f"Old is commit 8e4873c, new the commit named in the files; both ran in one run, alternating. `{folder}/old_and_new.jsonl` has one and two "
          "H200s (cyt, spk, clj; k = 32, 128): the times of products that follow each other differ by at most 0.6 %. `refactoring.json` beside it has "
          "CPU products (least of 36): `halo` read in place on four ranks of four threads takes 1.14 times as long as before (8.4 to 7.4 ms), and "
          "`halo-pipelined` 1.06 times, the price of the same bits on every transport; the others lie between 0.96 and 1.02. It also has planning on "
          "GPUs, `summa-2d`, and `sley_plan_set_values` (2.2 % of a new plan; 3.7 % for A^T).\n")


def growth(results):
    """Exponents of time and memory, and what real matrices take, where bench/growth.sh has run."""
    files = growth_tables.files(results)
    if not files:
        return
    print("## How plans and products grow\n")
    print("`bench/growth.sh`: matrices from 1e5 entries on, f32, one rank; rows in some of the products are compared with sums in float64. Times are the least of several. s is "
          "the exponent of y = c nnz^s, fitted by least squares on logarithms. Memory, of which s is given, is the matrix and the "
          "most that planning takes beyond it; *plan's memory / CSR* is that most alone, over the matrix's bytes, a plan's copy of A (on a GPU, and in parts of several ranks) and its "
          "buffers of rows of X and Y included. *Process's peak* includes the matrix, and some 20 MiB of the program. *Inspection*: the time "
          "of a plan over that of a product.\n")
    print("With random columns the time of a product grows faster than the entries: that is the machine's memory hierarchy. While X fits in a cache its rows come "
          "from there, later each comes from memory. *Reading rows of X alone* is a loop that reads the row of X of each entry, in the order of the entries and "
          "ordered some entries before its use, and does nothing else: it has no plan and no products. At k = 32 it grows as products do, and takes as "
          "long once X is large. At k = 1 and 8 the loop's instructions make it slower than the product while X is in a cache, so its exponent is "
          "lower there. Bands, whose rows of X are near, show what plan and product do by themselves; in narrow products A too leaves the caches, "
          "at some 4e6 entries here. Plans of less than 1e6 entries work in memory that the "
          "process has at hand; for larger ones the system first clears fresh pages.\n")
    print("![Times against entries](img/growth.svg)\n")
    for path in files:
        machine, lines = growth_tables.read(path)
        where = (f"{machine['gpu']}, {machine['memory']}, driver {machine['driver']}, CUDA {machine['nvcc']}" if machine.get("gpu")
                 else f"{machine['processor']}, {machine['cores']} cores, {machine['compiler']}")
        print(f"### {machine.get('gpu') or 'Processors'}\n")
        print(f"{where}; commit {machine['commit']}, {machine['time']}; from `{os.path.join('bench/results/growth', os.path.basename(path))}`.\n")
        table(growth_tables.FIT_HEAD, growth_tables.fit_rows(lines))
        table(growth_tables.SIZE_HEAD, growth_tables.size_rows(lines))
        table(growth_tables.INSPECTION_HEAD, growth_tables.inspection_rows(lines))
        rows = growth_tables.data_rows(lines)
        if rows:
            print("Real square matrices of the data folder with more than 20,000 entries. Four ranks share the cores; their figures are of all ranks together.\n")
            table(growth_tables.DATA_HEAD, rows)
            print(growth_tables.why(lines) + "\n")


def gpu_folders(folder):
    beside = os.path.join(os.path.dirname(os.path.abspath(folder)), "gpu-*", "machine.json")
    return sorted(os.path.relpath(os.path.dirname(path)) for path in glob.glob(beside))


def times_of(case):
    return {t["name"]: t["median_ms"] for t in case["times"] if "median_ms" in t}


def speedups(cases, name):
    return [times_of(c)["stream"] / times_of(c)[name] for c in cases if name in times_of(c)]


def kernel_rows(result):
    """Of each matrix that the kernels for Tensor cores serve: widths, and the times of stream by theirs."""
    cases = [c for c in result["cases"] if "tensor" in times_of(c)]
    names = list(dict.fromkeys(c["matrix"] for c in cases))
    of = {name: [c for c in cases if c["matrix"] == name] for name in names}
    return [[name, result["dtype"], ", ".join(str(c["k"]) for c in of[name])] +
            [" ".join(f"{x:.2f}" for x in speedups(of[name], kernel)) for kernel in ("tensor", "hybrid")] for name in names]


def kernels(folder):
    """Kernels of a GPU beside each other, and stream beside cuSPARSE, on drawn cases: `sley bench`."""
    if not os.path.isdir(folder):
        return
    print("### Kernels on Tensor cores\n")
    print("`sley bench --device cuda` on one H200: the time of `stream` by those of `tensor` and of `hybrid`; above 1 the latter is "
          "faster. Matrices with dense windows, and some without; widths above 8 of those that the seed drew. In f16 the values of "
          "bcsstk17 and ex9 pass the range of the type, and sums that are not finite are summed again.\n")
    for name in sorted(n for n in os.listdir(folder) if n.startswith("tensor_")):
        result = load(folder, name[:-len(".json")])
        fair = [c for c in result["cases"] if "hybrid" in times_of(c) and
                not (result["dtype"] == "f16" and c["matrix"].startswith(("bcsstk", "ex9")))]
        used = [x for x in speedups(fair, "hybrid") if abs(x - 1) > 0.02]
        print(f"Seed {result['seed']}, {result['dtype']}: where `hybrid` differs from `stream` by more than 2 % ({len(used)} of {len(fair)} cases"
              f"{', without those two matrices' if result['dtype'] == 'f16' else ''}) it is {tables.geomean(used):.2f} times as fast, "
              f"geometric mean, worst {min(used):.2f}.\n")
        table(["matrix", "type", "k", "stream / tensor", "stream / hybrid"], kernel_rows(result))
    print(f"From `{folder}`.\n")


BANDS = ((1, 1), (2, 4), (5, 16), (17, 64), (65, 256), (257, 1024))


def drawn(folder):
    """Sley beside the fastest rival on drawn cases, which bench/condense.py has left of benchmarks."""
    if not os.path.isdir(folder):
        return
    runs = {name[:-len(".json")]: load(folder, name[:-len(".json")]) for name in sorted(os.listdir(folder))}
    print("## Products on drawn cases\n")
    print("Matrices of the test data with more than 20,000 entries, 40 of them, and up to 8 (CPU) or 10 (GPU) widths from 1 to 1,024 for each, "
          "whose logarithms are uniform; the seeds were not used for tuning. Each figure is a rival's time by Sley's, medians in turn in one run: "
          "above 1 Sley is faster. On the CPU, two threads, the rival is MKL on an optimised handle (`sley bench`); on the GPU the fastest of "
          "cuSPARSE's CSR algorithms, SpMV at k = 1, BSR and Blocked-ELL with blocks of 4 to 32 rows, as far as their results are right "
          "(`bench_spmm_gpu --cases`). Where values have 16 bits rivals that round sums to 16 bits count too.\n")
    rows, by_width = [], []
    for name, run in runs.items():
        machine = run["machine"]
        cases = [(c["rival_ms"] / c["sley_ms"], c) for c in run["cases"]]
        worst, case = min(cases, key=lambda x: x[0])
        device = machine.get("gpu") or f"{machine['processor']}, {machine['cores']} cores"
        rows.append([device, run["dtype"], run["seed"], len(cases), f"{tables.geomean([x for x, _ in cases]):.2f}",
                     f"{worst:.2f} ({case['matrix']}, k = {case['k']})", sum(x < 0.9 for x, _ in cases), machine["commit"]])
        by_width.append([name.replace("_", " ")] + [f"{tables.geomean([x for x, c in cases if low <= c['k'] <= high]):.2f}" for low, high in BANDS])
    table(["device", "type", "seed", "cases", "geometric mean", "worst", "below 0.9", "commit"], rows)
    table(["geometric means at k ="] + [f"{low} to {high}" if low < high else str(low) for low, high in BANDS], by_width)
    print(f"From `{folder}`.\n")


def summary(folder, local, folders):
    """The means that count, and the charts of bench/plots.py."""
    x = {r["matrix"]: r["x_first"] for r in load(folder, "hosts")["rows"] if r["algo"] == "cover"}
    print("## Summary\n")
    print(f"On two cores the local product has {local['geometric_mean']['mkl']:.2f} times MKL's speed and "
          f"{local['geometric_mean']['scipy']:.2f} times scipy's (geometric means). On 4 hosts with links of 1 Gbit/s `cover` is "
          f"{min(x.values()):.1f} to {max(x.values()):.1f} times as fast as fetching a row for every remote nonzero (`rowwise`).")
    for path in folders:
        cases = [c for c in tables.load(path)["ranks"] if c["gpus"] == 4 and c["x_cola"]]
        if cases:
            print(f"On four H200s products have {tables.geomean([c['x_cola'] for c in cases]):.2f} times the speed of CoLa's published "
                  f"code and {tables.geomean([c['x_broadcast'] for c in cases]):.2f} times that of NCCL broadcasts with cuSPARSE.")
    print("\n![Local product beside MKL and scipy](img/local.svg)\n\n![Algorithms over slow links](img/links.svg)\n\n"
          "![Four GPUs beside CoLa and NCCL](img/gpus.svg)\n\n"
          "The charts are drawn from the same results by `bench/plots.py bench/results docs/img`.\n")


def main():
    folder = sys.argv[1]
    machine = load(folder, "machine")
    print("# Performance\n")
    print(f"Made by `bench/run.sh` and `bench/report.py` from `{folder}`; do not edit. {machine['processor']}, "
          f"{machine['cores']} cores, {machine['compiler']}; commit {machine['commit']}, {machine['time']}; numpy "
          f"{machine['numpy']}, scipy {machine['scipy']}, mkl {machine['mkl']}. The cores are a virtual machine's, so "
          "ratios within a table count, not times. Every product is verified.\n")
    local = load(folder, "spmm_local")
    summary(folder, local, sys.argv[2:] or gpu_folders(folder))
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
    weak_scaling(folder)
    planner(folder)
    petsc(folder)
    before_and_after(os.path.join(os.path.dirname(folder.rstrip("/")), "gpu-h200-x2"))
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
    growth(os.path.dirname(folder.rstrip("/")))
    gpus(sys.argv[2:] or gpu_folders(folder))
    beside = os.path.dirname(folder.rstrip("/"))
    drawn(os.path.join(beside, "drawn"))
    kernels(os.path.join(beside, "kernels-h200"))
    tensor_tables.report(os.path.join(beside, "tensor-h100"), table)
    ops_tables.report(os.path.join(beside, "ops"), table)
    gnn_tables.report(os.path.join(beside, "gnn"), table)
    torch_tables.report(os.path.join(beside, "torch"), table)
    collective_tables.report(os.path.join(beside, "collective"), table)
    spgemm_tables.report(os.path.join(beside, "spgemm"), table)


def wrapped(text):
    """Lines of at most 100 columns, but for tables, titles and pictures."""
    return "".join(line + "\n" if line.startswith(("|", "#", "!")) else textwrap.fill(line, 100, break_long_words=False, break_on_hyphens=False) + "\n"
                   for line in text.splitlines())


if __name__ == "__main__":
    page = io.StringIO()
    with contextlib.redirect_stdout(page):
        main()
    print(wrapped(page.getvalue()).rstrip("\n"))
