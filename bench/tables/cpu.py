# SPDX-License-Identifier: Apache-2.0
"""Tables of bench/results/cpu, which bench/run.sh writes: local products compared with MKL and scipy, ranks, slow links,
scaling, the planner, PETSc, reading and ordering."""
import os

from tables import at_once, geomean, load as read, table


def load(folder, name):
    return read(folder, name + ".json")


def slow_links(folder):
    """Algorithms on hosts that are network namespaces, if bench/hosts.py has run."""
    if not os.path.exists(os.path.join(folder, "hosts.json")):
        return
    run = load(folder, "hosts")
    print("## Algorithms over slow links\n")
    print(f"{run['hosts']} hosts x {run['per_host']} ranks over `tcp`, made by `bench/hosts.py`: the hosts are network namespaces of this "
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
    """Each rank's cost of reading and planning, if bench/scaling.py has run."""
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
    """How much other processes disturbed the machine, if that is known."""
    shares = [100 * c["others"] for c in cases if "others" in c]
    if not shares:
        return ""
    return (f" Meanwhile other processes, and the host that this virtual machine is on, took {sum(shares) / len(shares):.0f} % of the cores' "
            f"time on average, {max(shares):.0f} % at most in a case.")


def planner(folder):
    """The planner's choices and predictions, if bench/predict.py planner has run."""
    if not os.path.exists(os.path.join(folder, "planner.json")):
        return
    run = load(folder, "planner")
    names = {"threads": "threads of one process, workgroups of half the ranks", "tcp": "processes on one host, over `tcp`",
             "hosts": f"processes on 2 hosts (network namespaces), links of {run['rate']}"}
    print("## The planner's choices and predictions\n")
    print("Made by `bench/predict.py planner`: twins, one thread a rank, f32, on two cores that all ranks share. Each kind of links was measured by "
          "`sley tune` first. Times are the least of several rounds of runs; a prediction is right within 25 % of it." + disturbance(run["cases"])
          + "\n")
    table(["links", "cases", "choice within 10 % of the best", "choice's time right", "all algorithms' times right"],
          [[names.get(links, links), n["cases"], f"{n['near']} of {n['cases']}", f"{n['choice_right']} of {n['cases']}",
            f"{n['right']} of {n['predictions']}"] for links, n in run["summary"].items()])
    table(["links", "matrix", "scale", "k", "ranks", "choice", "ms", "best", "ms", "choice / best", "predicted / measured"],
          [[c["links"], c["matrix"], c["scale"], c["k"], c["ranks"], c["choice"], f"{c['choice_ms']:.3f}", c["best"], f"{c['best_ms']:.3f}",
            f"{c['choice_ms'] / c['best_ms']:.2f}", f"{c['predicted_ms'] / c['choice_ms']:.2f}"] for c in run["cases"]])


def petsc(folder):
    """Comparison with PETSc, if bench/petsc.py has run: on one host, and on hosts joined by slow links."""
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


def covers(folder):
    """Rows that halo and cover move after several orders, if bench/covers.py has run."""
    if not os.path.exists(os.path.join(folder, "covers.json")):
        return
    run = load(folder, "covers")
    orders = list(run["rows"][0]["orders"])
    print("## Halo and cover rows after several orders\n")
    print(f"`bench/covers.py`: graphs of the test data with {run['least_rows']} rows or more, drawn with seed {run['seed']}, half of them from those "
          "that the data's list calls symmetric. Equal row blocks. *halo*: the rows that `halo` moves; *cover*: those of minimum covers, which "
          f"`cover` moves. Seconds of wall time of each order on one thread of an {run['machine']['processor']}; commit {run['machine']['commit']}.\n")
    table(["ranks"] + [f"{order}, {what}" for order in orders for what in ("halo", "cover")],
          [[mean["ranks"]] + [f"{mean[order][what]:.3f}" for order in orders for what in ("halo", "cover")] for mean in run["means"]])
    times = [r["orders"]["cover"]["seconds"] / r["orders"]["metis"]["seconds"] for r in run["rows"]]
    print("Above: geometric means, relative to the halo of `metis`. Below: rows, and seconds. The order `cover` took "
          f"{geomean(times):.1f} times as long as `metis` in geometric mean, at most {max(times):.1f} times.\n")
    table(["graph", "rows", "nonzeros", "ranks"] + [f"{order}, {what}" for order in orders for what in ("halo", "cover")]
          + [f"{order} s" for order in orders if order != "none"],
          [[r["graph"], r["rows"], r["nnz"], r["ranks"]] + [r["orders"][order][what] for order in orders for what in ("halo", "cover")]
           + [f"{r['orders'][order]['seconds']:.2f}" for order in orders if order != "none"] for r in run["rows"]])


def report(folder):
    machine = load(folder, "machine")
    print("# Processors\n")
    print(f"{machine['processor']}, {machine['cores']} cores, {machine['compiler']}; commit {machine['commit']}, {machine['time']}; numpy "
          f"{machine['numpy']}, scipy {machine['scipy']}, mkl {machine['mkl']}. The cores are a virtual machine's, so ratios within a table "
          "count, not times. Every product is verified. Slow links, scaling, the planner and PETSc were measured later, on 2026-11-22; those files hold no commit.\n")
    local = load(folder, "spmm_local")
    print("## Local product beside MKL and scipy\n")
    print(f"{local['threads']} threads, f32, medians of alternating runs. MKL: `mkl_sparse_s_mm` on an optimised handle; scipy: "
          f"the loop under `csr @ dense`. Geometric mean: {local['geometric_mean']['mkl']:.2f} times MKL's speed, "
          f"{local['geometric_mean']['scipy']:.2f} times scipy's.\n")
    table(["matrix", "nonzeros", "k", "Sley ms", "MKL ms", "scipy ms", "GFLOP/s", "x MKL", "x scipy"],
          [[r["matrix"], r["nnz"], r["k"], f"{r['median_ms']['sley']:.3f}", f"{r['median_ms']['mkl']:.3f}",
            f"{r['median_ms']['scipy']:.3f}", f"{r['gflops']:.1f}", f"{r['ratio']['mkl']:.2f}", f"{r['ratio']['scipy']:.2f}"]
           for r in local["rows"]])
    at_once.report(folder)
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
    covers(folder)
