# SPDX-License-Identifier: Apache-2.0
"""Tables that compare compressed collectives with dense ones, from bench/results/collective/*.json, which
bench/collective/beside_dense.py writes."""
import glob
import os

from tables import load, table

HEAD = ["collective", "MiB", "zeros", "compressed ms", "dense ms", "dense / compressed", "rounds", "bytes / dense bytes", "share of the bound", "path",
        "claimed"]
MEAN_HEAD = ["cases", "number", "dense / compressed: geometric mean", "worst", "where"]
WORDS = {"gpus": "GPUs of one process beside NCCL", "hosts": "Hosts joined by sockets", "mpi": "Over MPI beside MPI_Allreduce"}


def first_round(run):
    """The first round of the first case that ran; empty if none did."""
    return next((case["rounds"][0] for case in run["cases"] if case.get("rounds")), {})


def heading(run):
    return f"{WORDS[run['where']]}, {first_round(run).get('ranks', '?')} ranks"


def where(run):
    """The machine, and the contenders."""
    m, first = run["machine"] or {}, first_round(run)
    if "gpu" in m:
        place = f"{m['gpus']} x {m['gpu']}, driver {m['driver']}, CUDA {m['nvcc']}, NCCL {m['nccl']}"
    else:
        place = f"{m.get('cores', '?')} cores of {m.get('processor', 'a processor')}"
    ranks = f"{first.get('ranks', '?')} ranks, device {first.get('device', '?')}, transport {first.get('transport', '?')}"
    rival = f"; beside {first['rival']}" if "rival" in first else ""
    launch = f"; started by `{' '.join(run['options']['launch'])}`" if run["options"]["launch"] else ""
    note = f" {run['note']}" if "note" in run else ""
    return (f"{place}; {ranks}{rival}{launch}; seed {run['seed']}, {run['options']['rounds']} rounds of {run['options']['repeat']} times "
            f"{run['options'].get('iters', 1)} runs; commit "
            f"{m.get('commit', 'unknown')}, {m.get('time', 'unknown')}.{note}")


def claim(case):
    return f"{case['claim']:g}: {'holds' if case['holds'] else 'does not hold'}" if case["claim"] else "-"


def row(case):
    head = [case["kind"], f"{case['bytes'] / 2**20:.2f}", f"{100 * case['zeros']:.4g} %"]
    if "failed" in case:
        return head + ["failed"] + ["-"] * 7
    last = case["rounds"][-1]
    share = f"{100 * last['bound_share']:.0f} %" if last.get("bound_share") else "-"
    return head + [f"{case['sley_us'] / 1e3:.3f}", f"{case['rival_us'] / 1e3:.3f}", f"{case['ratio']:.2f}", f"{case['least_ratio']:.2f} to {case['most_ratio']:.2f}",
                   f"{last['wire_bytes'] / max(last['dense_wire_bytes'], 1):.4f}", share, last["path"], claim(case)]


def report_training(path):
    """Results of bench/collective/ddp_gpt.py."""
    found = load(path)
    o, parts = found["options"], list(found["runs"][0]["split_ms"])
    print("## A GPT trained by DistributedDataParallel\n")
    print(f"`bench/collective/ddp_gpt.py`: {found['parameters'] / 1e6:.1f} million parameters, {o['dtype']}, {found['ranks']} x {found['device']} as hosts "
          f"that sockets join, {o['steps']} steps of AdamW, torch {found['torch']}. The hook sends {100 * o['density']:g} % of the gradients; "
          f"{o['warmup_steps']} steps before that are dense, and in {o.get('ramp_steps', 0)} more the share falls from 25 %, so the mean of steps has these. "
          "The split is measured apart, with the device waited for after each part.\n")
    table(["gradients", "median step ms", "10 %", "90 %", "mean step ms", "loss of the last steps"] + [f"{part} ms" for part in parts],
          [[run["name"], f"{run['step_ms']['median']:.2f}", f"{run['step_ms']['p10']:.2f}", f"{run['step_ms']['p90']:.2f}", f"{run['all_steps_ms']:.2f}",
            f"{run['loss']:.4f}"] + [f"{run['split_ms'][part]:.2f}" for part in parts] for run in found["runs"]])


def report_sweep(path):
    """Results of bench/collective/beside_dense.py sweep: for each collective and size the case nearest to the limit, and the fastest."""
    found = load(path)
    m, summary, rows = found["machine"] or {}, found["summary"], []
    print(f"Of {summary['cases']} cases {summary['above']} are above it beside NCCL's dense collective, and {summary['above_own']} beside the dense one of "
          f"the same run. {found['ranks']} x {m.get('gpu', found['device'])}, driver {m.get('driver', '?')}, NCCL {m.get('nccl', '?')}; seed {found['seed']}, "
          f"{found['repeat']} times {found['iters']} runs; commit {m.get('commit', 'unknown')}, {m.get('time', 'unknown')}. {found.get('note', '')}\n")
    for kind, size in sorted({(case["kind"], case["size"]) for case in found["cases"]}):
        cases = [case for case in found["cases"] if (case["kind"], case["size"]) == (kind, size)]
        worst, best = max(cases, key=lambda case: case["share"]), min(cases, key=lambda case: case["time_us"])
        rows.append([kind, f"{size / 2**20:.0f}", f"{worst['rival_us'] / 1e3:.3f}", f"{worst['time_us'] / 1e3:.3f}", f"{100 * worst['zeros']:g} %",
                     f"{100 * worst['share']:.0f} %", f"{best['time_us'] / 1e3:.3f}", f"{100 * best['zeros']:g} %"])
    table(["collective", "MiB", "NCCL dense ms", "slowest ms", "its zeros", "of the limit", "fastest ms", "its zeros"], rows)


def report(folder):
    runs = []
    for path in sorted(glob.glob(os.path.join(folder, "*.json"))):
        found = load(path)
        if "where" in found:
            runs.append(found)
    print("# Collectives over arrays of many zeros\n")
    print("`bench/collective/beside_dense.py`: medians of the slowest rank, compressed and dense in turn on the same arrays, whose results are compared. "
          "Sizes are of the larger array of a rank. Fixed cases come first; the others' sizes and shares of zeros were drawn. Rounds: the least and the "
          "greatest ratio of a round.\n")
    for run in runs:
        print(f"## {heading(run)}\n")
        print(where(run) + "\n")
        means = [[name, mean["cases"], f"{mean['geomean']:.2f}", f"{mean['worst']:.2f}", mean["worst_case"]] for name, mean in run["summary"].items() if mean]
        table(MEAN_HEAD, means)
        table(HEAD, [row(case) for case in run["cases"]])
    sweeps = sorted(glob.glob(os.path.join(folder, "sweep*.json")))
    if sweeps:
        print("## Never slower than dense\n")
        print("`bench/collective/beside_dense.py sweep`: nine shares of zeros from 0 to 99.9 %, and sizes from 1 MiB; the limit of a case is 1.05 x the time of a "
              "dense collective + 20 us.\n")
    for path in sweeps:
        report_sweep(path)
    training = os.path.join(folder, "ddp_gpt.json")
    if os.path.exists(training):
        report_training(training)
